"""No better optimum is missed: random mixed models against many starts and against lme4.

``python -m tests.proofs.mixed_optimum --fits 2000 --seed 1`` fits small designs of six formulas,
many singular, and sets them against L-BFGS-B from many starts and against lme4's deviance at our
theta. Every fit is written as it comes; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.optimise import natural_scale
from analysis.mixed.model import MixedModel, fit
from analysis.tidy.frame import Floats

HERE = Path(__file__).parent

FORMULAS = (
    *("y ~ x + (1 | g) + (1 | h)", "y ~ x + (1 + x | g)", "y ~ x + (1 + x | g) + (1 | h)"),
    *("y ~ x + z + (1 + x + z | g)", "y ~ x + (1 + x || g) + (1 | h)"),
    "y ~ x + (1 + x | g) + (1 + x | h)",
)

#: A fit this much above a reference is worse.
WORSE = 1e-6

#: Starts of the reference beside the identity.
N_STARTS = 12

#: Designs that one process of R answers.
BATCH = 40


@dataclass(frozen=True)
class Drawn:
    """A random design: its formula, its rows and whether it is fitted by REML."""

    formula: str
    rows: pd.DataFrame
    reml: bool


@dataclass(frozen=True)
class Compared:
    """A fit beside its references; a difference is ours less the reference, above zero worse."""

    place: int
    formula: str
    reml: bool
    n_obs: int
    singular: bool
    converged: bool
    decrement: float
    n_evaluations: int
    criterion: float
    above_starts: float
    above_lme4: float | None
    refused_by_lme4: str | None


def drawn(seed: int, place: int) -> Drawn:
    """Return the design at a place of a seed's sequence; the six formulas take turns."""
    rng = np.random.default_rng([seed, place])
    formula = FORMULAS[place % len(FORMULAS)]
    n_g, n_h = rng.integers(4, 17), rng.integers(4, 10)
    n = int(rng.integers(max(5 * n_g, 20), 16 * n_g))
    g, h = rng.integers(0, n_g, n), rng.integers(0, n_h, n)
    g[: 2 * n_g] = np.tile(np.arange(n_g), 2)
    h[:n_h] = np.arange(n_h)
    x, z = rng.normal(size=n), rng.normal(size=n)
    y = 1 + 0.5 * x + rng.normal(size=n)
    for codes, n_levels in ((g, n_g), (h, n_h)):
        effects = rng.normal(size=(n_levels, 3)) @ _root(rng)
        y = y + effects[codes, 0] + effects[codes, 1] * x + effects[codes, 2] * z
    unit = 10.0 ** rng.integers(-2, 3) if rng.random() < 0.3 else 1.0
    rows = pd.DataFrame(
        {"y": y, "x": x * unit, "z": z, "g": [f"g{c:02d}" for c in g], "h": [f"h{c}" for c in h]}
    )
    return Drawn(formula, rows, bool(rng.random() < 0.5))


def _root(rng: np.random.Generator) -> Floats:
    """Return a root of a covariance of three effects: of any rank, none included."""
    rank = int(rng.integers(0, 5))
    size = rng.choice([0.3, 1.0, 2.0])
    root = np.zeros((3, 3))
    root[: min(rank, 3)] = size * rng.normal(size=(min(rank, 3), 3))
    remaining: Floats = root * (rng.random(3) < 0.8)
    return remaining


def least_of_many_starts(
    cross: CrossProducts, reml: bool, rng: np.random.Generator, n_starts: int = N_STARTS
) -> float:
    """Return the least deviance that scipy finds over factors without bounds."""
    from scipy.optimize import minimize

    scale = natural_scale(cross)

    def function(at: Floats) -> tuple[float, Floats]:
        result = profile(cross, at / scale, reml=reml)
        return result.criterion, result.gradient / scale

    identity = [float(row == column) for block in cross.blocks for row, column in block.positions]
    starts = [np.array(identity)]
    for _ in range(n_starts):
        size = (
            10.0 ** rng.uniform(-2, 1, len(scale))
            if rng.random() < 0.5
            else rng.choice([0.05, 0.3, 1.0, 3.0])
        )
        starts.append(size * rng.normal(size=len(scale)))
    ends = []
    for start in starts:
        result = minimize(
            function,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 400, "ftol": 1e-12, "gtol": 1e-6},
        )
        ends.append((float(result.fun), result.x))
    value, at = min(ends, key=lambda end: end[0])
    options = {"maxiter": 1000, "ftol": 0.0, "gtol": 1e-10}
    polished = minimize(function, at, jac=True, method="L-BFGS-B", options=options)
    return min(value, float(polished.fun))


def compared(seed: int, place: int) -> tuple[Compared, Drawn, MixedModel]:
    """Return a fit beside the best of many starts; lme4's part is added later."""
    design = drawn(seed, place)
    model = fit(design.formula, design.rows, reml=design.reml)
    rng = np.random.default_rng([seed, place, 1])
    reference = least_of_many_starts(model.cross, design.reml, rng)
    result = Compared(
        place=place,
        formula=design.formula,
        reml=design.reml,
        n_obs=len(design.rows),
        singular=model.optimum.singular,
        converged=model.optimum.converged,
        decrement=model.optimum.decrement,
        n_evaluations=model.optimum.n_evaluations,
        criterion=model.solution.criterion,
        above_starts=model.solution.criterion - reference,
        above_lme4=None,
        refused_by_lme4=None,
    )
    return result, design, model


def theta_by_label(model: MixedModel) -> dict[str, float]:
    """Return theta under lme4's labels: ``g.x.(Intercept)`` and the like."""
    labels = []
    for block in model.design.blocks:
        for row, column in block.positions:
            names = dict.fromkeys(block.columns[k].name for k in (row, column))
            labels.append(".".join([block.group, *names]).replace("Intercept", "(Intercept)"))
    return dict(zip(labels, model.solution.theta.tolist(), strict=True))


def answers_of_lme4(batch: list[tuple[Compared, Drawn, MixedModel]]) -> list[Compared]:
    """Return the fits with lme4's optimum beside them."""
    designs = [
        {
            "formula": design.formula,
            "reml": design.reml,
            "columns": design.rows.to_dict("list"),
            "theta": theta_by_label(model),
        }
        for _, design, model in batch
    ]
    with tempfile.TemporaryDirectory() as directory:
        asked, answered = Path(directory) / "designs.json", Path(directory) / "answers.json"
        asked.write_text(json.dumps(designs))
        script = str(HERE / "mixed_optimum.R")
        subprocess.run(["Rscript", script, str(asked), str(answered)], check=True)
        answers = json.loads(answered.read_text())
    return [
        _beside_lme4(result, answer) for (result, _, _), answer in zip(batch, answers, strict=True)
    ]


def _beside_lme4(result: Compared, answer: dict[str, Any]) -> Compared:
    if "error" in answer:
        return replace(result, refused_by_lme4=answer["error"])
    return replace(result, above_lme4=answer["at_ours"] - answer["optimum"])


def main() -> int:
    """Run, print the counts, and return 1 if a fit is worse or one is not converged."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fits", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rows", type=Path, help="file of the rows, one JSON object a line")
    options.add_argument("--without-r", action="store_true", help="leave lme4 out")
    asked = options.parse_args()
    with_r = not asked.without_r
    if with_r and shutil.which("Rscript") is None:
        print("Rscript is not installed; name --without-r to leave lme4 out.", file=sys.stderr)
        return 2
    path = asked.rows or Path(tempfile.gettempdir()) / f"mixed_optimum_{asked.seed}.jsonl"
    _fill(path, asked.fits, asked.seed, with_r=with_r)
    table = _read(path).query(f"place < {asked.fits}")
    print(summary(table))
    worse = table[["above_starts", "above_lme4"]].astype(float).max(axis=None) > WORSE
    return int(bool(worse) or not table["converged"].all())


def _read(path: Path) -> pd.DataFrame:
    lines = path.read_text().splitlines() if path.exists() else []
    return pd.DataFrame([json.loads(line) for line in lines])


def _fill(path: Path, n_fits: int, seed: int, *, with_r: bool) -> None:
    """Append the rows that the file lacks, a batch at a time."""
    known = _read(path)
    done = set(known["place"]) if len(known) else set()
    wanted = [place for place in range(n_fits) if place not in done]
    start = time.process_time()
    for first in range(0, len(wanted), BATCH):
        batch = [compared(seed, place) for place in wanted[first : first + BATCH]]
        result = answers_of_lme4(batch) if with_r else [each for each, _, _ in batch]
        with path.open("a") as file:
            file.writelines(json.dumps(asdict(each)) + "\n" for each in result)
        spent = time.process_time() - start
        print(f"{first + len(batch)} of {len(wanted)}, {spent:.0f} CPU s", file=sys.stderr)


def summary(table: pd.DataFrame) -> str:
    """Return the counts by formula and the worst differences, as text."""
    rows = [_line("formula", "fits singular converged worse(starts) worse(lme4) lme4 worse")]
    for formula, part in [*table.groupby("formula"), ("all", table)]:
        lme4 = part["above_lme4"].astype(float)
        counts = [
            len(part),
            part["singular"].sum(),
            part["converged"].sum(),
            (part["above_starts"] > WORSE).sum(),
            (lme4 > WORSE).sum(),
            (lme4 < -WORSE).sum(),
        ]
        rows.append(_line(str(formula), " ".join(map(str, counts))))
    lme4 = table["above_lme4"].astype(float)
    rows += [
        "",
        f"worst difference from the best of {N_STARTS + 1} starts: "
        f"{table['above_starts'].max():.2e}",
        f"worst difference from lme4, its deviance at our theta: {lme4.max():.2e}",
        f"refused by lme4: {table['refused_by_lme4'].notna().sum()}",
        f"evaluations of the deviance: mean {table['n_evaluations'].mean():.0f}, "
        f"most {table['n_evaluations'].max()}",
    ]
    return "\n".join(rows)


def _line(first: str, others: str) -> str:
    return f"{first:<38}{others}"


if __name__ == "__main__":
    raise SystemExit(main())

"""Calibrate the rules for the hierarchy: ``python -m tests.proofs.calibration``.

Writes ``data/published/calibrated_quantile.csv`` and ``calibrated_rate.csv``; see
`analysis.delia2026.tournament.calibration` for what is done and why. No published gain is read.
Some 25 processor minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import calibration, criterion
from analysis.delia2026.tournament.calibration import STATEMENTS, STATISTICS
from analysis.store import open_store
from analysis.tidy.frame import Floats
from analysis.tidy.spreadsheet import to_csv
from tests.proofs.competing.layouts import Layout, centred, present
from tests.proofs.competing.worlds import TAIL, World, papers, worlds

PUBLISHED = Path(__file__).parents[2] / "data" / "published"
#: Answer, and the sign that turns the statistic so that it is large where the answer is due.
ANSWERS = {"yes": 1.0, "no": -1.0}
#: Draws of the bound: of every false world, and of the few that are hardest.
SCREENED, DRAWN, HARDEST = 1000, 20_000, 5
#: Sources whose effect has one sign.
SIGNED = ("named lab", "depth", "scale")


@dataclass(frozen=True)
class Cell:
    """Papers of one world on one set of models."""

    family: str
    world: str
    share: float
    form: str
    shares: Mapping[str, float]
    draw: Callable[[int, np.random.Generator], Floats]
    layout: Layout

    def truth(self, statement: str) -> str:
        """Return whether a statement is true of what is planted: yes, no or tie."""
        planted = World(self.world, self.shares)
        if planted.is_true(statement):
            return "yes"
        return "no" if planted.is_true(statement, reverse=True) else "tie"


def _cell(family: str, layout: Layout, world: World) -> Cell:
    share = max(world.shares.values(), default=0.0)
    return Cell(
        family,
        world.name,
        share,
        world.form,
        world.shares,
        lambda n, rng: papers(layout, world, n, rng),
        layout,
    )


def calibrating(layout: Layout) -> Iterator[Cell]:
    """Return the worlds by which cut-offs are set."""
    for form in criterion.FORMS:
        for world in worlds(form):
            yield _cell("calibration", layout, world)


def validating(layout: Layout) -> Iterator[Cell]:
    """Return worlds that take no part in calibration."""
    for form in ("normal", "heavy-tailed"):
        for name, shares in calibration.MIXED.items():
            yield _cell("validation", layout, World(name, shares, form))
    for name, shares in calibration.SAMPLED.items():
        yield _sampled("validation", layout, name, shares)
    for group in calibration.TOGETHER_WITH:
        yield _correlated(layout, group)
    for form in calibration.RESIDUALS:
        for name, shares in criterion.TOGETHER.items():
            yield _other_residual(layout, name, shares, form)
    for lab in range(int(layout.labs.max()) + 1):
        for shares in calibration.ABERRANT:
            yield _aberrant(layout, lab, shares)
    for suite in sorted(layout.models["suite"].unique()):
        models = layout.models[layout.models["suite"] != suite].reset_index(drop=True)
        fewer = Layout(f"without {suite}", models, 0)
        for name, shares in criterion.TOGETHER.items():
            cell = _cell("validation", fewer, World(name, shares))
            yield replace(cell, world=f"{name}, without {suite}")


def curves(layout: Layout) -> Iterator[Cell]:
    """Return worlds in which one source has a growing share, and the claim's own order."""
    names = dict.fromkeys(name for sources in calibration.CURVES.values() for name in sources)
    for name in names:
        for share in calibration.CURVE_SHARES:
            yield replace(_sampled("curve", layout, name, {name: share}), share=share)
    yield _sampled("curve", layout, "claimed order", calibration.CLAIMED_ORDER)


def effects(layout: Layout, name: str, n: int, rng: np.random.Generator) -> Floats:
    """Return effects of variance 1 in a model on average; signed ones are the same every time."""
    if name in ("lab", "suite"):
        codes = layout.labs if name == "lab" else layout.suites
        return rng.standard_normal((n, int(codes.max()) + 1))[:, codes]
    columns = _columns(layout, name)
    if name in SIGNED:
        return np.tile(-columns[:, 0], (n, 1))
    return rng.standard_normal((n, columns.shape[1])) @ columns.T / np.sqrt(columns.shape[1])


def _columns(layout: Layout, name: str) -> Floats:
    if name == "named lab":
        values = (layout.labs == layout.named).astype(float)[:, None]
    elif name == "shape":
        values = layout.models[["rho", "d_head"]].to_numpy(float)
    elif name == "depth":
        values = np.log(layout.models[["n_layers"]].to_numpy(float))
    else:
        values = layout.models[["log_parameters"]].to_numpy(float)
    about = centred(values)
    return about / about.std(axis=0)


def _residual_share(shares: Mapping[str, float]) -> float:
    return max(0.0, 1 - sum(shares.values()))


def _sampled(family: str, layout: Layout, name: str, shares: Mapping[str, float]) -> Cell:
    """Return papers whose levels are a sample: shares are of what they are drawn from."""

    def draw(n: int, rng: np.random.Generator) -> Floats:
        left = np.sqrt(_residual_share(shares)) * rng.standard_normal((n, len(layout)))
        return sum(
            (np.sqrt(share) * effects(layout, source, n, rng) for source, share in shares.items()),
            left,
        )

    return Cell(family, name, max(shares.values()), "sampled", shares, draw, layout)


def _correlated(layout: Layout, group: str) -> Cell:
    shares = {group: 0.4, "depth": 0.4}
    codes = layout.labs if group == "lab" else layout.suites
    depth = _columns(layout, "depth")[:, 0]
    means = np.array([depth[codes == level].mean() for level in range(codes.max() + 1)])
    means = (means - means.mean()) / means.std()

    def draw(n: int, rng: np.random.Generator) -> Floats:
        size = calibration.CORRELATION
        levels = -size * means + np.sqrt(1 - size**2) * rng.standard_normal((n, len(means)))
        effect = levels[:, codes]
        effect = effect - effect.mean(axis=1, keepdims=True)
        effect /= effect.std(axis=1, keepdims=True)
        left = np.sqrt(_residual_share(shares)) * rng.standard_normal((n, len(layout)))
        return np.sqrt(0.4) * effect + np.sqrt(0.4) * effects(layout, "depth", n, rng) + left

    return Cell("validation", f"{group} with depth", 0.4, "correlated", shares, draw, layout)


def _other_residual(layout: Layout, name: str, shares: Mapping[str, float], form: str) -> Cell:
    def draw(n: int, rng: np.random.Generator) -> Floats:
        result = np.sqrt(_residual_share(shares)) * _residual(layout, form, n, rng)
        for source, share in shares.items():
            effect = effects(layout, source, n, rng)
            effect = effect - effect.mean(axis=1, keepdims=True)
            result += np.sqrt(share) * effect / effect.std(axis=1, keepdims=True)
        return result

    return Cell("validation", name, max(shares.values(), default=0.0), form, shares, draw, layout)


def _residual(layout: Layout, form: str, n: int, rng: np.random.Generator) -> Floats:
    """Return residuals of mean 0 and variance 1 on average."""
    shape = (n, len(layout))
    if form == "skewed":
        sigma = 0.8
        skewed = np.exp(sigma * rng.standard_normal(shape)) - np.exp(sigma**2 / 2)
        return skewed / np.sqrt((np.exp(sigma**2) - 1) * np.exp(sigma**2))
    if form == "Laplace":
        return rng.laplace(size=shape) / np.sqrt(2)
    scale = _columns(layout, "scale")[:, 0]
    if form == "larger for small models":
        sizes = np.exp(-0.5 * scale)
        return rng.standard_normal(shape) * sizes / np.sqrt(np.mean(sizes**2))
    # alike by size: neighbours in size within a suite go together
    apart = np.abs(scale[:, None] - scale[None, :])
    alike = (layout.suites[:, None] == layout.suites[None, :]) * 0.6 * np.exp(-apart)
    np.fill_diagonal(alike, 1.0)
    return rng.standard_normal(shape) @ np.linalg.cholesky(alike).T


def _aberrant(layout: Layout, lab: int, shares: Mapping[str, float]) -> Cell:
    left = _residual_share(shares)
    part = float(np.mean(layout.labs == lab))
    whole = {**shares, "lab": criterion.AWAY**2 * left * part * (1 - part)}
    name = f"{' = '.join(shares)}, {layout.models['lab'][layout.labs == lab].iloc[0]} aberrant"

    def draw(n: int, rng: np.random.Generator) -> Floats:
        result = np.sqrt(left) * rng.standard_normal((n, len(layout)))
        for source, share in shares.items():
            result += np.sqrt(share) * effects(layout, source, n, rng)
        result[:, layout.labs == lab] += criterion.AWAY * np.sqrt(left)
        return result

    return Cell("validation", name, max(shares.values()), "one lab aberrant", whole, draw, layout)


Measured = list[tuple[Cell, dict[str, dict[str, Floats]]]]


def measured(cells: Iterator[Cell], seed: str) -> Measured:
    """Return the statistics of papers of every cell; each has draws of its own."""
    result = []
    for cell in cells:
        key = f"{cell.world}|{cell.form}|{cell.share}".encode()
        rng = np.random.default_rng([calibration.SEEDS[seed], *key])
        gains = cell.draw(calibration.PAPERS, rng)
        result.append((cell, calibration.statistics(cell.layout.models, gains)))
    return result


def envelope(parts: Measured, statement: str, rule: str, answer: str) -> pd.DataFrame:
    """Return the largest quantiles of a statistic over worlds where an answer is false."""
    sign = ANSWERS[answer]
    false = [
        (cell, sign * values[rule][statement])
        for cell, values in parts
        if cell.truth(statement) != answer
    ]
    levels = np.array(calibration.LEVELS)
    table = np.array([np.quantile(values, 1 - levels, method="higher") for _, values in false])
    worst = table.argmax(axis=0)
    return pd.DataFrame(
        {
            "statement": statement,
            "rule": rule,
            "answer": answer,
            "level": levels,
            "quantile": sign * table.max(axis=0),
            "world": [false[place][0].world for place in worst],
            "form": [false[place][0].form for place in worst],
        }
    )


def cutoffs(quantiles: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return the cut-off by statement, rule and answer."""
    rows = quantiles[quantiles["level"] == calibration.LEVEL]
    keys = zip(rows["statement"], rows["rule"], rows["answer"], strict=True)
    return dict(zip(keys, rows["quantile"], strict=True))


def rates(parts: Measured, cuts: Mapping[tuple[str, str, str], float], family: str) -> pd.DataFrame:
    """Return how often every rule answers what in every cell."""
    rows = []
    for cell, values in parts:
        for statement, rule in product(STATEMENTS, STATISTICS):
            sizes = values[rule][statement]
            rows.append(
                {
                    "family": family,
                    "world": cell.world,
                    "share": cell.share,
                    "form": cell.form,
                    "statement": statement,
                    "truth": cell.truth(statement),
                    "rule": rule,
                    "share_yes": float((sizes > cuts[statement, rule, "yes"]).mean()),
                    "share_no": float((sizes < cuts[statement, rule, "no"]).mean()),
                    "against": None,
                    "n_papers": len(sizes),
                }
            )
    return pd.DataFrame(rows)


def bounds(layout: Layout) -> pd.DataFrame:
    """Return the power of the Neyman-Pearson test against the hardest false world."""
    names = ("lab", "named lab", "suite", "shape", "depth", "scale")
    grid = [
        dict(zip(names, (part / 10 for part in parts), strict=True))
        for parts in product(range(10), repeat=len(names))
        if sum(parts) <= 9
    ]
    models = [_normal(layout, shares) for shares in grid]
    rows = []
    for cell in curves(layout):
        for statement in STATEMENTS:
            if cell.truth(statement) != "yes":
                continue
            rng = np.random.default_rng([calibration.SEEDS["bound"], *cell.world.encode()])
            right = _normal(layout, cell.shares)
            false = [
                place
                for place, shares in enumerate(grid)
                if not World("", shares).is_true(statement)
            ]
            power = {place: _power(right, models[place], SCREENED, rng) for place in false}
            hardest = sorted(power, key=lambda place: power[place])[:HARDEST]
            drawn = {place: _power(right, models[place], DRAWN, rng) for place in hardest}
            least = min(drawn, key=lambda place: drawn[place])
            planted = {name: share for name, share in grid[least].items() if share}
            rows.append(
                {
                    "family": "curve",
                    "world": cell.world,
                    "share": cell.share,
                    "form": "sampled",
                    "statement": statement,
                    "truth": "yes",
                    "rule": "bound",
                    "share_yes": drawn[least],
                    "share_no": None,
                    "against": ", ".join(f"{name} {share:g}" for name, share in planted.items())
                    or "nothing",
                    "n_papers": DRAWN,
                }
            )
    return pd.DataFrame(rows)


Normal = tuple[Floats, Floats]


def _normal(layout: Layout, shares: Mapping[str, float]) -> Normal:
    """Return mean and covariance of papers about their own mean, in n - 1 coordinates."""
    n = len(layout)
    mean, covariance = np.zeros(n), _residual_share(shares) * np.eye(n)
    for name, share in shares.items():
        if name in SIGNED:
            mean = mean - np.sqrt(share) * _columns(layout, name)[:, 0]
        elif name == "shape":
            columns = _columns(layout, name)
            covariance = covariance + share * columns @ columns.T / columns.shape[1]
        else:
            codes = layout.labs if name == "lab" else layout.suites
            covariance = covariance + share * (codes[:, None] == codes[None, :])
    about = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]
    return about.T @ mean, about.T @ covariance @ about


def _power(right: Normal, wrong: Normal, n_draws: int, rng: np.random.Generator) -> float:
    """Return how often the likelihood ratio of two worlds exceeds its 95 % point in the false."""
    draws = [
        mean + rng.standard_normal((n_draws, len(mean))) @ np.linalg.cholesky(covariance).T
        for mean, covariance in (right, wrong)
    ]
    ratios = [_log_density(y, right) - _log_density(y, wrong) for y in draws]
    return float((ratios[0] > np.quantile(ratios[1], 1 - calibration.LEVEL)).mean())


def _log_density(y: Floats, normal: Normal) -> Floats:
    mean, covariance = normal
    root = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(root, (y - mean).T)
    return -np.log(np.diag(root)).sum() - np.square(scaled).sum(axis=0) / 2


def tables(layout: Layout, say: Callable[[str], object] = print) -> tuple[pd.DataFrame, ...]:
    """Return the tables ``calibrated_quantile`` and ``calibrated_rate``."""
    combinations = [*product(STATEMENTS, STATISTICS, ANSWERS)]
    first = measured(calibrating(layout), "calibration")
    say(f"calibrated on {len(first)} worlds")
    second = measured(validating(layout), "validation")
    say(f"validated on {len(second)} worlds")
    quantiles = {key: envelope(first, *key) for key in combinations}
    before = rates(second, cutoffs(pd.concat(quantiles.values())), "validation before")
    for statement, rule, answer in combinations:
        rows = before[(before["statement"] == statement) & (before["rule"] == rule)]
        worst = rows.loc[rows["truth"] != answer, f"share_{answer}"].max()
        if worst > calibration.MOST:
            say(f"{statement}, {rule}, {answer}: {worst:.3f} in validation; cut-off over both")
            key = (statement, rule, answer)
            quantiles[key] = envelope([*first, *second], *key)
    del first, second
    kept = pd.concat(quantiles.values(), ignore_index=True)
    cuts = cutoffs(kept)
    parts = [before]
    for family, cells in (("calibration", calibrating), ("validation", validating)):
        parts.append(rates(measured(cells(layout), "fresh"), cuts, family))
        say(f"fresh papers of {family}")
    parts.append(rates(measured(curves(layout), "curve"), cuts, "curve"))
    parts.append(bounds(layout))
    return kept, pd.concat(parts, ignore_index=True)


def main() -> int:
    """Write both tables."""
    layout = present(open_store(PUBLISHED))
    quantiles, rate_rows = tables(layout)
    for name, rows in (("calibrated_quantile", quantiles), ("calibrated_rate", rate_rows)):
        (PUBLISHED / f"{name}.csv").write_text(to_csv(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    assert TAIL == 3
    sys.exit(main())

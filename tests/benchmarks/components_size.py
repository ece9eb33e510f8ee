"""How often tests of suites and labs reject, and shares are covered: 22 models, 7 suites, 5 labs.

Run with ``python -m tests.benchmarks.components_size [SIMULATIONS [WORLD ...]]`` from the root of
the repository. The design is that of the published penultimate gains: suites of 8, 4, 4, 3, 1, 1
and 1 models; one lab has three suites, each other lab one (tests/r/components_models.csv).
Responses are normal with variances in four worlds; the seed is 14. Prints shares of p at or below
0.05 and 0.01, then shares of intervals that hold the true share of variance, with Monte-Carlo
errors. ``tests/proofs/components_size.txt`` is what 500 simulations said of the tests in the worlds
``nothing`` and ``suites``, where they have their sizes, and 100 of the other worlds and coverage.
A simulation of all worlds takes about 1.5 CPU seconds, and every world starts from the seed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.inference.resampling.freedman_lane import freedman_lane
from analysis.mixed.algebra.crossproducts import assemble
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.inference.distributions import chi_squared_quantile
from analysis.mixed.refitting.share_interval import Shares
from analysis.mixed.refitting.variance_test import (
    eigenvalues,
    intercept_block,
    likelihood_ratio,
    null_ratios,
)
from analysis.tidy.frame import Floats

MODELS = Path(__file__).parents[1] / "r" / "components_models.csv"
SHAPE = "y ~ n_layers + rho + d_head + log_parameters"
SEED, DRAWS, ORDERS = 14, 40_000, 499
BEFORE = "y ~ n_layers"

#: Variance of lab, suite and model in each world.
WORLDS = {
    "nothing": (0.0, 0.0, 1.0),
    "suites": (0.0, 0.75, 0.25),
    "labs": (0.6, 0.0, 0.4),
    "both": (0.3, 0.4, 0.3),
}


def main() -> None:
    """Simulate every world and print both tables."""
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    worlds = sys.argv[2:] or list(WORLDS)
    models = pd.read_csv(MODELS)
    print(f"22 models, 7 suites, 5 labs; {n_simulations} simulations, seed {SEED}")
    print(f"{'world':<10}{'test':<58}{'.05':>15}{'.01':>15}")
    covered = []
    for world in worlds:
        variances = WORLDS[world]
        rng = np.random.default_rng(SEED)
        made = [_answers(models, world, variances, rng) for _ in range(n_simulations)]
        for test in made[0][0]:
            p = np.array([each[0][test] for each in made])
            print(f"{world:<10}{test:<58}{_share(p <= 0.05):>15}{_share(p <= 0.01):>15}")
        covered += [
            (world, name, np.array([each[1][name] for each in made])) for name in made[0][1]
        ]
    print(f"{'world':<10}{'95 % interval of the share of':<58}{'covers':>15}")
    for world, name, is_in in covered:
        print(f"{world:<10}{name:<58}{_share(is_in):>15}")


def _answers(
    models: pd.DataFrame, world: str, variances: tuple[float, ...], rng: np.random.Generator
) -> tuple[Mapping[str, float], Mapping[str, bool]]:
    """Return p of every test that has its null or its alternative here, and what is covered."""
    lab, suite = (pd.factorize(models[name])[0] for name in ("lab", "suite"))
    deviations = np.sqrt(variances)
    y = deviations[0] * rng.standard_normal(5)[lab] + deviations[1] * rng.standard_normal(7)[suite]
    rows = models.assign(y=y + deviations[2] * rng.standard_normal(len(models)))
    both = mixed.fit(f"{SHAPE} + (1 | lab) + (1 | suite)", rows)
    tests = dict(_tests(rows, both, world, rng))
    whole = sum(variances)
    truths = {"lab": variances[0] / whole, "suite": variances[1] / whole}
    truths["suite + lab"] = truths["lab"] + truths["suite"]
    if world == "nothing":
        truths = {"suite + lab": 0.0}
    return tests, {name: _covers(both, name, truth) for name, truth in truths.items()}


def _tests(
    rows: pd.DataFrame, both: mixed.MixedModel, world: str, rng: np.random.Generator
) -> Iterator[tuple[str, float]]:
    for group in ("suite", "lab"):
        if world == "nothing":
            alone = mixed.fit(f"{SHAPE} + (1 | {group})", rows)
            yield f"{group} alone, exact ratio", _ratio_p(alone, group)
        yield f"{group} beside the other, approximate ratio", _ratio_p(both, group)
    comparisons = {
        "suites given depth": ("", "suite", None),
        "labs given depth, models exchanged": ("", "lab", None),
        "suites within labs given depth": ("lab", "suite", "lab"),
    }
    for name, (known, added, within) in comparisons.items():
        smaller = f"{BEFORE} + {known}" if known else BEFORE
        found = freedman_lane(
            rows, smaller, f"{smaller} + {added}", within=within, rng=rng, n_permutations=ORDERS
        ).iloc[0]
        yield f"{name}, F", float(found["p_value_f"])
        yield f"{name}, Freedman and Lane", float(found["p_value"])


_KNOWN: dict[str, Floats] = {}


def _ratio_p(model: mixed.MixedModel, group: str) -> float:
    """Return p of the ratio; its null distribution depends on the design alone, drawn once."""
    if group not in _KNOWN:
        tested = replace(model.design, blocks=(intercept_block(model, group),))
        alone = assemble(model.statistics, tested)
        generator = np.random.default_rng(SEED)
        df = alone.n_obs - alone.n_fixed
        _KNOWN[group] = null_ratios(eigenvalues(alone), df, generator, DRAWS)
    return float((_KNOWN[group] >= likelihood_ratio(model, group) - 1e-8).mean())


def _covers(model: mixed.MixedModel, name: str, truth: float) -> bool:
    groups = [block.group for block in model.design.blocks]
    held = tuple(groups.index(group) for group in name.split(" + "))
    least = profile(model.cross, model.found.theta, reml=True).criterion
    away = Shares(model.cross, held, 1.0).deviance(truth) - least
    return bool(away <= chi_squared_quantile(0.95, 1))


def _share(hits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    share = float(np.mean(hits))
    return f"{share:.3f} ({np.sqrt(share * (1 - share) / len(hits)):.3f})"


if __name__ == "__main__":
    main()

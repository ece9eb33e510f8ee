"""How often each method rejects when nothing is there: 24 models of 7 labs, as in the paper.

``python -m tests.benchmarks.inference_size [SIMULATIONS]`` prints shares of p at or below 0.05 and
0.01, models independent (sd 0.25) or those of a lab alike (sd of labs 0.30 besides). Equivalence is
tested with the true effect on the bound.
"""

from __future__ import annotations

import sys
import time
from functools import cache

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.association import correlation, regression
from analysis.inference.counts import fisher
from analysis.inference.effects import equivalence, multiplicity
from analysis.inference.resampling import permutation

MODELS_PER_LAB = (6, 5, 4, 3, 2, 2, 2)
HERITAGE = (1, 1, 0, 1, 0, 0, 0)
SEED = 20
BOUND = 0.4
WORLDS = {"independent": 0.0, "labs alike": 0.30}


def main() -> None:
    """Simulate both worlds and print the table."""
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    start = time.perf_counter()
    found = {
        world: p_values(lab_deviation, n_simulations, n_simulations // 4)
        for world, lab_deviation in WORLDS.items()
    }
    print(f"24 models, 7 labs; seed {SEED}; {n_simulations} simulations per world")
    print(f"{'':<44}{'':>5}" + "".join(f"{world:^28}" for world in WORLDS))
    print(f"{'method':<44}{'n':>5}" + f"{'size .05':>14}{'size .01':>14}" * len(WORLDS))
    for name, values in found["independent"].items():
        cells = [share(found[world][name], level) for world in WORLDS for level in (0.05, 0.01)]
        print(f"{name:<44}{len(values):>5}" + "".join(f"{cell:>14}" for cell in cells))
    print(f"{time.perf_counter() - start:.0f} s")


def models() -> pd.DataFrame:
    """Return one row per model: lab, heritage and a density with no effect."""
    rng = np.random.default_rng(SEED)
    lab = np.repeat(np.arange(len(MODELS_PER_LAB)), MODELS_PER_LAB)
    return pd.DataFrame(
        {
            "model": [f"m{code:02d}" for code in range(len(lab))],
            "lab": [f"lab{code}" for code in lab],
            "heritage": np.array(HERITAGE)[lab],
            "density": rng.uniform(0.1, 0.6, len(lab)),
        }
    )


def response(rows: pd.DataFrame, lab_deviation: float, rng: np.random.Generator) -> np.ndarray:
    """Return a response without any effect."""
    labs = rng.normal(0, lab_deviation, rows["lab"].nunique()) if lab_deviation else np.zeros(7)
    return labs[pd.factorize(rows["lab"])[0]] + rng.normal(0, 0.25, len(rows))


def p_values(lab_deviation: float, n_simulations: int, n_slow: int) -> dict[str, list[float]]:
    """Return the p-values of every method under no effect."""
    rng = np.random.default_rng(SEED)
    rows = models()
    found: dict[str, list[float]] = {}
    for simulation in range(n_simulations):
        drawn = rows.assign(y=response(rows, lab_deviation, rng))
        tests = of_models(drawn) | of_labs(drawn) | of_families(rng)
        if simulation < n_slow:
            tests |= resampled(drawn, rng)
        for name, p_value in tests.items():
            found.setdefault(name, []).append(p_value)
    return found


def of_models(drawn: pd.DataFrame) -> dict[str, float]:
    """Return the p-values of methods that take models as independent."""
    high = drawn["y"] > 0
    counts = tuple(int(high[drawn["heritage"] == code].sum()) for code in (0, 1))
    return {
        "t test": t_test(drawn),
        "Pearson correlation, t": _p(correlation.correlate(drawn, x="density", y="y")),
        "above zero: Fisher": of_table(counts),
    }


def t_test(drawn: pd.DataFrame) -> float:
    """Return the p-value of the t test of two groups of models."""
    groups = [drawn.loc[drawn["heritage"] == code, "y"] for code in (0, 1)]
    return float(stats.ttest_ind(*groups).pvalue)


@cache
def of_table(counts: tuple[int, int]) -> float:
    """Return Fisher's p of a 2x2 table: above zero by heritage."""
    sizes = models()["heritage"].value_counts().sort_index().tolist()
    if sum(counts) in (0, sum(sizes)):
        return 1.0  # One outcome only: nothing can be tested.
    cells = [[count, size - count] for count, size in zip(counts, sizes, strict=True)]
    return _p(fisher.fisher_exact(pd.DataFrame(cells)))


def of_labs(drawn: pd.DataFrame) -> dict[str, float]:
    """Return the p-values of methods that know the labs."""
    tidy = regression.fit(drawn, "y ~ heritage + density", cluster="lab").tidy()
    by_term = tidy.set_index("term")["p_value"]
    p_values = {f"{term}: CR2 by lab": float(by_term[term]) for term in ("heritage", "density")}
    moved = tidy.assign(estimate=tidy["estimate"] + BOUND * (tidy["term"] == "heritage"))
    tested = equivalence.estimates(moved, low=-BOUND, high=BOUND).set_index("term")
    p_values["equivalence of heritage, CR2 by lab"] = float(tested.loc["heritage", "p_value"])
    return p_values


def of_families(rng: np.random.Generator) -> dict[str, float]:
    """Return the smallest adjusted p of eight independent tests: one family per simulation."""
    tests = pd.DataFrame({"family": "laws", "p_value": rng.random(8)})
    return {
        f"any of 8 tests, {method}": float(
            multiplicity.adjust(tests, family="family", method=method)["p_adjusted"].min()
        )
        for method in multiplicity.METHODS
    }


def resampled(drawn: pd.DataFrame, rng: np.random.Generator) -> dict[str, float]:
    """Return the p-values of methods that resample."""
    return {
        "heritage: permutation of labs (35)": _p(permuted(drawn, "lab")),
        "heritage: permutation of models (199)": _p(permuted(drawn, "model", rng, 199)),
    }


def permuted(
    drawn: pd.DataFrame,
    unit: str,
    rng: np.random.Generator | None = None,
    n_permutations: int = 199,
) -> pd.DataFrame:
    """Return the permutation test of heritage, exchanged between labs or between models."""
    return permutation.permutation_test(
        drawn, mean_difference, label="heritage", unit=unit, rng=rng, n_permutations=n_permutations
    )


def mean_difference(rows: pd.DataFrame) -> float:
    """Return the mean response with heritage less that without."""
    marked = rows["heritage"].to_numpy() == 1
    values = rows["y"].to_numpy()
    return float(values[marked].mean() - values[~marked].mean())


def share(values: list[float], level: float) -> str:
    """Return the share at or below a level with its Monte-Carlo standard error."""
    rejected = float(np.mean(np.array(values) <= level))
    error = np.sqrt(rejected * (1 - rejected) / len(values))
    return f"{rejected:.3f} ({error:.3f})"


def _p(result: pd.DataFrame) -> float:
    return float(result["p_value"].iloc[0])


if __name__ == "__main__":
    main()

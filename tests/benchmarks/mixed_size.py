"""How often each test rejects: size under no effect, power under an effect, 7 labs, 24 models.

Run with ``python tests/benchmarks/mixed_size.py [SIMULATIONS [PERMUTED]]`` from the root of the
repository. Responses of 100,000 rows are drawn as cell sums, exactly; the seed is 5. Prints one
table: shares of p below 0.05 and 0.01 with their Monte-Carlo standard errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from cells import draw_statistics
from mixed_rows import rows

from analysis import mixed
from analysis.mixed.model import MixedModel
from analysis.mixed.reading.statistics import Statistics
from analysis.mixed.refitting.permutation import permutation_test
from analysis.mixed.refitting.robust import cluster_robust, wild_cluster_bootstrap

FIXED = "y ~ heritage + rho + scale + depth"
WITH_LAB = FIXED + " + (1 | lab) + (1 | model) + (1 | prompt)"
WITHOUT_LAB = FIXED + " + (1 | model) + (1 | prompt)"
MAXIMAL = FIXED + " + (1 | lab) + (1 + depth | model) + (1 | prompt)"

N_ROWS = 100_000
SEED = 5
LAB_EFFECT = 0.6  # two standard deviations among labs


def main() -> None:
    """Simulate both hypotheses and print the table."""
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    n_permuted = int(sys.argv[2]) if len(sys.argv) > 2 else n_simulations
    statistics = _design()
    print(f"{N_ROWS} rows, 24 models, 7 labs; seed {SEED}")
    print(f"{'test':<36}{'n':>6}{'size .05':>16}{'size .01':>16}{'power .05':>16}")
    start = time.perf_counter()
    null = _p_values(statistics, 0.0, n_simulations, n_permuted)
    alternative = _p_values(statistics, LAB_EFFECT, n_simulations, n_permuted)
    for name, found in null.items():
        cells = [_share(found, 0.05), _share(found, 0.01)]
        # The effect of depth is null in both.
        cells.append("" if name.startswith("depth") else _share(alternative[name], 0.05))
        print(f"{name:<36}{len(found):>6}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"{time.perf_counter() - start:.0f} s")


def _design() -> Statistics:
    """Return the cells of the made rows; their response is replaced by each simulation."""
    none = {"lab": np.zeros(7), "model": np.zeros(24), "prompt": np.zeros(25)}
    made = rows(N_ROWS, np.random.default_rng(SEED), none | {"slope": np.zeros(24)})
    return mixed.collect_statistics(MAXIMAL, made)


def _simulated(statistics: Statistics, lab_effect: float, rng: np.random.Generator) -> Statistics:
    known, codes = statistics.constants, statistics.factors
    part = np.zeros((len(statistics.basis), len(statistics.counts)))
    part[0] = 0.5 + lab_effect * known["heritage"] + 0.3 * known["rho"] + 0.1 * known["scale"]
    for name, deviation in (("lab", 0.30), ("model", 0.25), ("prompt", 0.20)):
        part[0] += rng.normal(0, deviation, len(codes[name].levels))[codes[name].codes]
    part[1] = rng.normal(0, 0.15, 24)[codes["model"].codes]
    return draw_statistics(statistics, part, 0.5, rng)


def _p_values(
    statistics: Statistics, lab_effect: float, n_simulations: int, n_permuted: int
) -> dict[str, list[float]]:
    rng = np.random.default_rng(SEED)
    found: dict[str, list[float]] = {}
    for simulation in range(n_simulations):
        drawn = _simulated(statistics, lab_effect, rng)
        for name, p_value in _tests(drawn, permuted=simulation < n_permuted).items():
            found.setdefault(name, []).append(p_value)
    return found


def _tests(drawn: Statistics, *, permuted: bool) -> dict[str, float]:
    """Return the p-value of every test of the lab-level effect, and of depth."""
    with_lab = mixed.fit_statistics(WITH_LAB, drawn)
    without_lab = mixed.fit_statistics(WITHOUT_LAB, drawn)
    maximal = mixed.fit_statistics(MAXIMAL, drawn)

    def of(model: MixedModel, term: str, df: str) -> float:
        contrast = np.eye(len(model.terms))[[model.terms.index(term)]]
        return float(model.inference.tests(contrast, df).p_values[0])

    def clustered(covariance: str) -> float:
        frame = cluster_robust(with_lab, "lab", covariance=covariance)
        return float(frame.set_index("term").loc["heritage", "p_value"])

    wild: Callable[[], float] = lambda: float(  # noqa: E731 - one line of a table of tests
        wild_cluster_bootstrap(with_lab, "heritage", "lab")["p_value"].iloc[0]
    )
    found = {
        "no (1|lab), Wald z": of(without_lab, "heritage", "wald"),
        "no (1|lab), Kenward-Roger": of(without_lab, "heritage", "kenward-roger"),
        "Wald z": of(with_lab, "heritage", "wald"),
        "Satterthwaite": of(with_lab, "heritage", "satterthwaite"),
        "Kenward-Roger": of(with_lab, "heritage", "kenward-roger"),
        "least squares, CR1 t(G - 1)": clustered("CR1"),
        "least squares, CR2 Satterthwaite": clustered("CR2"),
        "least squares, CR3 t(G - 1)": clustered("CR3"),
        "wild cluster bootstrap, 2^7": wild(),
        "depth: intercepts only, KR": of(with_lab, "depth", "kenward-roger"),
        "depth: slopes by model, Satt.": of(maximal, "depth", "satterthwaite"),
        "depth: slopes by model, KR": of(maximal, "depth", "kenward-roger"),
    }
    if permuted:
        frame = permutation_test(with_lab, "heritage", "heritage", "lab")
        found["exact permutation of labs (35)"] = float(frame["p_value"].iloc[0])
    return found


def _share(p_values: list[float], level: float) -> str:
    share = float(np.mean(np.array(p_values) <= level))
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / len(p_values)):.3f}"


if __name__ == "__main__":
    main()

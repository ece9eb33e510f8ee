"""How often dominance ranks blocks when the response is noise, at the published design.

Run with ``python tests/benchmarks/ranking_size.py [SIMULATIONS]`` from the root of the repository.
The seed is 1. Noise is independent between models, or shared by the models of a suite with the
deviations 0.09 between suites and 0.06 within; shared noise is in part the lab's, so that a ranking
of the lab is then no error. Prints the share of data sets in which any of six pairs is ranked.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

from analysis.heritage.hierarchy import partition_tables as partition_exhibits
from analysis.inference.partition import dominance
from analysis.inference.partition.subsets import all_subsets
from analysis.store import open_store

N_RESAMPLES = 199
NOISE = {"independent": (0.0, 1.0), "shared by suites": (0.09, 0.06)}


def main() -> None:
    """Simulate and print the table."""
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    models = partition_exhibits.base_models(open_store("data/published", "data/sample"))
    print(f"{n_simulations} simulations, {N_RESAMPLES} resamples")
    print(f"{'noise':<20}{'resampled':<12}{'general':>10}{'complete':>10}{'not net of chance':>20}")
    start = time.perf_counter()
    for name, (between, within) in NOISE.items():
        for cluster in ("lab", "suite"):
            shares = _ranked(models, between, within, cluster, n_simulations)
            print(f"{name:<20}{cluster:<12}{shares[0]:>10.3f}{shares[1]:>10.3f}{shares[2]:>20.3f}")
    print(f"{time.perf_counter() - start:.0f} s")


def _ranked(
    models: pd.DataFrame, between: float, within: float, cluster: str, n_simulations: int
) -> list[float]:
    """Return how often any pair is ranked: generally, completely, generally without chance."""
    rng = np.random.default_rng(1)
    suites = pd.factorize(models["suite"])[0]
    blocks = {name: partition_exhibits.BLOCKS[name] for name in partition_exhibits.SEPARATE}
    found = []
    for _ in range(n_simulations):
        shared = rng.standard_normal(suites.max() + 1)[suites]
        noise = between * shared + within * rng.standard_normal(len(models))
        subsets = all_subsets(
            models.assign(log_gain=noise),
            response="log_gain",
            blocks=blocks,
            cluster=cluster,
            n_resamples=N_RESAMPLES,
            rng=rng,
        )
        net, raw = dominance.pairs(subsets), dominance.pairs(subsets, net_of_chance=False)
        found.append([_any(net, "general"), _any(net, "complete"), _any(raw, "general")])
    return np.mean(found, axis=0).tolist()


def _any(pairs: pd.DataFrame, kind: str) -> bool:
    return bool(pairs.loc[pairs["term"] == kind, "holds"].notna().any())


if __name__ == "__main__":
    main()

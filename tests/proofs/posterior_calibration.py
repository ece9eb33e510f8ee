"""Simulation-based calibration of the Bayesian hierarchy at the published design.

Run as ``python -m tests.proofs.posterior_calibration --draws 2000``: truths are drawn from each of
the three priors, gains of the 22 models from these, and the posterior's place of every truth must
be uniform. Ends with 1 when a Kolmogorov test, Bonferroni over all, rejects at 0.001.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.heritage.robustness import definitions
from analysis.heritage.robustness import priors as beliefs
from analysis.inference.posterior import hierarchy
from analysis.store import open_store
from tests.proofs import calibration

PUBLISHED = Path(__file__).parents[2] / "data/published"


def main() -> int:
    """Print one line per prior and quantity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    gains = definitions.gains(open_store(PUBLISHED))
    models = gains[gains["metric"] == "gain_penultimate_block"]
    rng = np.random.default_rng(20261122)
    parts = []
    for width in beliefs.WIDTHS:
        nodes = hierarchy.quadrature(beliefs.design(models), hierarchy.Prior(width), rng=rng)
        found = calibration.places(nodes, rng=rng, n_draws=draws)
        parts.append(calibration.uniformity(found).assign(prior_scale=width))
    every = pd.concat(parts, ignore_index=True)
    print(every.to_string(index=False))
    return int((every["p_value"] * len(every)).min() < 0.001)


if __name__ == "__main__":
    sys.exit(main())

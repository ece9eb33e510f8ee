"""How often the tests of position reject where suites are alike.

Run as ``python -m tests.benchmarks.position_size``; `--draws` sets of rows are drawn at the
published design (22 models of 7 suites), about 0.3 CPU seconds each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from analysis.heritage.robustness import null
from analysis.heritage.robustness.blocks import CUTS, published_blocks
from analysis.store import open_store

PUBLISHED = Path(__file__).parents[2] / "data/published"


def main() -> None:
    """Print one line per part of depth, method and level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--cut", choices=list(CUTS), default="quarter")
    options = parser.parse_args()
    blocks = published_blocks(open_store(PUBLISHED))
    rng = np.random.default_rng(20261122)
    found = null.sizes(blocks, rng=rng, n_draws=options.draws, cut=options.cut)
    print(found.to_string(index=False))


if __name__ == "__main__":
    main()

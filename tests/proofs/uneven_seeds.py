"""Whether the shares of the study keep their intervals where the seed moves some cells most.

``python -m tests.proofs.uneven_seeds 400`` draws tables from the fitted cells, the errors of the
cells that the seed moves most as large as those found and all others alike, and counts how often
each joint interval holds the share that the table was drawn with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from analysis.heritage.study import registered, shares
from analysis.store import open_store
from analysis.tidy.frame import Floats

ROOT = Path(__file__).parents[2]
SEED = 20261123


def deviations(values: Floats) -> Floats:
    """Return the standard deviation of every cell: two levels, that of the noisiest apart."""
    own = values.var(axis=2, ddof=1)
    is_noisy = own >= np.sort(own, axis=None)[-shares.NAMED]
    levels = np.where(is_noisy, own[is_noisy].mean(), own[~is_noisy].mean())
    return np.asarray(np.sqrt(levels))


def fitted(values: Floats, found: list[shares.Source]) -> Floats:
    """Return the mean of every cell, each source shrunk to its estimated variance."""
    error = found[-1].sum_of_squares / found[-1].df
    kept = [max(0.0, 1 - one.df * error / one.sum_of_squares) ** 0.5 for one in found[:-1]]
    parts = [factor * one.effects for factor, one in zip(kept, found[:-1], strict=True)]
    return np.asarray(values.mean() + sum(parts))


def coverage(values: Floats, deviation: Floats, n_draws: int) -> dict[str, float]:
    """Return how often the joint interval of each source holds its share."""
    found = shares.sources(values, "recipe", shares.GEOMETRY)
    cells, rng = fitted(values, found), np.random.default_rng(SEED)
    exact = shares.sources(
        np.repeat(cells[:, :, None], values.shape[2], 2), "recipe", shares.GEOMETRY
    )
    variances = np.array(
        [one.sum_of_squares / values.size for one in exact[:-1]] + [(deviation**2).mean()]
    )
    truth, held = variances / variances.sum(), np.zeros(len(found))
    for _ in range(n_draws):
        table = cells[:, :, None] + deviation[:, :, None] * rng.normal(size=values.shape)
        drawn = shares.sources(table, "recipe", shares.GEOMETRY)
        ends = shares.joint_intervals(drawn, values.size, 0.95)
        held += [low <= share <= high for share, (low, high) in zip(truth, ends, strict=True)]
    return dict(zip([one.name for one in found], held / n_draws, strict=True))


def main(n_draws: int) -> None:
    """Print the coverage under errors as found and under errors that are alike."""
    runs = registered.documented(open_store(ROOT / "data/fleet"), "equal steps")
    values, _ = shares.cell_table(runs, "excess", "recipe", "geometry", registered.SHAPES)
    uneven = deviations(values)
    alike = np.full_like(uneven, np.sqrt((uneven**2).mean()))
    print(f"{n_draws} tables each, seed {SEED}, joint intervals at 95 %")
    for name, deviation in (("as found", uneven), ("alike", alike)):
        held = coverage(values, deviation, n_draws)
        said = ", ".join(f"{source} {share:.3f}" for source, share in held.items())
        print(f"errors {name}: {said}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)

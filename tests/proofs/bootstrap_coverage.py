"""How often the bootstrap's 95 % intervals hold the truth, by number and shape of clusters.

``python -m tests.proofs.bootstrap_coverage 2000`` draws as many data sets of each kind and writes
a dated table beside this file. The statistic is the mean over rows; clusters have three to five
rows. The first data sets of each kind also go through `bootstrap.bootstrap` itself, whose ends must
be the same. Student's t of the clusters' means stands beside, which knows that clusters are few.
"""

from __future__ import annotations

import datetime
import itertools
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.resampling import bootstrap
from analysis.tidy.frame import Floats, Integers

#: Resamples of each data set.
RESAMPLES = 999

#: Data sets of each kind that go through the whole function.
WHOLE = 5

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1,
}


def data_set(n_clusters: int, shape: str, rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Return the sum and the number of rows of every cluster; the true mean is 0."""
    counts = rng.integers(3, 6, n_clusters)
    effects = SHAPES[shape](rng, n_clusters)
    noise = [SHAPES[shape](rng, n).sum() for n in counts]
    return effects * counts + np.array(noise), counts


def intervals(sums: Floats, counts: Integers, seed: int) -> dict[str, tuple[float, float]]:
    """Return the ends of each method."""
    estimate = float(sums.sum() / counts.sum())
    chosen = bootstrap.draws(len(sums), RESAMPLES, np.random.default_rng(seed))
    replicates = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    low, high, _ = bootstrap.bca_interval(estimate, replicates, left_out, conf_level=0.95)
    means = sums / counts
    student = stats.t.interval(0.95, len(sums) - 1, means.mean(), stats.sem(means))
    return {
        "percentile": bootstrap.interval(replicates, 0.95),
        "BCa": (low, high),
        "Student's t": (float(student[0]), float(student[1])),
    }


def require_same(sums: Floats, counts: Integers, seed: int) -> None:
    """Raise unless the whole function gives the same ends."""
    cluster = np.repeat(np.arange(len(sums)), counts)
    frame = pd.DataFrame({"cluster": cluster, "y": (sums / counts)[cluster]})
    rng = np.random.default_rng(seed)
    row = bootstrap.bootstrap(
        frame, lambda d: d["y"].mean(), cluster="cluster", n=RESAMPLES, rng=rng
    ).iloc[0]
    ours = intervals(sums, counts, seed)
    np.testing.assert_allclose(row[["conf_low", "conf_high"]].astype(float), ours["percentile"])
    np.testing.assert_allclose(row[["bca_low", "bca_high"]].astype(float), ours["BCa"])


def coverage(n_data_sets: int, seed: int = 20261128) -> pd.DataFrame:
    """Return the share of data sets whose interval holds the truth, and the mean width."""
    rng = np.random.default_rng(seed)
    rows = []
    for n_clusters, shape in itertools.product((5, 10, 25), SHAPES):
        ends: dict[str, list[tuple[float, float]]] = {}
        for number in range(n_data_sets):
            sums, counts = data_set(n_clusters, shape, rng)
            if number < WHOLE:
                require_same(sums, counts, number)
            for method, each in intervals(sums, counts, number).items():
                ends.setdefault(method, []).append(each)
        for method, pairs in ends.items():
            low, high = np.array(pairs).T
            held = float(((low <= 0) & (high >= 0)).mean())
            rows.append(
                {
                    "clusters": n_clusters,
                    "shape": shape,
                    "method": method,
                    "coverage": held,
                    "error": np.sqrt(held * (1 - held) / n_data_sets),
                    "too low": float((high < 0).mean()),
                    "too high": float((low > 0).mean()),
                    "width": float(np.nanmean(high - low)),
                    "none": int(np.isnan(low).sum()),
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Write the dated table."""
    n_data_sets = int(sys.argv[1])
    begun = time.process_time()
    table = coverage(n_data_sets).round(4)
    day = datetime.datetime.now(tz=datetime.UTC).date()
    text = (
        f"{n_data_sets} data sets of each kind, {RESAMPLES} resamples, nominal 0.95; "
        f"{time.process_time() - begun:.0f} CPU s\n\n{table.to_string(index=False)}\n"
    )
    Path(__file__).with_name(f"bootstrap_coverage_{day}.txt").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

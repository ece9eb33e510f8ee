"""Bootstrap: resample whole clusters, because rows of one cluster are not independent.

Davison and Hinkley (1997), Bootstrap Methods and their Application, chapters 2, 3 and 5.

>>> import numpy as np
>>> from analysis.inference import bootstrap
>>> means_of_labs, rng = np.array([0.2, 0.5, 0.1, 0.4]), np.random.default_rng(1)
>>> replicates = means_of_labs[bootstrap.draws(4, 99, rng)].mean(axis=1)
>>> [round(end, 3) for end in bootstrap.interval(replicates, 0.95)]
[0.175, 0.475]
"""

from __future__ import annotations

import numpy as np

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import FEW_GROUPS, Floats, Integers, generator, require_count

#: Rounding of the number of draws that an interval needs.
ROUNDING = 1e-12


def draws(n_clusters: int, n_resamples: int, rng: np.random.Generator) -> Integers:
    """Return the clusters drawn in every resample, shape (n_resamples, n_clusters)."""
    require_count("n_resamples", n_resamples)
    rng = generator(rng, "clusters are drawn")
    return np.asarray(rng.integers(n_clusters, size=(n_resamples, n_clusters)), dtype=np.intp)


def interval(replicates: Floats, conf_level: float) -> tuple[float, float]:
    """Return the percentile interval that replicates imply; NaN replicates are left out.

    The quantile at probability p is the (B + 1)p-th order statistic, interpolated.

    Parameters
    ----------
    replicates
        Statistic on every resample, shape (B,).
    conf_level
        Nominal coverage.

    Raises
    ------
    DesignError
        If too few replicates are finite for the level.
    """
    usable = replicates[np.isfinite(replicates)]
    alpha = (1 - conf_level) / 2
    if (len(usable) + 1) * alpha < 1 - ROUNDING:
        raise DesignError(
            f"A {conf_level:g} interval needs at least {int(np.ceil(1 / alpha - 1e-9)) - 1} "
            f"resamples; {len(usable)} of {len(replicates)} succeeded.",
            "Draw more resamples, or ask for a lower level.",
        )
    low, high = np.quantile(usable, [alpha, 1 - alpha], method="weibull")
    return float(low), float(high)


def interval_note(n_groups: int, estimate: float, low: float, high: float) -> str:
    """Return what a reader must know of a bootstrap interval, empty when nothing."""
    notes = []
    if n_groups < FEW_GROUPS:
        notes.append(f"Only {n_groups} clusters: the interval is likely too narrow.")
    if not low <= estimate <= high:
        notes.append("The estimate lies outside its interval: resamples bias the statistic.")
    if low == high:
        notes.append("The interval has no width and says nothing: the resamples agree.")
    return " ".join(notes)

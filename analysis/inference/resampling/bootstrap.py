"""Bootstrap: resample whole clusters, because rows of one cluster are not independent.

Davison and Hinkley (1997), Bootstrap Methods and their Application, chapters 2, 3 and 5.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import bootstrap
>>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
>>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
>>> table = bootstrap.cluster_bootstrap(
...     frame, lambda rows: rows["y"].mean(), cluster="g",
...     rng=np.random.default_rng(1), n_resamples=99
... )
>>> round(table["estimate"].item(), 2)
3.53
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import (
    FEW_GROUPS,
    Floats,
    Integers,
    generator,
    group_codes,
    require_columns,
    require_conf_level,
    require_count,
    rows_by_group,
)

Statistic = Callable[[pd.DataFrame], float]

#: Rounding of the number of draws that an interval needs.
ROUNDING = 1e-12


def cluster_bootstrap(
    frame: pd.DataFrame,
    statistic: Statistic,
    *,
    cluster: str | None,
    rng: np.random.Generator,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return a statistic with an interval from resampling clusters with replacement.

    A resample holds as many clusters as the frame. A cluster drawn twice counts as two: in a
    resample the `cluster` column is categorical with one level per draw.
    A resample on which the statistic raises ValueError, KeyError (it lacks a level) or
    ZeroDivisionError, or is not finite, is counted in `n_failed` and left out.

    Parameters
    ----------
    frame
        One row per observation.
    statistic
        Takes a frame with the columns of `frame`, returns one number.
    cluster
        Column naming the independent units; None when each row is one.
    rng
        Source of the draws.
    n_resamples
        Resamples to draw.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row: `estimate` on the frame itself, `std_error` (standard deviation of the
    replicates), the interval, `n_obs`, `n_groups`, `n_resamples`, `n_failed`, `note`.

    Raises
    ------
    ColumnError
        If a named column, or one that the statistic reads, is absent or has missing values, or the
        statistic is not one number.
    DesignError
        If there are fewer than two clusters, the statistic is not finite on the frame, or too few
        resamples succeed for the level asked.
    """
    require_conf_level(conf_level)
    clusters = group_codes(frame, cluster)
    rows_of = rows_by_group(clusters)
    estimate = observed(statistic, frame)
    if not np.isfinite(estimate):
        raise DesignError(
            f"The statistic must be finite on the frame itself; it is {estimate!r}.",
            "Check the frame for the case the statistic cannot handle.",
        )

    def replicate(draw: Integers) -> float:
        resample = frame.take(np.concatenate([rows_of[code] for code in draw]))
        resample.index = pd.RangeIndex(len(resample))
        if cluster is not None:
            copies = np.repeat(np.arange(len(draw)), [len(rows_of[code]) for code in draw])
            resample[cluster] = pd.Categorical.from_codes(copies, categories=draw_names)
        return _attempt(statistic, resample)

    draw_names = pd.Index([f"draw {number}" for number in range(len(rows_of))])

    replicates = np.array([replicate(draw) for draw in draws(len(rows_of), n_resamples, rng)])
    low, high = interval(replicates, conf_level)
    result = pd.DataFrame(
        {
            "term": [name_of(statistic)],
            "estimate": [estimate],
            "std_error": [float(np.nanstd(replicates, ddof=1))],
            "conf_low": [low],
            "conf_high": [high],
            "conf_level": [conf_level],
            "n_obs": [len(frame)],
            "n_groups": [len(rows_of)],
            "n_resamples": [n_resamples],
            "n_failed": [int(np.isnan(replicates).sum())],
            "method": ["Cluster bootstrap, percentile interval"],
            "note": [interval_note(len(rows_of), estimate, low, high, replicates)],
        }
    )
    glossary.checked(result.columns)
    return result


def name_of(statistic: Statistic) -> str:
    """Return the name of a statistic, for the term column."""
    name = str(getattr(statistic, "__name__", "statistic"))
    return name if name.isidentifier() else "statistic"


def observed(statistic: Statistic, frame: pd.DataFrame) -> float:
    """Return the statistic on the frame itself.

    Raises
    ------
    ColumnError
        If the statistic reads a column that is absent or has missing values, which most would pass
        over without a word, or if it is not one number.
    """
    value = _number(statistic, frame)
    for name in frame.columns[frame.isna().any()]:
        if _attempt(statistic, frame.drop(columns=name)) != value:
            missing = int(frame[name].isna().sum())
            raise ColumnError(
                f"Column {name!r}, which the statistic reads, has missing values in {missing} of "
                f"{len(frame)} rows.",
                f"Drop them first: frame.dropna(subset=[{name!r}]).",
            )
    return value


def _number(statistic: Statistic, frame: pd.DataFrame) -> float:
    try:
        return float(statistic(frame))
    except AnalysisError:
        raise
    except Exception as error:  # a statistic is code, and may raise what it likes
        if isinstance(error, KeyError) and isinstance(error.args[0], str):
            require_columns(frame, error.args)
        raise ColumnError(
            f"The statistic fails on the data: {type(error).__name__}: {error}.",
            "Check the columns that it reads, and that it returns one number.",
        ) from error


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


def interval_note(
    n_groups: int, estimate: float, low: float, high: float, replicates: Floats | None = None
) -> str:
    """Return what a reader must know of a bootstrap interval, empty when nothing."""
    notes = []
    if n_groups < FEW_GROUPS:
        notes.append(f"Only {n_groups} clusters: the interval is likely too narrow.")
    if not low <= estimate <= high:
        notes.append("The estimate lies outside its interval: resamples bias the statistic.")
    if low == high:
        notes.append("The interval has no width and says nothing: the resamples agree.")
    elif replicates is not None and (low == np.nanmin(replicates) or high == np.nanmax(replicates)):
        notes.append("An end is the most extreme resample: what lies beyond is not known.")
    return " ".join(notes)


def _attempt(statistic: Statistic, frame: pd.DataFrame) -> float:
    """Return the statistic, or NaN where it cannot be computed."""
    try:
        value = float(statistic(frame))
    except (ValueError, KeyError, ZeroDivisionError):
        return float("nan")
    return value if np.isfinite(value) else float("nan")

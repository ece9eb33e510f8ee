"""Bootstrap: resample whole clusters, because rows of one cluster are not independent.

`bootstrap` takes a frame and any statistic of a frame. `scipy.stats.bootstrap` takes arrays and
draws their entries one by one: no frame, and no cluster.

Davison and Hinkley (1997), Bootstrap Methods and their Application, chapters 2, 3 and 5.

>>> import numpy as np
>>> from analysis.inference import bootstrap
>>> means_of_labs, rng = np.array([0.2, 0.5, 0.1, 0.4]), np.random.default_rng(1)
>>> replicates = means_of_labs[bootstrap.draws(4, 99, rng)].mean(axis=1)
>>> [round(end, 3) for end in bootstrap.interval(replicates, 0.95)]
[0.175, 0.475]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

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
    seed_of,
)
from analysis.tidy.progress import progress

#: Rounding of the number of draws that an interval needs.
ROUNDING = 1e-12

#: Replicates nearer to the estimate than this share of its size or of their range equal it.
TIE = 1e-10

#: Least and largest coverage of the 95 % intervals, percentile and BCa, of means of normal and
#: skewed data, by number of clusters (`tests/proofs/README.md`), and from how many on no
#: note is due: there it was .92 and .93.
COVERAGE = {5: (0.80, 0.84), 10: (0.87, 0.90)}
MANY_CLUSTERS = 25

#: What a statistic may return: a number, numbers, named numbers, or a tidy frame.
Value = float | Sequence[float] | Floats | Mapping[str, float] | pd.Series | pd.DataFrame
Statistic = Callable[[pd.DataFrame], Value]

#: Column of a resample: which of the clusters drawn a row belongs to, from zero.
DRAWN = "drawn_cluster"

#: What a resample may make a statistic raise: its value is then missing.
FAILURES = (AnalysisError, np.linalg.LinAlgError, ZeroDivisionError)


def bootstrap(
    frame: pd.DataFrame,
    statistic: Statistic,
    *,
    cluster: str | None = None,
    n: int = 1999,
    rng: np.random.Generator | None = None,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return estimate, standard error and two intervals of every component of a statistic.

    Whole clusters are drawn with replacement, as many as there are. The bias-corrected and
    accelerated interval (Efron 1987, J. Am. Stat. Assoc. 82, 171) takes its acceleration from
    leaving out one cluster at a time. Both are too narrow where clusters are few: of 5, 10 and 25
    the percentile interval of a mean held .84, .90 and .93 of normal data, the BCa one .81, .88 and
    .93 of skewed data (`tests/proofs/README.md`, nominal .95). As `rsample` does in R, of
    groups; `scipy.stats.bootstrap` knows neither frames nor clusters.

    Parameters
    ----------
    frame
        The rows; the statistic is given the same columns and `drawn_cluster`: a cluster that is
        drawn twice has its own label twice, and two numbers there.
    statistic
        Takes a frame and returns a number, several, named numbers, or a frame with `term` and
        `estimate`. It may fail on a resample, by `AnalysisError`, an exactly singular matrix,
        a division by zero or a missing value; not on the frame itself.
    cluster
        Column that names the clusters; without it every row is one.
    n
        Resamples.
    rng
        Source of the draws; a generator with the seed `analysis.tidy.frame.SEED` when None.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per component: `term`, `estimate`, `std_error` (standard deviation over resamples),
    `conf_low` and `conf_high` (percentile), `bca_low` and `bca_high`, `conf_level`, `n_obs`,
    `n_groups`, `n_resamples`, `n_failed`, `seed`, `method`, `note`. The last says that clusters
    are few, resamples failed, or an interval has no meaning.

    Raises
    ------
    ColumnError
        If `cluster` is no column, names none in a row, or the frame has a column `drawn_cluster`.
    DesignError
        If there are fewer than two clusters, the statistic has no finite value on the frame, or
        the resamples that succeed are too few for the level.
    AnalysisError
        If the statistic returns anything else, or another option is none.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis.inference import bootstrap
    >>> rows = grunfeld.load_pandas().data
    >>> slope = lambda d: {"slope": d["invest"].cov(d["value"]) / d["value"].var()}
    >>> row = bootstrap.bootstrap(rows, slope, cluster="firm", n=199).iloc[0]
    >>> row[["estimate", "bca_low", "bca_high"]].astype(float).round(3).tolist()
    [0.141, 0.035, 0.193]
    """
    require_columns(frame, [] if cluster is None else [cluster])
    require_conf_level(conf_level)
    require_count("n", n)
    if DRAWN in frame.columns:
        raise ColumnError(
            f"Column {DRAWN!r} must be free for the number of a drawn cluster; the frame has it.",
            "Rename it.",
        )
    codes = group_codes(frame, cluster)
    groups = rows_by_group(codes)
    rng = generator(rng, "clusters are drawn")
    every = np.arange(len(groups))
    observed = _components(statistic(frame.assign(**{DRAWN: codes})))
    _require_finite(observed)
    replicates = np.array(
        [
            _value(statistic, _draw(frame, groups, row), observed)
            for row in progress(draws(len(groups), n, rng), "bootstrap", n)
        ]
    )
    left_out = np.array(
        [_value(statistic, _draw(frame, groups, np.delete(every, i)), observed) for i in every]
    )
    rows = [
        _row(
            name,
            value,
            replicates[:, place],
            left_out[:, place],
            n_clusters=len(groups),
            conf_level=conf_level,
        )
        for place, (name, value) in enumerate(observed.items())
    ]
    return glossary.table(rows)[COLUMNS].assign(
        conf_level=conf_level,
        n_obs=len(frame),
        n_groups=len(groups),
        n_resamples=n,
        n_failed=[int(np.isnan(column).sum()) for column in replicates.T],
        seed=seed_of(rng),
        method=f"{'Cluster bootstrap' if cluster else 'Bootstrap'}, percentile and BCa",
        note=[row["note"] for row in rows],
    )


#: Columns of `bootstrap` that differ from row to row.
COLUMNS = ["term", "estimate", "std_error", "conf_low", "conf_high", "bca_low", "bca_high"]


def _draw(frame: pd.DataFrame, groups: list[Integers], clusters: Integers) -> pd.DataFrame:
    """Return the rows of the clusters drawn, numbered as they come."""
    taken = [groups[cluster] for cluster in clusters]
    number = np.repeat(np.arange(len(taken)), [len(rows) for rows in taken])
    return frame.iloc[np.concatenate(taken)].assign(**{DRAWN: number}).reset_index(drop=True)


def _components(value: Value) -> dict[str, float]:
    """Return the named numbers that a statistic gave."""
    if isinstance(value, pd.DataFrame):
        require_columns(value, ["term", "estimate"])
        value = pd.Series(value["estimate"].to_numpy(), index=value["term"])
    if isinstance(value, pd.Series):
        value = dict(zip(value.index.astype(str), value, strict=True))
    if isinstance(value, Mapping):
        return {str(name): float(each) for name, each in value.items()}
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not len(values):
        raise AnalysisError(
            "`statistic` must return a number, several, named numbers, or a frame with `term` "
            f"and `estimate`; found {type(value).__name__}.",
            "Return a dictionary of numbers by name.",
        )
    if len(values) == 1:
        return {"statistic": float(values[0])}
    return {f"statistic {place + 1}": float(each) for place, each in enumerate(values)}


def _require_finite(observed: Mapping[str, float]) -> None:
    unusable = [name for name, value in observed.items() if not np.isfinite(value)]
    if unusable or not observed:
        raise DesignError(
            f"The statistic must be finite on the frame itself; {unusable or 'it is empty'}"
            f"{' is not' if unusable else ''}.",
            "Check the rows it is computed from.",
        )


def _value(statistic: Statistic, rows: pd.DataFrame, observed: Mapping[str, float]) -> Floats:
    """Return the statistic of a resample, NaN where it fails or lacks a component."""
    try:
        found = _components(statistic(rows))
    except FAILURES:
        found = {}
    values = np.array([found.get(name, np.nan) for name in observed])
    values[~np.isfinite(values)] = np.nan
    return values


def _row(
    name: str,
    estimate: float,
    replicates: Floats,
    left_out: Floats,
    *,
    n_clusters: int,
    conf_level: float,
) -> dict[str, Any]:
    """Return one component's numbers and its note."""
    usable = replicates[np.isfinite(replicates)]
    low, high = interval(replicates, conf_level)
    corrected_low, corrected_high, remark = bca_interval(
        estimate, usable, left_out, conf_level=conf_level
    )
    failed = len(replicates) - len(usable)
    notes = [
        interval_note(n_clusters, estimate, low, high),
        _coverage_note(n_clusters),
        f"{failed} of {len(replicates)} resamples failed and are left out." if failed else "",
        remark,
    ]
    return {
        "term": name,
        "estimate": estimate,
        "std_error": float(usable.std(ddof=1)),
        "conf_low": low,
        "conf_high": high,
        "bca_low": corrected_low,
        "bca_high": corrected_high,
        "note": " ".join(note for note in notes if note),
    }


def _coverage_note(n_clusters: int) -> str:
    """Return what simulations with no more clusters covered, empty when there are many."""
    if n_clusters >= MANY_CLUSTERS:
        return ""
    simulated = max((n for n in COVERAGE if n <= n_clusters), default=min(COVERAGE))
    low, high = COVERAGE[simulated]
    return (
        f"In simulations with {simulated} clusters, 95 % intervals of a mean held the truth in "
        f"{100 * low:.0f} to {100 * high:.0f} % of data sets."
    )


def bca_interval(
    estimate: float, replicates: Floats, left_out: Floats, *, conf_level: float
) -> tuple[float, float, str]:
    """Return the bias-corrected and accelerated interval, and what is against it.

    Parameters
    ----------
    estimate
        The statistic on the frame.
    replicates
        On every resample, finite, shape (B,).
    left_out
        Without each cluster in turn, shape (clusters,).
    conf_level
        Nominal coverage.

    Returns
    -------
    The two ends, NaN where there is no such interval, and a note, empty when nothing is wrong.
    """
    none = (float("nan"), float("nan"))
    # A resample of each cluster once gives the estimate but for rounding: it counts half.
    same = np.abs(replicates - estimate) <= TIE * max(abs(estimate), float(np.ptp(replicates)))
    below = float((~same & (replicates < estimate)).mean() + same.mean() / 2)
    gaps = left_out.mean() - left_out
    spread = float((gaps**2).sum())
    if not np.isfinite(spread):
        return *none, "No BCa interval: the statistic fails without one of the clusters."
    if not 0 < below < 1:
        return *none, "No BCa interval: all resamples lie on one side of the estimate."
    acceleration = float((gaps**3).sum()) / (6 * spread**1.5) if spread else 0.0
    bias = scipy.special.ndtri(below)
    normal = bias + scipy.special.ndtri(np.array([1 - conf_level, 1 + conf_level]) / 2)
    if (acceleration * normal >= 1).any():
        return *none, "No BCa interval: one cluster decides, and the acceleration is too large."
    places = scipy.special.ndtr(bias + normal / (1 - acceleration * normal))
    low, high = np.quantile(replicates, places, method="weibull")
    beyond = min(places[0], 1 - places[1]) * (len(replicates) + 1) < 1 - ROUNDING
    note = "The BCa interval ends at the outermost resample: draw more." if beyond else ""
    return float(low), float(high), note


def draws(n_clusters: int, n_resamples: int, rng: np.random.Generator | None = None) -> Integers:
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

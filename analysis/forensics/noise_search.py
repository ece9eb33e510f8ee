"""What an estimator that searches finds where there is nothing to find.

An estimator that picks the largest step, the first peak or the best cut of a profile always
picks something. Fed with noise, it shows how often chance alone does as well as a reported
result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, nan

import numpy as np
import pandas as pd

from analysis import glossary
from analysis.errors import DesignError
from analysis.frame import Floats, numbers, require_option

#: An estimator takes one profile and returns one number, NaN when it finds nothing.
Estimator = Callable[[Floats], float]

WHITE, WALK = "white noise", "random walk"
NOISES = (WHITE, WALK)

ALTERNATIVES = ("less", "greater")


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Return profiles of noise, the last axis along the profile.

    Parameters
    ----------
    kind
        ``white noise`` (independent normal) or ``random walk`` (its running sum).
    shape
        Shape of the result.
    rng
        Source of the draws.

    Raises
    ------
    AnalysisError
        If the kind is unknown.
    """
    require_option("kind", kind, NOISES)
    steps = rng.standard_normal(shape)
    return steps if kind == WHITE else np.cumsum(steps, axis=-1)


def distribution(
    estimator: Estimator,
    length: int,
    *,
    rng: np.random.Generator,
    kind: str = WHITE,
    n_resamples: int = 1999,
) -> pd.DataFrame:
    """Return what an estimator finds in profiles of noise, and how often.

    Parameters
    ----------
    estimator
        Function from a profile, shape (length,), to one number.
    length
        Points of a profile, at least 1.
    rng, kind
        As `noise` takes them.
    n_resamples
        Profiles drawn.

    Returns
    -------
    One row per value found: `estimate`, `probability` [share of the profiles], `n_resamples`,
    `n_failed` (profiles without an estimate, so that shares may add up to less than 1).

    Raises
    ------
    AnalysisError
        If the kind of noise is unknown.
    DesignError
        If length or n_resamples is below 1.
    """
    _require_draws(n_resamples, length)
    found = _apply(estimator, noise(kind, (n_resamples, length), rng))
    values, counts = np.unique(found[np.isfinite(found)], return_counts=True)
    result = pd.DataFrame(
        {
            "estimate": values,
            "probability": counts / n_resamples,
            "n_resamples": n_resamples,
            "n_failed": int(n_resamples - counts.sum()),
        }
    )
    glossary.checked(result.columns)
    return result


def scores(
    cases: pd.DataFrame,
    estimator: Estimator,
    score: Callable[[Floats], Floats],
    *,
    rng: np.random.Generator,
    kind: str = WHITE,
    n_resamples: int = 999,
) -> Floats:
    """Return the score that noise gets in a whole study, shape (n_resamples,).

    Each case's profile is replaced by noise of its length as often as it was measured, the
    estimates are averaged, and the averages of all cases are scored together.

    Parameters
    ----------
    cases
        One row per case: `length` (points of its profile), `n_averaged` (profiles whose
        estimates are averaged into one).
    estimator
        Function from a profile to one number.
    score
        Function from estimates, shape (n_resamples, cases), to shape (n_resamples,).
    rng, kind
        As `noise` takes them.
    n_resamples
        Studies drawn.

    Raises
    ------
    AnalysisError
        If the kind of noise is unknown.
    ColumnError
        If a column is absent or not finite.
    DesignError
        If a length, a count or n_resamples is below 1.
    """
    lengths, counts = numbers(cases, "length"), numbers(cases, "n_averaged")
    _require_draws(n_resamples, *lengths, *counts)
    estimates = np.empty((n_resamples, len(cases)))
    for place, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        profiles = noise(kind, (n_resamples * int(count), int(length)), rng)
        found = _apply(estimator, profiles).reshape(n_resamples, int(count))
        estimates[:, place] = found.mean(axis=1)
    return np.asarray(score(estimates), dtype=np.float64)


def compare(observed: float, by_chance: Floats, *, alternative: str = "less") -> pd.DataFrame:
    """Return how often noise scores as well as the reported result.

    Parameters
    ----------
    observed
        Score of the reported result.
    by_chance
        Scores of noise, as `scores` gives them; NaN where noise gave no estimate.
    alternative
        ``less`` when a small score is a good one, else ``greater``.

    Returns
    -------
    One row: `estimate` (observed), `null_value` (mean of the noise), `conf_low` and
    `conf_high` (middle 95 % of the noise), `p_value` ((b + 1) / (B + 1)), `alternative`,
    `n_resamples`, `n_failed`, `method`.

    Raises
    ------
    AnalysisError
        If the alternative is unknown.
    DesignError
        If the noise gave no score at all, or nothing was observed.
    """
    require_option("alternative", alternative, ALTERNATIVES)
    usable = by_chance[np.isfinite(by_chance)]
    if not len(usable) or not isfinite(observed):
        raise DesignError(
            f"A comparison needs an observed score and scores of noise; found {observed!r} and "
            f"{len(usable)}.",
            "The estimator may find nothing in profiles this short.",
        )
    as_good = usable <= observed if alternative == "less" else usable >= observed
    low, high = np.quantile(usable, [0.025, 0.975])
    result = pd.DataFrame(
        {
            "estimate": [observed],
            "null_value": [float(usable.mean())],
            "conf_low": [float(low)],
            "conf_high": [float(high)],
            "p_value": [(int(as_good.sum()) + 1) / (len(usable) + 1)],
            "alternative": [alternative],
            "n_resamples": [len(by_chance)],
            "n_failed": [len(by_chance) - len(usable)],
            "method": ["the estimator applied to noise; interval: middle 95 % of the noise"],
        }
    )
    glossary.checked(result.columns)
    return result


def _apply(estimator: Estimator, profiles: Floats) -> Floats:
    return np.array([estimator(profile) for profile in profiles], dtype=np.float64)


def _require_draws(n_resamples: int, *lengths: float) -> None:
    smallest = min([n_resamples, *lengths], default=nan)
    if not smallest >= 1:
        raise DesignError(
            f"Lengths and numbers of draws must be at least 1; found {smallest}.",
            "Drop the cases that were not measured.",
        )

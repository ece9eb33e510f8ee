"""What a printed error bar is: standard deviation, standard error or interval, and of which n.

A caption says one thing; the length of the bar, with the values or their standard deviation
and n, says whether it can be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, nan, sqrt

import numpy as np
import pandas as pd
import scipy

from analysis.forensics.rounding import Printed, read
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, numbers

#: Subsets enumerated at most.
MOST_SUBSETS = 1_000_000


def kinds(sd: float, n: int, bar: str, *, accuracy: float | None = None) -> pd.DataFrame:
    """Compare a printed error bar with everything it could be.

    Parameters
    ----------
    sd
        Standard deviation of the values with the divisor n - 1, in their unit.
    n
        Values, at least 2.
    bar
        Length from the mean to one end, as printed.
    accuracy
        Half-width within which the bar was read off a figure.

    Returns
    -------
    One row per kind: `term` (standard deviation, with divisor n - 1 and n; standard error, of
    both; half of the 95 % t interval), `estimate`, `printed`, `consistent`, `n_obs`.

    Raises
    ------
    AnalysisError
        If the bar is not one number.
    DesignError
        If there are fewer than two values, or their standard deviation is not a finite number.

    >>> named = kinds(1.0, 25, "0.20").set_index("term")["consistent"]
    >>> named[named].index.tolist()
    ['standard error', 'standard error, divisor n']
    """
    if not n >= 2 or not 0 <= sd < np.inf:
        raise DesignError(
            f"An error bar needs at least 2 values; found {n} with a standard deviation of {sd!r}.",
            "One value has no spread.",
        )
    population = sd * sqrt((n - 1) / n)
    estimates = {
        "standard deviation": sd,
        "standard deviation, divisor n": population,
        "standard error": sd / sqrt(n),
        "standard error, divisor n": population / sqrt(n),
        "half of the 95 % interval": float(scipy.special.stdtrit(n - 1, 0.975)) * sd / sqrt(n),
    }
    printed = read(bar, accuracy=accuracy)
    return glossary.table(
        {
            "term": list(estimates),
            "estimate": list(estimates.values()),
            "printed": bar,
            "consistent": [printed.meets(value, value) for value in estimates.values()],
            "n_obs": n,
        }
    )


def subsets(
    values: Sequence[float], size: int, mean: str, bar: str, *, accuracy: float | None = None
) -> pd.DataFrame:
    """Return every choice of some values whose mean and standard error print as quoted.

    When a figure's mean and bar are not those of the values it is said to show, they may be
    those of others. Many choices make a match by chance likely, so it is stated how many other
    choices a choice is matched by on average.

    Parameters
    ----------
    values
        Candidates, in one unit.
    size
        Values behind the printed mean, at least 2.
    mean, bar
        As printed; the bar is a standard error with the divisor n - 1.
    accuracy
        Half-width within which both were read off a figure.

    Returns
    -------
    One row per matching choice: `rows` (places of the chosen values, from 0), `estimate` (mean),
    `std_error`, `n_obs`, `n_choices` (all choices), `expected_matches` (by chance).

    Raises
    ------
    AnalysisError
        If a text is not one number.
    ColumnError
        If a value is not a finite number.
    DesignError
        If the size is not between 2 and the number of values, or the choices are too many.
    """
    if not 2 <= size <= len(values) or comb(len(values), size) > MOST_SUBSETS:
        raise DesignError(
            f"The size of a choice must be 2 to {len(values)}, with at most {MOST_SUBSETS:,} "
            f"choices; found {size}.",
            "Narrow the candidates.",
        )
    candidates = numbers(pd.DataFrame({"values": values}), "values")
    chosen = np.array(list(combinations(range(len(values)), size)), dtype=np.intp)
    members = candidates[chosen]
    means, errors = members.mean(axis=1), members.std(axis=1, ddof=1) / sqrt(size)
    centre, length = read(mean, accuracy=accuracy), read(bar, accuracy=accuracy)
    is_match = _is_printed(means, centre) & _is_printed(errors, length)
    return glossary.table(
        {
            "rows": [tuple(int(place) for place in places) for places in chosen[is_match]],
            "estimate": means[is_match],
            "std_error": errors[is_match],
            "n_obs": size,
            "n_choices": len(chosen),
            "expected_matches": _chance_matches(means, errors, centre, length),
        }
    )


def _is_printed(values: Floats, printed: Printed) -> np.ndarray:
    inside: np.ndarray = (values >= printed.low) & (values <= printed.high)
    return inside


def _chance_matches(means: Floats, errors: Floats, centre: Printed, length: Printed) -> float:
    """Return how many other choices lie as near to a choice as a match must, on average."""
    if len(means) < 2:
        return nan
    near_mean, near_error = float(centre.half_unit), float(length.half_unit)
    order = np.argsort(means)
    means, errors = means[order], errors[order]
    pairs = 0
    for place, (own_mean, own_error) in enumerate(zip(means, errors, strict=True)):
        last = np.searchsorted(means, own_mean + near_mean, side="right")
        pairs += int((np.abs(errors[place + 1 : last] - own_error) <= near_error).sum())
    return 2 * pairs / len(means)

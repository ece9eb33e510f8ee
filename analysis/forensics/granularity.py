"""Means of whole numbers and shares of units can take only certain values: GRIM and its kin.

GRIM (Brown and Heathers 2017) asks whether a mean of n whole numbers can print as it does,
GRIMMER (Anaya 2016; Allard 2018) whether its standard deviation can too, DEBIT (Heathers and
Brown 2019) the same of data that are 0 or 1. All three say only that numbers are impossible,
never that they are right, and mean nothing for data that are not whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, nan

import pandas as pd

from analysis.forensics.rounding import Printed, read
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import require_columns


def grim(means: pd.DataFrame) -> pd.DataFrame:
    """Tell of printed means of whole numbers whether n such numbers can have them.

    Parameters
    ----------
    means
        One row per mean: `mean` (as printed, text), `n` (values averaged: persons, or persons
        times items of a scale).

    Returns
    -------
    The rows with `consistent` and `note`, which says which means are nearest.

    Raises
    ------
    AnalysisError
        If a mean is not one number.
    DesignError
        If an n is not a whole number of at least 1.

    >>> grim(pd.DataFrame({"mean": ["7.22", "4.74"], "n": [32, 25]}))["consistent"].tolist()
    [True, False]
    """
    require_columns(means, ["mean", "n"])
    found = [
        _sums(read(mean), _whole(n)) for mean, n in zip(means["mean"], means["n"], strict=True)
    ]
    notes = [
        "" if sums else _nearest(read(mean), _whole(n))
        for mean, n, sums in zip(means["mean"], means["n"], found, strict=True)
    ]
    return _judged(means, [bool(sums) for sums in found], notes)


def grimmer(means: pd.DataFrame) -> pd.DataFrame:
    """Tell of printed means and standard deviations whether n whole numbers can have both.

    The sum of squares must be a whole number, as odd or even as the sum, since x and x^2 are
    odd or even together, and at least that of n numbers as alike as their sum allows. The standard
    deviation has the divisor n - 1.

    Parameters
    ----------
    means
        One row per mean: `mean` and `sd` (as printed, text), `n` (at least 2).

    Returns
    -------
    The rows with `consistent` and `note`, which says which of the two tests fails.

    Raises
    ------
    AnalysisError
        If a mean or sd is not one number.
    DesignError
        If an n is not a whole number of at least 2.
    """
    return _with_sd(means, _squares_fit)


def debit(shares: pd.DataFrame) -> pd.DataFrame:
    """Tell of printed means and standard deviations whether n zeros and ones can have both.

    ``shares``, the result and errors are those of `grimmer`.
    """
    return _with_sd(shares, _binary_fits)


def denominators(share: str, largest: int) -> pd.DataFrame:
    """Return every number of units of which some share prints as quoted, in percent.

    Parameters
    ----------
    share
        As printed, in percent: ``80 %``.
    largest
        Largest number of units to try.

    Returns
    -------
    One row per possible count: `n_obs` (units), `n_hits` (units counted in), `estimate`
    [share].

    >>> denominators("43.75 %", 20)["n_obs"].tolist()
    [16]
    """
    printed = read(share)
    rows = [
        {"n_obs": n, "n_hits": hits, "estimate": hits / n}
        for n in range(1, largest + 1)
        for hits in hits_of(printed, n)
    ]
    found = pd.DataFrame(rows, columns=["n_obs", "n_hits", "estimate"])
    glossary.checked(found.columns)
    return found


def hits_of(share: Printed, n: int) -> list[int]:
    """Return how many of n units make a share that prints as quoted, in percent.

    >>> hits_of(read("80 %"), 5), hits_of(read("80 %"), 6)
    ([4], [])
    """
    return [
        hits
        for hits in range(n + 1)
        if share.meets(float(Fraction(100 * hits, n)), float(Fraction(100 * hits, n)))
    ]


def _with_sd(means: pd.DataFrame, fits: Callable[[int, Printed, int], bool]) -> pd.DataFrame:
    require_columns(means, ["mean", "sd", "n"])
    verdicts, notes = [], []
    for mean, sd, n in zip(means["mean"], means["sd"], means["n"], strict=True):
        sums = _sums(read(mean), _whole(n, at_least=2))
        fitting = any(fits(total, read(sd), int(n)) for total in sums)
        verdicts.append(fitting)
        reason = "The standard deviation is impossible for this mean and n."
        notes.append("" if fitting else reason if sums else _nearest(read(mean), int(n)))
    return _judged(means, verdicts, notes)


def _judged(rows: pd.DataFrame, verdicts: list[bool], notes: list[str]) -> pd.DataFrame:
    judged = rows.assign(consistent=verdicts, note=notes)
    glossary.checked(judged.columns, also=[str(name) for name in rows.columns])
    return judged


def _sums(mean: Printed, n: int) -> range:
    """Return the whole-number sums of n values whose mean prints as quoted."""
    low, high = mean.interval
    return range(ceil(low * n), floor(high * n) + 1)


def _squares_fit(total: int, sd: Printed, n: int) -> bool:
    """Tell whether some sum of squares gives the printed sd for this sum."""
    low, high = sd.interval
    about_zero = Fraction(total**2, n)
    smallest = max(
        ceil((n - 1) * max(low, Fraction(0)) ** 2 + about_zero), _least_squares(total, n)
    )
    largest = floor((n - 1) * high**2 + about_zero)
    first = smallest + (smallest - total) % 2
    return first <= largest


def _least_squares(total: int, n: int) -> int:
    """Return the sum of squares of n whole numbers with this sum that are as alike as can be."""
    below, n_above = divmod(total, n)
    return (n - n_above) * below**2 + n_above * (below + 1) ** 2


def _binary_fits(total: int, sd: Printed, n: int) -> bool:
    """Tell whether n zeros and ones with this sum have the printed sd."""
    if not 0 <= total <= n:
        return False
    low, high = sd.interval
    variance = Fraction(total * (n - total), n * (n - 1))
    return max(low, Fraction(0)) ** 2 <= variance <= high**2


def _nearest(mean: Printed, n: int) -> str:
    below = floor(mean.exact * n)
    return f"Nearest means of {n} whole numbers: {below / n:.6g} and {(below + 1) / n:.6g}."


def _whole(n: float, *, at_least: int = 1) -> int:
    try:
        whole = float(n)
    except (TypeError, ValueError):
        whole = nan
    if not whole % 1 == 0 or whole < at_least:
        raise DesignError(
            f"The number of values must be whole and at least {at_least}; found {n!r}.",
            "Give the n that the mean is over.",
        )
    return int(whole)

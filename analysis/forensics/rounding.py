"""Printed numbers: what their last digit leaves open, and what follows from several of them.

A printed number stands for every value that rounds to it. A number derived from printed ones
(a ratio, a change in percent) is possible when the values it can take meet those its own
printed form allows. Ends of intervals count as inside: rounding a half up or down is both used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import require_flags
from analysis.tidy.numerals import NUMBER, bare

RELATIONS = {"=": "=", "<": "<", ">": ">", "≤": "≤", "≥": "≥", "≈": "=", "~": "="}

#: Places before and behind the point; a float has no more than 307.
MOST_DIGITS = 300


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as printed.

    Attributes
    ----------
    text
        As printed.
    relation
        ``=``, ``<``, ``>``, ``≤`` or ``≥``: how the value relates to the number.
    exact
        The number itself.
    half_unit
        Half a unit of its last digit, or the accuracy it was read off with.
    """

    text: str
    relation: str
    exact: Fraction
    half_unit: Fraction

    @property
    def value(self) -> float:
        """The number as float."""
        return float(self.exact)

    @property
    def interval(self) -> tuple[Fraction, Fraction]:
        """Smallest and largest value that print like this, whatever the relation."""
        return self.exact - self.half_unit, self.exact + self.half_unit

    @property
    def low(self) -> float:
        """Smallest value that prints like this."""
        return float(self.exact - self.half_unit)

    @property
    def high(self) -> float:
        """Largest value that prints like this."""
        return float(self.exact + self.half_unit)

    def meets(self, low: float, high: float) -> bool:
        """Tell whether some value between low and high prints like this.

        >>> read("26").meets(26.47, 26.48), read("< 0.05").meets(0.06, 0.07)
        (True, False)
        >>> read("≥ 23").meets(23, 23), read("> 23").meets(23, 23)
        (True, False)
        """
        answers = {
            "=": low <= self.high and self.low <= high,
            "<": low < self.value,
            "≤": low <= self.value,
            ">": high > self.value,
            "≥": high >= self.value,
        }
        return answers[self.relation]


def read(text: str, *, accuracy: float | None = None, trailing_zeros_count: bool = True) -> Printed:
    """Return a printed number with the interval its rounding leaves.

    Parameters
    ----------
    text
        Such as ``−0.81``, ``< .001``, ``62,696``, ``50 %``, ``26×`` or ``1.2e-3``.
    accuracy
        Half-width within which the number is known instead, for one read off a figure.
    trailing_zeros_count
        False reads the zeros that end a whole number as rounding: 50 is then 45 to 55.

    Raises
    ------
    AnalysisError
        If the text is not one number of at most 300 places, the accuracy is not a finite
        number of at least 0, or `trailing_zeros_count` is neither True nor False.

    >>> number = read("−0.81")
    >>> number.value, number.low, number.high
    (-0.81, -0.815, -0.805)
    """
    if not isinstance(text, str):
        raise AnalysisError(
            f"A printed number must be text, which keeps its last zeros; found {text!r}.",
            "Read the column as text: pd.read_csv(path, dtype=str).",
        )
    require_flags(trailing_zeros_count=trailing_zeros_count)
    stripped = bare(text)
    relation = RELATIONS.get(stripped[:1], "=")
    digits = stripped.lstrip("".join(RELATIONS)).strip()
    match = NUMBER.fullmatch(digits)
    if match is None or not (match[2] or match[3]):
        raise AnalysisError(
            f"A printed number must be digits with at most one point; found {text!r}.",
            "Write it as it is printed, for example '−0.81', '< 0.001' or '62,696'.",
        )
    sign, whole, decimals, exponent = match.groups()
    # How many zeros end a whole number, its first figure apart.
    zeros = 0 if decimals or trailing_zeros_count else len(whole[1:]) - len(whole[1:].rstrip("0"))
    power = int(exponent or 0) - len(decimals)
    if abs(power) + len(whole) > MOST_DIGITS:
        raise AnalysisError(
            f"A printed number must have at most {MOST_DIGITS} places; found {text[:40]!r}.",
            "Look for a mistake in its exponent.",
        )
    magnitude = Fraction(int(whole + decimals)) * Fraction(10) ** power
    half = Fraction(10) ** (power + zeros) / 2
    if accuracy is not None:
        if not (isinstance(accuracy, int | float) and 0 <= accuracy < float("inf")):
            raise AnalysisError(
                f"An accuracy must be a finite number of at least 0; found {accuracy!r}.",
                "Give the half-width within which the number was read off.",
            )
        half = Fraction(str(accuracy))
    return Printed(text, relation, -magnitude if sign == "-" else magnitude, half)


def ratio(numerator: str, denominator: str, quoted: str, **reading: bool) -> pd.DataFrame:
    """Tell whether a quoted ratio follows from two printed numbers.

    Parameters
    ----------
    numerator, denominator, quoted
        As printed; the denominator's interval must not contain 0.
    reading
        Passed to `read` for the quoted number: ``trailing_zeros_count``.

    Returns
    -------
    One row: `term`, `printed`, `estimate`, `value_low` and `value_high` (what rounding of the
    parts leaves), `consistent`, `method`, `note`.

    Raises
    ------
    AnalysisError
        If a text is not one number.
    DesignError
        If the denominator may be 0.

    >>> bool(ratio("62,696", "2,368", "26×")["consistent"].item())
    True
    """
    below = read(denominator)
    if below.low <= 0 <= below.high:
        raise DesignError(
            f"The denominator must not be 0 within its rounding; found {denominator!r}.",
            "A ratio to a number that may be 0 can be anything.",
        )
    above = read(numerator)
    low, high = _corners(_quotient, above, below)
    estimate = float(above.exact / below.exact)
    parts = f"{numerator} and {denominator}"
    return _derive("ratio", parts, estimate, (low, high), read(quoted, **reading))


def percent_change(before: str, after: str, quoted: str, **reading: bool) -> pd.DataFrame:
    """Tell whether a quoted change, in percent of the first number, follows from two numbers.

    The size of the change is compared, whichever its direction. Parameters, result and errors
    are those of `ratio`.

    >>> bool(percent_change("2.32", "1.15", "50 %")["consistent"].item())
    True
    """
    start = read(before)
    if start.low <= 0 <= start.high:
        raise DesignError(
            f"The first number must not be 0 within its rounding; found {before!r}.",
            "A change relative to a number that may be 0 can be anything.",
        )
    end = read(after)
    low, high = _corners(_change, start, end)
    sizes = sorted((abs(low), abs(high)))
    smallest = 0.0 if low < 0 < high else sizes[0]
    estimate = abs(float(_change(start.exact, end.exact)))
    parts = f"{before} and {after}"
    within = (smallest, sizes[1])
    return _derive("change [%]", parts, estimate, within, read(quoted, **reading))


def _quotient(first: Fraction, second: Fraction) -> Fraction:
    return first / second


def _change(before: Fraction, after: Fraction) -> Fraction:
    return 100 * (after / before - 1)


def _corners(
    combine: Callable[[Fraction, Fraction], Fraction], first: Printed, second: Printed
) -> tuple[float, float]:
    """Return the extremes of a function that is monotone in each of two printed numbers."""
    corners = [combine(a, b) for a in first.interval for b in second.interval]
    return float(min(corners)), float(max(corners))


def _derive(
    term: str, parts: str, estimate: float, within: tuple[float, float], quoted: Printed
) -> pd.DataFrame:
    low, high = within
    return glossary.table(
        {
            "term": [term],
            "printed": [quoted.text],
            "estimate": [estimate],
            "value_low": [low],
            "value_high": [high],
            "consistent": [quoted.meets(low, high)],
            "method": [f"interval arithmetic on {parts}"],
            "note": [""],
        }
    )

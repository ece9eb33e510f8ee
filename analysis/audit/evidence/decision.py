"""One rule for each kind of statement: what decides it, and when it stays undecided.

Each rule answers True (it holds), False (it fails) or None (the data cannot tell). The table of
kinds and rules is printed in the appendix of the report and in docs of `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import pandas as pd

from analysis.tidy.errors import AnalysisError
from analysis.tidy.numerals import NUMBER, bare

Kind = Literal["value", "difference", "equality", "universal", "existence"]

#: The sides of a null that may be claimed, and the columns of a row that are asked.
SIDES = ("above", "below", "other")
NUMBERS = ("estimate", "conf_low", "conf_high", "p_value")

#: What decides a statement of each kind.
KINDS: dict[Kind, str] = {
    "value": "The value found prints as the one stated, at the digits that the stated one has; "
    "zeros that end a whole number are no digits, so 9.92 and 11.84 both print as 10. A count is "
    "compared whole; 0 and 100 % are none and all. A stated bound of a number (p < "
    "0.001) is compared with the number found.",
    "difference": "An inequality, a difference, an association: the 95 % interval lies on the "
    "claimed side. On the other side it fails; an interval that holds both decides nothing.",
    "equality": "An equality or an absence: the 95 % interval lies within a stated margin. "
    "Outside it fails; an interval across the margin decides nothing. A large p shows no equality.",
    "universal": "All cases: one exception makes it false; how many there are is counted. A case "
    "whose own interval holds the line is no exception, and leaves it undecided.",
    "existence": "Some case: one that is clear suffices; none among all that were looked at makes "
    "it false.",
}


def prints_as(value: float, stated: str) -> bool:
    """Tell whether a value prints as stated, at the digits that the stated one has.

    Decimals count; zeros at the end of a whole number do not.

    Parameters
    ----------
    value
        The value found.
    stated
        As printed, with any minus sign, thousands' separators and a sign behind: ``−0.81``,
        ``.05``, ``62,696``, ``50 %``.

    Raises
    ------
    AnalysisError
        If what is stated is not one number.

    >>> prints_as(-0.8116, "-0.81"), prints_as(26.48, "26"), prints_as(24.4, "25")
    (True, True, False)
    >>> prints_as(9.92, "10"), prints_as(11.84, "10"), prints_as(6.0, "10")
    (True, True, False)
    """
    digits = bare(stated)
    match = NUMBER.fullmatch(digits)
    if match is None or not (match[2] or match[3]):
        raise AnalysisError(
            f"A printed value must be one number; found {stated!r}.",
            "Write it as it is printed, such as '−0.81'; compare a bound (p < 0.001) with the "
            "value itself.",
        )
    return Decimal(_match_digits(digits, value)) == Decimal(digits)


def share_prints_as(share: float, stated: str) -> bool:
    """Tell whether a share between 0 and 1 prints as the percentage stated.

    0 and 100 % are said of none and of all: what comes near is neither.

    >>> share_prints_as(23 / 24, "100"), share_prints_as(1.0, "100"), share_prints_as(0.796, "80")
    (False, True, True)
    """
    none_or_all = {"0": 0.0, "100": 1.0}.get(bare(stated))
    return prints_as(100 * share, stated) if none_or_all is None else share == none_or_all


def _match_digits(digits: str, value: float) -> str:
    """Return a value written with as many digits as a number in plain digits."""
    mantissa = digits.lower().partition("e")[0]
    figures = mantissa.replace(".", "").lstrip("-+0")
    significant = figures if "." in mantissa else figures.rstrip("0")
    decimals = -int(Decimal(digits).as_tuple().exponent)
    if decimals < 0 or (decimals == 0 and "." not in mantissa and significant < figures):
        return f"{value:.{max(len(significant), 1) - 1}e}"
    return f"{value:.{decimals}f}"


def above(low: float, high: float, line: float) -> bool | None:
    """Tell whether a quantity with an interval is above a line; None where the interval holds it.

    >>> above(0.1, 0.5, 0), above(-0.5, -0.1, 0), above(-0.1, 0.5, 0)
    (True, False, None)
    """
    return True if low > line else False if high < line else None


def below(low: float, high: float, line: float) -> bool | None:
    """Tell whether a quantity with an interval is below a line; None where the interval holds it.

    >>> below(0.1, 0.5, 0), below(-0.5, -0.1, 0)
    (False, True)
    """
    return above(-high, -low, -line)


def within(low: float, high: float, lower: float, upper: float) -> bool | None:
    """Tell whether a quantity with an interval lies within a margin: equivalence.

    >>> within(0.9, 1.1, 0.8, 1.2), within(1.3, 1.5, 0.8, 1.2), within(0.7, 1.1, 0.8, 1.2)
    (True, False, None)
    """
    if low > lower and high < upper:
        return True
    return False if high < lower or low > upper else None


def significant(
    row: Mapping[Any, Any] | pd.Series[Any],
    side: str = "other",
    *,
    null: float | None = None,
    alpha: float = 0.05,
) -> bool | None:
    """Tell whether a row shows what is claimed: it holds, it fails, or the data cannot tell (None).

    It holds where the interval lies on the claimed side of the null and p is below ``alpha``, and
    fails where both speak for the opposite side. All else decides nothing: a large p, or an
    interval that contains the null, shows no absence.

    Parameters
    ----------
    row
        A row of a tidy frame: `estimate`, `conf_low`, `conf_high`, `p_value`, and `null_value` if
        ``null`` is left out. An interval or a p that is missing (NaN) is not asked.
    side
        What is claimed: ``above`` or ``below`` the null, or ``other`` than it, on either side.
    null
        The value where there is nothing: 0 of a correlation or difference, 1 of a ratio.
    alpha
        Level of the test, 0.05 for a 95 % interval.

    Raises
    ------
    AnalysisError
        If the side is none of the three, the row lacks a column, no null is given, or there is
        neither an interval nor a p.

    Examples
    --------
    Fisher's test of a small table: p = 0.14, so that a claimed difference is open, not refuted.

    >>> row = {"estimate": 8.0, "conf_low": 0.64, "conf_high": 472.0, "p_value": 0.14}
    >>> significant(row, "above", null=1) is None
    True
    >>> significant(row | {"conf_low": 1.2, "p_value": 0.03}, "above", null=1)
    True
    """
    if side not in SIDES:
        raise AnalysisError(
            f"The side claimed must be one of {', '.join(SIDES)}; found {side!r}.", "Choose one."
        )
    estimate, low, high, p_value = (_cell(row, name) for name in NUMBERS)
    line = _cell(row, "null_value") if null is None else float(null)
    says = [it for it in (_interval_says(low, high, line), _p_says(estimate, p_value, line, alpha))
            if it is not None]  # fmt: skip
    if not says:
        raise AnalysisError(
            "A row must have an interval or a p to show anything; it has neither.",
            "Take a method that gives one.",
        )
    if len(set(says)) > 1 or 0 in says:
        return None
    return True if side == "other" else says[0] == (1 if side == "above" else -1)


def _cell(row: Mapping[Any, Any] | pd.Series[Any], name: str) -> float:
    if name not in row:
        raise AnalysisError(
            f"A row that is judged must have a column {name}; it has "
            f"{', '.join(map(str, row.keys()))}.",
            "Give null=0 or null=1." if name == "null_value" else "Take a row of a tidy frame.",
        )
    return float(row[name])


def _interval_says(low: float, high: float, line: float) -> int | None:
    """Return on which side of a line an interval lies: 1, -1, or 0 across; None without one."""
    if math.isnan(low) or math.isnan(high):
        return None
    return 1 if low > line else -1 if high < line else 0


def _p_says(estimate: float, p_value: float, line: float, alpha: float) -> int | None:
    """Return on which side of a line an estimate with a p lies: 1, -1, or 0; None without a p."""
    if math.isnan(p_value):
        return None
    if p_value >= alpha or estimate == line or math.isnan(estimate):
        return 0
    return 1 if estimate > line else -1


def without_exception(exceptions: int, unclear: int = 0) -> bool | None:
    """Tell whether all cases are as stated, from how many are not and how many cannot tell.

    >>> without_exception(0), without_exception(1, 3), without_exception(0, 1)
    (True, False, None)
    """
    return False if exceptions else None if unclear else True


def more_than_half(hits: int, unclear: int, total: int) -> bool | None:
    """Tell whether most cases are as stated, whichever way those fall that cannot tell.

    >>> more_than_half(5, 0, 8), more_than_half(4, 1, 8), more_than_half(3, 1, 8)
    (True, None, False)
    """
    if 2 * hits > total:
        return True
    return None if 2 * (hits + unclear) > total else False

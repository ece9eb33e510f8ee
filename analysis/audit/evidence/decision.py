"""One rule for each kind of statement: what decides it, and when it stays undecided.

Each rule answers True (it holds), False (it fails) or None (the data cannot tell). The table of
kinds and rules is printed in the appendix of the report and in docs of `KINDS`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from analysis.tidy.errors import AnalysisError
from analysis.tidy.numerals import NUMBER, bare

Kind = Literal["value", "difference", "equality", "universal", "existence"]

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
            f"What a value may print as must be one number; found {stated!r}.",
            "Write it as it is printed, such as '−0.81'; compare a bound (p < 0.001) with the "
            "value itself.",
        )
    return Decimal(_to_the_digits_of(digits, value)) == Decimal(digits)


def share_prints_as(share: float, stated: str) -> bool:
    """Tell whether a share between 0 and 1 prints as the percentage stated.

    0 and 100 % are said of none and of all: what comes near is neither.

    >>> share_prints_as(23 / 24, "100"), share_prints_as(1.0, "100"), share_prints_as(0.796, "80")
    (False, True, True)
    """
    none_or_all = {"0": 0.0, "100": 1.0}.get(bare(stated))
    return prints_as(100 * share, stated) if none_or_all is None else share == none_or_all


def _to_the_digits_of(digits: str, value: float) -> str:
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

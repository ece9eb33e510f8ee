"""Computed values to words, for the sentences and tables of the report.

Everything returns text: a bare numpy number would be printed by its representation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NO_BREAK = "\u00a0"  # a space that does not break: a number stays with its unit
MINUS = "−"  # the minus sign; a hyphen would break lines and reads as a dash
MISSING = "–"
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"

#: A space inside a quantity: before its unit, around "of" in a share, and around the sign of a p.
INSIDE = re.compile(
    r"(?<=\d) (?=(?:%|of \d|SD\b|SE\b|nat\b))|(?<=\d of) (?=\d)"
    r"|(?<=\bp) (?=[<=])|(?<=\bp [<=]) (?=\d)"
)


def number(value: float, digits: int = 2) -> str:
    r"""Return a number with a fixed count of decimals and thousands separated.

    A number that would print as zero by far is written in powers of ten.

    >>> number(-0.8116), number(62695.87, 0), number(2.1e-8), number(float("nan"))
    ('−0.81', '62,696', '2\xa0×\xa010⁻⁸', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if 0 < abs(value) < 10**-digits / 100:
        return power_of_ten(value)
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return _fix_digits(value, digits)


def _fix_digits(value: float, digits: int) -> str:
    """Return a number with a fixed count of decimals; zero has no sign."""
    text = f"{value:,.{digits}f}"
    is_zero = not any(figure in text for figure in "123456789")
    return text.removeprefix("-") if is_zero else text.replace("-", MINUS)


def power_of_ten(value: float, digits: int = 0) -> str:
    r"""Return a small number by its leading digits and power of ten.

    One that needs no power, from a thousandth to one, is written without.

    >>> power_of_ten(3.4e-7), power_of_ten(-1.84e-15, 1), power_of_ten(0.5), power_of_ten(0)
    ('3\xa0×\xa010⁻⁷', '−1.8\xa0×\xa010⁻¹⁵', '0.5', '0')
    >>> power_of_ten(1.0, 1), power_of_ten(0.0357, 1)
    ('1', '0.036')
    """
    if math.isnan(value):
        return MISSING
    if not value or 0.001 <= abs(value) <= 1:
        return f"{value:.{digits + 1}g}".replace("-", MINUS)
    leading, _, power = f"{value:.{digits}e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", f"⁻{RAISED}"))
    return f"{leading.replace('-', MINUS)}{NO_BREAK}×{NO_BREAK}10{raised}"


def floored(value: float, digits: int = 2) -> str:
    r"""Return a number that is not negative, as below the least one printed where it is less.

    >>> floored(0.004), floored(0.25), floored(0)
    ('<\xa00.01', '0.25', '0.00')
    """
    least = 10.0**-digits
    return f"<{NO_BREAK}{number(least, digits)}" if 0 < value < least else number(value, digits)


def count(value: float) -> str:
    """Return a whole number, or a dash when it is missing.

    >>> count(23), count(float("nan"))
    ('23', '–')
    """
    return MISSING if value is None or is_missing(value) else f"{int(value):,}"


def percent(share: float, digits: int = 0) -> str:
    r"""Return a share as a percentage; of a share, rounding errors are zero.

    >>> percent(0.4375, 2), percent(1e-17)
    ('43.75\xa0%', '0\xa0%')
    """
    return MISSING if math.isnan(share) else f"{_fix_digits(100 * share, digits)}{NO_BREAK}%"


def p_value(p: float) -> str:
    r"""Return a p-value as an equation; never zero.

    >>> p_value(0.03571), p_value(0.0002), p_value(float("nan"))
    ('p\xa0=\xa00.036', 'p\xa0<\xa00.001', 'p\xa0–')
    """
    if p is None or math.isnan(p):
        return f"p{NO_BREAK}{MISSING}"
    if p < 0.001:
        return f"p{NO_BREAK}<{NO_BREAK}0.001"
    return f"p{NO_BREAK}={NO_BREAK}{p:.2f}" if p >= 0.0995 else f"p{NO_BREAK}={NO_BREAK}{p:.3f}"


def bare(p: str) -> str:
    r"""Return the equation of a p-value without its letter, for a column that is headed p.

    >>> bare(p_value(0.03571)), bare(p_value(0.0002)), bare(p_value(float("nan")))
    ('0.036', '<\xa00.001', '–')
    """
    return p.removeprefix("p").lstrip(f"={NO_BREAK}")


def bare_p(p: float) -> str:
    """Return a p-value without its letter.

    >>> bare_p(0.03571), bare_p(float("nan"))
    ('0.036', '–')
    """
    return bare(p_value(p))


def interval(low: float, high: float, digits: int = 2) -> str:
    r"""Return a confidence interval in brackets.

    An end that would print as zero without being it has more decimals: the interval must show on
    which side of zero it ends.

    >>> interval(-0.97, -0.25)
    '[−0.97,\xa0−0.25]'
    >>> interval(-0.00399, 0.237), interval(0.0004, 0.2), interval(0, 0.2), interval(-1, -3e-7)
    ('[−0.004,\xa00.24]', '[0.0004,\xa00.20]', '[0.00,\xa00.20]', '[−1.00,\xa0−3\xa0×\xa010⁻⁷]')
    """
    if math.isnan(low) and math.isnan(high):
        return MISSING
    return f"[{_end(low, number, digits)},{NO_BREAK}{_end(high, number, digits)}]"


def percent_interval(low: float, high: float) -> str:
    """Return the interval of a share, or of a difference of shares, in percent.

    An end below zero that would print as zero has more decimals, as in `interval`; a share above
    zero has not, since it cannot be below.

    >>> percent_interval(0.107, 0.502).replace(NO_BREAK, " ")
    '[11 %, 50 %]'
    >>> percent_interval(-0.004, 0.2).replace(NO_BREAK, " ")
    '[−0.4 %, 20 %]'
    >>> percent_interval(-1e-9, 0.2).replace(NO_BREAK, " ")  # a rounding error
    '[0 %, 20 %]'
    """
    if math.isnan(low):
        return MISSING
    low_end, high_end = (_end(end, percent, 0) if end < 0 else percent(end) for end in (low, high))
    return f"[{low_end},{NO_BREAK}{high_end}]"


def _end(value: float, write: Callable[[float, int], str], digits: int) -> str:
    """Return an end of an interval, with up to two more decimals where it would print as zero."""
    texts = [write(value, digits + more) for more in range(3)]
    return next((text for text in texts if set("123456789") & set(text)), texts[0])


def change(log_ratio: float, digits: int = 0) -> str:
    r"""Return a difference of natural logarithms as percent, with its sign.

    >>> change(-0.0943), change(0.1), change(0.002), change(float("nan"))
    ('−9\xa0%', '+11\xa0%', '0\xa0%', '–')
    """
    text = percent(math.expm1(log_ratio), digits)
    return f"+{text}" if log_ratio > 0 and set(text) & set("123456789") else text


def change_interval(low: float, high: float) -> str:
    """Return the interval of a difference of natural logarithms, in percent.

    >>> change_interval(-0.149, 0.1).replace(NO_BREAK, " ")
    '[−14 %, 11 %]'
    """
    return percent_interval(math.expm1(low), math.expm1(high))


def share_of(part: int, whole: int) -> str:
    """Return a count out of a total.

    >>> share_of(4, 5), share_of(1199, 1200)
    ('4 of 5', '1,199 of 1,200')
    """
    return f"{part:,} of {whole:,}"


def among(part: int, whole: int) -> str:
    r"""Return a count out of a total as a sentence has it, before a noun.

    >>> among(0, 7), among(4, 4), among(3, 7)
    ('none of the\xa07', 'all\xa04', '3 of the\xa07')
    """
    if part == whole:
        return f"all{NO_BREAK}{count(whole)}"
    return f"{count(part) if part else 'none'} of the{NO_BREAK}{count(whole)}"


def form(n: int, one: str, several: str) -> str:
    """Return the form of a word that goes with a number.

    >>> form(1, "is", "are"), form(0, "is", "are")
    ('is', 'are')
    """
    return one if n == 1 else several


def plural(n: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "suite"), plural(7, "suite")
    ('1 suite', '7 suites')
    """
    return f"{n:,} {form(n, noun, f'{noun}s')}"


def listing(items: Sequence[str]) -> str:
    """Return items as an English list.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def short_name(model_ids: pd.Series[str]) -> pd.Series[str]:
    """Return model names without the organisation.

    >>> import pandas as pd
    >>> short_name(pd.Series(["EleutherAI/pythia-70m"])).tolist()
    ['pythia-70m']
    """
    return model_ids.str.replace(r"^.*/", "", regex=True)


def bound(text: str) -> str:
    r"""Return text in which no number is parted from its unit, nor a share from its whole.

    >>> bound("80 % dampening in 21 of 22 models, p < 0.001")
    '80\xa0% dampening in 21\xa0of\xa022 models, p\xa0<\xa00.001'
    """
    return INSIDE.sub(NO_BREAK, text)


def is_missing(value: Any) -> bool:
    """Return whether a value is what pandas calls missing.

    >>> is_missing(None), is_missing("")
    (True, False)
    """
    import pandas as pd  # here: pages of plain text have none, and need none

    return bool(pd.isna(value))

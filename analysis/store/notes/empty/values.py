"""Values in words: numbers by the least and the greatest, texts by name."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

#: Values that are named at most, and characters that are shown of each.
MOST_NAMED, _MOST_SHOWN = 20, 60


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and neither true nor false."""
    return isinstance(value, Number) and not isinstance(value, bool)


def summary(values: Sequence[Any]) -> str:
    """Return what several values are.

    >>> summary([2, None, 1.5]), summary([True, False]), summary([None])
    ('goes from 1.5 to 2', 'is one of false, true', 'is NULL')
    """
    there = [it for it in values if it is not None]
    if not there:
        return "is NULL"
    return span(min(there), max(there)) if is_number(there[0]) else f"is one of {names(there)}"


def span(low: Any, high: Any) -> str:
    """Return from where to where numbers go, to six digits.

    >>> span(1.5, 2), span(3, 3)
    ('goes from 1.5 to 2', 'is 3')
    """
    return f"is {low:.6g}" if low == high else f"goes from {low:.6g} to {high:.6g}"


def number(n: int, unit: str) -> str:
    """Return a number of units.

    >>> number(1, "row"), number(2, "row")
    ('the one row', 'the 2 rows')
    """
    return f"the one {unit}" if n == 1 else f"the {n} {unit}s"


def names(values: Sequence[Any]) -> str:
    """Return some of several values by name, in their order.

    >>> names(["b", "a", "b"]), names([False]), names([10, 9.5])
    ('a, b', 'false', '9.5, 10')
    """
    are_numbers = all(map(is_number, values))
    texts = [f"{it:.6g}" for it in sorted(values)] if are_numbers else sorted(map(_word, values))
    named = [*dict.fromkeys(texts)]
    shown = [it if len(it) <= _MOST_SHOWN else f"{it[: _MOST_SHOWN - 1]}…" for it in named]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"{', '.join(shown[:MOST_NAMED])}{more}"


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

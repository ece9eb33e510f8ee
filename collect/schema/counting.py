"""Counts: said with their noun, taken from a caller without types; and what comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from typing import Any

from collect.errors import InputError


def counted(n: int, noun: str, several: str = "") -> str:
    """Return a number with its noun.

    Parameters
    ----------
    n
        How many [1].
    noun, several
        What one of them is called, and several of them; by default with an s.

    >>> counted(1, "matrix", "matrices"), counted(2000, "row")
    ('1 matrix', '2,000 rows')
    """
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come up more than once, sorted, each once.

    >>> repeated(["b", "a", "c", "a", "b", "a"])
    ['a', 'b']
    """
    return sorted(name for name, n in Counter(names).items() if n > 1)


def is_count(value: Any, *, least: int = 0) -> bool:
    """Return whether something is a whole number, of whatever type, that is not too small.

    >>> is_count(0), is_count(0, least=1), is_count(True), is_count(2.0)
    (True, False, False, False)
    """
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least


def require_count(what: str, value: Any, *, least: int, hint: str) -> int:
    """Return a whole number that was given, of whatever type of whole numbers.

    Parameters
    ----------
    what
        What it counts, as a sentence begins: "The batch size".
    value
        What was given.
    least
        The smallest that is taken [1].
    hint
        What to give instead.

    Raises
    ------
    InputError
        If it is none, less than `least`, or more than 64 bits hold.
    """
    if not is_count(value, least=least) or int(value) >= 2**63:
        raise InputError(
            f"{what} must be a whole number of {least} or more, below 2^63; found {value!r}.", hint
        )
    return int(value)

"""A count with its noun, as a sentence has it."""

from __future__ import annotations


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

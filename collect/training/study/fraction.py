"""A regular fraction of a two-level factorial: its rows, and what it cannot tell apart.

A generated factor has the sign of a product of base factors (its word). Two effects whose
columns are equal up to sign are aliased: only their sum, or difference, can be estimated.

Source: G. E. P. Box, J. S. Hunter and W. G. Hunter, "Statistics for Experimenters" (2005),
chapter 6.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from collect.process.sections import require


@dataclass(frozen=True, slots=True)
class Fraction:
    """A regular fraction.

    Parameters
    ----------
    base
        Factors whose combinations are all run.
    generators
        By generated factor: its word, a product of base factors.
    """

    base: tuple[str, ...]
    generators: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        require(len(set(self.base)) == len(self.base), "base factors must differ")
        for name, word in self.generators.items():
            require(name not in self.base, f"factor {name} must not be both base and generated")
            require(
                len(set(word)) == len(word) > 1 and set(word) <= set(self.base),
                f"the generator of {name} must be two or more of {list(self.base)}; "
                f"found {list(word)}",
            )

    @property
    def factors(self) -> tuple[str, ...]:
        """Base factors, then generated ones."""
        return (*self.base, *self.generators)

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yield the signs, -1 or 1, of all factors in each run."""
        for row in self.columns():
            yield tuple(int(sign) for sign in row)

    def columns(self) -> np.ndarray:
        """Return the signs, shape (run, factor)."""
        signs = np.array(list(itertools.product((-1, 1), repeat=len(self.base))))
        place = {name: column for column, name in enumerate(self.base)}
        words = [(name,) for name in self.base] + list(self.generators.values())
        return np.stack([signs[:, [place[n] for n in word]].prod(1) for word in words], axis=1)

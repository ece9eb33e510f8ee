"""What memory and time a fit takes, known before it starts.

The factor with most levels is eliminated level by level; all other random effects share one dense
Cholesky factor. Memory grows with the square of their number and time with its cube. No sparse
factor would save either: what is left of crossed factors once the largest is eliminated is full.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from analysis.mixed.algebra.crossproducts import n_occurring
from analysis.mixed.algebra.design import Design
from analysis.tidy.errors import DesignError
from analysis.tidy.progress import available_memory

#: Dense matrices of all later columns that a fit holds at most: 4.0 were measured with slopes, and
#: where a variance ends at zero; 2.0 otherwise. And those of Z1'[Z2 | X | y].
SQUARES, WIDE = 4.5, 3

#: Bytes of a number of a sparse matrix with its place.
SPARSE = 12

#: Evaluations of the deviance of a typical fit, operations of each per cubed column (a third for
#: the factor, two thirds for its inverse), and operations of one core per second: fits of 2,209,
#: 4,000 and 6,500 columns take between half and twice what follows.
EVALUATIONS, PER_CUBE, PER_SECOND = 12, 1, 5e10

#: Seconds from which on a fit is announced.
LONG = 60


class FitSize(NamedTuple):
    """The size of a fit: random effects of the factor that is eliminated, and all other columns.

    These, the other random effects, fixed effects and response, share a dense factor. Of what the
    eliminated effects share with them only `n_occurring` numbers are kept where these are few.
    """

    n_eliminated: int
    n_dense: int
    n_occurring: int | None = None

    @property
    def memory(self) -> float:
        """Bytes at the most."""
        shared = 8.0 * WIDE * self.n_dense * self.n_eliminated
        if self.n_occurring is not None:
            products = self.n_occurring**2 / self.n_eliminated
            shared = SPARSE * (WIDE * self.n_occurring + products)
        return 8.0 * SQUARES * self.n_dense**2 + shared

    @property
    def seconds(self) -> float:
        """Processor seconds of a typical fit, of the dense factor alone."""
        return EVALUATIONS * PER_CUBE * self.n_dense**3 / PER_SECOND

    def __str__(self) -> str:
        return (
            f"{self.n_dense:,} columns beside the {self.n_eliminated:,} effects of the largest "
            f"group take about {self.memory / 1e9:.1f} GB and {self.seconds / 60:.0f} minutes"
        )


def fit_size(design: Design) -> FitSize:
    """Return the size of the fit of a design."""
    first, *others = design.blocks
    n_fixed = len(design.fixed) + 1
    n_dense = sum(block.size for block in others) + n_fixed
    return FitSize(first.size, n_dense, n_occurring(first, others, n_fixed))


def require_memory(design: Design, memory: float | None = None) -> None:
    """Announce a long fit in the log, and refuse one that the machine cannot hold.

    `memory` is in bytes; what this process may still take when None.
    """
    size, present = fit_size(design), available_memory() if memory is None else memory
    if size.memory > present:
        raise DesignError(
            f"The fit does not fit in memory: {size}, and {present / 1e9:.1f} GB are free.",
            "Only the largest group is eliminated: keep one group with many levels, or merge or "
            "drop levels of the others.",
        )
    if size.seconds > LONG:
        logging.getLogger(__name__).warning("A long fit: %s.", size)

"""What memory and time a fit takes, known before it starts.

The factor with most levels is eliminated level by level; all other random effects share one dense
Cholesky factor. Memory grows with the square of their number and time with its cube.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from analysis.mixed.algebra.design import Design
from analysis.tidy.errors import DesignError
from analysis.tidy.machine import available_memory

#: Dense matrices of all later columns that an evaluation holds, and those of Z1'[Z2 | X | y].
SQUARES, WIDE = 10, 3

#: Evaluations of the deviance of a typical fit, operations of each per cubed column, and
#: operations of one core per second.
EVALUATIONS, PER_CUBE, PER_SECOND = 45, 2, 5e9

#: Seconds from which on a fit is announced.
LONG = 60


class FitSize(NamedTuple):
    """The size of a fit: random effects of the factor that is eliminated, and all other columns.

    These, the other random effects, fixed effects and response, share a dense factor.
    """

    n_eliminated: int
    n_dense: int

    @property
    def memory(self) -> float:
        """Bytes at the most."""
        return 8.0 * self.n_dense * (SQUARES * self.n_dense + WIDE * self.n_eliminated)

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
    sizes = [block.size for block in design.blocks]
    return FitSize(sizes[0], sum(sizes[1:]) + len(design.fixed) + 1)


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

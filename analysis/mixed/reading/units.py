"""Units of the statistics: the levels of a factor that are resampled, left out or permuted."""

from __future__ import annotations

import numpy as np

from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Integers, rows_by_group


def require_unit(statistics: Statistics, unit: str) -> None:
    """Raise DesignError unless the unit is a factor of the statistics with several levels."""
    if unit not in statistics.factors:
        raise DesignError(
            f"A unit must be a factor that was collected; {unit!r} is none of "
            f"{list(statistics.factors)}.",
            f"Name it when fitting: units=[{unit!r}].",
        )
    if len(statistics.factors[unit].levels) < 2:
        raise DesignError(
            f"Unit {unit!r} must have at least two levels; found "
            f"{list(statistics.factors[unit].levels)}.",
            "Uncertainty between units cannot be seen from one.",
        )


def cells_by_level(statistics: Statistics, unit: str) -> list[Integers]:
    """Return the cells of every level of a unit."""
    return rows_by_group(statistics.factors[unit].codes)


def nested_factors(statistics: Statistics, unit: str) -> list[str]:
    """Return the factors every level of which lies in one level of the unit, itself included."""
    units = statistics.factors[unit].codes
    nested = []
    for name, factor in statistics.factors.items():
        pairs = np.unique(np.column_stack([factor.codes, units]), axis=0)
        if len(pairs) == len(factor.levels):
            nested.append(name)
    return nested

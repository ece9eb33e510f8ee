"""A model before it is fitted: a formula over cells, with the columns that it makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.mixed.algebra.design import Design
from analysis.mixed.reading.expression import quoted
from analysis.mixed.reading.formula import MixedFormula
from analysis.mixed.reading.source import Source
from analysis.mixed.reading.statistics import Statistics

#: Names of columns that say how a response was defined.
DEFINITIONS = ("definition", "gain_definition", "metric")


@dataclass(frozen=True, repr=False)
class Specification:
    """What a model, linear or not, is fitted to.

    Attributes
    ----------
    formula
        The model in its parts.
    statistics
        The cells it is fitted from; of a binary response their products are trials and successes.
    design
        Columns of the fixed and the random design over the cells.
    contrasts
        Contrasts of factors, as stated.
    source
        The rows, None when only their statistics are known.
    """

    formula: MixedFormula
    statistics: Statistics
    design: Design
    contrasts: Mapping[str, Any]
    source: Source | None

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the fixed effects."""
        return tuple(column.name for column in self.design.fixed)

    @cached_property
    def definitions(self) -> dict[str, int]:
        """How many definitions every column of definitions outside the model holds."""
        counts = {}
        for name in DEFINITIONS:
            if self.source and name in self.source.types and name not in self.statistics.factors:
                sql = f"SELECT count(DISTINCT {quoted(name)}) AS n FROM observations"
                counts[name] = int(self.source.query(sql).column("n")[0].as_py())
        return counts

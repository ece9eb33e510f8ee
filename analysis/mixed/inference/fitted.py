"""What a fitted mixed model is: what it was fitted to, and what was found.

Frames, guards, contrasts and resampling take this, not the model with its methods: their modules
lie below `model`, which calls them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts, assemble
from analysis.mixed.algebra.design import Design, build
from analysis.mixed.algebra.deviance import Profile
from analysis.mixed.algebra.optimise import Optimum, optimise
from analysis.mixed.algebra.rank import (
    drop_aliased,
    require_estimable,
    require_residual,
)
from analysis.mixed.algebra.size import require_memory
from analysis.mixed.inference.fixed_effects import (
    METHODS,
    NAMES,
    FixedTests,
    Inference,
    method_named,
)
from analysis.mixed.reading.expression import quoted
from analysis.mixed.reading.formula import MixedFormula
from analysis.mixed.reading.source import Source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

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


class Tested(Specification, ABC):
    """A fitted model, linear or not, whose fixed effects have tests."""

    @property
    @abstractmethod
    def fixed_tests(self) -> FixedTests:
        """The fixed effects and their tests."""

    @property
    @abstractmethod
    def criterion(self) -> float:
        """Minus twice the (restricted) log-likelihood."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Parameters that were estimated."""

    @abstractmethod
    def df_method(self, df: str | None) -> tuple[str, str]:
        """Return the method of the degrees of freedom that is meant, and a note."""

    @abstractmethod
    def glance(self) -> pd.DataFrame:
        """Return one row about the whole fit."""

    @abstractmethod
    def warnings(self) -> pd.DataFrame:
        """Return what a reader must know before using the numbers."""


@dataclass(frozen=True, repr=False)
class Fitted(Tested):
    """A fitted linear mixed model as plain data.

    Attributes are those of `Specification`, and

    Attributes
    ----------
    optimum
        Where the deviance is least, and how it was found.
    inference
        Estimates and tests of the fixed effects.
    weights
        Expression of the weights, None without or when only statistics are known.
    aliased
        What becomes of a fixed column that is a combination of others: ``refuse`` or ``drop``.
    """

    optimum: Optimum
    inference: Inference
    weights: str | None = None
    aliased: str = "refuse"

    @classmethod
    def solved(
        cls,
        formula: MixedFormula,
        statistics: Statistics,
        *,
        reml: bool,
        contrasts: Mapping[str, Any],
        aliased: str,
        start: Floats | None = None,
        source: Source | None = None,
        weights: str | None = None,
    ) -> Self:
        """Return the fit of a formula to statistics; the search begins at theta `start`."""
        _require_collected(formula, statistics)
        design = build(formula, statistics, contrasts)
        require_memory(design)
        cross = assemble(statistics, design)
        if aliased == "drop":
            design = drop_aliased(cross.fixed_products[:-1, :-1], design, cross.centring)
            cross = assemble(statistics, design)
        require_estimable(cross, design, statistics.response)
        optimum, inference = _optimum(statistics, cross, reml, start)
        return cls(
            formula, statistics, design, contrasts, source, optimum, inference, weights, aliased
        )

    @property
    def fixed_tests(self) -> FixedTests:
        """The fixed effects and their tests."""
        return self.inference

    @property
    def criterion(self) -> float:
        """Minus twice the (restricted) log-likelihood."""
        return self.solution.criterion

    @property
    def cross(self) -> CrossProducts:
        """The cross-products."""
        return self.inference.cross

    @property
    def solution(self) -> Profile:
        """The solution at theta."""
        return self.inference.solution

    @property
    def reml(self) -> bool:
        """Whether the fit is by restricted maximum likelihood."""
        return self.inference.reml

    @property
    def coefficients(self) -> Floats:
        """Fixed effects, shape (p,)."""
        return self.inference.coefficients

    @property
    def n_parameters(self) -> int:
        """Fixed effects, parameters of the covariances and the residual variance."""
        return len(self.terms) + len(self.solution.theta) + 1

    @property
    def default_df(self) -> str:
        """Kenward-Roger for a REML fit, Satterthwaite for one by maximum likelihood."""
        return "kenward-roger" if self.reml else "satterthwaite"

    @cached_property
    def fallback(self) -> tuple[str, str]:
        """The default method of the degrees of freedom or what stands in for it, and why."""
        reasons = []
        for method in METHODS[METHODS.index(self.default_df) :]:
            try:
                self.inference.tests(np.eye(len(self.terms)), method)
            except (DesignError, np.linalg.LinAlgError) as error:
                sentence = str(error).partition("\n")[0]
                reasons.append(f"{NAMES[method]} cannot be had, {{}} stands in: {sentence}")
            else:
                return method, " ".join(reason.format(NAMES[method]) for reason in reasons)
        return self.default_df, ""

    def df_method(self, df: str | None) -> tuple[str, str]:
        """Return the method of the degrees of freedom that is meant, and a note.

        When the default, asked for by None, cannot be had Satterthwaite's or Wald's method stands
        in, and the note says so.
        """
        return self.fallback if df is None else (method_named(df), "")

    def refit(self, *, reml: bool) -> Self:
        """Return the same model fitted to its statistics by restricted or maximum likelihood."""
        return self.solved(
            self.formula,
            self.statistics,
            reml=reml,
            contrasts=self.contrasts,
            aliased=self.aliased,
            start=self.optimum.theta,
            source=self.source,
            weights=self.weights,
        )


def _optimum(
    statistics: Statistics, cross: CrossProducts, reml: bool, start: Floats | None
) -> tuple[Optimum, Inference]:
    """Return where the deviance is least and the estimates there."""
    try:
        optimum = optimise(cross, reml=reml, start=start)
        if not optimum.converged and cross.n_obs > cross.n_columns:
            require_residual(statistics, cross)
        return optimum, Inference.at(cross, optimum.theta, reml=reml)
    except (DesignError, np.linalg.LinAlgError) as error:
        require_residual(statistics, cross)
        if isinstance(error, DesignError):
            raise
        raise DesignError(
            "The random effects must leave a residual that is more than rounding; a matrix of "
            f"the fit is singular ({error}).",
            "Use fewer random effects, or predictors of like size.",
        ) from error


def _require_collected(formula: MixedFormula, statistics: Statistics) -> None:
    """Refuse statistics of another response or another offset."""
    if statistics.response != formula.response.text:
        raise DesignError(
            f"The statistics must be of the response {formula.response.text!r}; they are of "
            f"{statistics.response!r}.",
            "Name the response they hold.",
        )
    if statistics.offset != formula.offset_text:
        raise DesignError(
            f"The statistics must be of the formula's offset, {formula.offset_text or 'none'}; "
            f"they were collected with {statistics.offset or 'none'}.",
            "Fit with the offset they were collected with, or collect them again.",
        )

"""Fit a linear mixed model by formula and ask it for frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.mixed.frames import anova as terms_tested
from analysis.mixed.frames import augment as rows_again
from analysis.mixed.frames import contrasts as contrasts_of
from analysis.mixed.frames import guards, tables
from analysis.mixed.frames import means as marginal
from analysis.mixed.inference.fitted import Fitted, inference_at, solve
from analysis.mixed.reading.collect import collect
from analysis.mixed.reading.formula import parse
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.source import Rows, Source, open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats


@dataclass(frozen=True)
class MixedModel(Fitted):
    """A fitted linear mixed model.

    Attributes are those of `Fitted`.
    """

    def tidy(
        self,
        effects: Sequence[str] = ("fixed", "ran_pars"),
        *,
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row per estimate, as broom.mixed does.

        Parameters
        ----------
        effects
            Any of ``fixed``, ``ran_pars`` (standard deviations and correlations, without
            standard errors: their likelihood is skew, see `profile`), ``ran_vals``
            (conditional modes with conditional standard deviations).
        df
            ``kenward-roger`` (the default of a REML fit), ``satterthwaite`` (of an ML fit) or
            ``wald``. The column `method` says which.
        conf_level
            Nominal coverage of the intervals.
        """
        return tables.tidy(self, tuple(effects), df or self.default_df, conf_level)

    def glance(self) -> pd.DataFrame:
        """Return one row: size, likelihood, criteria, shares of variance, convergence."""
        return tables.glance(self)

    def ranef(self) -> pd.DataFrame:
        """Return one row per conditional mode: `group`, `level`, `term`, `estimate`."""
        return tables.tidy(self, ("ran_vals",), self.default_df, 0.95)

    def groups(self) -> pd.DataFrame:
        """Return one row per grouping factor: `group`, `n_groups`, `n_obs`."""
        return tables.groups(self)

    def anova(self, *, type: str = "III", df: str | None = None) -> pd.DataFrame:  # noqa: A002
        """Return one row per fixed term: F test that it adds nothing.

        Parameters
        ----------
        type
            ``III``: each term beside all others, in sum-to-zero contrasts whatever contrasts the
            fit has; ``II``: each term beside those that do not contain it.
        df
            As in `tidy`.

        Returns
        -------
        `term`, `statistic`, `df`, `df_residual`, `p_value`, `n_obs`, `method`, `note`; a note says
        at which number a main effect is tested when a number interacts with it.

        Raises
        ------
        DesignError
            If sum-to-zero contrasts span another space than the fit's.
        """
        return terms_tested.anova(self, type, df or self.default_df)

    def warnings(self, *, df: str | None = None) -> pd.DataFrame:
        """Return one row per thing a reader must know: `guard`, `term`, `group`, `note`."""
        return guards.warnings(self, df or self.default_df)

    def augment(self, path: Path | str | None = None) -> pd.DataFrame | None:
        """Return the rows with `fitted`, `fitted_fixed` and `residual`, by a second pass.

        Parameters
        ----------
        path
            Write them to this Parquet file instead of returning them; the table is then
            never in memory.
        """
        return rows_again.augment(self, None if path is None else Path(path))

    def contrast(
        self,
        contrasts: Mapping[str, Mapping[str, float]],
        *,
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row per linear contrast, given as weights of named coefficients."""
        return contrasts_of.contrast(self, contrasts, df or self.default_df, conf_level)

    def means(
        self,
        factors: str | Sequence[str],
        *,
        pairs: bool = False,
        adjust: str = "none",
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return estimated marginal means of one or several factors, or all their differences.

        Every combination of the other factors counts the same; columns of numbers, and those of
        the offset, are at their means over rows, as in R's emmeans.

        Parameters
        ----------
        factors
            A factor of the fixed part, or several: one row per combination of their levels.
        pairs
            Whether to return all pairwise differences instead.
        adjust
            ``none``, ``tukey`` (of pairs), ``holm``, ``bonferroni`` or ``mvt``, the multivariate t.
        df, conf_level
            As in `tidy`.

        Returns
        -------
        `contrast`, `estimate`, `std_error`, `statistic`, `df`, `p_value`, the interval, `n_obs`,
        `method`, `note`; with an adjustment also `p_adjusted`, `n_tests`, `adjustment`, and
        intervals that hold together. A note says where a factor interacts with another.

        Raises
        ------
        DesignError
            If a factor is not in the fixed part, or Tukey's adjustment is asked without pairs.
        """
        names = (factors,) if isinstance(factors, str) else tuple(factors)
        return marginal.means(
            self, names, pairs=pairs, adjust=adjust, df=df or self.default_df, conf_level=conf_level
        )

    def trends(
        self,
        number: str,
        factors: str | Sequence[str] = (),
        *,
        pairs: bool = False,
        adjust: str = "none",
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return the slope by a column of numbers at every combination of factors' levels.

        As R's emtrends: the derivative of the fixed part with all numbers at their means, so that
        interactions, squares and logarithms of the column are allowed for.

        Parameters
        ----------
        number
            A column of numbers that the fixed part reads.
        factors, pairs, adjust, df, conf_level
            As in `means`; without factors there is one slope, averaged over all of them.

        Returns
        -------
        As `means`.

        Raises
        ------
        DesignError
            If the column is no number of the fixed part, a factor is not in it, or the model was
            fitted from statistics alone.
        """
        names = (factors,) if isinstance(factors, str) else tuple(factors)
        return marginal.trends(
            self,
            number,
            names,
            pairs=pairs,
            adjust=adjust,
            df=df or self.default_df,
            conf_level=conf_level,
        )

    def predict(
        self, rows: pd.DataFrame, *, df: str | None = None, conf_level: float = 0.95
    ) -> pd.DataFrame:
        """Return one row per new row: mean with interval, and interval for an observation.

        Random effects are taken at zero: the prediction is for a new level of every group.
        """
        return contrasts_of.predict(self, rows, df or self.default_df, conf_level)


def fit(
    formula: str,
    rows: Rows,
    *,
    reml: bool = True,
    weights: str | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
    deterministic: bool = True,
) -> MixedModel:
    """Return the fit of a linear mixed model.

    Parameters
    ----------
    formula
        lme4's language: ``log_gain ~ rho + depth + (1 + depth | model) + (1 | lab)``, with
        ``a/b``, ``a:b``, ``||``, ``offset(x)``, interactions, ``log(x)``, ``I(x^2)``,
        ``C(layer, Sum)``.
    rows
        A frame, a path or glob of Parquet files, or any relation of DuckDB. One row per
        observation; columns of text, categories or truth values are factors.
    reml
        Restricted maximum likelihood, else maximum likelihood.
    weights
        Expression proportional to the precision of a row.
    contrasts
        By column: the reference level, or a contrast of patsy's.
    units
        Columns beside the formula's that name units to resample, leave out or test by.
    deterministic
        Sum exactly, so that results are the same bits on any number of threads.

    Raises
    ------
    ColumnError
        If the formula cannot be read, names no column, or a value is missing or infinite.
    DesignError
        If there are no rows, a factor has one level, a column is a linear combination of
        others, the response is constant, or a group has as many effects as there are rows.
    """
    return fit_many(
        formula,
        rows,
        reml=reml,
        weights=weights,
        contrasts=contrasts,
        units=units,
        deterministic=deterministic,
    )[0]


def fit_many(
    formula: str,
    rows: Rows,
    *,
    responses: Sequence[str] = (),
    reml: bool = True,
    weights: str | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
    deterministic: bool = True,
) -> list[MixedModel]:
    """Return the fits of several responses under one right side, from one pass.

    Parameters are those of `fit`; `responses` come after the formula's own.
    """
    source = open_source(rows)
    parsed = parse(formula)
    needed = plan(parsed, source, responses=tuple(responses), weights=weights, units=tuple(units))
    statistics = collect(needed, source, deterministic=deterministic)
    return [
        fit_statistics(
            formula,
            statistics,
            reml=reml,
            response=response,
            contrasts=contrasts,
            source=source,
            weights=weights,
        )
        for response in range(len(statistics.responses))
    ]


def collect_statistics(
    formula: str,
    rows: Rows,
    *,
    responses: Sequence[str] = (),
    weights: str | None = None,
    units: Sequence[str] = (),
    constant: Sequence[str] | None = None,
    deterministic: bool = True,
) -> Statistics:
    """Return the statistics that a formula needs, to be merged or fitted elsewhere.

    Parameters are those of `fit`; `constant` names the predictors that are constant within
    every cell, which places that want to merge must agree on.
    """
    source = open_source(rows)
    needed = plan(
        parse(formula), source, responses=tuple(responses), weights=weights, units=tuple(units)
    )
    stated = None if constant is None else tuple(constant)
    return collect(needed, source, constant=stated, deterministic=deterministic)


def fit_statistics(
    formula: str,
    statistics: Statistics,
    *,
    reml: bool = True,
    response: int = 0,
    contrasts: Mapping[str, Any] | None = None,
    source: Source | None = None,
    weights: str | None = None,
    start: Floats | None = None,
) -> MixedModel:
    """Return the fit of a formula to statistics, wherever their rows are.

    Parameters
    ----------
    formula
        A formula whose factors and products the statistics hold.
    statistics
        From `collect_statistics`, perhaps merged.
    reml, contrasts
        As in `fit`.
    response
        Which of the responses.
    source
        The rows, when a second pass over them is wanted.
    weights
        Expression of the weights the statistics were collected with, for a second pass.
    start
        Where the search for theta starts, None at the identity.

    Raises
    ------
    DesignError
        As in `fit`, or if the statistics lack what the formula needs.
    """
    parsed = parse(formula)
    design, optimum, inference = solve(
        parsed,
        statistics,
        reml=reml,
        response=response,
        contrasts=contrasts or {},
        start=start,
    )
    return MixedModel(
        formula=parsed,
        statistics=statistics,
        design=design,
        optimum=optimum,
        inference=inference,
        response=response,
        contrasts=dict(contrasts or {}),
        source=source,
        weights=weights,
    )


def at_theta(model: MixedModel, theta: Floats) -> MixedModel:
    """Return the model at a theta of the caller's, such as another program's optimum.

    Raises
    ------
    DesignError
        If theta has the wrong length.
    """
    if np.shape(theta) != model.optimum.theta.shape:
        raise DesignError(
            f"theta must have {len(model.optimum.theta)} elements; found {np.shape(theta)}.",
            "One per element of the lower triangles, block by block.",
        )
    return replace(model, inference=inference_at(model.cross, theta, reml=model.reml))

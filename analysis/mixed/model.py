"""Fit a linear mixed model by formula and ask it for frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import pandas as pd

from analysis.mixed.generics import Generics
from analysis.mixed.inference.fitted import solve
from analysis.mixed.reading.bases import with_bases
from analysis.mixed.reading.collect import collect, several
from analysis.mixed.reading.formula import MixedFormula, explaining, updated
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.source import Rows, Source, Weights, complete, open_source, with_weights
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_flags, require_option

if TYPE_CHECKING:
    from analysis.mixed.second_engine import StatsmodelsModel


@dataclass(frozen=True, repr=False)
class MixedModel(Generics):
    """A fitted linear mixed model: `Generics` with the means to fit it anew.

    Attributes are those of `Fitted`.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> fitted.predict(rows.head(2))["estimate"].round(1).tolist()
    [484.3, 750.1]
    """

    def update(
        self,
        formula: str | None = None,
        *,
        rows: Rows | None = None,
        reml: bool | None = None,
        weights: Weights | None = None,
        contrasts: Mapping[str, Any] | None = None,
        units: Sequence[str] | None = None,
    ) -> MixedModel:
        """Return the model fitted anew with something changed, as R's update.

        Parameters
        ----------
        formula
            In R's language: a dot stands for the old side, ``. ~ . + depth - rho`` or
            ``. ~ . - (1 | lab)``.
        rows, reml, weights, contrasts, units
            As in `fit`; what is not given stays.

        Returns
        -------
        The new fit.

        Raises
        ------
        DesignError
            If the model was fitted from statistics alone and no rows are given.
        """
        held = self.source if rows is None else rows
        if held is None:
            raise DesignError(
                "A model must have its rows to be updated; this one was fitted from statistics.",
                "Give `rows`, or use fit_statistics.",
            )
        return fit(
            self.formula.text if formula is None else updated(self.formula.text, formula),
            held,
            reml=self.reml if reml is None else reml,
            weights=self.weights if weights is None else weights,
            contrasts=self.contrasts if contrasts is None else contrasts,
            units=self._units() if units is None else units,
            aliased=self.aliased,
        )

    def _units(self) -> tuple[str, ...]:
        """Return the factors that were collected beside the formula's."""
        if self.source is None:
            return ()
        of_formula = plan(self.formula, self.source).factors
        return tuple(name for name in self.statistics.factors if name not in of_formula)


@overload
def fit(
    formula: str,
    rows: Rows,
    *,
    reml: bool = True,
    weights: Weights | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
    deterministic: bool = True,
    missing: str = "refuse",
    aliased: str = "refuse",
    engine: Literal["sums"] = "sums",
) -> MixedModel: ...


@overload
def fit(
    formula: str, rows: Rows, *, reml: bool = True, engine: Literal["statsmodels"]
) -> StatsmodelsModel: ...


def fit(
    formula: str,
    rows: Rows,
    *,
    reml: bool = True,
    weights: Weights | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
    deterministic: bool = True,
    missing: str = "refuse",
    aliased: str = "refuse",
    engine: str = "sums",
) -> MixedModel | StatsmodelsModel:
    """Return the fit of a linear mixed model.

    Parameters
    ----------
    formula
        lme4's language: ``log_gain ~ rho + depth + (1 + depth | model) + (1 | lab)``, with
        ``a/b``, ``a:b``, ``||``, ``offset(x)``, interactions, ``log(x)``, ``I(x^2)``,
        ``C(layer, Sum)``, ``scale(x)``, ``poly(x, degree)``, ``bs(x, df)`` and ``ns(x, df)``,
        whose constants are those of the rows.
    rows
        A frame, arrays or lists by column name, a list of one mapping per row, an Arrow table, a
        path or glob of Parquet files, or any relation of DuckDB. One row per observation; columns
        of text, categories or truth values are factors.
    reml
        Restricted maximum likelihood, else maximum likelihood.
    weights
        Expression proportional to the precision of a row, or one number per row of rows in
        memory.
    contrasts
        By column: the reference level, or a contrast of patsy's.
    units
        Columns beside the formula's that name units to resample, leave out or test by.
    deterministic
        Sum exactly, so that results are the same bits on any number of threads.
    missing
        ``refuse``, or ``drop``: rows in which a column that is named here has a missing value are
        left out, and a note says how many.
    aliased
        ``refuse``, or ``drop``: fixed columns that are linear combinations of those before them
        are left out, as lme4 does, and a note names them.
    engine
        ``sums``, or ``statsmodels``: its `MixedLM`, where it can fit the formula, of a frame and
        with `reml` alone; see `analysis.mixed.second_engine`.

    Returns
    -------
    The fit.

    Raises
    ------
    AnalysisError
        If `engine`, `missing` or `aliased` is no option, or `reml` or `deterministic` neither
        true nor false.
    ColumnError
        If the formula cannot be read, names no column, or a value is missing or infinite.
    DesignError
        If there are no rows, a factor has one level, a column is a linear combination of
        others and may not be left out, the response is constant, or a group has as many effects
        as there are rows.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> slope = fitted.tidy().set_index("term").loc["value"]
    >>> f"{slope['estimate']:.4f} ({slope['std_error']:.4f})"
    '0.1679 (0.0138)'
    """
    require_option("engine", engine, ("sums", "statsmodels"))
    if engine == "statsmodels":
        from analysis.mixed import second_engine

        if weights is not None or contrasts or not isinstance(rows, pd.DataFrame):
            raise DesignError(
                "statsmodels' MixedLM takes a frame, without weights or contrasts.",
                "Leave `engine` out.",
            )
        return second_engine.fit(formula, rows, reml=reml)
    return fit_many(
        formula,
        rows,
        reml=reml,
        weights=weights,
        contrasts=contrasts,
        units=units,
        deterministic=deterministic,
        missing=missing,
        aliased=aliased,
    )[0]


def fit_many(
    formula: str,
    rows: Rows,
    *,
    responses: Sequence[str] = (),
    reml: bool = True,
    weights: Weights | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
    deterministic: bool = True,
    missing: str = "refuse",
    aliased: str = "refuse",
) -> list[MixedModel]:
    """Return the fits of several responses under one right side, from one pass.

    Parameters are those of `fit`; `responses` come after the formula's own.

    Returns
    -------
    One fit per response, the formula's first.

    Raises
    ------
    AnalysisError, ColumnError, DesignError
        As in `fit`.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> both = mixed.fit_many("invest ~ value + (1 | firm)", rows, responses=["capital"])
    >>> [round(it.glance()["sigma"].item(), 2) for it in both]
    [82.65, 212.15]
    """
    require_option("missing", missing, ("refuse", "drop"))
    require_option("aliased", aliased, ("refuse", "drop"))
    require_flags(reml=reml, deterministic=deterministic)
    held, precision = with_weights(rows, weights)
    source = open_source(held)
    further, beside = several(responses), several(units)
    if missing == "drop":
        source = complete(source, [formula, *further, precision or ""], beside)
    parsed = with_bases(formula, source)
    needed = plan(parsed, source, responses=further, weights=precision, units=beside)
    statistics = replace(collect(needed, source, deterministic=deterministic), bases=parsed.bases)
    return [
        _fit(
            parsed,
            statistics,
            reml=reml,
            response=response,
            contrasts=contrasts,
            source=source,
            weights=precision,
            aliased=aliased,
        )
        for response in range(len(statistics.responses))
    ]


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
    aliased: str = "refuse",
) -> MixedModel:
    """Return the fit of a formula to statistics, wherever their rows are.

    Parameters
    ----------
    formula
        A formula whose factors, products and bases the statistics hold.
    statistics
        From `collect_statistics`, perhaps merged.
    reml, contrasts, aliased
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

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> formula = "invest ~ value + (1 | firm)"
    >>> sums = mixed.collect_statistics(formula, rows)
    >>> mixed.fit_statistics(formula, sums).glance()["criterion"].round(3).item()
    2596.401
    """
    require_flags(reml=reml)
    return _fit(
        with_bases(formula, None, statistics.bases),
        statistics,
        reml=reml,
        response=response,
        contrasts=contrasts,
        source=source,
        weights=weights,
        start=start,
        aliased=aliased,
    )


def _fit(
    parsed: MixedFormula,
    statistics: Statistics,
    *,
    reml: bool,
    response: int,
    contrasts: Mapping[str, Any] | None,
    source: Source | None,
    weights: str | None,
    start: Floats | None = None,
    aliased: str = "refuse",
) -> MixedModel:
    design, optimum, inference = solve(
        parsed,
        statistics,
        reml=reml,
        response=response,
        contrasts=contrasts or {},
        start=start,
        aliased=aliased,
    )
    return MixedModel(
        formula=explaining(parsed, statistics.responses[response]) if response else parsed,
        statistics=statistics,
        design=design,
        optimum=optimum,
        inference=inference,
        response=response,
        contrasts=dict(contrasts or {}),
        source=source,
        weights=weights,
        aliased=aliased,
    )

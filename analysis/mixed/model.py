"""Fit a linear mixed model by formula and ask it for frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import pandas as pd

from analysis.mixed.methods import ModelMethods
from analysis.mixed.reading.bases import expand_bases
from analysis.mixed.reading.collect import collect, several
from analysis.mixed.reading.formula import updated
from analysis.mixed.reading.plan import plan
from analysis.mixed.reading.source import Rows, Weights, add_weights, drop_missing, open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import require_flags, require_option

if TYPE_CHECKING:
    from analysis.mixed.second_engine import StatsmodelsModel


@dataclass(frozen=True, repr=False)
class MixedModel(ModelMethods):
    """A fitted linear mixed model: `ModelMethods` with the means to fit it anew.

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

    def update(self, formula: str | None = None, *, reml: bool | None = None) -> MixedModel:
        """Return the model fitted to its rows with another formula or likelihood, as R's update.

        Parameters
        ----------
        formula
            In R's language: a dot stands for the old side, ``. ~ . + depth - rho`` or
            ``. ~ . - (1 | lab)``.
        reml
            As in `fit`; unchanged when None.

        Raises
        ------
        DesignError
            If the model was fitted from statistics alone.
        """
        if self.source is None:
            raise DesignError(
                "A model must have its rows to be updated; this one was fitted from statistics.",
                "Use fit_statistics.",
            )
        return fit(
            self.formula.text if formula is None else updated(self.formula.text, formula),
            self.source,
            reml=self.reml if reml is None else reml,
            weights=self.weights,
            contrasts=self.contrasts,
            aliased=self.aliased,
        )


@overload
def fit(
    formula: str,
    rows: Rows,
    *,
    reml: bool = True,
    weights: Weights | None = None,
    contrasts: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
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
        A frame, arrays or lists by column name, an Arrow table or stream, a path or glob of Parquet
        files, or any relation of DuckDB. One row per observation; columns of text, categories or
        truth values are factors.
    reml
        Restricted maximum likelihood, else maximum likelihood.
    weights
        Expression over columns, proportional to the precision of a row; or one number per row of
        rows in memory.
    contrasts
        By column: the reference level, or a contrast of patsy's.
    units
        Columns beside the formula's that name units to resample, leave out or test by.
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
        If `engine`, `missing` or `aliased` is no option, or `reml` neither true nor false.
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
    require_option("missing", missing, ("refuse", "drop"))
    require_option("aliased", aliased, ("refuse", "drop"))
    require_flags(reml=reml)
    held, precision = add_weights(rows, weights)
    source = open_source(held)
    beside = several(units)
    if missing == "drop":
        source = drop_missing(source, [formula, precision or ""], beside)
    parsed = expand_bases(formula, source)
    needed = plan(parsed, source, weights=precision, units=beside)
    statistics = collect(needed, source)
    return MixedModel.solved(
        parsed,
        statistics,
        reml=reml,
        contrasts=dict(contrasts or {}),
        aliased=aliased,
        source=source,
        weights=precision,
    )


def fit_statistics(
    formula: str,
    statistics: Statistics,
    *,
    reml: bool = True,
    contrasts: Mapping[str, Any] | None = None,
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
    parsed = expand_bases(formula, None, statistics.bases)
    stated = dict(contrasts or {})
    return MixedModel.solved(parsed, statistics, reml=reml, contrasts=stated, aliased=aliased)

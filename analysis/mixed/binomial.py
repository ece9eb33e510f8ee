"""Fit a mixed model of a binary response, such as the sign of a gain, and ask it for frames.

logit P(y = 1) = X beta + Z b with normal b: R's ``glmer(family = binomial)``, by the Laplace
approximation (Bates et al. 2015 describe the linear part; Breslow and Clayton 1993, JASA 88, 9
the approximation). Its tests are Wald's: no degrees of freedom are known for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Design, build, matrix_of
from analysis.mixed.algebra.laplace import maximise
from analysis.mixed.algebra.rank import (
    drop_aliased,
    levels_with_both,
    require_independent,
    separating_columns,
)
from analysis.mixed.frames import anova as terms_tested
from analysis.mixed.frames import guards
from analysis.mixed.frames import summary as pages
from analysis.mixed.frames.asked import Asked
from analysis.mixed.frames.summary import Page
from analysis.mixed.frames.tables import (
    fixed_table,
    glance_table,
    modes_table,
    spread_table,
    tidy_table,
)
from analysis.mixed.inference import pointers
from analysis.mixed.inference.fixed_effects import ContrastTests
from analysis.mixed.inference.r_squared import VarianceShares, fixed_part, variance
from analysis.mixed.prediction import logistic, sign_guards
from analysis.mixed.prediction.logistic import Logistic, offset_of
from analysis.mixed.reading.bases import expand_bases
from analysis.mixed.reading.source import Rows, drop_missing, open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.mixed.reading.trials import count_trials
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, generator, require_option

METHOD = "Logistic mixed model, Laplace approximation"

#: Variance of the standard logistic distribution: the residual on the scale of log odds.
LOGISTIC_VARIANCE = np.pi**2 / 3

#: No better reference than the normal is known for log odds.
REMEDY = "confirm it by permuting the levels."

#: What an interval has of an estimate.
CONFINT = ["effect", "group", "term", "estimate", "conf_low", "conf_high", "conf_level", "n_obs"]
CONFINT += ["method", "note"]


@dataclass(frozen=True, repr=False)
class BinomialModel(Asked, Logistic):
    """A fitted mixed model of a binary response.

    Attributes
    ----------
    formula
        The model in its parts.
    statistics
        Cells; their products are trials and successes.
    design
        Columns of the fixed and the random design over the cells.
    contrasts
        Contrasts of factors, as stated.
    source
        The rows.
    solution
        The maximum of the approximate likelihood.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data.assign(is_large=lambda it: it["invest"].gt(150) * 1)
    >>> mixed.fit_binomial("is_large ~ value + (1 | firm)", rows).glance()["n_obs"].item()
    220
    """

    def tidy(
        self, effects: str | Sequence[str] = ("fixed", "ran_pars"), *, conf_level: float = 0.95
    ) -> pd.DataFrame:
        """Return one row per estimate, with the columns of `MixedModel.tidy`.

        Parameters
        ----------
        effects
            Any of ``fixed`` (log odds, Wald z), ``ran_pars`` (standard deviations and
            correlations) and ``ran_vals`` (conditional modes), the last two without standard
            errors.
        conf_level
            Nominal coverage of the intervals.
        """
        frames = {
            "fixed": lambda: _fixed_rows(self, conf_level),
            "ran_pars": lambda: _variance_parameters(self),
            "ran_vals": lambda: _modes(self),
        }
        return tidy_table(self, effects, conf_level, frames)

    def glance(self) -> pd.DataFrame:
        """Return one row with the columns of `MixedModel.glance`.

        `sigma` is one by definition; `gradient` is missing, as `glmm` tells only whether it
        converged.
        """
        solution = self.solution
        return glance_table(
            self,
            variance_shares(self),
            criterion=-2 * solution.log_likelihood,
            n_parameters=solution.n_parameters,
            sigma=1.0,
            gradient=np.nan,
            converged=solution.converged,
            singular=solution.singular,
            method=METHOD,
            notes=self.warnings()["note"],
        )

    def summary(self) -> Page:
        """Return the fit as a page of text, as glmer's summary, with what a reader must know."""
        return pages.summary_of_sign(self, self.tidy(["fixed"]), self.tidy(["ran_pars"]))

    def __repr__(self) -> str:
        """Return the page."""
        return str(self.summary())

    def _repr_html_(self) -> str:
        """Return the fit as a notebook shows it: what it is, and the table of estimates."""
        return pages.html(self.tidy(), str(self.summary()).splitlines()[:4])

    if not TYPE_CHECKING:  # a checker must know what a fit has

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says where the answer of another package's name is."""
            raise pointers.absence(self, name, pointers.NAMES | pointers.OF_SIGN)

    def anova(self, *, type: str = "III") -> pd.DataFrame:  # noqa: A002
        """Return one row per fixed term: Wald's chi-squared over its df that it adds nothing.

        Parameters
        ----------
        type
            As in `MixedModel.anova`. The likelihood ratio of two models: `compare`.
        """
        return terms_tested.anova(self, type, "wald")

    def confint(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """Return Wald intervals of the fixed effects [log odds].

        Those of the profile are not here; of a parametric bootstrap, `simulate` and fit again.

        Parameters
        ----------
        conf_level
            Nominal coverage.
        """
        return self.tidy(["fixed"], conf_level=conf_level)[CONFINT]

    def simulate(self, n_simulations: int = 1, *, rng: np.random.Generator | None = None) -> Floats:
        """Return responses, 0 or 1, drawn from the fit, random effects drawn anew.

        Parameters
        ----------
        n_simulations
            Responses to draw.
        rng
            Source of the draws; one of the seed `analysis.tidy.frame.SEED` when None.

        Returns
        -------
        Shape (rows, n_simulations), in the order of the rows, offset included.
        """
        return logistic.simulated_rows(self, n_simulations, generator(rng, "responses are drawn"))

    def ranef(self) -> pd.DataFrame:
        """Return one row per conditional mode: `group`, `level`, `term`, `estimate`."""
        return self.tidy(("ran_vals",))

    def predict(
        self,
        rows: pd.DataFrame,
        *,
        kind: str = "response",
        groups: str = "new",
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row per new row: the probability of the outcome 1, or its log odds.

        Parameters
        ----------
        rows
            New rows; with an offset they have its columns.
        kind
            ``response``: probabilities. ``link``: log odds, which R's predict gives by default.
        groups
            ``new``: random effects are zero, so that a probability is the median over levels,
            not their mean. ``known``: the conditional modes of the rows' levels are added, and
            the intervals allow for their error; a level that was not fitted is new, and noted.
            The estimated variances are held: of a dozen levels, intervals of new ones hold .91
            for a nominal .95.
        conf_level
            Nominal coverage of the intervals.

        Returns
        -------
        `estimate`, `std_error`, `df`, `conf_low`, `conf_high`, `conf_level`, `method`, `note`;
        the index is that of the rows. The interval of a probability is that of its log odds,
        its standard error is the first-order one. A row that lacks a predictor has missing
        numbers and a note that names the column.

        Raises
        ------
        AnalysisError
            If `kind` or `groups` is unknown.
        ColumnError
            If the rows are no frame, a column is absent, or a level of the fixed part was not
            fitted.
        """
        return logistic.predict(self, rows, conf_level, kind=kind, groups=groups)

    def warnings(self) -> pd.DataFrame:
        """Return one row per thing a reader must know: `guard`, `term`, `group`, `note`."""
        return guards.frame_of(
            [
                *guards.row_guards(self.source),
                *guards.column_guards(self),
                *guards.group_guards(self),
                *sign_guards.of_search(self),
                *sign_guards.rare_outcome(self),
                *sign_guards.few_rows(self),
                *guards.response_guards(self),
                *guards.term_guards(self, "wald", REMEDY),
            ]
        )


def fit_binomial(
    formula: str,
    rows: Rows,
    *,
    contrasts: Mapping[str, Any] | None = None,
    missing: str = "refuse",
    aliased: str = "refuse",
) -> BinomialModel:
    """Return the fit of a mixed model of a binary response, by the package `glmm`.

    Parameters
    ----------
    formula
        lme4's language, as for `fit`: ``(log_gain > 0) ~ rho + (1 + rho | lab) + (1 | prompt)``.
        The response is 0 or 1, a truth value, or a comparison. A group's random effects are an
        intercept, and slopes correlated with it.
    rows
        A frame, a path or glob of Parquet files, or any relation of DuckDB.
    contrasts
        By column: the reference level, or a contrast of patsy's.
    missing
        As for `fit`.
    aliased
        What to do with a fixed column that is a linear combination of those before it:
        ``refuse`` it, or ``drop`` it as `glmer` does and say so in the guards.

    Raises
    ------
    MissingExtraError
        If the package `glmm` is not installed (exit code 3).
    ColumnError
        If the formula cannot be read, names no column, or the response is not binary.
    DesignError
        If there are no rows or one outcome, the predictors or a group tell the outcomes apart
        without error, or a column is a linear combination of others and
        is not to be dropped.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> rows["is_large"] = (rows["invest"] > 150).astype(int)
    >>> fitted = mixed.fit_binomial("is_large ~ value + (1 | firm)", rows)
    >>> fitted.glance()["log_likelihood"].round(2).item()
    -21.2
    """
    require_option("missing", missing, ("refuse", "drop"))
    require_option("aliased", aliased, ("refuse", "drop"))
    source = open_source(rows)
    if missing == "drop":
        source = drop_missing(source, [formula])
    parsed = expand_bases(formula, source)
    statistics = count_trials(parsed, source)
    design = build(parsed, statistics, contrasts)
    if aliased == "drop":
        design = drop_aliased(_fixed_squares(design, statistics), design)
    _require_maximum(design, statistics)
    solution = maximise(design, statistics, offset_of(parsed, statistics))
    return BinomialModel(parsed, statistics, design, dict(contrasts or {}), source, solution)


def variance_shares(model: BinomialModel) -> VarianceShares:
    """Return the variance of the fixed, the random and the residual part, on the logit scale.

    Nakagawa, Johnson and Schielzeth (2017), J. R. Soc. Interface 14, 20170213: the residual
    is that of the standard logistic distribution.
    """
    statistics = model.statistics
    trials = statistics.product(0, 0)
    random = 0.0
    for block, covariance in zip(model.design.blocks, model.solution.covariances, strict=True):
        columns = matrix_of(block.columns)
        squares = np.einsum("ni,n,nj->ij", columns, trials, columns) / trials.sum()
        random += float((squares * covariance).sum())
    part = fixed_part(model.design.fixed, model.coefficients, statistics)
    return VarianceShares(variance(part, statistics), random, LOGISTIC_VARIANCE)


def _fixed_squares(design: Design, statistics: Statistics) -> Floats:
    """Return X'X of the fixed columns over rows, from the cells."""
    matrix = matrix_of(design.fixed)
    squares: Floats = matrix.T @ (statistics.product(0, 0)[:, None] * matrix)
    return squares


def _require_maximum(design: Design, statistics: Statistics) -> None:
    """Refuse predictors and groups for which the likelihood has no maximum."""
    trials, successes = statistics.product(0, 0), statistics.product(0, 1)
    require_independent(_fixed_squares(design, statistics), design, statistics.n_obs)
    places = separating_columns(matrix_of(design.fixed), trials, successes)
    if places:
        names = [design.fixed[place].name for place in places]
        raise DesignError(
            "Both outcomes must occur whatever the predictors say; "
            f"{[name for name in names if name != 'Intercept'] or names} separate them without "
            "error, and the likelihood has no maximum.",
            "Drop or merge them, or count the cells and use Fisher's exact test.",
        )
    for block in design.blocks:
        if not levels_with_both(block.codes, len(block.levels), trials, successes):
            raise DesignError(
                f"Some level of {block.group!r} must hold both outcomes; none of its "
                f"{len(block.levels)} levels does, and their variance has no estimate.",
                "Drop its random term, or compare the levels by an exact test.",
            )


def _fixed_rows(model: BinomialModel, conf_level: float) -> pd.DataFrame:
    errors = np.sqrt(np.diag(model.solution.covariance))
    tests = ContrastTests(model.coefficients, errors, np.full(len(model.terms), np.inf))
    table = fixed_table(model, tests, model.warnings(), f"{METHOD}; Wald z", conf_level)
    of_search = " ".join(row[-1] for row in sign_guards.of_search(model))
    return table.assign(note=[f"{of_search} {note}".strip() for note in table["note"]])


def _variance_parameters(model: BinomialModel) -> pd.DataFrame:
    blocks = zip(model.design.blocks, model.solution.covariances, strict=True)
    note = " ".join(row[-1] for row in sign_guards.of_search(model))
    return spread_table(blocks).assign(method=METHOD, note=note)


def _modes(model: BinomialModel) -> pd.DataFrame:
    blocks = zip(model.design.blocks, model.solution.modes, strict=True)
    frame = pd.concat([modes_table(block, estimate=modes) for block, modes in blocks])
    note = "Without standard errors."
    return frame.assign(effect="ran_vals", method=f"{METHOD}; conditional modes", note=note)

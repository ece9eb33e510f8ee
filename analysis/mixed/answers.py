"""What a fitted mixed model can be asked, by the names of R's generic functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.mixed.frames import anova as terms_tested
from analysis.mixed.frames import augment as rows_again
from analysis.mixed.frames import contrasts as planned_contrasts
from analysis.mixed.frames import guards, tables
from analysis.mixed.frames import summary as pages
from analysis.mixed.frames.contrasts import Weights
from analysis.mixed.frames.grid import derivatives, reference_grid
from analysis.mixed.frames.means import Comparison, marginal
from analysis.mixed.frames.summary import Page
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import method_named
from analysis.mixed.prediction import linear
from analysis.tidy.frame import Floats, generator, require_flags, require_option


@dataclass(frozen=True, repr=False)
class Answers(Fitted):
    """A fitted linear mixed model with what it answers: frames, a page, responses drawn anew.

    Attributes are those of `Fitted`.
    """

    def tidy(
        self,
        effects: str | Sequence[str] = ("fixed", "ran_pars"),
        *,
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row per estimate, as broom.mixed does.

        Parameters
        ----------
        effects
            Any of ``fixed``, ``ran_pars`` (standard deviations and correlations, without
            standard errors: their likelihood is skew, see `confint`), ``ran_vals``
            (conditional modes with conditional standard deviations).
        df
            ``kenward-roger`` (``KR``, the default of a REML fit), ``satterthwaite`` (of an ML
            fit) or ``wald``. The column `method` says which; where the default cannot be had the
            next stands in, and a note says why.
        conf_level
            Nominal coverage of the intervals.

        Returns
        -------
        `effect`, `group`, `level`, `term`, `estimate`, `std_error`, `statistic`, `df`, `p_value`,
        `conf_low`, `conf_high`, `conf_level`, `n_groups`, `n_obs`, `method`, `note`.

        Raises
        ------
        AnalysisError
            If no effect is asked for, or an effect or a method is unknown.
        DesignError
            If the method asked for cannot be had.
        """
        asked = tables.effects_asked(effects)
        method, note = self.df_method(df) if "fixed" in asked else (self.default_df, "")
        frame = tables.tidy(self, asked, method, conf_level)
        return noted(frame, note, where=frame["effect"] == "fixed")

    def glance(self) -> pd.DataFrame:
        """Return one row: size, likelihood, criteria, shares of variance, convergence.

        Returns
        -------
        `n_obs`, `n_groups`, `sigma`, `criterion`, `log_likelihood`, `aic`, `bic`, `df_residual`,
        `r_squared_marginal`, `r_squared_conditional`, `icc`, `gradient`, `converged`, `singular`,
        `method`, `note`. With several grouping factors `n_groups` is that of the one with the
        fewest levels, and the note counts each, as `groups` does.
        """
        return tables.glance(self)

    def ranef(self) -> pd.DataFrame:
        """Return the conditional modes of the random effects.

        Returns
        -------
        One row per mode: `group`, `level`, `term`, `estimate`, `std_error` and what `tidy` has.
        """
        return tables.tidy(self, ("ran_vals",), self.default_df, 0.95)

    def groups(self) -> pd.DataFrame:
        """Return the grouping factors.

        Returns
        -------
        One row per factor: `group`, `n_groups`, `n_obs`.
        """
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
        method, note = self.df_method(df)
        return noted(terms_tested.anova(self, type, method), note)

    def warnings(self, *, df: str | None = None) -> pd.DataFrame:
        """Return what a reader must know before using the numbers.

        Parameters
        ----------
        df
            Method of the tests that will be read, as in `tidy`.

        Returns
        -------
        One row per thing: `guard`, `term`, `group`, `note`.

        Raises
        ------
        AnalysisError
            If the method is unknown.
        """
        return guards.warnings(self, self.default_df if df is None else method_named(df))

    def augment(self) -> pd.DataFrame:
        """Return the rows with `fitted`, `fitted_fixed` and `residual`, by a second pass.

        Returns
        -------
        The rows used, in their order and with the index of the frame that they came in, and the
        three columns.

        Raises
        ------
        DesignError
            If the model was fitted from statistics alone.
        ColumnError
            If the rows already have a column of such a name.
        """
        return rows_again.augment(self)

    def means(
        self,
        factors: str | Sequence[str],
        *,
        pairs: bool = False,
        control: str | None = None,
        contrasts: Weights | None = None,
        at: Mapping[str, Any] | None = None,
        by: str | Sequence[str] = (),
        adjust: str = "none",
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return estimated marginal means of one or several factors, or contrasts of them.

        Every combination of the other factors counts the same; columns of numbers, and those of
        the offset, are at their means over rows, as in R's emmeans.

        Parameters
        ----------
        factors
            A factor of the fixed part, or several: one row per combination of their levels.
        pairs
            Whether to return all pairwise differences instead.
        control
            A level, such as ``"b"`` or of two factors ``"b:x"``: the differences from its mean.
        contrasts
            Planned contrasts of the means by name, a weight by level, as
            ``{"b - rest": {"b": 1, "a": -0.5, "c": -0.5}}``.
        at
            The value of a column of numbers, which then is not at its mean, or the levels of a
            factor that are asked for.
        by
            Factors within whose levels means are compared; each combination is a family.
        adjust
            Of the p-values and intervals of a family: ``none``, ``holm`` (intervals are
            Bonferroni's), ``bonferroni``, ``tukey`` (of pairs), ``dunnett`` (of a `control`) or
            ``mvt``, the multivariate t, of which Dunnett's is a case.
        df, conf_level
            As in `tidy`.

        Returns
        -------
        `level` (with `by`), `contrast`, `estimate`, `std_error`, `statistic`, `df`, `p_value`, the
        interval, `n_obs`, `method`, `note`; with an adjustment also `p_adjusted`, `n_tests`,
        `adjustment`, and intervals that hold together. A note says where a factor interacts with
        another.

        Raises
        ------
        DesignError
            If a factor is not in the fixed part, or an adjustment is for other contrasts.
        ColumnError
            If `at`, `control` or `contrasts` names what is not there.
        """
        by = (by,) if isinstance(by, str) else tuple(by)
        asked = Comparison(pairs, control, contrasts, by, adjust)
        grid = reference_grid(self, at)
        return marginal(self, grid, factors, asked, df=df, conf_level=conf_level)

    def contrast(
        self,
        contrasts: Weights,
        *,
        joint: bool = False,
        adjust: str = "none",
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return planned contrasts of the fixed effects, as R's glht.

        Parameters
        ----------
        contrasts
            By name, a weight by term: ``{"a - b": {"kind[T.a]": 1, "kind[T.b]": -1}}``. Of
            marginal means: `means`.
        joint
            Whether to return one F test that all of them are zero instead.
        adjust
            As in `means`: ``none``, ``holm``, ``bonferroni`` or ``mvt``.
        df, conf_level
            As in `tidy`.

        Returns
        -------
        One row per contrast, as `means`; or one row: `contrast`, `statistic`, `df`,
        `df_residual`, `p_value`, `n_obs`, `method`, `note`.

        Raises
        ------
        ColumnError
            If a contrast weighs no term, or what is none.

        Examples
        --------
        >>> from statsmodels.datasets import grunfeld
        >>> from analysis import mixed
        >>> rows = grunfeld.load_pandas().data
        >>> fitted = mixed.fit("invest ~ value + capital + (1 | firm)", rows)
        >>> row = fitted.contrast({"difference": {"value": 1, "capital": -1}}).iloc[0]
        >>> row[["estimate", "std_error", "df"]].astype(float).round(3).tolist()
        [-0.199, 0.022, 208.812]
        """
        require_flags(joint=joint)
        if joint:
            return planned_contrasts.together(self, contrasts, df=df)
        return planned_contrasts.contrasts(
            self, contrasts, adjust=adjust, df=df, conf_level=conf_level
        )

    def vcov(self, *, df: str = "wald") -> pd.DataFrame:
        """Return the covariance of the fixed effects, terms by terms.

        Parameters
        ----------
        df
            The method that uses it: ``wald`` and ``satterthwaite`` that of R's vcov,
            ``kenward-roger`` the adjusted one of pbkrtest's vcovAdj.
        """
        return planned_contrasts.covariance(self, method_named(df))

    def trends(
        self,
        number: str,
        factors: str | Sequence[str] = (),
        *,
        pairs: bool = False,
        control: str | None = None,
        contrasts: Weights | None = None,
        at: Mapping[str, Any] | None = None,
        by: str | Sequence[str] = (),
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
        factors, pairs, control, contrasts, at, by, adjust, df, conf_level
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
        by = (by,) if isinstance(by, str) else tuple(by)
        asked = Comparison(pairs, control, contrasts, by, adjust)
        grid = derivatives(self, number, at)
        return marginal(self, grid, factors, asked, df=df, conf_level=conf_level)

    def predict(
        self,
        rows: pd.DataFrame,
        *,
        groups: str = "new",
        df: str | None = None,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """Return one row per new row: mean with interval, and interval for an observation.

        Parameters
        ----------
        rows
            New rows; with an offset they have its columns.
        groups
            ``new``: random effects are zero, their variance widens the interval of an
            observation. ``known``: the conditional modes of the rows' levels are added, and the
            intervals allow for their error; a level that was not fitted is new, and noted.
        df, conf_level
            As in `tidy`. Kenward and Roger's method is of fixed effects alone: an observation, and
            the mean in known groups, have Satterthwaite's degrees of freedom in its place.

        Returns
        -------
        `estimate`, `std_error`, `df`, `conf_low`, `conf_high` of the mean, `predicted_df`,
        `predicted_low`, `predicted_high` of an observation with weight one, `conf_level`,
        `method`, `note`; the index is that of the rows. A row that lacks a predictor has missing
        numbers, as from R's predict, and a note that names the column.

        Raises
        ------
        ColumnError
            If a column is absent, or a level of the fixed part was not fitted.
        """
        method, note = self.df_method(df)
        frame = linear.predict(self, rows, method, conf_level, groups=groups)
        return noted(frame, note)

    def summary(self, *, df: str | None = None) -> Page:
        """Return the fit as a page of text, as lme4's summary, with what a reader must know.

        Parameters
        ----------
        df
            As in `tidy`.

        Returns
        -------
        Text: formula, size, criteria, variances, fixed effects with their tests, notes.
        """
        method, note = self.df_method(df)
        return pages.summary(self, method, note)

    def __repr__(self) -> str:
        """Return the fit in a few lines: formula, size, variances and fixed effects."""
        return pages.short(self)

    def confint(
        self,
        method: str = "profile",
        *,
        conf_level: float = 0.95,
        rng: np.random.Generator | None = None,
        n_resamples: int = 999,
    ) -> pd.DataFrame:
        """Return intervals of the parameters, as R's confint.

        Parameters
        ----------
        method
            ``profile`` (the likelihood's) or ``bootstrap`` (parametric), of all parameters.
        conf_level
            Nominal coverage.
        rng
            Source of the draws of a bootstrap.
        n_resamples
            Draws of a bootstrap.

        Returns
        -------
        One row per parameter: `effect`, `group`, `term`, `estimate`, `conf_low`, `conf_high`,
        `conf_level`, `n_obs`, `method`, `note`.

        Raises
        ------
        AnalysisError
            If the method is unknown.
        """
        require_option("method", method, ("profile", "bootstrap"))
        if method == "profile":
            from analysis.mixed.refitting.profile_interval import profile_intervals

            return profile_intervals(self, conf_level=conf_level)
        from analysis.mixed.refitting.bootstrap import parametric_bootstrap

        return parametric_bootstrap(self, rng=rng, n_resamples=n_resamples, conf_level=conf_level)

    def drop1(self) -> pd.DataFrame:
        """Return the likelihood ratio of dropping each fixed term that no other contains.

        Returns
        -------
        One row for the whole model, its `term` empty, and one per term dropped: `log_likelihood`,
        `aic`, `bic`, `statistic`, `df`, `p_value`, by maximum likelihood.

        Raises
        ------
        DesignError
            If no fixed term beside the intercept can be dropped.
        """
        from analysis.mixed.frames.comparison import drop_terms

        return drop_terms(self)

    def simulate(self, n_simulations: int = 1, *, rng: np.random.Generator | None = None) -> Floats:
        """Return responses drawn from the fit, random effects drawn anew, as R's simulate.

        Parameters
        ----------
        n_simulations
            Responses to draw.
        rng
            Source of the draws.

        Returns
        -------
        Shape (rows, n_simulations), in the order of the rows, offset included.

        Raises
        ------
        DesignError
            If the model was fitted from statistics alone.
        """
        from analysis.mixed.frames.augment import simulated_rows

        return simulated_rows(self, n_simulations, generator(rng, "responses are drawn"))


def noted(frame: pd.DataFrame, note: str, where: pd.Series | None = None) -> pd.DataFrame:
    """Return a frame with a note put before those of some rows, or of all."""
    if not note:
        return frame
    rows = pd.Series(True, index=frame.index) if where is None else where
    joined = (note + " " + frame["note"]).str.strip()
    return frame.assign(note=frame["note"].mask(rows, joined))

"""What a fitted mixed model can be asked, as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.mixed.frames import anova as terms_tested
from analysis.mixed.frames import augment as rows_again
from analysis.mixed.frames import contrasts as contrasts_of
from analysis.mixed.frames import guards, tables
from analysis.mixed.frames import means as marginal
from analysis.mixed.frames import summary as pages
from analysis.mixed.frames.comparison import drop_terms
from analysis.mixed.frames.diagnostics import simulated_rows
from analysis.mixed.frames.summary import Page
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import method_named
from analysis.mixed.refitting.bootstrap import parametric_bootstrap
from analysis.mixed.refitting.profile_interval import profile_intervals
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import Floats, require_option


@dataclass(frozen=True, repr=False)
class Answers(Fitted):
    """A fitted linear mixed model with the frames that it gives.

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
            ``kenward-roger`` (``KR``, the default of a REML fit), ``satterthwaite`` (of an ML
            fit) or ``wald``. The column `method` says which; where the default cannot be had the
            next stands in, and a note says why.
        conf_level
            Nominal coverage of the intervals.
        """
        method, note = self.df_method(df) if "fixed" in effects else (self.default_df, "")
        frame = tables.tidy(self, tuple(effects), method, conf_level)
        return _noted(frame, note, where=frame["effect"] == "fixed")

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
        method, note = self.df_method(df)
        return _noted(terms_tested.anova(self, type, method), note)

    def warnings(self, *, df: str | None = None) -> pd.DataFrame:
        """Return one row per thing a reader must know: `guard`, `term`, `group`, `note`."""
        return guards.warnings(self, self.default_df if df is None else method_named(df))

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
        method, note = self.df_method(df)
        return _noted(contrasts_of.contrast(self, contrasts, method, conf_level), note)

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
        method, note = self.df_method(df)
        found = marginal.means(
            self, names, pairs=pairs, adjust=adjust, df=method, conf_level=conf_level
        )
        return _noted(found, note)

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
        method, note = self.df_method(df)
        found = marginal.trends(
            self, number, names, pairs=pairs, adjust=adjust, df=method, conf_level=conf_level
        )
        return _noted(found, note)

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
            As in `tidy`.

        Returns
        -------
        `estimate`, `std_error`, `df`, `conf_low`, `conf_high` of the mean, `predicted_low`,
        `predicted_high` of an observation with weight one, `conf_level`, `method`, `note`.

        Raises
        ------
        ColumnError
            If a column is absent, or a level of the fixed part was not fitted.
        """
        method, note = self.df_method(df)
        found = contrasts_of.predict(self, rows, method, conf_level, groups=groups)
        return _noted(found, note)

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
            ``profile`` (the likelihood's, of all parameters), ``wald`` (of the fixed effects,
            normal) or ``bootstrap`` (parametric, of all parameters).
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
            If the method is unknown, or a bootstrap has no `rng`.
        """
        require_option("method", method, ("profile", "wald", "bootstrap"))
        if method == "profile":
            return profile_intervals(self, conf_level=conf_level)
        if method == "wald":
            frame = tables.tidy(self, ("fixed",), "wald", conf_level)
            names = ["effect", "group", "term", "estimate", "conf_low", "conf_high", "conf_level"]
            return frame[[*names, "n_obs", "method", "note"]]
        if rng is None:
            raise AnalysisError(
                "`rng` must be given: a bootstrap draws responses.",
                "Pass rng=numpy.random.default_rng(seed) and record the seed.",
            )
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
        return drop_terms(self)

    def simulate(self, n_simulations: int = 1, *, rng: np.random.Generator) -> Floats:
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
        return simulated_rows(self, n_simulations, rng)


def _noted(frame: pd.DataFrame, note: str, where: pd.Series | None = None) -> pd.DataFrame:
    """Return a frame with a note put before those of some rows, or of all."""
    if not note:
        return frame
    rows = pd.Series(True, index=frame.index) if where is None else where
    joined = (note + " " + frame["note"]).str.strip()
    return frame.assign(note=frame["note"].mask(rows, joined))

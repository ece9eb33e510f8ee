"""What a fitted mixed model can be asked, by the names of R's generic functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.mixed.frames import anova as terms_tested
from analysis.mixed.frames import augment as rows_again
from analysis.mixed.frames import guards, tables
from analysis.mixed.frames import summary as pages
from analysis.mixed.frames.asked import Asked
from analysis.mixed.frames.summary import Page
from analysis.mixed.inference import pointers
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import method_named
from analysis.mixed.prediction import linear
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats, generator, require_option

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, repr=False)
class ModelMethods(Asked, Fitted):
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

    def influence(self, group: str) -> pd.DataFrame:
        """Return the fixed effects without each level of a factor, and Cook's distance.

        Parameters
        ----------
        group
            A grouping factor, or one of the `units` that the fit was given.

        Returns
        -------
        One row per level and term: `group`, `level`, `term`, `estimate` (without it), `change`,
        `cooks_distance` (of the level, by the covariance of the whole fit), `n_obs`, `method`,
        `note`; numbers are missing where the model cannot be fitted without the level.

        Raises
        ------
        DesignError
            If the group is no factor of the fit.
        """
        from analysis.mixed.refitting.influence import influence

        return influence(self, group)

    def leverage(self) -> pd.DataFrame:
        """Return how much each row's response moves its fitted value, as R's hatvalues.

        Returns
        -------
        The rows with `fitted`, `fitted_fixed`, `residual` and `leverage`; the last sums to the
        effective number of parameters. Variances are held.

        Raises
        ------
        DesignError
            If the model was fitted from statistics alone, or has weights.
        """
        if self.weights is not None:
            raise DesignError(
                "Leverage needs rows that count the same; this fit has weights.",
                "Ask for influence(group).",
            )
        frame = self.augment()
        rows = frame.drop(columns=list(rows_again.ADDED))
        known = self.predict(rows, groups="known", df="wald")["std_error"].to_numpy()
        return frame.assign(leverage=known**2 / self.solution.variance)

    def plot(self, kind: str = "residuals", *, group: str | None = None) -> alt.TopLevelMixin:
        """Return a picture of the fit, an Altair chart.

        Parameters
        ----------
        kind
            ``residuals`` over fitted values, ``quantiles`` of the residuals against the normal's,
            ``random`` (what each level adds), or ``influence`` (Cook's distance of the levels of
            `group`).
        group
            The group of ``random``, all without it; for ``influence`` it must be named.
        """
        from analysis.mixed.frames import plots

        require_option("kind", kind, ("residuals", "quantiles", "random", "influence"))
        if kind == "influence":
            if group is None:
                raise AnalysisError(
                    "A figure of influence must be of a group; none is named.",
                    f"Name one of {list(self.groups()['group'])}: group='...'.",
                )
            return plots.influence(self.influence(group))
        if kind == "random":
            known = self.ranef()
            chosen = known if group is None else known[known["group"] == group]
            if chosen.empty:
                raise AnalysisError(
                    f"A group must have random effects; {group!r} has none.",
                    f"Name one of {list(self.groups()['group'])}.",
                )
            return plots.modes(chosen)
        frame = self.augment()
        return plots.residuals(frame) if kind == "residuals" else plots.quantiles(frame)

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

    def _repr_html_(self) -> str:
        """Return the fit as a notebook shows it: the page's head, and the table of estimates."""
        return pages.html(self.tidy(), pages.head(self))

    if not TYPE_CHECKING:  # a checker must know what a fit has

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says where the answer of another package's name is."""
            raise pointers.absence(self, name, pointers.NAMES)

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
            Source of the draws; one of the seed `analysis.tidy.frame.SEED` when None.

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

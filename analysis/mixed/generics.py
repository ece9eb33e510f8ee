"""R's generic functions of a fitted mixed model: predict, summary, confint, drop1, simulate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.mixed.answers import Answers, noted
from analysis.mixed.frames import summary as pages
from analysis.mixed.frames.summary import Page
from analysis.mixed.prediction import linear
from analysis.tidy.frame import Floats, generator, require_option


@dataclass(frozen=True, repr=False)
class Generics(Answers):
    """A fitted linear mixed model with what R's generic functions give.

    Attributes are those of `Fitted`.
    """

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
            If the method is unknown, or a bootstrap has no `rng`.
        """
        require_option("method", method, ("profile", "bootstrap"))
        if method == "profile":
            from analysis.mixed.refitting.profile_interval import profile_intervals

            return profile_intervals(self, conf_level=conf_level)
        rng = generator(rng, "a bootstrap draws responses")
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
        from analysis.mixed.frames.simulation import simulated_rows

        return simulated_rows(self, n_simulations, rng)

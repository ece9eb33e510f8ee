"""What the fixed effects of any fit can be asked: means, slopes, contrasts, their covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.mixed.frames import contrasts as planned_contrasts
from analysis.mixed.frames.contrasts import Weights
from analysis.mixed.frames.grid import derivatives, reference_grid
from analysis.mixed.frames.means import Comparison, marginal
from analysis.mixed.inference.fitted import Tested
from analysis.tidy.frame import require_flags


class Asked(Tested):
    """A fit with the answers that it gives through contrasts of its fixed effects.

    Those of a binary response are log odds, as R's emmeans gives them before it is asked for the
    scale of the response; their tests are Wald's, and random effects are zero.
    """

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
        return planned_contrasts.covariance(self, self.df_method(df)[0])

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

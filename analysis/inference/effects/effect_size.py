"""Effect sizes with exact intervals: standardised difference, association, shares of variance.

Intervals invert the noncentral t, chi-squared and F distributions (Steiger and Fouladi 1997;
Steiger 2004, Psychological Methods 9, 164) where the estimate is a function of such a statistic.
"""

from __future__ import annotations

from math import exp, lgamma, sqrt

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.counts.contingency import odds_contrast, two_by_two
from analysis.inference.effects.noncentral import (
    noncentrality_chi_squared,
    noncentrality_f,
    noncentrality_t,
)
from analysis.inference.effects.two_samples import two_samples, varies_within
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    level_codes,
    numbers,
    require_conf_level,
    require_rows,
    rows_by_group,
)


def standardised_difference(
    frame: pd.DataFrame, *, value: str, group: str, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return Cohen's d and Hedges' g of two groups, with noncentral t intervals.

    d divides by the pooled standard deviation; g multiplies d by Hedges's exact correction
    J = G(m/2) / (sqrt(m/2) G((m-1)/2)), m = n1 + n2 - 2 (Hedges 1981).

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers.
    group
        Column with two levels: the first less the second.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    Two rows, `term` Cohen's d and Hedges' g: `contrast`, `estimate` [standard deviations],
    `df`, the interval, `n_obs`.

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels, there are fewer than 4 rows, or values do not vary
        within groups, or so little that no noncentral t can be computed.
    """
    require_conf_level(conf_level)
    first, second, levels = two_samples(frame, value=value, group=group)
    df = len(first) + len(second) - 2
    if df < 2 or not varies_within((first, second)):
        raise DesignError(
            f"A standardised difference needs 4 rows that vary within groups; found {df + 2} "
            f"with {len(np.unique(first))} and {len(np.unique(second))} distinct values.",
            "Widen the filter.",
        )
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    d = float(first.mean() - second.mean()) / sqrt(squares / df)
    per_unit = sqrt(1 / len(first) + 1 / len(second))
    low, high = noncentrality_t(d / per_unit, df, conf_level)
    bias = exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2)
    return pd.concat(
        [
            _row(
                term=term,
                contrast=f"{levels[0]} - {levels[1]}",
                estimate=factor * d,
                df=float(df),
                conf_low=factor * low * per_unit,
                conf_high=factor * high * per_unit,
                conf_level=conf_level,
                n_obs=df + 2,
                method="Pooled standard deviation; noncentral t interval",
            )
            for term, factor in (("Cohen's d", 1.0), ("Hedges' g", bias))
        ],
        ignore_index=True,
    )


def rank_biserial(
    frame: pd.DataFrame, *, value: str, group: str, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return the rank-biserial correlation of two groups.

    It is the share of pairs in which the first group is larger less the share in which it is
    smaller; ties count as neither. The interval is Fisher's z with variance
    (n1 + n2 + 1) / (3 n1 n2), as in R's effectsize.

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers.
    group
        Column with two levels: the first against the second.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    One row: `contrast`, `estimate` [-1 to 1], the interval, `n_obs`.

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels.
    """
    require_conf_level(conf_level)
    first, second, levels = two_samples(frame, value=value, group=group)
    estimate = float(np.sign(first[:, None] - second[None, :]).mean())
    variance = (len(first) + len(second) + 1) / (3 * len(first) * len(second))
    reach = float(stats.norm.isf((1 - conf_level) / 2)) * sqrt(variance)
    perfect = abs(estimate) == 1
    centre = 0.0 if perfect else float(np.arctanh(estimate))
    return _row(
        term="rank-biserial correlation",
        contrast=f"{levels[0]} over {levels[1]}",
        estimate=estimate,
        conf_low=estimate if perfect else float(np.tanh(centre - reach)),
        conf_high=estimate if perfect else float(np.tanh(centre + reach)),
        conf_level=conf_level,
        n_obs=len(first) + len(second),
        method="Rank-biserial correlation; Fisher z interval",
        note="The groups do not overlap: the interval has no width and says nothing."
        if perfect
        else "",
    )


def association(
    frame: pd.DataFrame,
    *,
    row: str | None = None,
    column: str | None = None,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the sample odds ratio and phi of a 2x2 table.

    The interval of ad/bc is Woolf's, normal on the log scale; phi = sqrt(chi-squared / n) has a
    noncentral chi-squared interval. For exact intervals see `fisher` and `unconditional`.

    Parameters
    ----------
    frame
        Either the counts, two rows by two columns, or, with `row` and `column`, one row per unit.
    row, column
        Columns with two levels each.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    Two rows, `term` odds ratio and phi: `contrast`, `estimate`, the interval, `n_obs`.

    Raises
    ------
    ColumnError
        If a named column is absent or has missing values, or a count is not a whole number.
    DesignError
        If the table is not 2x2 or a margin is zero.
    """
    require_conf_level(conf_level)
    counts = two_by_two(frame, row, column)
    (a, b), (c, d) = counts.to_numpy().tolist()
    n = a + b + c + d
    chi_squared = n * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
    low, high = noncentrality_chi_squared(chi_squared, 1, conf_level)
    known = {"contrast": odds_contrast(counts), "conf_level": conf_level, "n_obs": n}
    odds = _woolf(np.array([a, b, c, d], dtype=np.float64), conf_level)
    phi = {
        "estimate": sqrt(chi_squared / n),
        "conf_low": sqrt(low / n),
        "conf_high": min(1.0, sqrt(high / n)),
        "method": "Phi; noncentral chi-squared interval",
        "note": "",
    }
    return pd.concat(
        [_row(term="odds ratio", **known, **odds), _row(term="phi", **known, **phi)],
        ignore_index=True,
    )


def variance_explained(
    frame: pd.DataFrame, *, value: str, group: str, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return eta squared and omega squared of one factor, with noncentral F intervals.

    Both estimate the share of variance between levels; eta squared is too large in small
    samples, omega squared (Hays) almost unbiased. The interval is one and the same, of the share
    in the population: L / (L + n) for noncentrality L (Steiger 2004, eq. 18).

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers.
    group
        Column with two levels or more.
    conf_level
        Nominal two-sided coverage of the interval.

    Returns
    -------
    Two rows, `term` eta squared and omega squared: `estimate` [share; omega may be negative],
    `statistic` [F], `df`, `df_residual`, the interval, `n_obs`, `n_groups` (levels).

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If there is one level, no more rows than levels, or no variation within levels.
    """
    require_conf_level(conf_level)
    require_rows(frame, 3, "A share of variance")
    values = numbers(frame, value)
    codes, levels = level_codes(frame, group)
    df, df_residual = len(levels) - 1, len(values) - len(levels)
    if df < 1 or not varies_within(values[rows] for rows in rows_by_group(codes)):
        raise DesignError(
            f"A share of variance needs two levels and rows that vary within them; found "
            f"{len(levels)} levels, {len(values)} rows, no two of one level that differ.",
            "Widen the filter.",
        )
    between, within = _sums_of_squares(values, codes)
    mean_square = within / df_residual
    statistic = between / df / mean_square
    low, high = noncentrality_f(statistic, df, df_residual, conf_level)
    shares = {
        "eta squared": between / (between + within),
        "omega squared": (between - df * mean_square) / (between + within + mean_square),
    }
    return pd.concat(
        [
            _row(
                term=term,
                estimate=share,
                statistic=statistic,
                df=float(df),
                df_residual=float(df_residual),
                conf_low=low / (low + len(values)),
                conf_high=high / (high + len(values)),
                conf_level=conf_level,
                n_obs=len(values),
                n_groups=len(levels),
                method="One-way shares of variance; noncentral F interval",
            )
            for term, share in shares.items()
        ],
        ignore_index=True,
    )


def _sums_of_squares(values: Floats, codes: Integers) -> tuple[float, float]:
    """Return the sums of squares between and within levels."""
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum())
    return between, float(((values - means[codes]) ** 2).sum())


def _woolf(cells: Floats, conf_level: float) -> dict[str, object]:
    """Return the odds ratio with its normal interval on the log scale."""
    method = "Sample odds ratio; Woolf interval"
    if (cells == 0).any():
        a, b, c, d = cells.tolist()
        return {
            "estimate": a * d / (b * c) if b * c else float("inf"),
            "conf_low": np.nan,
            "conf_high": np.nan,
            "method": method,
            "note": "A cell is empty: Woolf's interval does not exist; see Fisher's.",
        }
    centre = float(np.log(cells) @ np.array([1.0, -1.0, -1.0, 1.0]))
    reach = float(stats.norm.isf((1 - conf_level) / 2)) * sqrt(float((1 / cells).sum()))
    return {
        "estimate": exp(centre),
        "conf_low": exp(centre - reach),
        "conf_high": exp(centre + reach),
        "method": method,
        "note": "",
    }


def _row(**columns: object) -> pd.DataFrame:
    result = pd.DataFrame([{"note": "", **columns}])
    glossary.checked(result.columns)
    return result

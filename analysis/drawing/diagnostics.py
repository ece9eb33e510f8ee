"""Charts of a mixed model's frames; what a chart draws stands in its frame."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, WIDTH

#: Height of one row of a forest or caterpillar plot [pixels].
ROW = 18


def chart_forest(estimates: pd.DataFrame) -> alt.LayerChart:
    """Draw fixed effects with their intervals.

    Parameters
    ----------
    estimates
        One row per term: `term`, `estimate`, `conf_low`, `conf_high`, `std_error`, `df`, `p_value`.
    """
    return _whiskers(
        estimates,
        alt.Y("term:N", title=None, sort=list(estimates["term"])),
        "estimate [units of the response]",
        ["term", "estimate", "std_error", "df", "p_value", "conf_low", "conf_high"],
        "Fixed effects of the mixed model with confidence intervals; zero is dashed.",
    )


def chart_caterpillar(modes: pd.DataFrame) -> alt.LayerChart:
    """Draw the conditional modes of one group and term, smallest first.

    Parameters
    ----------
    modes
        One row per level: `level`, `estimate`, `conf_low`, `conf_high`.
    """
    return _whiskers(
        modes,
        alt.Y("level:N", title=None, sort=alt.EncodingSortField("estimate")),
        "conditional mode [units of the response]",
        ["level", "estimate", "conf_low", "conf_high"],
        "Conditional modes of the levels of one grouping factor with intervals, sorted; zero, "
        "the mean of all levels, is dashed.",
    )


def chart_quantiles(quantiles: pd.DataFrame) -> alt.LayerChart:
    """Draw observed against theoretical quantiles, with the line of equality.

    Parameters
    ----------
    quantiles
        One row per quantile or level: `theoretical`, `observed` [standard deviations].
    """
    x = alt.X("theoretical:Q", title="normal quantile [standard deviations]")
    y = alt.Y("observed:Q", title="observed quantile [standard deviations]")
    line = alt.Chart(quantiles).mark_line(color=INK, strokeDash=[6, 4])
    points = alt.Chart(quantiles).mark_point(filled=True, size=40)
    return _named(
        alt.layer(line.encode(x=x, y=alt.Y("theoretical:Q")), points.encode(x=x, y=y)),
        "Observed quantiles against those of the normal; points on the dashed line agree.",
    )


def chart_binned_residuals(bins: pd.DataFrame) -> alt.LayerChart:
    """Draw mean residuals of bins, with two standard errors.

    Parameters
    ----------
    bins
        One row per bin: `term`, `bin_low`, `bin_high`, `estimate`, `std_error`.
    """
    drawn = bins.assign(
        middle=(bins["bin_low"] + bins["bin_high"]) / 2,
        low=bins["estimate"] - 2 * bins["std_error"],
        high=bins["estimate"] + 2 * bins["std_error"],
    )
    x = alt.X("middle:Q", title=str(bins["term"].iloc[0]), scale=alt.Scale(zero=False))
    y = alt.Y("estimate:Q", title="mean residual [units of the response]")
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=INK, strokeDash=[6, 4])
    return _named(
        alt.layer(
            zero.encode(y="zero:Q"),
            alt.Chart(drawn).mark_rule().encode(x=x, y="low:Q", y2="high:Q"),
            alt.Chart(drawn).mark_point(filled=True, size=50).encode(x=x, y=y),
        ),
        "Mean residual of bins of equally many rows with two standard errors; zero is dashed.",
    )


def _whiskers(
    rows: pd.DataFrame, y: alt.Y, title: str, tooltip: list[str], description: str
) -> alt.LayerChart:
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=INK, strokeDash=[6, 4])
    intervals = alt.Chart(rows).mark_rule().encode(y=y, x="conf_low:Q", x2="conf_high:Q")
    points = alt.Chart(rows).mark_point(filled=True, size=60)
    layers = alt.layer(
        zero.encode(x="zero:Q"),
        intervals,
        points.encode(y=y, x=alt.X("estimate:Q", title=title), tooltip=tooltip),
    )
    return _named(layers.properties(height=ROW * len(rows)), description)


def _named(chart: alt.LayerChart | alt.FacetChart, description: str) -> alt.LayerChart:
    return cast(alt.LayerChart, chart.properties(width=WIDTH, description=description))

"""Power against the share that rules: by rule at the present layout, by layout for the chosen."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.delia2026.tournament import criterion
from analysis.delia2026.tournament.designs import POWER
from analysis.drawing.theme import DASHES, greys, line_at, named, series
from analysis.tidy import prose


def chart_power(curves: pd.DataFrame, by: str, title: str) -> alt.LayerChart:
    """Draw power against the variance share of the true factor.

    ``curves`` has one row per line and share: the column ``by`` (words), `share` [1], `power` [1].
    """
    lines = list(dict.fromkeys(curves[by]))
    legend = alt.Legend(columns=1, labelLimit=360, symbolType="stroke", symbolSize=900)
    drawn = (
        alt.Chart(curves)
        .mark_line(strokeWidth=2.5, point=True)
        .encode(
            x=alt.X(
                "share:Q",
                title="variance explained by the true factor [0 to 1]",
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y(
                "power:Q",
                title="power: proportion of data sets with a yes [0 to 1]",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(tickCount=5),
            ),
            color=alt.Color(f"{by}:N", title=None, sort=lines, scale=greys(lines), legend=legend),
            strokeDash=alt.StrokeDash(
                f"{by}:N", title=None, sort=lines, scale=series(lines, DASHES), legend=legend
            ),
        )
    )
    return named(
        alt.layer(line_at(POWER, "y"), line_at(criterion.LEVEL, "y"), drawn),
        "Power against the variance explained by the true factor; lines at "
        f"{POWER:g} and at the level {criterion.LEVEL:g}.",
        title,
    )


def smallest_layout(curves: pd.DataFrame, share: float = 0.5) -> str:
    """Return the smallest layout that has this power at one share, in words."""
    enough = curves[((curves["share"] - share).abs() < 1e-9) & (curves["power"] >= POWER)]
    if enough.empty:
        return (
            f"If suites explain {prose.percent(share)} of the variance, none of these designs "
            f"shows it in {prose.percent(POWER)} of data sets."
        )
    least = enough.loc[enough["n_models"] == enough["n_models"].min()].iloc[0]
    return (
        f"If suites explain {prose.percent(share)} of the variance, the smallest of these designs "
        f"that shows it in {prose.percent(POWER)} of data sets has "
        f"{prose.count(int(least['n_models']))} models of "
        f"{prose.plural(int(least['n_suites']), 'suite')}."
    )

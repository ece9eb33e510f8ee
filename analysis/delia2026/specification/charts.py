"""The specification curve drawn: estimates above, the choices that lead to them below."""

from __future__ import annotations

import math
from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.specification.curve_tables import NAMES
from analysis.drawing.theme import INK, TONES, add_finding, line_at
from analysis.tidy import prose

WIDTH = 450
SIDE = 180  # room for the names of levels [px]
ROW = 20  # height of a level [px]
LABEL = 14  # font size [px]

#: Of the intervals that the curve marks, every so many-th is drawn.
EVERY = 3

#: From this lift on a cell is as dark as it gets [1].
MOST = 3

#: Room above and below the estimates; intervals are cut there [SD of the outcome].
MARGIN = 1


def chart_specifications(
    curve: pd.DataFrame, band: pd.DataFrame, marks: pd.DataFrame
) -> alt.VConcatChart:
    """Draw the distinct specifications in the order of their estimates, and their choices below.

    Parameters
    ----------
    curve
        One row per distinct specification: `rank`, `standardised_low`, `standardised_high` [SD
        of the outcome], `is_marked`.
    band
        One row per point of the curve: `rank`, `estimate`, `null_low`, `null_high` [the same].
    marks
        One row per choice, level and bin of ranks: `choice`, `level`, `rank`, `share`, `lift`.
    """
    x = alt.X(
        "rank:Q",
        title=None,
        axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False),
        scale=alt.Scale(domain=[0, len(curve) + 1], nice=False),
    )
    ranked = x.title("specification [rank by estimate]").axis(tickCount=5, grid=False)
    choices = list(dict.fromkeys(marks["choice"]))
    below = [
        _choices(
            marks[marks["choice"] == choice], ranked if choice == choices[-1] else x, NAMES[choice]
        )
        for choice in choices
    ]
    stacked = alt.vconcat(_estimates(curve, band, ranked), *below, spacing=8).properties(
        description="Specification curve: standardised estimates in ascending order with the "
        "range that permuted labels give, and below them one row per level of each choice."
    )
    inside = band["estimate"].between(band["null_low"], band["null_high"]).mean()
    text = (
        f"At {prose.percent(float(inside))} of its ranks the curve lies inside the band that holds "
        "95 % of curves at each rank when the labels of suites are permuted."
    )
    return cast(alt.VConcatChart, add_finding(stacked.resolve_scale(opacity="shared"), text))


def _estimates(curve: pd.DataFrame, band: pd.DataFrame, x: alt.X) -> alt.LayerChart:
    """Return the upper panel: the band of the null, intervals, and the curve."""
    lowest, highest = float(band["estimate"].min()), float(band["estimate"].max())
    limits = [math.floor(lowest) - MARGIN, math.ceil(highest) + MARGIN]
    scale = alt.Scale(domain=limits, nice=False)
    y = alt.Y("estimate:Q", title="estimate [SD of the outcome]", scale=scale)
    base = alt.Chart(band[["rank", "null_low", "null_high"]])
    area = base.mark_area(color=INK, opacity=0.15, clip=True).encode(
        x=x, y=alt.Y("null_low:Q", scale=scale), y2="null_high:Q"
    )
    edges = [
        base.mark_line(color=INK, strokeDash=[5, 3], clip=True).encode(
            x=x, y=alt.Y(f"{edge}:Q", scale=scale)
        )
        for edge in ("null_low", "null_high")
    ]
    bounded = curve[curve["is_marked"] & curve["standardised_low"].notna()].iloc[::EVERY]
    whiskers = (
        alt.Chart(bounded[["rank", "standardised_low", "standardised_high"]])
        .mark_rule(color=TONES[0], opacity=0.6, strokeWidth=1.5, clip=True)
        .encode(x=x, y=alt.Y("standardised_low:Q", scale=scale), y2="standardised_high:Q")
    )
    line = (
        alt.Chart(band[["rank", "estimate"]])
        .mark_line(color=TONES[0], strokeWidth=3, clip=True)
        .encode(x=x, y=y)
    )
    layered = alt.layer(area, *edges, whiskers, line_at(0, "y"), line)
    return cast(alt.LayerChart, layered.properties(width=WIDTH, height=250))


def _choices(marks: pd.DataFrame, x: alt.X, title: str) -> alt.Chart:
    """Return the panel of one choice: a cell per level and bin, darker where chosen."""
    levels = list(dict.fromkeys(marks["level"]))
    heading = alt.TitleParams(
        title, anchor="start", frame="group", dx=-SIDE, fontSize=LABEL, fontWeight="normal"
    )
    axis = alt.Axis(
        grid=True, ticks=False, domain=False, labelFontSize=LABEL, minExtent=SIDE, maxExtent=SIDE
    )
    shown = marks.loc[marks["share"] > 0, ["rank", "level", "share", "lift"]]
    chart = (
        alt.Chart(shown)
        .mark_rect(color=TONES[0], width=WIDTH / marks["rank"].nunique(), height=ROW - 4)
        .encode(
            x=x,
            y=alt.Y("level:N", title=None, sort=levels, axis=axis, scale=alt.Scale(domain=levels)),
            opacity=alt.Opacity(
                "lift:Q",
                title="share of the specifications there, over the level’s mean share [ratio]",
                legend=alt.Legend(
                    values=[0, 1, 2, 3], titleLimit=500, symbolType="square", columns=4
                ),
                scale=alt.Scale(domain=[0, MOST], range=[0.05, 1], clamp=True),
            ),
        )
        .properties(
            width=WIDTH,
            height=ROW * len(levels),
            title=heading,
        )
    )
    return cast(alt.Chart, chart)

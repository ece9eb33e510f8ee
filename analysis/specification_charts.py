"""The specification curve drawn: estimates above, the choices that lead to them below."""

from __future__ import annotations

import math
from typing import cast

import altair as alt
import pandas as pd

from analysis.specification_exhibits import NAMES
from analysis.theme import COLOURS, INK, line_at

WIDTH = 330
SIDE = 180  # room for the names of levels [px]
ROW = 20  # height of a level [px]
LABEL = 14  # font size [px]

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
        One row per choice, level and bin of ranks: `choice`, `level`, `rank`, `share`.
    """
    x = alt.X(
        "rank:Q",
        title=None,
        axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False),
        scale=alt.Scale(domain=[0, len(curve) + 1], nice=False),
    )
    below = [
        _choices(marks[marks["choice"] == choice], x, NAMES[choice])
        for choice in dict.fromkeys(marks["choice"])
    ]
    stacked = alt.vconcat(_estimates(curve, band, x), *below, spacing=8).properties(
        description="Specification curve: standardised estimates in ascending order with the "
        "range that exchanged labels give, and below them one row per level of each choice."
    )
    return cast(alt.VConcatChart, stacked.resolve_scale(size="shared"))


def _estimates(curve: pd.DataFrame, band: pd.DataFrame, x: alt.X) -> alt.LayerChart:
    """Return the upper panel: the band of the null, intervals, and the curve."""
    x = x.title("specifications, lowest estimate to highest [rank]")
    lowest, highest = float(band["estimate"].min()), float(band["estimate"].max())
    limits = [math.floor(lowest) - MARGIN, math.ceil(highest) + MARGIN]
    scale = alt.Scale(domain=limits, nice=False)
    y = alt.Y("estimate:Q", title="estimate [SD of the outcome]", scale=scale)
    area = (
        alt.Chart(band[["rank", "null_low", "null_high"]])
        .mark_area(color=INK, opacity=0.25, clip=True)
        .encode(x=x, y=alt.Y("null_low:Q", scale=scale), y2="null_high:Q")
    )
    bounded = curve[curve["is_marked"] & curve["standardised_low"].notna()]
    whiskers = (
        alt.Chart(bounded[["rank", "standardised_low", "standardised_high"]])
        .mark_rule(color=INK, opacity=0.55, clip=True)
        .encode(x=x, y=alt.Y("standardised_low:Q", scale=scale), y2="standardised_high:Q")
    )
    line = (
        alt.Chart(band[["rank", "estimate"]])
        .mark_line(color=COLOURS[0], strokeWidth=3, clip=True)
        .encode(x=x, y=y)
    )
    layered = alt.layer(area, whiskers, line_at(0, "y"), line)
    return cast(alt.LayerChart, layered.properties(width=WIDTH, height=250))


def _choices(marks: pd.DataFrame, x: alt.X, title: str) -> alt.Chart:
    """Return the panel of one choice: a square per level and bin, as large as its share."""
    levels = list(dict.fromkeys(marks["level"]))
    heading = alt.TitleParams(
        title, anchor="start", frame="group", dx=-SIDE, fontSize=LABEL, fontWeight="normal"
    )
    axis = alt.Axis(
        grid=True, ticks=False, domain=False, labelFontSize=LABEL, minExtent=SIDE, maxExtent=SIDE
    )
    chart = (
        alt.Chart(marks.loc[marks["share"] > 0, ["rank", "level", "share"]])
        .mark_square(color=INK, opacity=1)
        .encode(
            x=x,
            y=alt.Y("level:N", title=None, sort=levels, axis=axis, scale=alt.Scale(domain=levels)),
            size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0, 100])),
        )
        .properties(
            width=WIDTH,
            height=ROW * len(levels),
            title=heading,
        )
    )
    return cast(alt.Chart, chart)

"""Charts of the report's section on what is printed."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.drawing.names import Align
from analysis.drawing.theme import INK, SHAPES, greys, named, series
from analysis.tidy import prose

#: Where the numbers were looked for; the second mark is open, so that both show on one spot.
KINDS = ("notebook named for it", "best other file")


def chart_figure_sources(figures: pd.DataFrame) -> alt.LayerChart:
    """Draw the share of each figure's numbers found where the README points, and elsewhere.

    ``figures`` has one row per figure and place searched: `place`, `searched` (of `KINDS`),
    `share` [0 to 1].
    """
    order = list(figures["place"].unique())
    y = alt.Y("place:N", title=None, sort=order, axis=alt.Axis(labelPadding=14, ticks=False))
    x = alt.X(
        "share:Q",
        title="share of the figure's numbers found [0 to 1]",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f", offset=8),
    )
    spans = (
        alt.Chart(figures)
        .mark_rule(color=INK, opacity=0.5)
        .encode(y=y, x=alt.X("min(share):Q"), x2="max(share):Q")
    )
    colour = alt.Color("searched:N", scale=greys(KINDS), legend=None)
    shape = alt.Shape("searched:N", scale=series(KINDS, SHAPES[1::-1]), legend=None)
    marks = [
        alt.Chart(figures[figures["searched"] == kind])
        .mark_point(strokeWidth=2.5, opacity=1, size=size)
        .encode(x=x, y=y, color=colour, shape=shape)
        for kind, size in zip(KINDS, (60, 260), strict=True)
    ]
    marks += [
        alt.Chart(row)
        .mark_text(align=align, dx=away, dy=-15, fontSize=13, color=INK)
        .encode(x=x, y=y, text="searched:N")
        for row, align, away in _named(figures)
    ]
    return named(
        alt.layer(spans, *marks).properties(height=270),
        "Share of each figure's numbers found in the files of the notebook named for it.",
        _sources_found(figures),
    )


def _named(figures: pd.DataFrame) -> list[tuple[pd.DataFrame, Align, int]]:
    """Return the marks of the first figure whose two part, and to which side their names go."""
    ends = figures.groupby("place", sort=False)["share"].agg(["min", "max"])
    first = ends.index[ends["max"] > ends["min"]][:1]
    rows = figures[figures["place"].isin(first)]
    return [
        (rows[rows["share"] < 0.5], "left", -6),
        (rows[rows["share"] >= 0.5], "right", 10),
    ]


def _sources_found(figures: pd.DataFrame) -> str:
    """Return for how many figures each place holds all numbers."""
    n_figures = figures["place"].nunique()
    n_same, other = (
        int((figures.loc[figures["searched"] == kind, "share"] == 1).sum()) for kind in KINDS
    )
    return (
        f"The notebook named for a figure holds all its numbers for "
        f"{prose.share_of(n_same, n_figures)}; another file does for {other}."
    )

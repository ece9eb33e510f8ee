"""Caterpillar plot of the hierarchy; no statistic is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.marks import named_once, roomiest
from analysis.drawing.theme import INK, SHAPES, found, greys, series
from analysis.heritage.hierarchy import findings
from analysis.heritage.hierarchy.models import GEOMETRY_AND_SCALE, NOTHING

#: Height of one row of marks [pixels].
ROW = 32

#: Space for the names of the rows, alike in all panels, and of everything [pixels].
NAMES, WHOLE = 125, 540

#: How a panel names the predictor it is about.
PREDICTORS = {
    "heritage": "heritage",
    "rho": "head density",
    "d_head": "head width",
    "n_layers": "depth",
    "log_parameters": "log10 parameters",
}

BEFORE, AFTER = "before", "after geometry and scale"


def chart_caterpillar(modes: pd.DataFrame) -> alt.VConcatChart:
    """Draw how far labs and suites lie from the mean, before and after geometry and scale.

    ``modes`` has the rows of `hierarchy.conditional_modes` of one data set under both
    members: `group`, `level`, `block`, `estimate`, `conf_low`, `conf_high` [nat].
    """
    named = modes.assign(
        mark=modes["block"].map({NOTHING: BEFORE, GEOMETRY_AND_SCALE: AFTER}), row=modes["level"]
    )
    ordered = named.sort_values(["block", "estimate"], ascending=[False, True])
    panels = {
        group: _titled(str(group), rows) for group, rows in named.groupby("group", sort=False)
    }
    varying = _varying(named.assign(panel=named["group"].map(panels)))
    chart = _panels(
        varying,
        names=NAMES,
        title="distance from the mean [nat]",
        scale=alt.Scale(),
        axis=alt.Axis(tickCount=4),
        panels=list(panels.values()),
        rows=list(dict.fromkeys(ordered["row"])),
        marks=(BEFORE, AFTER),
        description="Conditional modes of labs and suites with 95 % intervals, sorted, before and "
        "after geometry and scale enter; zero is a line.",
    )
    return cast(alt.VConcatChart, found(chart, findings.levels(varying)))


def _varying(modes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of groups and marks whose variance is not estimated as zero."""
    deviates = modes.groupby(["group", "mark"])["estimate"].transform(lambda rows: rows.ne(0).any())
    return modes[deviates]


def _titled(group: str, modes: pd.DataFrame) -> str:
    """Return the title of a group's panel, which says where its variance is estimated as zero."""
    drawn = set(_varying(modes)["mark"])
    absent = [mark for mark in (BEFORE, AFTER) if mark in set(modes["mark"]) - drawn]
    return f"{group} ({', '.join(absent)}: variance estimated as zero)" if absent else group


def _panels(
    drawn: pd.DataFrame,
    *,
    names: int,
    title: str,
    scale: alt.Scale,
    axis: alt.Axis,
    panels: Sequence[str],
    rows: Sequence[str],
    marks: Sequence[str],
    description: str,
) -> alt.VConcatChart:
    """Return one panel per value of `panel`, one row per value of `row`, a mark per `mark`."""
    present = [panel for panel in panels if panel in set(drawn["panel"])]
    named, _ = roomiest(drawn, ["panel", "row"])
    stacked = [
        _panel(
            drawn[drawn["panel"] == panel],
            alt.X(
                "estimate:Q",
                title=title if panel == present[-1] else None,
                scale=scale,
                axis=axis,
            ),
            names=names,
            title=panel,
            rows=rows,
            marks=marks,
            is_named=panel == named,
        )
        for panel in present
    ]
    chart = alt.vconcat(*stacked, spacing=8, description=description)
    shared = chart.resolve_scale(x="shared", color="shared", shape="shared")
    return cast(alt.VConcatChart, shared)


def _panel(
    drawn: pd.DataFrame,
    x: alt.X,
    *,
    names: int,
    title: str,
    rows: Sequence[str],
    marks: Sequence[str],
    is_named: bool,
) -> alt.LayerChart:
    present = [row for row in rows if row in set(drawn["row"])]
    axis = alt.Axis(minExtent=names, maxExtent=names, labelLimit=names, grid=True)
    placed = alt.Chart(drawn).encode(
        y=alt.Y("row:N", title=None, sort=present, axis=axis),
        yOffset=alt.YOffset("mark:N", sort=list(marks), scale=alt.Scale(paddingInner=0.3)),
        color=alt.Color("mark:N", scale=greys(marks), legend=None),
    )
    zero = alt.Chart(drawn).mark_rule(color=INK).encode(x=alt.datum(0))
    whiskers = placed.mark_rule(strokeWidth=2).encode(
        x=alt.X("conf_low:Q"), x2=alt.X2("conf_high:Q")
    )
    points = placed.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, shape=alt.Shape("mark:N", scale=series(marks, SHAPES), legend=None)
    )
    words = [named_once(placed, drawn, "row")] if is_named else []
    layers = alt.layer(zero, points, whiskers, *words).properties(
        width=WHOLE - names,
        height=ROW * len(present),
        title=alt.TitleParams(title, anchor="start", fontSize=14, fontWeight="normal"),
    )
    return cast(alt.LayerChart, layers)

"""Forest and caterpillar plot of the hierarchy; no statistic is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import COLOURS, INK, SHAPES, series
from analysis.questions.heritage.models import EVERYTHING, GEOMETRY_AND_SCALE, NOTHING

#: Height of one row of marks [pixels].
ROW = 26

#: Space for the names of the rows, alike in all panels, and of everything [pixels].
NAMES_OF_SETS, NAMES_OF_LEVELS, WHOLE = 255, 125, 540

#: How a panel names the predictor it is about.
PREDICTORS = {
    "heritage": "heritage",
    "rho": "head density",
    "d_head": "head width",
    "n_layers": "depth",
    "log_parameters": "log10 parameters",
}

ALONE, BESIDE = "its block alone", "beside the other blocks"
BEFORE, AFTER = "before", "after geometry and scale"


def chart_forest(effects: pd.DataFrame, *, reach: float) -> alt.VConcatChart:
    """Draw the coefficients of every data set, alone and beside the others, with intervals.

    Parameters
    ----------
    effects
        As `hierarchy.fixed_effects` returns them; rows without an estimate are left out.
    reach
        Where the axis ends on both sides [nat]; intervals are cut there.
    """
    estimated = effects.dropna(subset=["estimate"])
    drawn = estimated.assign(
        panel=estimated["term"].str.partition("[")[0].map(PREDICTORS),
        mark=estimated["block"].map({EVERYTHING: BESIDE}).fillna(ALONE),
        row=estimated["data_set"],
        conf_low=estimated["conf_low"].clip(-reach, reach),
        conf_high=estimated["conf_high"].clip(-reach, reach),
    )
    return _panels(
        drawn,
        names=NAMES_OF_SETS,
        title="coefficient [nat per SD]",
        scale=alt.Scale(domain=[-reach, reach]),
        panels=list(PREDICTORS.values()),
        rows=list(dict.fromkeys(effects["data_set"])),
        marks=(ALONE, BESIDE),
        description="Coefficients of heritage, geometry and scale with 95 % intervals, a panel per "
        "predictor, a row per data set; zero is a line.",
    )


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
    return _panels(
        _varying(named.assign(panel=named["group"].map(panels))),
        names=NAMES_OF_LEVELS,
        title="distance from the mean [nat]",
        scale=alt.Scale(),
        panels=list(panels.values()),
        rows=list(dict.fromkeys(ordered["row"])),
        marks=(BEFORE, AFTER),
        description="Conditional modes of labs and suites with 95 % intervals, sorted, before and "
        "after geometry and scale enter; zero is a line.",
    )


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
    panels: Sequence[str],
    rows: Sequence[str],
    marks: Sequence[str],
    description: str,
) -> alt.VConcatChart:
    """Return one panel per value of `panel`, one row per value of `row`, a mark per `mark`."""
    present = [panel for panel in panels if panel in set(drawn["panel"])]
    stacked = [
        _panel(
            drawn[drawn["panel"] == panel],
            alt.X(
                "estimate:Q",
                title=title if panel == present[-1] else None,
                scale=scale,
                axis=alt.Axis(tickCount=4),
            ),
            names=names,
            title=panel,
            rows=rows,
            marks=marks,
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
) -> alt.LayerChart:
    present = [row for row in rows if row in set(drawn["row"])]
    axis = alt.Axis(minExtent=names, maxExtent=names, labelLimit=names, grid=True)
    legend = alt.Legend(labelLimit=NAMES_OF_SETS)
    placed = alt.Chart(drawn).encode(
        y=alt.Y("row:N", title=None, sort=present, axis=axis),
        yOffset=alt.YOffset("mark:N", sort=list(marks), scale=alt.Scale(paddingInner=0.3)),
        color=alt.Color("mark:N", title=None, scale=series(marks, COLOURS), legend=legend),
    )
    zero = alt.Chart(drawn).mark_rule(color=INK).encode(x=alt.datum(0))
    whiskers = placed.mark_rule(clip=True, strokeWidth=2).encode(
        x=alt.X("conf_low:Q"), x2=alt.X2("conf_high:Q")
    )
    points = placed.mark_point(clip=True, filled=True, size=70, opacity=1).encode(
        x=x, shape=alt.Shape("mark:N", title=None, scale=series(marks, SHAPES))
    )
    layers = alt.layer(zero, points, whiskers).properties(
        width=WHOLE - names,
        height=ROW * len(present),
        title=alt.TitleParams(title, anchor="start", fontSize=14, fontWeight="normal"),
    )
    return cast(alt.LayerChart, layers)

"""The figure of the study: recipes in the order of their growth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.delia2026.study.fleet import HELD, Band
from analysis.delia2026.study.pages.names import RECIPES, UNPUBLISHED
from analysis.drawing.labs import lab_colour, lab_shape
from analysis.drawing.theme import INK, PAPER, named, series
from analysis.tidy import prose

#: Size of a mark by depth [px²].
DEPTHS: Mapping[int, int] = {3: 44, 12: 120}

#: How a hollow mark is drawn, and the edge of a filled one, which parts it from one beneath it.
RING: Mapping[str, Any] = {"strokeWidth": 2}
EDGE: Mapping[str, Any] = {"stroke": PAPER, "strokeWidth": 0.75}

#: What stands in the place of a lab where there is none.
RANGE = "a range"

#: Width of the panel, height of a row, and room beside the panel [px].
PANEL, ROW, BESIDE = 260, 23, 8

#: What the response is called under the panel: ×1 is what equal, unrelated writes would give.
TITLE = [
    "growth of the stream as a multiple of equal writes",
    "×1: grows as by equal writes",
    "←\u00a0grows less than by equal writes · grows more\u00a0→",
]

#: Where the axis of log growth is marked: halves and doubles.
TICKS = [math.log(factor) for factor in (0.125, 0.25, 0.5, 1, 2)]


def chart_exhibit(runs: pd.DataFrame, band: Band) -> alt.LayerChart:
    """Draw recipes in the order of their excess, a mark per run.

    Parameters
    ----------
    runs
        From `fleet.recipe_runs`.
    band
        From `fleet.band_of_chance`.
    """
    words = (
        "Recipes in the order of how much the stream grows after block 0 beyond equal writes, a "
        "mark per trained network: colour and name for the lab, size for the depth, hollow for "
        "ranges that no lab published. The line is growth by equal writes; the band holds "
        f"{HELD} networks if only the seed mattered."
    )
    return named(_recipes(runs, band), words, finding(runs, band))


def finding(runs: pd.DataFrame, band: Band) -> str:
    """Return how many of the networks drawn lie outside the band drawn."""
    drawn = runs["excess"].dropna()
    outside = ~drawn.between(band.low, band.high)
    return (
        f"{prose.share_of(int(outside.sum()), len(drawn))} toy networks lie outside the band in "
        f"which the seed alone would leave {HELD}."
    )


def _recipes(runs: pd.DataFrame, band: Band) -> alt.LayerChart:
    shown = runs.assign(
        recipe_name=runs["recipe"].map(RECIPES),
        depth=runs["n_layers"].map("{} blocks".format),
        gain=runs["excess"].map(lambda value: f"{value:+.2f}"),
        is_range=runs["lab"] == UNPUBLISHED,
    )
    means = (
        shown.groupby(["recipe_name", "lab"])["excess"].agg(["mean", "min", "max"]).reset_index()
    )
    order = list(means.sort_values("mean")["recipe_name"])
    present = [n for n in DEPTHS if n in set(shown["n_layers"])]
    y = alt.Y(
        "recipe_name:N", sort=order, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False)
    )
    x = alt.X(
        "excess:Q",
        title=TITLE,
        scale=alt.Scale(padding=8),
        axis=alt.Axis(grid=False, values=TICKS, labelExpr="'×' + format(exp(datum.value), '~g')"),
    )
    scale = series([f"{n} blocks" for n in present], [DEPTHS[n] for n in present])
    size = alt.Size("depth:N", scale=scale, legend=None)
    shape = lab_shape(shown).legend(None)
    colour = lab_colour(shown).legend(None)
    tips = ["recipe:N", "lab:N", "n_layers:Q", "d_model:Q", "seed:Q", "gain:N"]
    points = [
        alt.Chart(shown[shown["is_range"] == hollow])
        .mark_point(filled=not hollow, opacity=1, **(RING if hollow else EDGE))
        .encode(x=x, y=y, color=colour, shape=shape, size=size, tooltip=tips)
        for hollow in (False, True)
        if hollow in set(shown["is_range"])
    ]
    ends = alt.Chart(means[means["lab"] == UNPUBLISHED]).mark_rule(color=INK, strokeWidth=1.5)
    # The rows above which stands no row of the same lab.
    rows = means.sort_values("mean")
    rows = rows[rows["lab"] != rows["lab"].shift()]
    labs = (
        alt.Chart(rows.assign(label=rows["lab"].replace(UNPUBLISHED, RANGE)))
        .mark_text(align="left", fontSize=14)
        .encode(x=alt.value(PANEL + BESIDE), y=y, text="label:N", color=colour)
    )
    spans = ends.encode(x="min:Q", x2="max:Q", y=y)
    layers = [*_reference(band), spans, *points, labs]
    return cast(
        "alt.LayerChart",
        alt.layer(*layers).properties(width=PANEL, height=ROW * len(order)),
    )


def _reference(band: Band) -> list[alt.Chart]:
    """Return the band of the seed and the line of equal writes, each with its name above it."""
    line = pd.DataFrame({"at": [0.0], "label": ["equal writes"]})
    is_left = band.middle <= 0
    ends = pd.DataFrame(
        {"low": [band.low], "high": [band.high], "label": ["seed alone"], "at": [band.middle]}
    )
    return [
        alt.Chart(ends).mark_rect(color=INK, opacity=0.25).encode(x="low:Q", x2="high:Q"),
        alt.Chart(line).mark_rule(color=INK, strokeWidth=1.5).encode(x="at:Q"),
        _above(line, "at", to_right=is_left),
        _above(ends, "high" if is_left else "low", to_right=not is_left),
    ]


def _above(row: pd.DataFrame, place: str, *, to_right: bool) -> alt.Chart:
    mark = alt.Chart(row).mark_text(align="left" if to_right else "right", fontSize=14, color=INK)
    return cast("alt.Chart", mark.encode(x=alt.X(f"{place}:Q"), y=alt.value(-8), text="label:N"))

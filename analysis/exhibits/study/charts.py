"""The exhibit of the study: recipes in the order of their growth, and beneath them the shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import INK, LABS, found, series
from analysis.exhibits.study.names import RECIPES, SHORT, SOURCES, UNPUBLISHED
from analysis.exhibits.study.words import lab_short
from analysis.questions.study import fleet
from analysis.questions.study.fleet import DRAWN, JOINT, Band

#: Shape of a mark by depth.
DEPTHS: Mapping[int, str] = {3: "circle", 12: "triangle-up"}

#: Colour of each source, and of what is written on it; each is told from its neighbours in grey.
COLOURS: Mapping[str, tuple[str, str]] = {
    "recipe": ("#1F83C9", "#ffffff"),
    "geometry": ("#E69F00", "#1a1d21"),
    "recipe:geometry": ("#7A4A9A", "#ffffff"),
    "seed": ("#c4c9ce", "#1a1d21"),
}

#: What stands in the place of a lab where there is none.
RANGE = "a range"

#: Width of the panels, height of a row and of a bar, room beside the panels [px].
PANEL, ROW, BAR, BESIDE = 260, 23, 30, 8

#: What the response is called under the panel, and where words are few.
TITLE, SMALL_TITLE = "growth after block 0 beyond equal writes [nat]", "growth [nat]"

#: Least share that is written on its part of a bar [%], and the room of a letter of a name [px].
WRITTEN, LETTER = 20, 8


def chart_exhibit(
    runs: pd.DataFrame, band: Band | None, shares: pd.DataFrame, *, is_small: bool = False
) -> alt.VConcatChart:
    """Draw recipes in the order of their excess, a mark per run, and beneath them the shares.

    Parameters
    ----------
    runs
        From `fleet.recipe_runs`.
    band
        From `fleet.band_of_chance`; None where no cell has two seeds yet.
    shares
        From `fleet.response_shares`, for the responses to draw; empty while none can be told.
    is_small
        Draw the bar of the first response alone, with fewer words.
    """
    panels = [_recipes(runs, band, SMALL_TITLE if is_small else TITLE)]
    words = (
        "Recipes in the order of how much the stream grows after block 0 beyond equal writes, a "
        "mark per trained network: colour and name for the lab, shape for the depth, hollow for "
        "ranges that no lab published. The line is growth by equal writes; the band holds 95 of "
        "100 networks if only the seed mattered."
    )
    if not shares.empty:
        panels.append(_bars(shares[shares["response"] == DRAWN[0]] if is_small else shares))
        words += " Beneath, a bar per response, cut into the shares of the variance that each "
        words += "source makes."
    exhibit = found(
        alt.vconcat(*panels, spacing=20).properties(description=words),
        lab_short(fleet.lab_shares(runs)[0]),
    )
    apart = exhibit.resolve_scale(color="independent", shape="independent")
    return cast("alt.VConcatChart", apart)


def _recipes(runs: pd.DataFrame, band: Band | None, title: str) -> alt.LayerChart:
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
        title=title,
        scale=alt.Scale(padding=8),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    shape = alt.Shape(
        "depth:N",
        title=None,
        scale=series([f"{n} blocks" for n in present], [DEPTHS[n] for n in present]),
        legend=alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK, offset=8),
    )
    tips = ["recipe:N", "lab:N", "n_layers:Q", "d_model:Q", "seed:Q", "gain:N"]
    points = [
        alt.Chart(shown[shown["is_range"] == hollow])
        .mark_point(filled=not hollow, size=70, opacity=0.85, strokeWidth=2)
        .encode(x=x, y=y, color=_of_lab(shown), shape=shape, tooltip=tips)
        for hollow in (False, True)
        if hollow in set(shown["is_range"])
    ]
    ends = alt.Chart(means[means["lab"] == UNPUBLISHED]).mark_rule(color=INK, strokeWidth=1.5)
    labs = (
        alt.Chart(means.assign(said=means["lab"].replace(UNPUBLISHED, RANGE)))
        .mark_text(align="left", fontSize=14)
        .encode(x=alt.value(PANEL + BESIDE), y=y, text="said:N", color=_of_lab(shown))
    )
    layers = [*_reference(band), ends.encode(x="min:Q", x2="max:Q", y=y), *points, labs]
    return cast(
        "alt.LayerChart",
        alt.layer(*layers).properties(width=PANEL, height=ROW * len(order)),
    )


def _of_lab(runs: pd.DataFrame) -> alt.Color:
    """Return the colour of each lab; its name stands at the end of the row."""
    labs = [lab for lab in [*LABS, UNPUBLISHED] if lab in set(runs["lab"])]
    colours = [LABS[lab][0] if lab in LABS else INK for lab in labs]
    return alt.Color("lab:N", scale=series(labs, colours), legend=None)


def _reference(band: Band | None) -> list[alt.Chart]:
    """Return the band of chance and the line of equal writes, each with its name above it."""
    line = pd.DataFrame({"at": [0.0], "said": ["equal writes"]})
    is_left = band is None or band.middle <= 0
    layers = [
        alt.Chart(line).mark_rule(color=INK, strokeWidth=1.5).encode(x="at:Q"),
        _above(line, "at", to_right=is_left),
    ]
    if band is not None:
        ends = pd.DataFrame(
            {"low": [band.low], "high": [band.high], "said": ["chance"], "at": [band.middle]}
        )
        layers.insert(
            0,
            alt.Chart(ends).mark_rect(color=INK, opacity=0.25).encode(x="low:Q", x2="high:Q"),
        )
        layers.append(_above(ends, "high" if is_left else "low", to_right=not is_left))
    return layers


def _above(row: pd.DataFrame, place: str, *, to_right: bool) -> alt.Chart:
    mark = alt.Chart(row).mark_text(align="left" if to_right else "right", fontSize=14, color=INK)
    return cast("alt.Chart", mark.encode(x=alt.X(f"{place}:Q"), y=alt.value(-8), text="said:N"))


def _bars(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per response, cut into shares; one alone has no axis and no legend."""
    rows = _parts(shares)
    order = [SHORT[name] for name in DRAWN if name in set(rows["response"])]
    present = [key for key in SOURCES if key in set(rows["term"])]
    y = alt.Y("response_name:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False))
    colour = alt.Color(
        "source:N",
        title=None,
        scale=series([SOURCES[key] for key in present], [COLOURS[key][0] for key in present]),
        legend=alt.Legend(columns=2, symbolStrokeColor=INK, symbolStrokeWidth=1, offset=8)
        if len(order) > 1
        else None,
    )
    x = alt.X(
        "start:Q",
        title="share of the variance among networks [%]",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(grid=False, tickCount=5) if len(order) > 1 else None,
    )
    bars = (
        alt.Chart(rows)
        .mark_bar(stroke=INK, strokeWidth=0.6)
        .encode(x=x, x2="end:Q", y=y, color=colour, tooltip=["response_name:N", "source:N", "said"])
    )
    words = [
        alt.Chart(of_ink)
        .mark_text(color=str(ink), fontSize=14)
        .encode(x="middle:Q", y=y, text="written:N")
        for ink, of_ink in rows[rows["percent"] > WRITTEN].groupby("ink")
    ]
    chart = alt.layer(bars, *words).properties(width=PANEL, height=BAR * len(order))
    return cast("alt.LayerChart", chart)


def _parts(shares: pd.DataFrame) -> pd.DataFrame:
    """Return where each part of each bar begins and ends, and what is written on it."""
    rows = shares[(shares["method"] == JOINT) & shares["term"].isin(list(SOURCES))]
    rows = rows.assign(
        source=rows["term"].map(SOURCES),
        ink=rows["term"].map({key: ink for key, (_, ink) in COLOURS.items()}),
        place=rows["term"].map({key: i for i, key in enumerate(SOURCES)}),
        response_name=rows["response"].map(SHORT),
        percent=100 * rows["estimate"],
        said=(100 * rows["estimate"]).map("{:.0f} %".format),
    ).sort_values(["response", "place"])
    rows = rows.assign(end=rows.groupby("response")["percent"].cumsum())
    return rows.assign(
        start=rows["end"] - rows["percent"],
        middle=rows["end"] - rows["percent"] / 2,
        written=[
            f"{source} {said}" if percent * PANEL > 100 * LETTER * len(f"{source} {said}") else said
            for source, said, percent in zip(
                rows["source"], rows["said"], rows["percent"], strict=True
            )
        ],
    )

"""The exhibit of the study: recipes in the order of their growth, and beneath them the shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import altair as alt
import pandas as pd

from analysis.drawing.labs import lab_colour, lab_shape
from analysis.drawing.theme import BLACK, INK, PAPER, TONES, found, series
from analysis.heritage.study.fleet import DRAWN, HELD, JOINT, Band
from analysis.heritage.study.pages.names import RECIPES, SHORT, SOURCES, UNPUBLISHED
from analysis.heritage.study.pages.words import shares as share_words

#: Size of a mark by depth [px²].
DEPTHS: Mapping[int, int] = {3: 44, 12: 120}

#: Grey of each source, and of what is written on it; each is told from its neighbours. Chance has
#: none.
GREYS: Mapping[str, tuple[str, str]] = {
    "recipe": (TONES[0], PAPER),
    "geometry": (TONES[2], BLACK),
    "recipe:geometry": (TONES[1], PAPER),
    "seed": ("transparent", INK),
}

#: How a hollow mark is drawn, and the edge of a filled one, which parts it from one beneath it.
RING: Mapping[str, Any] = {"strokeWidth": 2}
EDGE: Mapping[str, Any] = {"stroke": PAPER, "strokeWidth": 0.75}

#: What stands in the place of a lab where there is none.
RANGE = "a range"

#: Width of the panels, height of a row and of a bar, room beside the panels [px].
PANEL, ROW, BAR, BESIDE = 260, 23, 30, 8
#: Distance of the names of parts from their bar, the near ones and those between them [px].
NEAR, FAR = 9, 26
#: How the first of the narrow parts is named, those between, and the last.
ALIGNED: tuple[tuple[Literal["left", "center", "right"], int], ...] = (
    ("right", 4),
    ("center", 0),
    ("left", -4),
)

#: What the response is called under the panel: 0 is what equal, unrelated writes would give.
TITLE = ["growth of the stream beyond equal writes [nat]", "← shorter · longer →"]

#: Least share that is written on its part of a bar: on a phone less has no room for it [%].
WRITTEN = 25


def chart_exhibit(
    runs: pd.DataFrame,
    band: Band,
    shares: pd.DataFrame,
) -> alt.VConcatChart:
    """Draw recipes in the order of their excess, a mark per run, and the shares.

    Parameters
    ----------
    runs
        From `fleet.recipe_runs`.
    band
        From `fleet.band_of_chance`.
    shares
        From `fleet.response_shares`, for the responses to draw.
    """
    words = (
        "Recipes in the order of how much the stream grows after block 0 beyond equal writes, a "
        "mark per trained network: colour and name for the lab, size for the depth, hollow for "
        "ranges that no lab published. The line is growth by equal writes; the band holds "
        f"{HELD} networks if only the seed mattered."
    )
    panels = [_recipes(runs, band), _bars(shares)]
    words += " Beneath, a bar per response, cut into the shares of the variance of each source."
    parts = share_words(shares, DRAWN[0])
    finding = (
        f"In toy models the training recipe accounts for {parts['recipe']} of the differences in "
        f"growth of the stream, their shape for {parts['geometry']}."
    )
    exhibit = found(alt.vconcat(*panels, spacing=30).properties(description=words), finding)
    apart = exhibit.resolve_scale(color="independent", shape="independent", size="independent")
    return cast("alt.VConcatChart", apart)


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
        axis=alt.Axis(grid=False, tickCount=4),
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
    labs = (
        alt.Chart(_firsts(means))
        .mark_text(align="left", fontSize=14)
        .encode(x=alt.value(PANEL + BESIDE), y=y, text="said:N", color=colour)
    )
    spans = ends.encode(x="min:Q", x2="max:Q", y=y)
    layers = [*_reference(band), spans, *points, labs]
    return cast(
        "alt.LayerChart",
        alt.layer(*layers).properties(width=PANEL, height=ROW * len(order)),
    )


def _firsts(means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows above which stands no row of the same lab, with its name as `said`."""
    rows = means.sort_values("mean")
    rows = rows[rows["lab"] != rows["lab"].shift()]
    return rows.assign(said=rows["lab"].replace(UNPUBLISHED, RANGE))


def _reference(band: Band | None) -> list[alt.Chart]:
    """Return the band of the seed and the line of equal writes, each with its name above it."""
    line = pd.DataFrame({"at": [0.0], "said": ["equal writes"]})
    is_left = band is None or band.middle <= 0
    layers = [
        alt.Chart(line).mark_rule(color=INK, strokeWidth=1.5).encode(x="at:Q"),
        _above(line, "at", to_right=is_left),
    ]
    if band is not None:
        ends = pd.DataFrame(
            {"low": [band.low], "high": [band.high], "said": ["seed alone"], "at": [band.middle]}
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
    """Draw one bar per response, cut into shares that are named above the first."""
    rows = _parts(shares)
    order = [SHORT[name] for name in DRAWN if name in set(rows["response"])]
    present = [key for key in SOURCES if key in set(rows["term"])]
    y = alt.Y("response_name:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False))
    scale = series([SOURCES[key] for key in present], [GREYS[key][0] for key in present])
    x = alt.X(
        "start:Q",
        title="share of the variance among networks [%]",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    bars = (
        alt.Chart(rows)
        .mark_bar(stroke=INK, strokeWidth=0.6)
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            color=alt.Color("source:N", scale=scale, legend=None),
            tooltip=["response_name:N", "source:N", "said"],
        )
    )
    words = [
        alt.Chart(of_ink)
        .mark_text(color=str(ink), fontSize=14)
        .encode(x="middle:Q", y=y, text="said:N")
        for ink, of_ink in rows[rows["percent"] > WRITTEN].groupby("ink")
    ]
    names = _names_of_parts(rows[rows["response_name"] == order[0]])
    chart = alt.layer(bars, *words, *names).properties(width=PANEL, height=BAR * len(order))
    return cast("alt.LayerChart", chart)


def _names_of_parts(first: pd.DataFrame) -> list[alt.Chart]:
    """Return the names of the parts of the first bar, joined to their middles.

    The last three are narrow: the one between stands higher, the others turn away from it.
    """
    layers = []
    narrow = list(first["source"])[1:]
    for row in first.to_dict("records"):
        place = narrow.index(row["source"]) if row["source"] in narrow else -1
        align, away = ALIGNED[0 if place == 0 else -1 if place == len(narrow) - 1 else 1]
        up = FAR if align == "center" and place > 0 else NEAR
        at = alt.Chart(pd.DataFrame({"at": [row["middle"]], "source": [row["source"]]}))
        rule = at.mark_rule(color=INK, strokeWidth=0.8).encode(
            x="at:Q", y=alt.value(3 - up), y2=alt.value(3), description=alt.value("")
        )
        text = at.mark_text(align=align, dx=away, dy=-4)
        text = text.encode(x="at:Q", y=alt.value(-up), text="source:N", size=alt.value(14))
        layers += [rule, text.encode(color=alt.value(INK))]
    return layers


def _parts(shares: pd.DataFrame) -> pd.DataFrame:
    """Return where each part of each bar begins and ends, and what is written on it."""
    rows = shares[(shares["method"] == JOINT) & shares["term"].isin(list(SOURCES))]
    rows = rows.assign(
        source=rows["term"].map(SOURCES),
        ink=rows["term"].map({key: ink for key, (_, ink) in GREYS.items()}),
        place=rows["term"].map({key: i for i, key in enumerate(SOURCES)}),
        response_name=rows["response"].map(SHORT),
        percent=100 * rows["estimate"],
        said=(100 * rows["estimate"]).map("{:.0f} %".format),
    ).sort_values(["response", "place"])
    rows = rows.assign(end=rows.groupby("response")["percent"].cumsum())
    return rows.assign(
        start=rows["end"] - rows["percent"],
        middle=rows["end"] - rows["percent"] / 2,
    )

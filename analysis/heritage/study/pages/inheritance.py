"""Birth or upbringing: networks trained further under another recipe, drawn."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.labs import lab_colour
from analysis.drawing.theme import INK, SHAPES, found, series
from analysis.heritage.study.inheritance import KEPT, OF_NO_LAB
from analysis.heritage.study.pages.names import RECIPES, RESPONSES
from analysis.heritage.study.pages.words import shares as share_words

#: How a network was trained on, and the shape of its mark.
KINDS = dict(zip(("its own recipe", "another recipe", "Muon"), SHAPES, strict=False))

#: Size of a panel and of a row in it [px].
PANEL, ROW = 300, 27


def chart_inheritance(children: pd.DataFrame, shares: pd.DataFrame) -> alt.VConcatChart:
    """Draw each network that was trained on in the row of its birth, for both responses.

    Parameters
    ----------
    children
        From `inheritance.networks`.
    shares
        From `inheritance.shares`.
    """
    order = list(children.groupby("birth")["excess_born"].mean().sort_values().index)
    panels = [_panel(children, response, order, place == 1) for place, response in enumerate(KEPT)]
    drawn = alt.vconcat(*panels, spacing=24).properties(
        description="Networks in the row of the recipe that they were born under, a mark for each "
        "way of training on: a disc for the same recipe, a diamond for another, a cross for "
        "Muon; upright strokes are the networks before. Above growth, beneath the gain of the last "
        "block."
    )
    apart = drawn.resolve_scale(color="independent", shape="independent")
    made = share_words(shares)
    finding = (
        f"The first recipe makes {made['birth']} of the differences in growth after equal steps, "
        f"the later settings {made['upbringing']}."
    )
    return cast("alt.VConcatChart", found(apart, finding))


def _panel(
    children: pd.DataFrame, response: str, order: list[str], is_last: bool
) -> alt.LayerChart:
    rows = _rows(children, response)
    y = alt.Y(
        "born:N",
        sort=[RECIPES[name] for name in order],
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False),
    )
    x = alt.X(
        "value:Q",
        title=f"{RESPONSES[response]} [nat]",
        scale=alt.Scale(padding=8),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    colour = lab_colour(rows).legend(None)
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    shape = alt.Shape(
        "kind:N",
        title="trained further under",
        scale=series(kinds, [KINDS[kind] for kind in kinds]),
        # Marks of a row lie on each other: named beside them, kinds would not be told apart.
        legend=alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK, offset=8)
        if is_last
        else None,
    )
    tips = ["birth:N", "upbringing:N", "seed:Q", "trained_on:N", "before:N"]
    marks = [
        alt.Chart(rows[rows["kind"] == kind])
        .mark_point(filled=True, size=80, opacity=0.85)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
        for kind in kinds
    ]
    before = (
        alt.Chart(rows.drop_duplicates(["birth", "seed"]))
        .mark_tick(thickness=3, size=ROW - 7)
        .encode(x=alt.X("value_born:Q"), y=y, color=colour)
    )
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=INK, strokeWidth=1.5)
    return cast(
        "alt.LayerChart",
        alt.layer(zero.encode(x="at:Q"), before, *marks).properties(
            width=PANEL, height=ROW * len(order)
        ),
    )


def _rows(children: pd.DataFrame, response: str) -> pd.DataFrame:
    """Return one row per network: its place in the panel and what its mark says."""
    same, other, no_lab = KINDS
    kinds = [
        no_lab if later == OF_NO_LAB else same if later == f"as_{birth}" else other
        for birth, later in zip(children["birth"], children["upbringing"], strict=True)
    ]
    return pd.DataFrame(
        {
            **children[["birth", "upbringing", "seed", "lab"]],
            "born": children["birth"].map(RECIPES),
            "kind": kinds,
            "value": children[response],
            "value_born": children[f"{response}_born"],
            "trained_on": children[response].map("{:+.2f}".format),
            "before": children[f"{response}_born"].map("{:+.2f}".format),
        }
    )

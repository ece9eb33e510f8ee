"""Figures of public models: length over depth, and gain by prompts."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.delia2026.public import words
from analysis.delia2026.public.tokens import COUNTED
from analysis.drawing.names import end_names
from analysis.drawing.theme import (
    DASHES,
    INK,
    SIDES,
    UNCHANGED,
    WIDTH,
    add_finding,
    greys,
    line_at,
    log_axis,
    series,
)

#: Height of a panel of lengths, and the least distance of two names in it [px].
HEIGHT, LINE = 150, 17

#: Room at the right of a panel for the names of its lines, as a share of the depth.
BESIDE = 0.42

#: Ticks of an axis of gains near 1.
GAINS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4)

#: What marks of the two policies of special tokens look like.
POLICIES = ("as the tokenizer does", "the other policy")


def chart_lengths(lengths: pd.DataFrame) -> alt.VConcatChart:
    """Draw length over depth by the tokens that are counted, a panel per model.

    ``lengths`` has the rows of `tokens.lengths`.
    """
    n_models = lengths["model_id"].nunique()
    panels = [
        _lengths(rows, width=WIDTH, height=HEIGHT, is_named=place == n_models - 1).properties(
            title=_title(words.panel(rows))
        )
        for place, (_, rows) in enumerate(lengths.groupby("model_id"))
    ]
    stacked = alt.vconcat(*panels, spacing=14).properties(
        description="Length of the stream over depth, one panel per model, a line for each choice "
        "of tokens."
    )
    return cast("alt.VConcatChart", add_finding(stacked, words.turning(lengths)))


def _lengths(
    rows: pd.DataFrame, *, width: float, height: float, is_named: bool = True
) -> alt.LayerChart:
    """Draw one line per choice of tokens, each with its name at its end."""
    rows = rows.assign(name=rows["counted"].map(COUNTED))
    axis = log_axis(rows["length"])
    depth = int(rows["layer"].max())
    x = alt.X("layer:Q", scale=alt.Scale(domain=[0, depth * (1 + BESIDE)], nice=False)).axis(
        title="after block" if is_named else None, values=list(range(0, depth + 1, 5)), grid=False
    )
    y = alt.Y("length:Q", scale=axis["scale"], axis=axis["axis"]).title(
        ["length of the vector", "(after block 0: 1)"]
    )
    names = [it for it in COUNTED.values() if it in set(rows["name"])]
    lines = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color("name:N", scale=greys(names), legend=None),
            strokeDash=alt.StrokeDash("name:N", scale=series(names, DASHES), legend=None),
        )
    )
    low, high = axis["scale"].domain
    least = LINE / height * float(pd.Series([high / low]).transform("log").iloc[0])
    ends = end_names(rows, x, "length", least=least, is_log=True, beside=6)
    return cast("alt.LayerChart", alt.layer(lines, ends).properties(width=width, height=height))


def chart_sets(gains: pd.DataFrame) -> alt.VConcatChart:
    """Draw the gain of the last block on every prompt set by the tokens counted, a panel per model.

    ``gains`` has the rows of `tokens.gains`.
    """
    rows = gains[gains["metric"].isin(words.COUNTED_LAST)]
    rows = rows.assign(
        counted=rows["metric"].map(words.COUNTED_LAST),
        policy=(rows["special_tokens"] != "default").map(
            dict(zip((False, True), POLICIES, strict=True))
        ),
    )
    panels = [
        _sets(part, rows["gain"], is_last=place == rows["model_id"].nunique() - 1).properties(
            title=_title(words.name(str(model_id)))
        )
        for place, (model_id, part) in enumerate(rows.groupby("model_id"))
    ]
    stacked = alt.vconcat(*panels, spacing=10).properties(
        description="Gain of the last block, a row per choice of tokens and a mark per prompt set."
    )
    return cast("alt.VConcatChart", add_finding(stacked, words.sets(rows)))


def _sets(rows: pd.DataFrame, every: pd.Series[float], *, is_last: bool) -> alt.LayerChart:
    axis = log_axis(every, beyond=1.05)
    axis["axis"].values = [it for it in GAINS if every.min() <= it <= every.max()]
    axis["axis"].tickCount = len(GAINS)
    if not is_last:
        axis["axis"].labels, axis["axis"].ticks = False, False
    x = alt.X("gain:Q", **axis).title(
        ["gain of the last block [ratio]", UNCHANGED, SIDES] if is_last else None
    )
    how: dict[str, Any] = {"title": "start token", "sort": list(POLICIES)}
    marks = (
        alt.Chart(rows)
        .mark_point(filled=True, size=80, opacity=0.85)
        .encode(
            x=x,
            y=alt.Y("counted:N", title=None, sort=list(COUNTED.values())).axis(minExtent=110),
            shape=alt.Shape(
                "policy:N", scale=series(POLICIES, ("circle", "M-1,-1H1L-1,1H1Z")), **how
            ),
            color=alt.Color("policy:N", scale=greys(POLICIES), **how),
            detail="prompt_set:N",
        )
    )
    layers = alt.layer(line_at(1, "x"), marks).properties(width=WIDTH - 60, height=84)
    return cast("alt.LayerChart", layers)


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=14, fontWeight="normal", anchor="start", color=INK)

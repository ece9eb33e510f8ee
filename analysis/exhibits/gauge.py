"""One network in several coordinates: identical predictions, other profiles of gain."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import COLOURS, INK, SHAPES, WIDTH
from analysis.questions.gauge import GAUGES

HEIGHT = 150
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3])

#: Columns that are drawn: the title of the axis, and what the panel shows.
PANELS = {
    "log_norm": ("ln |x| [nat]", "The length that the paper reads"),
    "log_norm_centred": (
        "ln |x less its mean| [nat]",
        "Without the mean over features, which no block reads",
    ),
}


def chart_gauges(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw length and gain over depth of one network in every gauge.

    ``layers`` has one row per gauge and layer, as `profiles` returns it.
    """
    rows = [
        _row(layers, column, *titles, has_labels=column == list(PANELS)[-1])
        for column, titles in PANELS.items()
    ]
    stacked = alt.vconcat(
        *rows,
        spacing=12,
        description="Length of the stream over depth of one network in four gauges whose logits "
        "are identical: rising, falling and flat in the upper panel. Without the mean over "
        "features the four lie on each other in the lower panel.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast("alt.VConcatChart", shared)


def _row(
    layers: pd.DataFrame, column: str, axis: str, title: str, *, has_labels: bool
) -> alt.LayerChart:
    names = list(GAUGES)
    scales = {
        "color": alt.Scale(domain=names, range=COLOURS[: len(names)]),
        "shape": alt.Scale(domain=names, range=SHAPES[: len(names)]),
        "dash": alt.Scale(domain=names, range=list(DASHES)),
    }
    legend = alt.Legend(title=None, orient="bottom", columns=len(names))
    depths = alt.Scale(domain=[int(layers["layer"].min()), int(layers["layer"].max())], nice=False)
    x = alt.X("layer:Q", scale=depths).axis(
        title="depth: output of block (−1: input) [1]" if has_labels else None,
        labels=has_labels,
        tickMinStep=1,
        grid=False,
    )
    base = alt.Chart(layers.dropna(subset=[column])).encode(
        x=x,
        y=alt.Y(f"{column}:Q").axis(title=axis, tickCount=4),
        color=alt.Color("gauge:N", scale=scales["color"], legend=legend),
        tooltip=["gauge:N", "layer:Q", alt.Tooltip(f"{column}:Q", format=".3f")],
    )
    lines = base.mark_line().encode(
        strokeDash=alt.StrokeDash("gauge:N", scale=scales["dash"], legend=legend)
    )
    points = base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("gauge:N", scale=scales["shape"], legend=legend)
    )
    drawn = [lines, points]
    layered = alt.layer(*drawn).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layered)

"""One network in several coordinates: identical predictions, other profiles of gain."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.measured.gauge import GAUGES
from analysis.drawing.theme import DASHES, INK, SHAPES, WIDTH, greys, series, with_finding
from analysis.tidy import prose

HEIGHT = 165

#: A log gain this near 0 is level [nat].
LEVEL = 1e-9

#: Columns that are drawn: the title of the axis, and what the panel shows.
PANELS = {
    "log_norm": ("ln |x| [nat]", "The length that the paper reads"),
    "log_norm_centred": (
        "ln |x less its mean| [nat]",
        "Without the mean over features, which no block reads: all lie on one line",
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
    n_gauges = layers["gauge"].nunique()
    stacked = alt.vconcat(
        *rows,
        spacing=12,
        description=f"Length of the stream of one network over depth in {n_gauges} gauges whose "
        "logits are identical: rising, falling and flat in the upper panel. Without the mean over "
        "features they lie on each other in the lower panel.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast("alt.VConcatChart", with_finding(shared, finding(layers)))


def finding(layers: pd.DataFrame) -> str:
    """Return in how many of the gauges drawn the stream shrinks, stays and grows over depth."""
    lengths = layers.dropna(subset=["log_norm"]).pivot_table("log_norm", "gauge", "layer")
    change = lengths.iloc[:, -1] - lengths.iloc[:, 0]
    parts = {
        "shrinks": change < -LEVEL,
        "stays level": change.abs() <= LEVEL,
        "grows": change > LEVEL,
    }
    counts = [f"{word} in {int(it.sum())}" for word, it in parts.items() if it.any()]
    of = prose.plural(len(change), "gauge")
    return f"Same network, same predictions: of {of} the stream {prose.listing(counts)}."


def _row(
    layers: pd.DataFrame, column: str, axis: str, title: str, *, has_labels: bool
) -> alt.LayerChart:
    names = list(GAUGES)
    depths = alt.Scale(domain=[int(layers["layer"].min()), int(layers["layer"].max())], nice=False)
    x = alt.X("layer:Q", scale=depths).axis(
        title="depth: output of block (−1: input) [blocks]" if has_labels else None,
        labels=has_labels,
        tickMinStep=1,
        grid=False,
    )
    base = alt.Chart(layers.dropna(subset=[column])).encode(
        x=x,
        y=alt.Y(f"{column}:Q").axis(title=axis, tickCount=4),
        color=alt.Color("gauge:N", scale=greys(names), legend=None),
    )
    lines = base.mark_line().encode(
        strokeDash=alt.StrokeDash("gauge:N", scale=series(names, DASHES), legend=None)
    )
    points = base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("gauge:N", scale=series(names, SHAPES), legend=None)
    )
    drawn = [lines, points, *_words(layers, column, x, axis)]
    if column == "log_norm_centred":
        drawn = [lines, points]
    layered = alt.layer(*drawn).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layered)


def _words(layers: pd.DataFrame, column: str, x: alt.X, axis: str) -> list[alt.Chart]:
    """Return the name of each gauge at its first point, on the side to which its line does not go.

    There the lines are furthest apart. The steepest line has its name at its right.
    """
    values = layers.dropna(subset=[column]).pivot_table(column, "gauge", "layer")
    starts = values.iloc[:, 0].to_dict()
    slopes = (values.iloc[:, 1] - values.iloc[:, 0]).to_dict()
    steepest = max(slopes, key=lambda name: abs(slopes[name]))
    y = alt.Y("at:Q").axis(title=axis, tickCount=4)
    words = []
    for gauge, slope in slopes.items():
        down, away = (0, 40) if gauge == steepest else (14 if slope > LEVEL else -12, 8)
        at = {"layer": [values.columns[0]], "at": [starts[gauge]], "gauge": [gauge]}
        row = pd.DataFrame(at)
        text = alt.Chart(row).mark_text(align="left", dx=away, dy=down, fontSize=13, color=INK)
        words.append(text.encode(x=x, y=y, text="gauge:N"))
    return words


def called_rows(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return gains, raw and centred, and what a network is called by each, formatted for print.

    ``rows`` are those of `partners.signs` or `partners.verdicts_by_gauge`; ``keys`` are the
    columns that stand before the gains.
    """
    return rows[keys].assign(
        raw=rows["gain_published"].map(lambda gain: prose.number(gain, 4)),
        called=rows["sign_published"],
        centred=rows["gain_centred"].map(lambda gain: prose.number(gain, 4)),
        called_centred=rows["sign_centred"],
    )

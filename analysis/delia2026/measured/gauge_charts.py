"""One network in several coordinates: identical predictions, other profiles of gain."""

from __future__ import annotations

import math
from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.measured.gauge import GAUGES, GAUGES_OF_SCALARS
from analysis.drawing.theme import DASHES, INK, SHAPES, WIDTH, add_finding, greys, log_axis, series
from analysis.tidy import prose

HEIGHT = 165
DEPTH = "depth: output of block"

#: A ratio of lengths this near 1 is level, and one of two gauges this near 1 is one line.
LEVEL = 1e-9

#: The column that is free, and its partner, the same in every gauge: the title of the axis, and
#: what the panel shows.
PANELS = {
    "norm": ("length |x|", "The length that the paper reads"),
    "norm_centred": (
        "|x less its mean|",
        "Without the mean over features, which no block reads",
    ),
}
PANELS_OF_SCALARS = {
    "norm": ("length |x|", "The length that the paper reads"),
    "norm_net": (
        "|x| net of the numbers",
        "Without the numbers that its blocks multiply by",
    ),
}


def chart_gauges(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the length over depth of one network in every gauge, and its invariant partner.

    ``layers`` has one row per gauge and layer, as `profiles` returns it.
    """
    return _chart(layers, GAUGES, PANELS, "without its mean over features")


def chart_scalars(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the length over depth of a Gemma 4 for several choices of its blocks' numbers.

    ``layers`` has one row per gauge and layer, as `profiles_of_scalars` returns it; what enters
    block 0, which no number multiplies, is left out.
    """
    return _chart(
        layers[layers["layer"] >= 0],
        GAUGES_OF_SCALARS,
        PANELS_OF_SCALARS,
        "net of the stored numbers",
    )


def _chart(
    layers: pd.DataFrame, gauges: tuple[str, ...], panels: dict[str, tuple[str, str]], net: str
) -> alt.VConcatChart:
    partner = list(panels)[-1]
    rows = [
        _row(layers, gauges, column, *titles, is_partner=column == partner)
        for column, titles in panels.items()
    ]
    n_gauges = layers["gauge"].nunique()
    stacked = alt.vconcat(
        *rows,
        spacing=12,
        description=f"Length of the stream of one network over depth in {n_gauges} gauges whose "
        f"logits are identical; below, the same {net}.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast(
        "alt.VConcatChart",
        add_finding(shared, f"{finding(layers)} {together(layers, partner, net)}"),
    )


def finding(layers: pd.DataFrame) -> str:
    """Return in how many of the gauges drawn the stream shrinks, stays and grows over depth."""
    lengths = layers.pivot_table("norm", "gauge", "layer").map(math.log)
    change = lengths.iloc[:, -1] - lengths.iloc[:, 0]
    parts = {
        "shrinks": change < -LEVEL,
        "stays level": change.abs() <= LEVEL,
        "grows": change > LEVEL,
    }
    counts = [f"{word} in {int(it.sum())}" for word, it in parts.items() if it.any()]
    of = prose.plural(len(change), "gauge")
    return f"Same network, same predictions: of {of} the stream {prose.listing(counts)}."


def together(layers: pd.DataFrame, column: str, net: str) -> str:
    """Return whether the partner of the length has one profile in all gauges drawn.

    ``column`` holds it, and ``net`` says in words what is taken from the length.
    """
    lengths = layers.pivot_table(column, "gauge", "layer")
    apart = float((lengths.max() / lengths.min() - 1).max())
    if apart <= LEVEL:
        return f"{net.capitalize()} all lie on one line."
    return f"{net.capitalize()} they lie up to {prose.percent(apart, 1)} apart."


def _row(
    layers: pd.DataFrame,
    gauges: tuple[str, ...],
    column: str,
    axis: str,
    title: str,
    *,
    is_partner: bool,
) -> alt.LayerChart:
    names = list(gauges)
    depths = alt.Scale(domain=[int(layers["layer"].min()), int(layers["layer"].max())], nice=False)
    entry = " (−1: input)" if layers["layer"].min() < 0 else ""
    x = alt.X("layer:Q", scale=depths).axis(
        title=f"{DEPTH}{entry} [blocks]" if is_partner else None,
        labels=is_partner,
        tickMinStep=1,
        grid=False,
    )
    of_lengths = log_axis(layers[column])
    y = alt.Y(f"{column}:Q", title=axis, **of_lengths)
    base = alt.Chart(layers.dropna(subset=[column])).encode(
        x=x,
        y=y,
        color=alt.Color("gauge:N", scale=greys(names), legend=None),
    )
    lines = base.mark_line().encode(
        strokeDash=alt.StrokeDash("gauge:N", scale=series(names, DASHES), legend=None)
    )
    points = base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("gauge:N", scale=series(names, SHAPES), legend=None)
    )
    words = [] if is_partner else _words(layers, column, x, y)
    layered = alt.layer(lines, points, *words).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layered)


def _words(layers: pd.DataFrame, column: str, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the name of each gauge where the lines are furthest apart, beside its own.

    That is before the first point or behind the last. The steepest line there has its name
    beside it, the others on the side to which their lines do not go.
    """
    values = layers.dropna(subset=[column]).pivot_table(column, "gauge", "layer").map(math.log)
    spreads = values.max() - values.min()
    is_first = bool(spreads.iloc[0] >= spreads.iloc[-1])
    here, there = (0, 1) if is_first else (-1, -2)
    slopes = (values.iloc[:, there] - values.iloc[:, here]).to_dict()
    starts = values.iloc[:, here].to_dict()
    steepest = max(slopes, key=lambda name: abs(slopes[name]))
    words = []
    for gauge, slope in slopes.items():
        is_rising = slope > LEVEL
        down, away = (-8 * is_rising, 40) if gauge == steepest else (14 if is_rising else -12, 8)
        at = {
            "layer": [values.columns[here]],
            column: [math.exp(starts[gauge])],
        }
        text = alt.Chart(pd.DataFrame(at | {"gauge": [gauge]})).mark_text(
            align="left" if is_first else "right",
            dx=away if is_first else -away,
            dy=down,
            fontSize=13,
            color=INK,
        )
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

"""Chart of what each block explains of the variance, by itself and beside the others."""

from __future__ import annotations

from typing import Literal

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, SHAPES, TONES, greys, named, series
from analysis.tidy import prose

#: What the ticks of the figure of shares are.
CHANCE = "pure noise, by itself"
#: How far below the line are the ticks of noise by itself, and above it those on top [px].
NOISE = 11

#: How the figure of shares calls what a block explains, by term.
MARKS = {"alone": "by itself", "unique": "on top of all others"}


def chart_share_methods(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw what each block explains by itself and beside all others, and what noise would.

    ``shares`` has one row per block and term of `partition_tables.shares`: `block`, `term`,
    `share`, `chance_share` [share of variance].
    """
    rows = shares.assign(mark=shares["term"].map(MARKS)).dropna(subset=["mark"])
    marks = list(MARKS.values())
    alone = rows[rows["mark"] == marks[0]]
    x = alt.X(
        "share:Q",
        title="variance of log gain explained (R²) [0 to 1]",
        scale=alt.Scale(domain=[0, 1], nice=False),
    )
    y = alt.Y("block:N", title=None, sort=list(alone["block"]))
    base = alt.Chart(rows).encode(y=y)
    between = base.mark_line(strokeWidth=5, color=TONES[2]).encode(x=x, detail="block:N")
    noise = [
        alt.Chart(rows[rows["mark"] == mark])
        .mark_tick(color=INK, thickness=3, size=12, yOffset=down)
        .encode(x="chance_share:Q", y=y)
        for mark, down in zip(marks, (NOISE, -NOISE), strict=True)
    ]
    points = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=x,
        color=alt.Color("mark:N", scale=greys(marks), legend=None),
        shape=alt.Shape("mark:N", scale=series(marks, SHAPES), legend=None),
    )
    # The block that explains most by itself has its marks furthest apart.
    most = alone.sort_values("share")["block"].iloc[-1]
    widest = rows[rows["block"] == most].sort_values("share").assign(noise=CHANCE)
    labels: list[tuple[pd.DataFrame, str, str, Literal["left", "center", "right"], int, int]] = [
        (widest.head(1), "share", "mark", "center", 0, -17),
        (widest.tail(1), "share", "mark", "left", 10, 0),
        (widest.tail(1), "chance_share", "noise", "center", 0, 26),
    ]
    words = [
        alt.Chart(some)
        .mark_text(dx=dx, dy=dy, fontSize=13, color=INK, align=align)
        .encode(x=f"{place}:Q", y=y, text=f"{text}:N")
        for some, place, text, align, dx, dy in labels
    ]
    return named(
        alt.layer(between, *noise, points, *words).properties(height=64 * len(alone)),
        "What each cause explains of the variance, a line from its R² on top of all others to "
        "its R² by itself; ticks mark what noise would give: below by itself, above on top.",
        _finding(rows),
    )


def _finding(shares: pd.DataFrame) -> str:
    """Return which block explains most by itself, and the most that one adds to all others."""
    alone, last = (shares[shares["term"] == term].sort_values("share").iloc[-1] for term in MARKS)
    return (
        f"By itself the {alone['block']} explains {prose.percent(alone['share'])} of the variance; "
        f"on top of all others no cause explains more than {prose.percent(last['share'])}."
    )

"""Chart of L*: what the formula predicts, and what was published."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, SHAPES, greys, line_at, named, series
from analysis.tidy import prose


def chart_l_star(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw every published L* of each model as a share of its depth, and the formula's.

    ``shares`` has one row per model and source: `model`, `source`, `share`, `formula` [of L].
    """
    order = list(dict.fromkeys(shares["model"]))
    sources = list(dict.fromkeys(shares["source"]))
    y = alt.Y("model:N", title=None, sort=order, axis=alt.Axis(grid=True, labelPadding=10))
    scale = alt.Scale(domain=[0, 1])
    points = (
        alt.Chart(shares)
        .mark_point(filled=True, size=120, opacity=0.9)
        .encode(
            x=alt.X(
                "share:Q",
                title="L* / L [share of depth]",
                scale=scale,
                axis=alt.Axis(tickCount=5, labelFlush=False),
            ),
            y=y,
            color=alt.Color(
                "source:N",
                title=None,
                scale=greys(sources),
                # Named beside their marks, sources of one model would cover each other.
                legend=alt.Legend(columns=2),
            ),
            shape=alt.Shape("source:N", title=None, scale=series(sources, SHAPES)),
        )
    )
    predicted = (
        alt.Chart(shares.drop_duplicates("model"))
        .mark_tick(color=INK, thickness=4, size=26)
        .encode(x=alt.X("formula:Q", scale=scale), y=y)
    )
    return named(
        alt.layer(line_at(0.5, "x"), predicted, points).properties(height=250),
        f"Published values of L* over depth for {shares['model'].nunique()} models, with the "
        "formula's prediction.",
        _spread(shares),
    )


def _spread(shares: pd.DataFrame) -> str:
    """Return how far apart the published values of one model lie at most, and at least."""
    ends = shares.groupby("model")["share"].agg(["min", "max", "size"]).query("size > 1")
    apart = (ends["max"] - ends["min"]).sort_values()
    if apart.empty:
        return "No model has two published values of L*."
    return (
        "Published values of one model's L* differ by up to "
        f"{prose.percent(float(apart.iloc[-1]))} of its depth ({apart.index[-1]}), and by "
        f"{prose.percent(float(apart.iloc[0]))} at least ({apart.index[0]})."
    )

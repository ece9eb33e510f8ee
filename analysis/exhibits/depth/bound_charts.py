"""Gain against depth beside the claimed bound, for both blocks that the text speaks of."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis import evidence
from analysis.exhibits.depth.depth_law import DEFINITIONS
from analysis.exhibits.drawing.marks import marks_by_lab
from analysis.exhibits.drawing.theme import INK, WIDTH, lab_colour, line_at
from analysis.store import Store


def gains(store: Store) -> pd.DataFrame:
    """Return one row per base model and definition of gain, post-norm models included.

    Columns are those of the view `gain_by_model`, `definition` (in words), and the 95 % t
    interval over prompts, `conf_low` and `conf_high` [ratio].
    """
    parts = [
        evidence.base_models(evidence.published_gains(store, metric)).assign(definition=words)
        for metric, words in DEFINITIONS.items()
    ]
    return evidence.with_interval(pd.concat(parts, ignore_index=True))


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.VConcatChart:
    """Draw gain against depth with the claimed bound, a panel per definition of gain.

    Parameters
    ----------
    models
        `gains`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    reached = bounds[bounds["n_layers"] <= models["n_layers"].max()]
    definitions = list(dict.fromkeys(models["definition"]))
    panels = [
        _panel(models[models["definition"] == words], reached, words) for words in definitions
    ]
    stacked = alt.vconcat(*panels, spacing=16).properties(
        description="Gain of each published base model against its depth, for the penultimate "
        "block and for the largest gain of any block, with the bound 10 to the 1/L dashed."
    )
    return cast(alt.VConcatChart, stacked.resolve_scale(y="shared", color="shared", shape="shared"))


def _panel(models: pd.DataFrame, bounds: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return one definition of gain: the line at 1, the bound, intervals and marks."""
    ends = [int(models["n_layers"].min()) - 1, int(models["n_layers"].max()) + 1]
    scale = alt.Scale(domain=ends, nice=False)
    x = alt.X(
        "n_layers:Q",
        title="depth L [blocks]",
        scale=scale,
        axis=alt.Axis(values=sorted({*models["n_layers"]}), labelOverlap=True, grid=False),
    )
    y = alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False))
    curve = (
        alt.Chart(bounds)
        .mark_line(color=INK, strokeDash=[6, 4], strokeWidth=2)
        .encode(x=x, y=alt.Y("bound:Q"))
    )
    whiskers = (
        alt.Chart(models)
        .mark_rule(opacity=0.5)
        .encode(x=x, y="conf_low:Q", y2="conf_high:Q", color=lab_colour(models))
    )
    marks = [mark.encode(x=x, y=y) for mark in marks_by_lab(models)]
    layers = alt.layer(line_at(1, "y"), curve, whiskers, *marks).properties(
        width=WIDTH,
        height=230,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start"),
    )
    return cast(alt.LayerChart, layers)

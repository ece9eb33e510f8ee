"""Where along depth each block of EleutherAI's published models stands, and its side of 1."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.audit import evidence
from analysis.drawing.marks import lab_scales
from analysis.drawing.theme import named
from analysis.store import Store
from analysis.tidy import prose


def blocks(store: Store) -> pd.DataFrame:
    """Return one row per block of EleutherAI's published models: where it lies, side of 1.

    Columns: `model` (short name), `n_parameters`, `relative_depth` (of the block's end, 0 to 1),
    `value` (gain [ratio]), `side`.
    """
    ours = evidence.block_gains(store).query("lab == 'EleutherAI'")
    shapes = store.query("SELECT model_id, n_layers, n_parameters FROM raw.model")
    placed = ours.merge(shapes, on="model_id").sort_values(["n_parameters", "layer"])
    return placed.assign(
        model=prose.short_name(placed["model_id"]),
        relative_depth=(placed["layer"] + 1) / placed["n_layers"],
        side=(placed["value"] < 1).map({True: "below 1", False: "above 1"}),
    )


def late_share(placed: pd.DataFrame) -> str:
    """Return how many of the blocks below 1 end in the last quarter of their model, in words.

    ``placed`` comes from `blocks`.
    """
    below = placed[placed["side"] == "below 1"]
    return prose.share_of(int((below["relative_depth"] > 0.75).sum()), len(below))


def chart_blocks(placed: pd.DataFrame) -> alt.LayerChart:
    """Draw each block of each model, smallest model on top, large where it is below 1.

    ``placed`` comes from `blocks`.
    """
    marks = (
        alt.Chart(placed)
        .mark_point(filled=True, opacity=1)
        .encode(
            x=alt.X(
                "relative_depth:Q", title="depth of the block's end, share of the blocks [0 to 1]"
            ),
            y=alt.Y("model:N", title=None, sort=list(placed["model"].unique())),
            size=alt.condition("datum.side == 'below 1'", alt.value(110), alt.value(16)),
            **lab_scales(placed),
        )
    )
    return named(
        alt.layer(marks),
        "Each block of each published EleutherAI model, marked where its gain is below 1.",
        f"{late_share(placed)} blocks that shrink the stream end in the last quarter of a model.",
    )

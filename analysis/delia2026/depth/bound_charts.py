"""Gain beside the claimed bound, a row per model, for both blocks that the text speaks of."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.audit import evidence
from analysis.delia2026.depth.depth_law_tables import DEFINITIONS
from analysis.drawing.labs import lab_colour, lab_shape
from analysis.drawing.marks import filled_and_hollow
from analysis.drawing.theme import INK, SIDES, UNCHANGED, add_finding, line_at, reach
from analysis.store import Store
from analysis.tidy import prose

#: Width of a panel, and height of the row of a model [px].
WIDE, ROW = 290, 18


def gains(store: Store) -> pd.DataFrame:
    """Return one row per base model and definition of gain, post-norm models included.

    Columns are those of the view `gain_by_model`, `definition` (in words), and the 95 % t
    interval over prompts, `conf_low` and `conf_high` [ratio].
    """
    parts = [
        evidence.base_gains(store, metric).assign(definition=words)
        for metric, words in DEFINITIONS.items()
    ]
    return evidence.with_interval(pd.concat(parts, ignore_index=True))


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.HConcatChart:
    """Draw the gain of each model beside the claimed bound of its depth, a panel per definition.

    Parameters
    ----------
    models
        `gains`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    drawn = (
        models.drop(columns="bound", errors="ignore")
        .merge(bounds, on="n_layers")
        .sort_values(["n_layers", "model_id"])
    )
    drawn = drawn.assign(
        model=prose.short_name(drawn["model_id"]),
        name=prose.short_name(drawn["model_id"]) + ", " + drawn["n_layers"].astype(str),
    )
    rows = list(dict.fromkeys(drawn["name"]))
    ends = reach(*(drawn[it].dropna() for it in ("gain_mean", "conf_low", "conf_high", "bound")))
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    definitions = list(dict.fromkeys(drawn["definition"]))
    panels = [
        _panel(drawn[drawn["definition"] == words], rows, words, scale, is_first=position == 0)
        for position, words in enumerate(definitions)
    ]
    beside = alt.hconcat(*panels, spacing=14).properties(
        description="Gain of each published base model, named with its depth, shallowest on top, "
        "for the penultimate block and for the largest gain of any block; a tick marks the bound "
        "10 to the 1/L."
    )
    shared = beside.resolve_scale(y="shared", color="shared", shape="shared")
    # Post-norm models do not count.
    counted = drawn[drawn["norm_position"] != "post"]
    texts = [
        f"in the {words} by "
        f"{prose.share_of(int((rows['gain_mean'] > rows['bound']).sum()), len(rows))} models"
        for words, rows in counted.groupby("definition", sort=False)
    ]
    return cast(
        alt.HConcatChart,
        add_finding(
            shared, f"The claimed bound is exceeded {prose.listing(texts)}.", is_stacked=True
        ),
    )


def _panel(
    models: pd.DataFrame, rows: list[str], title: str, scale: alt.Scale, *, is_first: bool
) -> alt.LayerChart:
    """Return one definition of gain: the line at 1, a bound per row, intervals and marks."""
    quiet = alt.Axis(labels=False, ticks=False, domain=False, grid=True)
    y = alt.Y(
        "name:N",
        sort=rows,
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False) if is_first else quiet,
        scale=alt.Scale(domain=rows),
    )
    x = alt.X(
        "gain_mean:Q",
        title=["mean gain [ratio]", UNCHANGED, SIDES],
        scale=scale,
        axis=alt.Axis(tickCount=4, grid=False),
    )
    bound = (
        alt.Chart(models).mark_tick(color=INK, thickness=2.5, size=ROW - 2).encode(x="bound:Q", y=y)
    )
    whiskers = (
        alt.Chart(models)
        .mark_rule(opacity=0.6, strokeWidth=1.5)
        .encode(x="conf_low:Q", x2="conf_high:Q", y=y, color=lab_colour(models))
    )
    # Names of labs would cover marks and bounds on a phone: these panels keep their legend.
    colour, shape = lab_colour(models), lab_shape(models)
    marks = [mark.encode(x=x, y=y, color=colour, shape=shape) for mark in filled_and_hollow(models)]
    layers = alt.layer(line_at(1, "x"), bound, whiskers, *marks).properties(
        width=WIDE,
        height=ROW * len(rows),
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start"),
    )
    return cast(alt.LayerChart, layers)

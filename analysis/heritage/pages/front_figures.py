"""The front's figure of models, and sentences on what the sign is a property of."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing import findings
from analysis.drawing.theme import found
from analysis.heritage.pages import charts
from analysis.tidy import prose

#: Widths of the two panels of the front, beside names and without, and height of the second [px].
WIDE, BROAD, HIGH = 330, 440, 360


def resting(properties: pd.DataFrame, n_claims: int) -> str:
    """Return how many claims rest on the parametrisation, in one sentence; empty if none does.

    A claim rests on it partly if that moves its quantity in some of the models alone.

    Parameters
    ----------
    properties
        From `analysis.audit.property.properties`.
    n_claims
        Claims in all.
    """
    moved = properties[properties["property"] == "parametrisation"]
    n_partly = int((moved["n_free"] < moved["n_models"]).sum())
    if moved.empty:
        return ""
    partly = f" wholly, {prose.count(n_partly)} partly," if n_partly else ""
    return (
        f"{prose.share_of(len(moved) - n_partly, n_claims)} claims rest{partly} on how weights are "
        "written, not what they compute."
    )


def in_practice(agree: pd.Series) -> str:
    """Return in how many gains of trained networks the free part of the stream moves no sign.

    ``agree`` is the row of `analysis.heritage.measured.gauge.raw_against_centred`.
    """
    same = prose.share_of(int(agree["n_same_sign"]), int(agree["n_gains"]))
    return (
        f"In {prose.plural(int(agree['n_models']), 'network')} trained here the sign is the same "
        f"without the free part of the stream in {same} pairs of prompt and block, "
        f"{prose.count(agree['n_shrink'])} of which shrink it."
    )


def chart_models(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model by name with its interval over prompts, small.

    Parameters
    ----------
    models
        One row per model: `model_id`, `lab`, `norm_position`, `gain_mean`, `conf_low`,
        `conf_high` [ratio].
    """
    chart = charts.chart_gain_by_lab(models).properties(width=WIDE)
    return cast("alt.LayerChart", found(chart, findings.heritage(models), is_small=True))

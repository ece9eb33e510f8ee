"""The marks of models: colour and shape of the lab; hollow for norms after the block."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import lab_colour, lab_shape


def points_by_lab(models: pd.DataFrame) -> alt.Chart:
    """Return marks coloured and shaped by lab, for a frame with one row per model."""
    marks = alt.Chart(models).mark_point(filled=True, size=90, opacity=0.9)
    return cast(alt.Chart, marks.encode(color=lab_colour(models), shape=lab_shape(models)))


def marks_by_lab(models: pd.DataFrame) -> list[alt.Chart]:
    """Return marks coloured and shaped by lab, hollow for models that normalise after a block.

    ``models`` has one row per model: `lab` and `norm_position`.
    """
    colour, shape = lab_colour(models), lab_shape(models)
    return [mark.encode(color=colour, shape=shape) for mark in filled_and_hollow(models)]


def filled_and_hollow(models: pd.DataFrame) -> list[alt.Chart]:
    """Return filled marks, and hollow ones for models that normalise after a block, if any."""
    after = models["norm_position"] == "post"
    filled = alt.Chart(models[~after]).mark_point(filled=True, size=90, opacity=0.9)
    hollow = alt.Chart(models[after]).mark_point(filled=False, size=90, strokeWidth=2)
    return [filled, hollow] if after.any() else [filled]

"""The marks of models: colour and shape of the lab; hollow for norms after the block."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.drawing.labs import lab_colour, lab_shape


def points_by_lab(models: pd.DataFrame) -> alt.Chart:
    """Return marks coloured and shaped by lab, for a frame with one row per model.

    They have no legend: a figure names them, in the rows of an axis or beside them.
    """
    marks = alt.Chart(models).mark_point(filled=True, size=100, opacity=0.9)
    return cast(alt.Chart, marks.encode(**lab_scales(models)))


def lab_scales(rows: pd.DataFrame) -> dict[str, Any]:
    """Return colour and shape of the labs of a frame, for figures that name what they draw."""
    return {"color": lab_colour(rows).legend(None), "shape": lab_shape(rows).legend(None)}


def lab_names(rows: pd.DataFrame, y: alt.Y, *, x: Any, **mark: Any) -> alt.Chart:
    """Return the name of each lab in its colour, in the first row that it has."""
    firsts = alt.Chart(rows.drop_duplicates("lab")).mark_text(fontSize=14, **mark)
    colour = lab_colour(rows).legend(None)
    return cast(alt.Chart, firsts.encode(x=x, y=y, text="lab:N", color=colour))


def marks_by_lab(models: pd.DataFrame) -> list[alt.Chart]:
    """Return marks coloured and shaped by lab, hollow for models that normalise after a block.

    ``models`` has one row per model: `lab` and `norm_position`.
    """
    return [mark.encode(**lab_scales(models)) for mark in filled_and_hollow(models)]


def filled_and_hollow(models: pd.DataFrame) -> list[alt.Chart]:
    """Return filled marks, and hollow ones for models that normalise after a block, if any."""
    after = models["norm_position"] == "post"
    filled = alt.Chart(models[~after]).mark_point(filled=True, size=90, opacity=0.9)
    hollow = alt.Chart(models[after]).mark_point(filled=False, size=90, strokeWidth=2)
    return [filled, hollow] if after.any() else [filled]

"""The models of the hierarchy in one table and one picture: maker, shape, size and gain."""

from __future__ import annotations

from typing import cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing import names
from analysis.drawing.marks import lab_scales
from analysis.drawing.theme import INK, add_finding, line_at, log_axis, reach
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: The table of `sensitivity.models`.
COLUMNS = {
    "name": Column("Model", "model_id", lambda it: it.rpartition("/")[2]),
    "lab": Column("Lab", "lab"),
    "suite": Column("Suite", "suite"),
    "blocks": Column("Blocks", "n_layers", prose.count),
    "density": Column("Head density", "rho", prose.number),
    "parameters": Column("Parameters [10⁹]", "size", lambda it: prose.number(10 ** (it - 9))),
    "gain": Column("Gain", "log_gain", prose.change),
    "error": Column("Error", "std_error", lambda it: prose.percent(it, 1)),
}
PANELS = {"n_layers": "blocks, log scale", "parameters": "parameters [10⁹], log scale"}

#: How far an axis reaches beyond its values, as a factor: on the left, and for names on the right.
BEYOND, ROOM = 1.3, {"n_layers": 1.5, "parameters": 2.5}

#: Size of a panel [px].
WIDTH, HEIGHT = 530, 210


def sort_models(models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `sensitivity.models` by lab, suite and depth."""
    return models.sort_values(["lab", "suite", "depth", "size"])


def together(models: pd.DataFrame) -> dict[str, str]:
    """Return how depth goes with size (`rank`), and how many labs have one suite (`alone`)."""
    rank = float(models["n_layers"].corr(models["size"], method="spearman"))
    is_alone = models.groupby("lab")["suite"].nunique().eq(1)
    return {"rank": prose.number(rank), "alone": prose.share_of(int(is_alone.sum()), len(is_alone))}


def chart(models: pd.DataFrame) -> alt.VConcatChart:
    """Draw gain against blocks and against parameters, suites joined, labs in their colours."""
    drawn = models.assign(
        parameters=10 ** (models["size"] - 9), percent=100 * np.expm1(models["log_gain"])
    )
    panels = [_panel(drawn, column, title) for column, title in PANELS.items()]
    stacked = alt.vconcat(*panels, spacing=14).properties(
        description="Gain of each model in percent, above against its blocks, below against its "
        "parameters; a line joins the models of a suite."
    )
    found = together(models)
    finding = (
        f"Blocks and parameters have a rank correlation of {found['rank']}, and {found['alone']} "
        "labs have one suite."
    )
    return cast("alt.VConcatChart", add_finding(stacked, finding))


def _panel(drawn: pd.DataFrame, column: str, title: str) -> alt.LayerChart:
    """Draw one panel; one model of each suite has its name."""
    values = drawn[column]
    sides = (float(values.min()) / BEYOND, float(values.max()) * ROOM[column])
    axis = log_axis(pd.Series(sides), beyond=1)
    ends = reach(drawn["percent"])
    panel = names.Panel(sides, ends, height=HEIGHT, is_log=True)
    freest = names.freest(drawn, panel, column, "percent", of="suite")
    label = drawn["suite"].where(drawn.index.isin(freest), "")
    along = names.along(drawn, panel, column, "percent", of="suite")
    placed = names.placed(
        drawn.assign(name=label), panel, column, "percent", lines=[0], curve=along
    )
    x = alt.X(f"{column}:Q", title=title, **axis)
    y = alt.Y("percent:Q", title="gain [% above 1]", scale=alt.Scale(domain=list(ends)))
    looks = lab_scales(placed)
    lines = alt.Chart(placed).mark_line(strokeWidth=1.5, opacity=0.4, color=INK)
    points = alt.Chart(placed).mark_point(filled=True, size=80, opacity=0.9)
    layers = [
        line_at(0, "y"),
        lines.encode(x=x, y=y, detail="suite:N"),
        points.encode(x=x, y=y, **looks),
        *names.texts(placed[placed["name"] != ""], x, y),
    ]
    return cast("alt.LayerChart", alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))

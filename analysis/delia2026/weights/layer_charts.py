"""The paper's Figures 4 and 8 redrawn from the points read off Figure 8.

No file holds what they draw: norms of single layers. Frame from `claims_by_layer.layers`.
"""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.weights.claims_by_layer import LATE, PRINTED, QUARTER, times_others
from analysis.delia2026.weights.claims_spectral import LAB
from analysis.drawing import names as placing
from analysis.drawing.marks import lab_scales
from analysis.drawing.theme import INK, WIDTH, add_finding, log_axis, named, reach
from analysis.tidy import prose

HEIGHT, TALL = 230, 320
#: Room at the right of a panel for names, as a share of the depth.
BESIDE = 0.32
#: Areas of marks: all alike, and those of late layers larger [px^2].
SMALL, LATE_LARGER = (16, 16), (10, 60)
#: What a line is of, by whether the paper misread it.
MATRICES = {False: "value weights", True: "rows of Q, K and V"}
#: The panels of Figure 4. In the first only EleutherAI's lines are named: the second names others.
PANELS = ("A: all models", f"B: without {LAB}")


def chart_norms(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 4: the spectral norm of what is called the value weights, layer by layer.

    ``layers`` has the rows of `claims_by_layer.layers`.
    """
    rows = _name_lines(layers)
    theirs = rows["lab"] == LAB
    panels = []
    whole = rows.assign(name=rows["name"].where(theirs, ""))
    for title, drawn in zip(PANELS, (whole, rows[~theirs]), strict=True):
        ends = (0.0, reach(drawn["value_norm"])[1])
        scale = alt.Scale(domain=list(ends), nice=False)
        y = alt.Y("value_norm:Q", title=["spectral norm", "[weight units]"], scale=scale)
        heading = alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK)
        panels.append(_panel(drawn, y, "value_norm", ends, HEIGHT).properties(title=heading))
    stacked = alt.vconcat(*panels, spacing=18).properties(
        description=f"Spectral norm by layer of {rows['model'].nunique()} models, a line each; "
        f"below without those of {LAB}. Dashed lines are of {MATRICES[True]}."
    )
    return cast("alt.VConcatChart", add_finding(stacked, of_no_value(layers)))


def chart_squares(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 8: the squares of the same norms, on a logarithmic axis.

    ``layers`` has the rows of `claims_by_layer.layers`.
    """
    rows = _name_lines(layers)
    axis = log_axis(rows["value"], beyond=1.4)
    low, high = axis["scale"].domain
    y = alt.Y("value:Q", title="squared spectral norm [weight units²], log", **axis)
    return named(
        _panel(rows, y, "value", (low, high), TALL, sizes=LATE_LARGER, is_log=True),
        f"Squared spectral norm by layer of {rows['model'].nunique()} models, a line each, on a "
        "logarithmic axis; marks are larger in the last quarter of the layers.",
        excess(layers),
    )


def of_no_value(layers: pd.DataFrame) -> str:
    """Return how many lines are not of value weights, and which of the others is highest."""
    models = layers.groupby("model_id").agg(
        norm=("value_norm", "mean"), is_misread=("is_misread", "first")
    )
    right = models[~models["is_misread"]]
    wrong = prose.share_of(int(models["is_misread"].sum()), len(models))
    if right.empty:
        return f"{wrong} lines are not of value weights."
    highest = str(right["norm"].idxmax()).partition("/")[2]
    return f"{wrong} lines are not of value weights; of the others {highest} lies highest."


def excess(layers: pd.DataFrame) -> str:
    """Return how many times the others EleutherAI is in late layers, beside the printed factor."""
    late = layers[layers["relative_depth"] > LATE[QUARTER]]
    return (
        f"In the last quarter of the layers EleutherAI’s squared norms are "
        f"{prose.number(times_others(late), 0)} times the others’; the paper says about {PRINTED}."
    )


def _name_lines(layers: pd.DataFrame) -> pd.DataFrame:
    """Return rows as they are drawn: with numbers of plain kinds, and what a line stands for."""
    model = prose.short_name(layers["model_id"])
    return layers.assign(
        model=model,
        name=model,
        layer=layers["layer"].astype(int),
        value=layers["value"].astype(float),
        matrix=layers["is_misread"].map(MATRICES),
        is_late=layers["relative_depth"] > LATE[QUARTER],
    )


def _panel(
    rows: pd.DataFrame,
    y: alt.Y,
    column: str,
    ends: tuple[float, float],
    height: float,
    *,
    sizes: tuple[int, int] = SMALL,
    is_log: bool = False,
) -> alt.LayerChart:
    """Return the lines of one panel, their names, and marks of two sizes: in early, late layers."""
    last = int(rows["layer"].max())
    sides = (0.0, last * (1 + BESIDE))
    x = alt.X("layer:Q", title="layer (the first is 0)").scale(domain=list(sides), nice=False)
    x = x.axis(values=list(range(0, last + 1, 5)), grid=False)
    looks = lab_scales(rows)
    dashes = alt.Scale(domain=list(MATRICES.values()), range=[[1, 0], [5, 3]])
    base = alt.Chart(rows).encode(x=x, y=y, color=looks["color"], detail="model:N")
    lines = base.mark_line(strokeWidth=1.5).encode(
        strokeDash=alt.StrokeDash("matrix:N", scale=dashes, legend=None)
    )
    marks = [
        alt.Chart(rows[rows["is_late"] == is_late])
        .mark_point(filled=True, size=size, opacity=0.9)
        .encode(x=x, y=y, **looks)
        for is_late, size in zip((False, True), sizes, strict=True)
    ]
    panel = placing.Panel(sides, ends, height=height, is_log_y=is_log)
    tips = rows[rows["name"] != ""].sort_values("layer").drop_duplicates("model", keep="last")
    along = placing.along(rows, panel, "layer", column, of="model")
    names = placing.placed(tips, panel, "layer", column, curve=along)
    layered = alt.layer(lines, *marks, *placing.texts(names, x, y))
    return cast("alt.LayerChart", layered.properties(width=WIDTH, height=height))

"""Figures of real models: gain by lab, beside the bound, with what one prompt may change."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.reported import words
from analysis.delia2026.reported.models import AS_PUBLISHED
from analysis.drawing.marks import lab_names, lab_scales
from analysis.drawing.theme import INK, SIDES, UNCHANGED, add_finding, line_at, reach

#: Width of the panel, and height of the row of a model [px].
WIDE, ROW = 330, 17

#: Ticks of the axis of gains.
GAINS = [1, 1.1, 1.2, 1.3, 1.4]


def chart_every_model(rows: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of every real model, a row each, labs together, a mark for each source.

    ``rows`` are those of `every_model.every_model`. Filled marks are of the last token; a bar says
    where another prompt would put a gain of one prompt, and a tick the bound.
    """
    numbers = rows.assign(
        **{name: rows[name].astype(float) for name in ("gain", "conf_low", "conf_high", "bound")}
    )
    mean = numbers.groupby("model")["gain"].transform("mean")
    numbers = numbers.assign(mean=mean).sort_values(["lab", "mean", "file"])
    order = list(dict.fromkeys(numbers["model"]))
    low, high = reach(numbers["gain"], numbers["conf_high"].dropna(), numbers["bound"])
    y = alt.Y("model:N", sort=order, title=None, scale=alt.Scale(domain=order)).axis(
        grid=True, ticks=False, domain=False, labelFontSize=13
    )
    x = alt.X(
        "gain:Q",
        title=["mean gain of the blocks after the first [ratio]", UNCHANGED, SIDES],
        scale=alt.Scale(type="log", domain=[low, high * 1.12], nice=False),
        axis=alt.Axis(values=GAINS, grid=False),
    )
    last = numbers["pooling"] == AS_PUBLISHED
    looks = lab_scales(numbers)
    bound = alt.Chart(numbers.drop_duplicates("model")).mark_tick(
        color=INK, thickness=2, size=ROW - 5
    )
    reachable = alt.Chart(numbers.dropna(subset=["conf_low"])).mark_rule(strokeWidth=5, opacity=0.3)
    layers = alt.layer(
        line_at(1, "x"),
        bound.encode(x="bound:Q", y=y),
        reachable.encode(x="conf_low:Q", x2="conf_high:Q", y=y, color=looks["color"]),
        alt.Chart(numbers[last])
        .mark_point(filled=True, size=80, opacity=0.9)
        .encode(x=x, y=y, **looks),
        alt.Chart(numbers[~last])
        .mark_point(filled=False, size=80, strokeWidth=1.8)
        .encode(x=x, y=y, **looks),
        lab_names(numbers, y, x=alt.value(WIDE), align="right"),
    ).properties(
        width=WIDE,
        height=ROW * len(order),
        description="Gain of each real model, a row each, labs together, with a line at 1 and a "
        "tick at the bound 10 to the 1/L.",
    )
    return cast(
        "alt.LayerChart", add_finding(layers, f"{words.finding(rows)} {words.exceeding(rows)}")
    )

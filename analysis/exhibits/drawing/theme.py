"""How every chart of the report looks: one theme, one scale of labs, shape beside each colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing import picture as _picture  # noqa: F401  (registers the renderer)
from analysis.exhibits.drawing import typeface

WIDTH = 410
#: Contrast 4.5 on white. No grey has 4.5 on both pages: this one has 3.9 on the embedded dark
#: page, which lightens its figures to 4.7 (page.css), and 3.5 on Quarto's (#222222).
INK = "#70777f"
GRID = f"{INK}40"
FONT = f"{typeface.FAMILY}, Helvetica, Arial, sans-serif"
#: Under the title of an axis of gain: what either side of 1 means. It reads from low to high on an
#: upright axis, too.
SIDES = "←\u00a0shrinks the\u00a0stream · grows\u00a0it\u00a0→"
#: Room around a chart [px], for a marker or letter that reaches over its edge.
PADDING = 10

#: Colour (after Okabe and Ito, safe for colour-blind readers; blue and brown a little lighter
#: for the dark page) and shape of each lab.
LABS: dict[str, tuple[str, str]] = {
    "EleutherAI": ("#1F83C9", "triangle-down"),
    "Meta": ("#D55E00", "circle"),
    "BigScience": ("#009E73", "square"),
    "OpenAI": ("#CC79A7", "diamond"),
    "Google": ("#E69F00", "triangle-up"),
    "Mistral": ("#56B4E9", "cross"),
    "TII": ("#A07B32", "triangle-right"),
    "StabilityAI": ("#8C6BB1", "triangle-left"),
    "Swiss AI": ("#B2182B", "wedge"),
    "AI2": ("#8A8A00", "diamond"),
    "thermoscope": (INK, "circle"),
}
COLOURS = [colour for colour, _ in LABS.values()]
SHAPES = [shape for _, shape in LABS.values()]


@alt.theme.register("thermoscope", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    """Return the one theme of the report: no background, mid-tone ink, no bold."""
    text: dict[str, Any] = {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 15,
        "titleFontSize": 15.5,
        "titleFontWeight": "normal",
    }
    config: dict[str, Any] = {
        "config": {
            "background": "transparent",
            "padding": PADDING,
            "font": FONT,
            "view": {"stroke": "transparent"},
            "axis": {
                **text,
                "gridColor": GRID,
                "domainColor": INK,
                "tickColor": INK,
                "titlePadding": 10,
                "labelLimit": 300,
                "labelFlush": False,
                "labelSeparation": 6,
            },
            "legend": {
                **text,
                "orient": "bottom",
                "columns": 3,
                "columnPadding": 24,
                "layout": {"bottom": {"margin": 24}},
                "symbolSize": 110,
                "labelLimit": 300,
            },
            "header": text,
            "title": {"color": INK},
        }
    }
    return cast(alt.theme.ThemeConfig, config)


def lab_colour(models: pd.DataFrame) -> alt.Color:
    """Return the colour of each lab that the frame has."""
    labs = _present(models)
    scale = series(labs, [LABS[lab][0] for lab in labs])
    return alt.Color("lab:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def lab_shape(models: pd.DataFrame) -> alt.Shape:
    """Return the shape of each lab that the frame has."""
    labs = _present(models)
    scale = series(labs, [LABS[lab][1] for lab in labs])
    return alt.Shape("lab:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def log_axis(values: pd.Series[float]) -> dict[str, Any]:
    """Return a logarithmic scale around the values with ticks at 1, 2 and 5 times powers of ten."""
    low, high = float(values.min()) / 1.15, float(values.max()) * 1.15
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [round(m * 10.0**power, 10) for power in powers for m in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=inside, format="~g" if high < 1000 else "~s"),
    }


def series(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    """Return a scale that gives each name the colour or shape at its place."""
    return alt.Scale(domain=list(names), range=list(values)[: len(names)])


def line_at(value: float, axis: str) -> alt.Chart:
    """Return a line across the panel at one value of the axis ``x`` or ``y``."""
    where = {axis: alt.datum(value)}
    line = alt.Chart(pd.DataFrame({"at": [value]})).mark_rule(color=INK, strokeWidth=1.5)
    return cast(alt.Chart, line.encode(**where))


def named(chart: Any, description: str, finding: str = "") -> alt.LayerChart:
    """Return the chart with a description for screen readers, and a size if it has none.

    The finding stands above it and begins its alternative text; see `found`.
    """
    sized = chart if chart.width is not alt.Undefined else chart.properties(width=WIDTH)
    sized = sized if sized.height is not alt.Undefined else sized.properties(height=300)
    said = sized.properties(description=description)
    return cast(alt.LayerChart, found(said, finding) if finding else said)


def found(chart: Any, finding: str) -> Any:
    """Return the chart with a sentence that says what it shows, computed from what it draws."""
    return chart.properties(usermeta={"finding": finding.replace("'", "’")})


def _present(models: pd.DataFrame) -> list[str]:
    return [lab for lab in LABS if lab in set(models["lab"])]

"""How every chart of the report looks: one theme; greys, shapes and dashes for what is no lab."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.drawing import picture as _picture  # noqa: F401  (registers the renderer)
from analysis.drawing import typeface

WIDTH = 410
#: Contrast 4.5 on white. No grey has 4.5 on both pages: this one has 3.9 on the embedded dark
#: page, which lightens its figures to 4.7 (page.css), and 3.5 on Quarto's (#222222).
INK = "#70777f"
GRID = f"{INK}40"
FONT = f"{typeface.FAMILY}, Helvetica, Arial, sans-serif"
#: Under the title of an axis of gain: what either side of 1 means. It reads from low to high on an
#: upright axis, too.
#: The name of the axis says what 1 is: `UNCHANGED`.
SIDES = "←\u00a0shorter · longer\u00a0→"
UNCHANGED = "1: length unchanged"
#: Fewest ticks of a logarithmic axis; others have about one more.
TICKS = 4
#: Room at either end of an axis, as a share of what the values span: half a line in a low panel.
ROOM = 0.06
#: Room around a chart [px], for a marker or letter that reaches over its edge.
PADDING = 10

#: What is written on a dark area; the page's own paper there (site.css).
PAPER = "#ffffff"

#: Greys, shapes and dashes for kinds of things: whatever is no lab. Colour says the lab (`labs`)
#: or the verdict (`verdicts`), and nothing else. Of the greys the first stands out most, on the
#: dark page too (site.css). The shapes are not those of labs, but for the disc.
TONES = ("#4d545c", INK, "#969da5")
SHAPES = (
    "circle",
    "M0,-1.1L1.1,0L0,1.1L-1.1,0ZM0,-0.5L-0.5,0L0,0.5L0.5,0Z",
    "M-1,-0.6L-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0Z",
    "M-0.3,-1.1H0.3V1.1H-0.3Z",
    "M-1,-1H1L-1,1H1Z",
)
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3], [12, 3], [4, 4], [1, 2], [14, 3, 2, 3, 2, 3])


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
            "mark": {"color": INK},
            "rule": {"color": INK},  # these two are black, whatever `mark` says
            "text": {"color": INK},
            "range": {"category": list(TONES), "symbol": list(SHAPES)},
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
            "axisQuantitative": {"tickCount": TICKS + 1},
            "header": text,
            "title": {"color": INK},
        }
    }
    return cast(alt.theme.ThemeConfig, config)


def log_axis(values: pd.Series[float], *, beyond: float = 1.15) -> dict[str, Any]:
    """Return a logarithmic scale around the values with ticks at 1, 2 and 5 times powers of ten.

    Where these are few there are more.

    Its ends lie by the factor ``beyond`` outside the values.
    """
    low, high = float(values.min()) / beyond, float(values.max()) * beyond
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for of_ten in ((1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [round(it * 10.0**power, 10) for power in powers for it in of_ten]
        inside = inside if len(inside) >= TICKS else [it for it in ticks if low <= it <= high]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(
            values=inside, tickCount=len(inside), format="~g" if high < 1000 else "~s"
        ),
    }


def reach(*values: pd.Series[float]) -> tuple[float, float]:
    """Return the ends of an axis around values, with a little room at either."""
    every = pd.concat(values)
    room = ROOM * float(every.max() - every.min()) or ROOM  # of one value, too
    return float(every.min()) - room, float(every.max()) + room


def series(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    """Return a scale that gives each name the colour or shape at its place."""
    return alt.Scale(domain=list(names), range=list(values)[: len(names)])


def greys(names: Sequence[str]) -> alt.Scale:
    """Return a scale that gives each name a grey; two are as far apart as can be."""
    return series(names, TONES[::2] if len(names) < len(TONES) else TONES)


def line_at(value: float, axis: str) -> alt.Chart:
    """Return a line across the panel at one value of the axis ``x`` or ``y``."""
    where = {axis: alt.datum(value)}
    line = alt.Chart(pd.DataFrame({"at": [value]})).mark_rule(color=INK, strokeWidth=1.5)
    return cast(alt.Chart, line.encode(**where))


def shrinking() -> alt.Chart:
    """Return a shade over what lies below 1 on the upright axis, where the stream shrinks."""
    below = alt.Chart(pd.DataFrame({"at": [1.0]})).mark_rect(color=INK, opacity=0.12)
    label = alt.value("shaded: the stream shrinks")
    return cast(alt.Chart, below.encode(y="at:Q", y2=alt.value("height"), description=label))


def named(chart: Any, description: str, finding: str = "") -> alt.LayerChart:
    """Return the chart with a description for screen readers, and a size if it has none.

    The finding stands above it and begins its alternative text; see `add_finding`.
    """
    sized = chart if chart.width is not alt.Undefined else chart.properties(width=WIDTH)
    sized = sized if sized.height is not alt.Undefined else sized.properties(height=300)
    described = sized.properties(description=description)
    return cast(alt.LayerChart, add_finding(described, finding) if finding else described)


def add_finding(
    chart: Any, finding: str, *, is_small: bool = False, is_stacked: bool = False
) -> Any:
    """Return the chart with a sentence that says what it shows, computed from what it draws.

    A chart that is not to be small is drawn as wide as the text. One that is to be stacked has its
    panels, which stand abreast, below each other on a phone.
    """
    meta: dict[str, Any] = {"finding": finding.replace("'", "’")}
    how = {"is_small": is_small, "is_stacked": is_stacked}
    return chart.properties(usermeta=meta | {name: True for name, it in how.items() if it})

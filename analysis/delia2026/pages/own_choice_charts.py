"""The reader's own definition drawn: a row per lab, four choices, and the answer in words."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.delia2026.pages import own_choice
from analysis.drawing.labs import ORDER, lab_colour, lab_shape
from analysis.drawing.theme import TONES, add_finding, line_at

#: What each choice is called, and its levels in the words of the page.
NAMES = {"block": "Block ", "token": "Token ", "models": "Models ", "unit": "Count "}
LABELS = {
    "models": {"paper": "the paper’s 16", "base": "all base", "all": "base and tuned"},
}
#: Ticks of the axis by block and token, so that what moves can be seen; others have the first.
NEAR = (0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3)
TICKS = {("last", "last"): (0.7, 1, 1.5, 2, 2.5), ("last", "all"): (0.2, 0.5, 1, 2, 3)}
#: What tells, in Vega's expressions, the rows of the definition that the reader has chosen.
SAME = " && ".join(f"datum.{name} == {name}" for name in ("block", "token", "models"))
#: How far the axis reaches beyond them, as a factor.
BEYOND = 1.05
#: Height of a row, room for the names of labs, width of the panel of a still picture, and size of
#: letters [px].
ROW, SIDE, WIDTH, LETTERS = 25, 88, 330, 14


def chart_own_choice(
    points: pd.DataFrame, found: pd.DataFrame, *, is_live: bool = False
) -> alt.LayerChart:
    """Draw what the choice leaves, a point per unit, and say how many lie below 1.

    Parameters
    ----------
    points, found
        The rows of `own_choice.points` and `own_choice.answers`.
    is_live
        Whether the reader chooses, in a figure as wide as its place; else the paper's choice.
    """
    chosen = {
        name: alt.param(
            name=name,
            value=own_choice.PAPERS[name],
            bind=alt.binding_select(
                options=list(levels),
                labels=[LABELS.get(name, {}).get(level, level) for level in levels],
                name=NAMES[name],
            ),
        )
        for name, levels in own_choice.CHOICES.items()
    }
    texts = own_choice.lines(found)
    labs = [lab for lab in ORDER if lab in set(points["lab"])]
    rows = [" " * (place + 1) for place in range(texts["place"].max() + 2)] + labs
    texts = texts.assign(lab=texts["place"].map(dict(enumerate(rows))))
    y = _rows_axis(rows, labs)
    line = line_at(1, "x")
    line.mark.aria = False  # without items to name Vega would call it a picture without a name
    line = line.encode(y=alt.value(ROW * (len(rows) - len(labs))), y2=alt.value("height"))
    words: alt.Chart = (
        alt.Chart(texts)
        .mark_text(align="left", fontSize=LETTERS + 0.5, color=TONES[0], dx=-SIDE - 4)
        .transform_filter(f"{SAME} && datum.unit == unit")
        .encode(x=alt.value(0), y=y, text="text:N")
    )
    chart = alt.layer(line, *_points(points, y), words).add_params(*chosen.values())
    size: dict[str, Any] = {"width": "container" if is_live else WIDTH, "height": ROW * len(rows)}
    described = chart.properties(
        **size,
        description="Gain of each model, suite or lab, a row per lab, with a line at 1, and how "
        "many lie below it by the definition that is chosen.",
    )
    return cast("alt.LayerChart", add_finding(described, own_choice.finding(found), is_small=True))


def _points(points: pd.DataFrame, y: alt.Y) -> tuple[alt.Chart, alt.Chart]:
    """Return the models behind a count of suites or labs, faint, and the units that count."""
    looks = {
        "x": alt.X(
            "gain:Q",
            title="gain (below 1 the vector shrinks)",
            scale=alt.Scale(
                type="log",
                nice=False,
                domainMin=_choice_expression(0),
                domainMax=_choice_expression(-1),
            ),
            axis=alt.Axis(
                values=_choice_expression(),
                format="~g",
                grid=False,
                titleFontSize=LETTERS,
                tickCount=len(NEAR),
            ),
        ),
        "y": y,
        "yOffset": alt.YOffset("lane:Q", scale=alt.Scale(domain=[-1.6, 1.6])),
        "color": lab_colour(points).legend(None),
        "shape": lab_shape(points).legend(None),
        "tooltip": "said:N",
        "description": "said:N",
    }
    faint = alt.Chart(points).mark_point(filled=True, aria=False)
    faint = faint.transform_filter(f"{SAME} && datum.unit == 'models' && unit != 'models'")
    drawn = alt.Chart(points).mark_point(filled=True, opacity=0.9)
    drawn = drawn.transform_filter(f"{SAME} && datum.unit == unit")
    return (
        faint.encode(**looks, opacity=alt.value(0.3), size=alt.value(40)),
        drawn.encode(**looks, size=alt.value(110)),
    )


def _rows_axis(rows: list[str], labs: list[str]) -> alt.Y:
    """Return the rows, those of words without a label."""
    return alt.Y(
        "lab:N",
        title=None,
        scale=alt.Scale(domain=rows, paddingInner=0.1),
        axis=alt.Axis(
            values=labs,
            ticks=False,
            domain=False,
            grid=True,
            minExtent=SIDE,
            maxExtent=SIDE,
            labelFontSize=LETTERS,
        ),
    )


def _choice_expression(end: int | None = None) -> alt.ExprRef:
    """Return the ticks, or an end of the axis, as an expression of the block and token chosen."""

    def written(ticks: tuple[float, ...]) -> str:
        if end is None:
            return str([*ticks])
        return str(round(ticks[end] * BEYOND if end else ticks[end] / BEYOND, 4))

    text = written(NEAR)
    for (block, token), ticks in TICKS.items():
        text = f"block == '{block}' && token == '{token}' ? {written(ticks)} : {text}"
    return alt.ExprRef(text)

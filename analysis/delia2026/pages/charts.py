"""Tidy frames to charts of the published evidence.

A chart draws what its frame says; no statistic is computed here. Every function returns an
Altair chart with a description, axis titles with units, and no background, so that it reads
on a light and on a dark page.
"""

from __future__ import annotations

import itertools

import altair as alt
import pandas as pd

from analysis.drawing import findings, names
from analysis.drawing.labs import ORDER, lab_colour
from analysis.drawing.marks import filled_and_hollow, lab_names, lab_scales, marks_by_lab
from analysis.drawing.theme import (
    INK,
    SIDES,
    UNCHANGED,
    line_at,
    log_axis,
    named,
    reach,
)
from analysis.tidy import prose

#: Title of an axis of gain.
GAIN = ["mean gain [ratio]", UNCHANGED, SIDES]

#: Height of the row of a model [px].
ROW = 17
#: Size of the names of many rows [px].
SMALL = 13
#: Room for names at the right of a panel, and beside a mark that may stand there, as shares of what
#: the marks take.
ROOM, BESIDE = 0.4, 0.2


def chart_gain_by_lab(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model by name, lab by lab and suite by suite.

    ``models`` has one row per model: `model_id`, `lab`, `suite`, `norm_position`, `gain_mean`
    [ratio], and, where an interval is to be drawn, `conf_low` and `conf_high`.
    """
    place = models["lab"].map({lab: place for place, lab in enumerate(ORDER)})
    drawn = models.assign(name=prose.short_name(models["model_id"]), place=place)
    drawn = drawn.sort_values(["place", "suite", "gain_mean"], ascending=[True, True, False])
    limits = [name for name in ("conf_low", "conf_high") if name in drawn]
    span = drawn[["gain_mean", *limits]]
    low, high = float(span.min().min()), float(span.max().max())
    scale = alt.Scale(domain=[low - 0.05, high + ROOM * (high - low)], nice=False, zero=False)
    rows = _rows_and_gaps(drawn)
    x = alt.X("gain_mean:Q", title=GAIN, scale=scale, axis=alt.Axis(grid=False))
    y = alt.Y(
        "name:N",
        title=None,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(
            values=list(drawn["name"]), grid=True, ticks=False, domain=False, labelFontSize=SMALL
        ),
    )
    marks = [mark.encode(x=x, y=y) for mark in marks_by_lab(drawn)]
    if limits:
        ends = {"x": alt.X("conf_low:Q", scale=scale), "x2": "conf_high:Q", "y": y}
        rules = alt.Chart(drawn).mark_rule(strokeWidth=2, opacity=0.5)
        marks.insert(0, rules.encode(**ends, color=lab_colour(drawn).legend(None)))
    labs = lab_names(drawn, y, x=alt.value("width"), align="right")
    return named(
        alt.layer(line_at(1, "x"), *marks, labs).properties(height=ROW * len(rows)),
        "Gain of each published model, a row per model, by lab, with a line at 1.",
        findings.labs(models),
    )


def _rows_and_gaps(models: pd.DataFrame) -> list[str]:
    """Return the names of models in their order, a blank row around each lab of several.

    >>> _rows_and_gaps(pd.DataFrame({"name": ["a", "b", "c", "d"], "lab": ["A", "A", "B", "C"]}))
    ['a', 'b', '  ', 'c', 'd']
    """
    labs = [list(rows["name"]) for _, rows in models.groupby("lab", sort=False)]
    rows = labs[0]
    for before, after in itertools.pairwise(labs):
        gap = " " * len(rows)  # names of rows differ
        rows = [*rows, *([gap] if len(before) + len(after) > 2 else []), *after]
    return rows


def chart_gain_by_density(models: pd.DataFrame, *, band: tuple[float, float]) -> alt.LayerChart:
    """Draw the gain of each model by name, in the order of head density, the claimed band shaded.

    ``models`` has one row per model: `model_id`, `rho` [1], `gain_mean` [ratio], `lab`,
    `norm_position`.
    """
    ordered = models.sort_values(["rho", "model_id"])
    density = ordered["rho"].map("{:.2f}".format)
    drawn = ordered.assign(name=prose.short_name(ordered["model_id"]) + ", " + density)
    rows = list(drawn["name"])
    y = alt.Y(
        "name:N",
        title="model, head density ρ = H / d_head [ratio]",
        sort=rows,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(grid=True, ticks=False, domain=False),
    )
    low, high = reach(drawn["gain_mean"])
    scale = alt.Scale(domain=[low, high + BESIDE * (high - low)], nice=False, zero=False)
    x = alt.X("gain_mean:Q", title=GAIN, scale=scale, axis=alt.Axis(grid=False))
    critical = alt.Chart(drawn[drawn["rho"].between(*band)]).mark_rect(color=INK, opacity=0.2)
    points = [mark.encode(x=x, y=y) for mark in marks_by_lab(drawn)]
    labs = lab_names(drawn, y, x=x, align="left", dx=12)
    layers = alt.layer(critical.encode(y=y), line_at(1, "x"), *points, labs)
    return named(
        layers.properties(height=18 * len(rows)),
        "Gain of each published model in the order of head density, the claimed band shaded.",
        findings.band(models, band),
    )


def chart_ratio(weights: pd.DataFrame, gains: pd.DataFrame) -> alt.LayerChart:
    """Draw gain against the ratio of norms that is said to predict its sign.

    Parameters
    ----------
    weights
        One row per model: `model_id`, `model`, `ratio` [1], `is_misread`.
    gains
        One row per model: `model_id`, `gain_mean` [ratio], `norm_position`; models without both
        are not drawn.
    """
    both = weights.merge(gains[["model_id", "gain_mean", "norm_position"]], on="model_id")
    both = both.assign(name=both["model"] + both["is_misread"].map({False: "", True: " (mixed)"}))
    ends = reach(both["gain_mean"])
    sides = (float(both["ratio"].min()) / 1.6, float(both["ratio"].max()) * 1.6)
    title = ["spectral norm, value weights / output weights", "[ratio], log scale"]
    x = alt.X("ratio:Q", title=title, **log_axis(pd.Series(sides), beyond=1))
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    y = alt.Y("gain_mean:Q", title=GAIN, scale=scale)
    panel = names.Panel(sides, ends, is_log=True)
    placed = names.placed(both, panel, "ratio", "gain_mean", lines=[1])
    points = [mark.encode(x=x, y=y, **lab_scales(both)) for mark in filled_and_hollow(placed)]
    return named(
        alt.layer(line_at(1, "y"), *points, *names.texts(placed, x, y)),
        f"Gain of {len(both)} published models against the norm of the value weights over that of "
        "the output weights, with a line at one.",
        findings.ratio(both),
    )

"""The central numbers with each suite left out; no statistic is computed here."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK
from analysis.drawing.theme import found as with_finding
from analysis.heritage.hierarchy import findings
from analysis.heritage.suites.influence import NOTHING

#: Height of one row of marks, space for the names of suites, and width of a panel [pixels].
ROW, NAMES, WIDE = 20, 115, 400


def chart_influence(influence: pd.DataFrame) -> alt.VConcatChart:
    """Draw every central number without each suite, beside that of all models.

    Parameters
    ----------
    influence
        As `influence.without_each_suite` returns it: `term`, `left_out`, `estimate`,
        `conf_low`, `conf_high`. What is missing is not drawn.
    """
    panels = [_panel(rows, str(term)) for term, rows in influence.groupby("term", sort=False)]
    stacked = alt.vconcat(
        *panels,
        spacing=10,
        description="A panel per central number, a row per suite left out: the number without "
        "that suite, with its interval where there is one; a vertical line is the number of "
        "all models, a grey line zero.",
    )
    return cast(alt.VConcatChart, with_finding(stacked, findings.influence(influence, NOTHING)))


def _panel(rows: pd.DataFrame, term: str) -> alt.LayerChart:
    drawn = rows.dropna(subset=["estimate"])
    without = drawn[drawn["left_out"] != NOTHING]
    whole = drawn[drawn["left_out"] == NOTHING]
    axis = alt.Axis(minExtent=NAMES, maxExtent=NAMES, labelLimit=NAMES, grid=True)
    y = alt.Y("left_out:N", title=None, sort=list(without["left_out"]), axis=axis)
    x = alt.X("estimate:Q", title=term, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    spans = without.dropna(subset=["conf_low", "conf_high"])
    zero = alt.Chart(whole).mark_rule(color=INK, opacity=0.35).encode(x=alt.datum(0))
    line = alt.Chart(whole).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="estimate:Q")
    points = alt.Chart(without).mark_point(filled=True, size=60, opacity=1, color=INK)
    layers = [zero, line, points.encode(x=x, y=y)]
    if not spans.empty:
        whiskers = alt.Chart(spans).mark_rule(strokeWidth=1.5, color=INK)
        layers.append(whiskers.encode(x=alt.X("conf_low:Q"), x2="conf_high:Q", y=y))
    chart = alt.layer(*layers).properties(width=WIDE, height=ROW * len(without))
    return cast(alt.LayerChart, chart)

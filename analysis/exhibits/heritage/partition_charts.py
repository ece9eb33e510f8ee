"""Charts of shares of variance by several methods, of power, and of laws of depth."""

from __future__ import annotations

import itertools
from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import (
    COLOURS,
    INK,
    SHAPES,
    SIDES,
    WIDTH,
    found,
    line_at,
    named,
    series,
)
from analysis.exhibits.heritage import findings
from analysis.questions.depth.laws_of_depth import GROWTH

DASHES = ([1, 0], [8, 4], [2, 3], [8, 3, 2, 3], [12, 3], [4, 4], [1, 2], [14, 3, 2, 3, 2, 3])

#: Curves that part by less than this share of their panel are drawn as one.
ALIKE = 0.02

#: The law that the paper claims.
CLAIMED = "10^(1/L)"

#: What the legend adds to the name of a law.
SPOKEN = (
    "datum.label == '10^(1/L)' ? '10^(1/L), claimed' : datum.label == '1' ? 'G = 1' : datum.label"
)

#: What the ticks of the figure of shares are, and their shape.
CHANCE, TICK = "of pure noise", "M-0.12,-1H0.12V1H-0.12Z"

#: Power that designs are usually made for, and the level of the tests.
TARGET, LEVEL = 0.8, 0.05


def chart_share_methods(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw the share of each block by several methods, with intervals and chance.

    ``shares`` has one row per block and method: `block`, `method`, `share`, `conf_low`,
    `conf_high`, `chance_share` [share of variance].
    """
    methods = list(shares["method"].unique())
    named_marks, shapes = [*methods, CHANCE], [*SHAPES[: len(methods)], TICK]
    colours = series(named_marks, [*COLOURS[: len(methods)], INK])
    low = min(0.0, float(shares["conf_low"].min()))
    scale = alt.Scale(domain=[low, 1], nice=False)
    y = alt.Y("block:N", title=None, sort=None, scale=alt.Scale(paddingInner=0.3))
    offset = alt.YOffset("method:N", sort=methods)
    legend = alt.Legend(columns=2)
    colour = alt.Color("method:N", title=None, scale=colours, legend=legend)
    shape = alt.Shape("method:N", title=None, scale=series(named_marks, shapes), legend=legend)
    base = alt.Chart(shares).encode(y=y, yOffset=offset)
    whiskers = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("conf_low:Q", scale=scale), x2="conf_high:Q", color=colour
    )
    by_chance = alt.Chart(shares.assign(mark=CHANCE)).encode(y=y, yOffset=offset)
    chance = by_chance.mark_point(filled=True, size=200, opacity=1).encode(
        x="chance_share:Q",
        color=alt.Color("mark:N", scale=colours, legend=legend),
        shape=alt.Shape("mark:N", scale=series(named_marks, shapes), legend=legend),
    )
    x = alt.X("share:Q", title="share of the variance of log gain [1]", scale=scale)
    points = base.mark_point(filled=True, size=100, opacity=1).encode(
        x=x, color=colour, shape=shape
    )
    height = 24 * len(methods) * shares["block"].nunique()
    return named(
        alt.layer(line_at(0, "x"), whiskers, chance, points).properties(height=height),
        "Share of variance of each block by three methods with bootstrap intervals; grey ticks "
        "mark what noise would give.",
        findings.methods(shares),
    )


def chart_power(curves: pd.DataFrame) -> alt.LayerChart:
    """Draw the power of each test against the true effect.

    ``curves`` has one row per test and effect: `test` (words), `true_value` (size of the effect
    [nat]), `power`.
    """
    tests = list(curves["test"].unique())
    x = alt.X(
        "true_value:Q",
        title="true effect, by which log gain is lower [nat]",
        axis=alt.Axis(tickCount=6),
    )
    y = alt.Y(
        "power:Q",
        title="probability of p ≤ 0.05 [1]",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(tickCount=5),
    )
    legend = alt.Legend(columns=1, labelLimit=360, symbolType="stroke", symbolSize=900)
    lines = (
        alt.Chart(curves)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "test:N", title=None, sort=tests, scale=series(tests, COLOURS), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "test:N", title=None, sort=tests, scale=series(tests, DASHES), legend=legend
            ),
        )
    )
    return named(
        alt.layer(line_at(TARGET, "y"), line_at(LEVEL, "y"), lines),
        "Power of the tests at the published design, rising with the size of the true effect; "
        "lines at 0.8 and at the level 0.05.",
        findings.power(curves, TARGET),
    )


def chart_laws(models: pd.DataFrame, curves: pd.DataFrame) -> alt.VConcatChart:
    """Draw the fitted laws of depth over the models, one panel per definition of gain.

    Parameters
    ----------
    models
        One row per model and definition: `definition`, `n_layers` [blocks], `gain_mean` [ratio].
    curves
        One row per definition, law and depth: `definition`, `law`, `n_layers`, `fitted` [ratio].
    """
    laws = list(curves["law"].unique())
    definitions = list(models["definition"].unique())
    panels = [
        _law_panel(
            models[models["definition"] == definition],
            curves[curves["definition"] == definition],
            laws,
            definition,
        )
        for definition in definitions
    ]
    description = (
        "Gain against depth with the laws of depth, one panel per definition of gain; laws that "
        "coincide are one curve. The claimed one falls from the left towards one."
    )
    stacked = alt.vconcat(*panels, spacing=16, description=description)
    return cast(alt.VConcatChart, found(stacked, findings.laws(models, curves, CLAIMED)))


def _twins(curves: pd.DataFrame) -> dict[str, str]:
    """Return the laws of one panel whose curve lies on that of a law before, by that law."""
    table = curves.pivot_table("fitted", "n_layers", "law", sort=False)
    fitted = table.to_numpy(dtype=float)
    room = ALIKE * float(fitted.max() - fitted.min())
    laws = [str(law) for law in curves["law"].unique()]
    alike: dict[str, str] = {}
    for law, before in itertools.combinations(reversed(laws), 2):
        if float((table[law] - table[before]).abs().max()) < room:
            alike[law] = before
    return alike


def _law_panel(
    models: pd.DataFrame, curves: pd.DataFrame, laws: list[str], definition: str
) -> alt.LayerChart:
    scale = alt.Scale(zero=False)
    x = alt.X(
        "n_layers:Q",
        title="depth L [blocks]",
        scale=scale,
        axis=alt.Axis(tickMinStep=5),
    )
    said = definition.replace("over ", "") if definition == GROWTH else f"gain, {definition}"
    title = [f"{said} [ratio]", SIDES]
    twins = _twins(curves)
    heading = "; ".join(f"{law} lies on {other}" for law, other in twins.items())
    legend = alt.Legend(symbolType="stroke", symbolSize=900, columns=2, labelExpr=SPOKEN)
    lines = (
        alt.Chart(curves[~curves["law"].isin(list(twins))])
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("fitted:Q", title=title, scale=scale),
            color=alt.Color(
                "law:N", title=None, sort=laws, scale=series(laws, COLOURS), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "law:N", title=None, sort=laws, scale=series(laws, DASHES), legend=legend
            ),
        )
    )
    points = (
        alt.Chart(models)
        .mark_point(filled=True, size=60, color=INK, opacity=0.8)
        .encode(x=x, y=alt.Y("gain_mean:Q", title=title, scale=scale))
    )
    layered = alt.layer(lines, points).properties(width=WIDTH, height=220)
    note = alt.Title(heading, fontSize=14, fontWeight="normal", anchor="start", color=INK)
    return cast(alt.LayerChart, layered.properties(title=note) if twins else layered)

"""Tidy frames to charts: one theme, one scale of labs, shape beside every colour.

A chart draws what its frame says; no statistic is computed here. Every function returns an
Altair chart with a description, axis titles with units, and no background, so that it reads
on a light and on a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import pandas as pd

WIDTH = 410
INK = "#7b828a"  # contrast at least 3.8 on white and on the dark page alike
GRID = "#7b828a40"
FONT = "Helvetica, Arial, sans-serif"

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
        "labelFontSize": 14,
        "titleFontSize": 15,
        "titleFontWeight": "normal",
    }
    config: dict[str, Any] = {
        "config": {
            "background": "transparent",
            "font": FONT,
            "view": {"stroke": "transparent"},
            "axis": {
                **text,
                "gridColor": GRID,
                "domainColor": INK,
                "tickColor": INK,
                "titlePadding": 10,
                "labelLimit": 300,
            },
            "legend": {
                **text,
                "orient": "bottom",
                "columns": 3,
                "symbolSize": 110,
            },
            "header": text,
            "title": {"color": INK},
        }
    }
    return cast(alt.theme.ThemeConfig, config)


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.LayerChart:
    """Draw gain against depth, with the claimed bound.

    Parameters
    ----------
    models
        One row per model: `n_layers`, `gain_mean`, `conf_low`, `conf_high` [ratio], `lab`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    x = alt.X("n_layers:Q", title="depth L [blocks]", scale=alt.Scale(zero=False))
    curve = (
        alt.Chart(bounds).mark_line(color=INK, strokeDash=[6, 4]).encode(x=x, y=alt.Y("bound:Q"))
    )
    whiskers = (
        alt.Chart(models)
        .mark_rule(opacity=0.7)
        .encode(x=x, y="conf_low:Q", y2="conf_high:Q", color=_lab_colour(models))
    )
    points = _points(models).encode(
        x=x,
        y=alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False)),
    )
    return _named(
        alt.layer(_line_at(1, "y"), curve, whiskers, points),
        "Gain of each published model against its depth, with the bound 10 to the 1/L dashed.",
    )


def chart_gain_by_lab(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model in the row of its lab.

    ``models`` has one row per model: `lab`, `gain_mean` [ratio].
    """
    points = _points(models).encode(
        x=alt.X("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False)),
        y=alt.Y("lab:N", title=None, sort=list(LABS)),
    )
    return _named(
        alt.layer(_line_at(1, "x"), points),
        "Gain of each published model, one row per lab, with a line at 1.",
    )


def chart_gain_by_density(models: pd.DataFrame, *, band: tuple[float, float]) -> alt.LayerChart:
    """Draw gain against head density, with the claimed critical band.

    ``models`` has one row per model: `rho` [1], `gain_mean` [ratio], `lab`.
    """
    limits = pd.DataFrame({"low": [band[0]], "high": [band[1]]})
    x = alt.X("rho:Q", title="head density ρ = H / d_head [1], log scale", **_log(models["rho"]))
    critical = (
        alt.Chart(limits).mark_rect(color=INK, opacity=0.2).encode(x=alt.X("low:Q"), x2="high:Q")
    )
    points = _points(models).encode(
        x=x, y=alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False))
    )
    return _named(
        alt.layer(critical, _line_at(1, "y"), points),
        "Gain of each published model against head density, the claimed critical band shaded.",
    )


def chart_shares(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw the share of variance of each block of predictors with its interval.

    ``shares`` has one row per block: `block`, `share`, `conf_low`, `conf_high`, `chance_share`
    [share of variance].
    """
    y = alt.Y("block:N", title=None, sort=None)
    scale = alt.Scale(domain=[0, 1])
    whiskers = (
        alt.Chart(shares)
        .mark_rule(color=INK, strokeWidth=2)
        .encode(x=alt.X("conf_low:Q", scale=scale), x2="conf_high:Q", y=y)
    )
    chance = (
        alt.Chart(shares)
        .mark_tick(color=COLOURS[1], thickness=3, size=22)
        .encode(x=alt.X("chance_share:Q", scale=scale), y=y)
    )
    points = (
        alt.Chart(shares)
        .mark_point(color=COLOURS[0], filled=True, size=120)
        .encode(x=alt.X("share:Q", title="share of the variance of log gain [1]", scale=scale), y=y)
    )
    return _named(
        alt.layer(whiskers, chance, points).properties(height=130),
        "Share of variance that lab, geometry and scale explain, with bootstrap intervals.",
    )


def chart_definitions(gains: pd.DataFrame, *, order: Sequence[str]) -> alt.LayerChart:
    """Draw the gains of a few models under several definitions.

    ``gains`` has one row per model and definition: `model`, `definition`, `gain_mean` [ratio].
    ``order`` names the models in the claimed order.
    """
    y = alt.Y("definition:N", title=None, sort=None)
    points = (
        alt.Chart(gains)
        .mark_point(filled=True, size=130, opacity=0.9)
        .encode(
            x=alt.X(
                "gain_mean:Q", title="mean gain [ratio], log scale", **_log(gains["gain_mean"])
            ),
            y=y,
            color=alt.Color("model:N", title=None, sort=list(order), scale=_series(order, COLOURS)),
            shape=alt.Shape("model:N", title=None, sort=list(order), scale=_series(order, SHAPES)),
        )
    )
    return _named(
        alt.layer(_line_at(1, "x"), points).properties(height=44 * gains["definition"].nunique()),
        "Gain of four models under each published definition, one row per definition.",
    )


def chart_trace_profile(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw the trace of each layer against relative depth.

    ``layers`` has one row per model and layer: `model`, `relative_depth` [1], `trace`
    [weight units squared].
    """
    names = sorted(layers["model"].unique())
    encoded = alt.Chart(layers).encode(
        x=alt.X("relative_depth:Q", title="relative depth (l + 1) / L [1]"),
        y=alt.Y("trace:Q", title="trace [weight units², log]", **_log(layers["trace"])),
        color=alt.Color("model:N", title=None, scale=_series(names, COLOURS)),
        shape=alt.Shape("model:N", title=None, scale=_series(names, SHAPES)),
    )
    return _named(
        alt.layer(encoded.mark_line(opacity=0.6), encoded.mark_point(filled=True, size=60)),
        "Trace of the sheaf Laplacian per layer for four published models.",
    )


def chart_spectral(weights: pd.DataFrame) -> alt.LayerChart:
    """Draw the spectral norms of W_V and W_O of each model.

    ``weights`` has one row per model: `model`, `lab`, `value_norm`, `output_norm` [weight units].
    """
    x = alt.X(
        "output_norm:Q",
        title="mean spectral norm of W_O [weight units], log",
        **_log(weights["output_norm"]),
    )
    y = alt.Y(
        "value_norm:Q",
        title="mean spectral norm of W_V [weight units], log",
        **_log(weights["value_norm"]),
    )
    names = (
        alt.Chart(weights)
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x=x, y=y, text="model:N")
    )
    return _named(
        alt.layer(_points(weights).encode(x=x, y=y), names),
        "Spectral norms of the value and output matrices of seven published models.",
    )


def chart_twins(pairs: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain before and after instruction tuning.

    ``pairs`` has one row per pair: `family`, `gain_mean_base`, `gain_mean` [ratio].
    """
    y = alt.Y("family:N", title=None)
    long = pairs.melt("family", ["gain_mean_base", "gain_mean"], "version", "gain")
    named = long.assign(
        version=long["version"].map({"gain_mean_base": "base", "gain_mean": "instruct"})
    )
    versions = ["base", "instruct"]
    rules = (
        alt.Chart(pairs).mark_rule(color=INK).encode(x="gain_mean_base:Q", x2="gain_mean:Q", y=y)
    )
    points = (
        alt.Chart(named)
        .mark_point(filled=True, size=130)
        .encode(
            x=alt.X(
                "gain:Q",
                title="mean gain of the last block [ratio]",
                axis=alt.Axis(tickCount=6),
                scale=alt.Scale(zero=False),
            ),
            y=y,
            color=alt.Color("version:N", title=None, scale=_series(versions, COLOURS)),
            shape=alt.Shape(
                "version:N", title=None, scale=_series(versions, ["circle", "triangle-right"])
            ),
        )
    )
    return _named(
        alt.layer(_line_at(1, "x"), rules, points).properties(height=150),
        "Gain of the last block of three models before and after instruction tuning.",
    )


def chart_block_profile(layers: pd.DataFrame) -> alt.FacetChart:
    """Draw the log gain of each block of the models measured here, one panel per family.

    ``layers`` has one row per model and layer: `family`, `suite`, `model_id`, `layer`,
    `log_gain` [nat].
    """
    suites = sorted(layers["suite"].unique())
    encoded = alt.Chart(layers).encode(
        x=alt.X("layer:O", title="block", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("log_gain:Q", title="log gain [nat]"),
        detail="model_id:N",
        color=alt.Color("suite:N", title="recipe", scale=_series(suites, COLOURS)),
        shape=alt.Shape("suite:N", title="recipe", scale=_series(suites, SHAPES)),
    )
    zero = alt.Chart(layers).mark_rule(color=INK).encode(y=alt.datum(0))
    panels = alt.layer(
        zero, encoded.mark_line(opacity=0.6), encoded.mark_point(filled=True, size=60)
    )
    return panels.properties(width=WIDTH / 3 - 12, height=230).facet(
        column=alt.Column("family:N", title=None),
        description="Log gain of each block of the models trained here, by family and recipe.",
    )


def chart_verdicts(claims: pd.DataFrame, *, verdicts: Sequence[str]) -> alt.LayerChart:
    """Draw one row per claim with a mark in the column of its verdict.

    ``claims`` has one row per claim: `label`, `verdict`.
    """
    x = alt.X(
        "verdict:N",
        title=None,
        sort=list(verdicts),
        scale=alt.Scale(domain=list(verdicts)),
        axis=alt.Axis(
            orient="top",
            labelFontSize=12,
            labelAngle=0,
            labelExpr="replace(datum.label, 'reproduced under', 'under')",
            grid=True,
        ),
    )
    points = (
        alt.Chart(claims)
        .mark_point(filled=True, size=170, opacity=1)
        .encode(
            x=x,
            y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(grid=True)),
            color=alt.Color(
                "verdict:N",
                legend=None,
                scale=alt.Scale(
                    domain=list(verdicts), range=["#009E73", "#E69F00", "#D55E00", INK]
                ),
            ),
            shape=alt.Shape(
                "verdict:N",
                legend=None,
                scale=alt.Scale(
                    domain=list(verdicts), range=["circle", "triangle-up", "square", "diamond"]
                ),
            ),
        )
    )
    return _named(
        alt.layer(points).properties(width=WIDTH - 40, height=27 * len(claims)),
        "Verdict on each claim, one row per claim, one column per verdict.",
    )


def _points(models: pd.DataFrame) -> alt.Chart:
    """Return marks coloured and shaped by lab, for a frame with one row per model."""
    marks = alt.Chart(models).mark_point(filled=True, size=90, opacity=0.9)
    return cast(alt.Chart, marks.encode(color=_lab_colour(models), shape=_lab_shape(models)))


def _present(models: pd.DataFrame) -> list[str]:
    return [lab for lab in LABS if lab in set(models["lab"])]


def _lab_colour(models: pd.DataFrame) -> alt.Color:
    labs = _present(models)
    return alt.Color("lab:N", title=None, scale=_series(labs, [LABS[lab][0] for lab in labs]))


def _lab_shape(models: pd.DataFrame) -> alt.Shape:
    labs = _present(models)
    return alt.Shape("lab:N", title=None, scale=_series(labs, [LABS[lab][1] for lab in labs]))


def _log(values: pd.Series[float]) -> dict[str, Any]:
    """Return a logarithmic scale around the values with ticks at 1, 2 and 5 times powers of ten."""
    low, high = float(values.min()) / 1.15, float(values.max()) * 1.15
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [round(m * 10.0**power, 10) for power in powers for m in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=inside, format="~g" if high < 1000 else "~s"),
    }


def _series(names: Sequence[str], values: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values)[: len(names)])


def _line_at(value: float, axis: str) -> alt.Chart:
    where = {axis: alt.datum(value)}
    line = alt.Chart(pd.DataFrame({"at": [value]})).mark_rule(color=INK, strokeWidth=1.5)
    return cast(alt.Chart, line.encode(**where))


def _named(chart: Any, description: str) -> alt.LayerChart:
    sized = chart if chart.width is not alt.Undefined else chart.properties(width=WIDTH)
    sized = sized if sized.height is not alt.Undefined else sized.properties(height=300)
    return cast(alt.LayerChart, sized.properties(description=description))

"""Tidy frames to charts of the published evidence.

A chart draws what its frame says; no statistic is computed here. Every function returns an
Altair chart with a description, axis titles with units, and no background, so that it reads
on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from analysis.theme import (
    COLOURS,
    INK,
    LABS,
    SHAPES,
    lab_colour,
    line_at,
    log_axis,
    named,
    points_by_lab,
    series,
)


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
        .encode(x=x, y="conf_low:Q", y2="conf_high:Q", color=lab_colour(models))
    )
    points = points_by_lab(models).encode(
        x=x,
        y=alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False)),
    )
    return named(
        alt.layer(line_at(1, "y"), curve, whiskers, points),
        "Gain of each published model against its depth, with the bound 10 to the 1/L dashed.",
    )


def chart_gain_by_lab(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model in the row of its lab.

    ``models`` has one row per model: `lab`, `gain_mean` [ratio].
    """
    points = points_by_lab(models).encode(
        x=alt.X("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False)),
        y=alt.Y("lab:N", title=None, sort=list(LABS)),
    )
    return named(
        alt.layer(line_at(1, "x"), points),
        "Gain of each published model, one row per lab, with a line at 1.",
    )


def chart_gain_by_density(models: pd.DataFrame, *, band: tuple[float, float]) -> alt.LayerChart:
    """Draw gain against head density, with the claimed critical band.

    ``models`` has one row per model: `rho` [1], `gain_mean` [ratio], `lab`.
    """
    limits = pd.DataFrame({"low": [band[0]], "high": [band[1]]})
    title = "head density ρ = H / d_head [1], log scale"
    x = alt.X("rho:Q", title=title, **log_axis(models["rho"]))
    critical = (
        alt.Chart(limits).mark_rect(color=INK, opacity=0.2).encode(x=alt.X("low:Q"), x2="high:Q")
    )
    points = points_by_lab(models).encode(
        x=x, y=alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False))
    )
    return named(
        alt.layer(critical, line_at(1, "y"), points),
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
    return named(
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
                "gain_mean:Q", title="mean gain [ratio], log scale", **log_axis(gains["gain_mean"])
            ),
            y=y,
            color=alt.Color("model:N", title=None, sort=list(order), scale=series(order, COLOURS)),
            shape=alt.Shape("model:N", title=None, sort=list(order), scale=series(order, SHAPES)),
        )
    )
    return named(
        alt.layer(line_at(1, "x"), points).properties(height=44 * gains["definition"].nunique()),
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
        y=alt.Y("trace:Q", title="trace [weight units², log]", **log_axis(layers["trace"])),
        color=alt.Color("model:N", title=None, scale=series(names, COLOURS)),
        shape=alt.Shape("model:N", title=None, scale=series(names, SHAPES)),
    )
    return named(
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
        **log_axis(weights["output_norm"]),
    )
    y = alt.Y(
        "value_norm:Q",
        title="mean spectral norm of W_V [weight units], log",
        **log_axis(weights["value_norm"]),
    )
    names = (
        alt.Chart(weights)
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x=x, y=y, text="model:N")
    )
    return named(
        alt.layer(points_by_lab(weights).encode(x=x, y=y), names),
        "Spectral norms of the value and output matrices of seven published models.",
    )


def chart_twins(pairs: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain before and after instruction tuning.

    ``pairs`` has one row per pair: `family`, `gain_mean_base`, `gain_mean` [ratio].
    """
    y = alt.Y("family:N", title=None)
    long = pairs.melt("family", ["gain_mean_base", "gain_mean"], "version", "gain")
    spoken = long.assign(
        version=long["version"].map({"gain_mean_base": "base", "gain_mean": "instruct"})
    )
    versions = ["base", "instruct"]
    rules = (
        alt.Chart(pairs).mark_rule(color=INK).encode(x="gain_mean_base:Q", x2="gain_mean:Q", y=y)
    )
    points = (
        alt.Chart(spoken)
        .mark_point(filled=True, size=130)
        .encode(
            x=alt.X(
                "gain:Q",
                title="mean gain of the last block [ratio]",
                axis=alt.Axis(tickCount=6),
                scale=alt.Scale(zero=False),
            ),
            y=y,
            color=alt.Color("version:N", title=None, scale=series(versions, COLOURS)),
            shape=alt.Shape(
                "version:N", title=None, scale=series(versions, ["circle", "triangle-right"])
            ),
        )
    )
    return named(
        alt.layer(line_at(1, "x"), rules, points).properties(height=150),
        "Gain of the last block of three models before and after instruction tuning.",
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
            labelPadding=22,  # the second line of a label goes down
            labelExpr="split(replace(datum.label, 'reproduced under a', 'under'), ' ')",
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
    return named(
        alt.layer(points).properties(width=280, height=24 * len(claims)),
        "Verdict on each claim, one row per claim, one column per verdict.",
    )

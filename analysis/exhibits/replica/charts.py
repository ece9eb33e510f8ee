"""The paper's eight figures, and beside each what we would draw; frames from `replica.figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.marks import points_by_lab
from analysis.exhibits.drawing.theme import (
    COLOURS,
    INK,
    LABS,
    SHAPES,
    SIDES,
    WIDTH,
    found,
    lab_colour,
    lab_shape,
    line_at,
    log_axis,
    named,
    series,
)
from analysis.exhibits.replica import findings
from analysis.exhibits.replica.figures import PANELS, PREDICTORS

HEIGHT = 230
SIGNS = ["below 1", "above 1"]
GAIN = ["gain [ratio]", SIDES]


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 1: gain of the Pythia models against depth, and the claimed bound.

    Parameters
    ----------
    models
        `replica.gains_by_depth`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    x = alt.X(
        "n_layers:Q",
        title="depth L [blocks]",
        scale=alt.Scale(zero=False, nice=False, padding=12),
        axis=alt.Axis(tickMinStep=5),
    )
    limits = (
        alt.Chart(bounds[bounds["n_layers"] <= models["n_layers"].max()])
        .mark_line(color=INK, strokeDash=[6, 4])
        .encode(x=x, y=alt.Y("bound:Q", title=GAIN))
    )
    return _stacked(
        [
            alt.layer(line_at(1, "y"), limits, _signed(panel).encode(x=x, y=_gain()))
            for panel in _by_panel(models)
        ],
        "Gain of eight Pythia models against depth, as the paper draws it and with the geometric "
        "mean over inner blocks; the claimed bound is dashed.",
        findings.signs(models),
        shared=["y"],
    )


def chart_gain_by_size(models: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 6: gain of the Pythia models against parameters, with one sd over prompts.

    ``models`` is `replica.gains_by_depth`; the primary panel has no whiskers, because the file
    holds profiles as means.
    """
    scale = log_axis(models["n_parameters"])
    scale["axis"].labelExpr = "replace(datum.label, 'G', 'B')"
    x = alt.X("n_parameters:Q", title="parameters [1], log scale", **scale)
    return _stacked(
        [
            alt.layer(line_at(1, "y"), _whiskers(panel, x), _signed(panel).encode(x=x, y=_gain()))
            for panel in _by_panel(models)
        ],
        "Gain of eight Pythia models against their number of parameters, as the paper draws it "
        "and with the geometric mean over inner blocks.",
        findings.with_size(models),
        shared=["y"],
    )


def chart_gain_by_lab(labs: pd.DataFrame, printed: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 2: mean gain by lab with one standard error, then the models themselves.

    Parameters
    ----------
    labs
        `replica.gains_by_lab`.
    printed
        `replica.printed_gains_by_lab`: what the figure in the paper shows, drawn as hollow marks.
    """
    drawn, primary = _by_panel(labs)
    y = alt.Y("lab:N", title=None, sort=list(LABS))
    axis = alt.Axis(tickCount=5, labelOverlap=True)
    x = alt.X("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False), axis=axis)
    bars = (
        alt.Chart(drawn)
        .mark_rule(color=INK, strokeWidth=2)
        .encode(x=alt.X("gain_low:Q", title=GAIN), x2="gain_high:Q", y=y)
    )
    means = alt.Chart(drawn).mark_point(filled=True, size=90, color=COLOURS[0]).encode(x=x, y=y)
    in_print = (
        alt.Chart(printed)
        .mark_point(filled=False, size=170, strokeWidth=2, shape="square", color=COLOURS[1])
        .encode(x=x, y=y)
    )
    models = points_by_lab(primary).encode(
        x=x, y=y, color=lab_colour(primary).legend(None), shape=lab_shape(primary).legend(None)
    )
    return _stacked(
        [
            alt.layer(line_at(1, "x"), bars, means, in_print),
            alt.layer(line_at(1, "x"), models),
        ],
        "Mean gain by lab with standard errors, the printed means as hollow squares; below, the "
        "gain of each model.",
        findings.printed_means(drawn, printed),
        shared=["x"],
    )


def chart_spectral(models: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 3: spectral norms of what is called W_V against those of W_O.

    ``models`` is `replica.spectral_norms`.
    """
    x = alt.X(
        "output_norm:Q",
        title="spectral norm of W_O [weight units], log",
        **log_axis(models["output_norm"]),
    )
    y = alt.Y(
        "value_norm:Q",
        title="spectral norm of W_V [weight units], log",
        **log_axis(models["value_norm"]),
    )
    points = (
        alt.Chart(models).mark_point(filled=True, size=110, opacity=0.9).encode(x=x, y=y, **_cut())
    )
    names = (
        alt.Chart(models)
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x=x, y=y, text="model:N")
    )
    return named(
        alt.layer(points, names),
        "Spectral norm of W_V against that of W_O for seven published models; triangles mark "
        "matrices whose rows mix Q, K and V.",
        findings.cuts(models),
    )


def chart_spectral_profiles(layers: pd.DataFrame, *, is_squared: bool) -> alt.LayerChart:
    """Draw Figure 8 (squared) or Figure 4 (not): the spectral norm of each layer.

    ``layers`` is `replica.spectral_profiles`.
    """
    power, unit = (
        ("Squared spectral norm", "weight units²")
        if is_squared
        else ("Spectral norm", "weight units")
    )
    values = layers["squared"] if is_squared else layers["squared"] ** 0.5
    rows = layers.assign(norm=values)
    names = sorted(rows["model"].unique())
    encoded = alt.Chart(rows).encode(
        x=alt.X(
            "relative_depth:Q", title="relative depth (l + 1) / L [1]", axis=alt.Axis(tickCount=5)
        ),
        y=alt.Y("norm:Q", title=f"{power.lower()} of W_V [{unit}], log", **log_axis(values)),
        color=alt.Color("model:N", title=None, scale=series(names, COLOURS)),
        strokeDash=alt.StrokeDash(
            "cut:N",
            title=None,
            scale=alt.Scale(domain=["W_V", "rows of Q, K and V mixed"], range=[[1, 0], [6, 4]]),
            legend=None,
        ),
    )
    points = encoded.mark_point(filled=True, size=45, opacity=0.9).encode(
        shape=alt.Shape("model:N", title=None, scale=series(names, SHAPES))
    )
    return named(
        alt.layer(encoded.mark_line(opacity=0.7), points),
        f"{power} of W_V of each layer of six published models, read off the paper's figure; "
        "dashed lines are of matrices whose rows mix Q, K and V.",
        findings.rises(rows, "norm", power.lower()),
    )


def chart_transition_layers(models: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 5: predicted against found L*; ``models`` is `replica.transition_layers`."""
    ends = pd.DataFrame({"at": [0.0, float(models[["estimate", "predicted"]].max().max()) + 1]})
    title = "L* read off the figure [layers]"
    equal = (
        alt.Chart(ends)
        .mark_line(color=INK, strokeDash=[6, 4])
        .encode(x=alt.X("at:Q", title=title), y=alt.Y("at:Q", title="predicted L* [layers]"))
    )
    return _stacked(
        [
            alt.layer(
                equal,
                points_by_lab(panel).encode(x=alt.X("estimate:Q", title=title), y="predicted:Q"),
            )
            for panel in _by_panel(models, PREDICTORS)
        ],
        "Predicted against found L* of six models, by the paper's formula and by the other "
        "suites' mean share of the depth; equality is dashed.",
        findings.errors(models),
        names=PREDICTORS,
    )


def chart_gain_by_prompt(models: pd.DataFrame, prompts: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 7: gain of each Pythia model, one standard deviation over prompts to each side.

    Parameters
    ----------
    models
        `replica.gains_by_depth`, of which the drawn panel is used.
    prompts
        `replica.gains_by_prompt`; may have no rows.
    """
    drawn = next(iter(_by_panel(models))).sort_values("n_parameters")
    y = alt.Y("model:N", title=None, sort=drawn["model"].tolist())
    ticks = (
        alt.Chart(prompts)
        .mark_tick(color=INK, opacity=0.6, thickness=1.5)
        .encode(x=alt.X("gain:Q"), y=y)
    )
    whiskers = (
        alt.Chart(drawn)
        .mark_rule(color=INK, strokeWidth=2)
        .encode(x=alt.X("gain_low:Q"), x2="gain_high:Q", y=y)
    )
    x = alt.X("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    means = _signed(drawn).encode(x=x, y=y)
    return named(
        alt.layer(line_at(1, "x"), ticks, whiskers, means).properties(height=270),
        "Gain of each Pythia model, mean and one standard deviation over 25 prompts.",
        findings.crossing(drawn),
    )


def _stacked(
    panels: list[Any],
    description: str,
    finding: str,
    *,
    shared: Sequence[str] = (),
    names: Sequence[str] = PANELS,
) -> alt.VConcatChart:
    """Return panels below each other, each under its name, with the axes that they share."""
    titled = [
        panel.properties(
            width=WIDTH,
            height=HEIGHT,
            title=alt.Title(name, fontSize=14, fontWeight="normal", anchor="start"),
        )
        for name, panel in zip(names, panels, strict=True)
    ]
    scales: dict[str, Any] = dict.fromkeys(("color", "shape", *shared), "shared")
    chart = alt.vconcat(*titled, spacing=24).resolve_scale(**scales)
    return cast(alt.VConcatChart, found(chart.properties(description=description), finding))


def _by_panel(rows: pd.DataFrame, names: Sequence[str] = PANELS) -> list[pd.DataFrame]:
    return [rows[rows["panel"] == name] for name in names]


def _gain() -> alt.Y:
    return alt.Y("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False))


def _signed(models: pd.DataFrame) -> alt.Chart:
    """Return marks as the paper's: downward below 1, upward above."""
    marks = alt.Chart(models).mark_point(filled=True, size=110, opacity=0.9)
    return cast(
        alt.Chart,
        marks.encode(
            color=alt.Color("sign:N", title=None, scale=series(SIGNS, COLOURS)),
            shape=alt.Shape(
                "sign:N", title=None, scale=series(SIGNS, ["triangle-down", "triangle-up"])
            ),
        ),
    )


def _whiskers(models: pd.DataFrame, x: alt.X) -> alt.Chart:
    chart = alt.Chart(models.dropna(subset=["gain_low"])).mark_rule(color=INK, strokeWidth=2)
    return cast(alt.Chart, chart.encode(x=x, y=alt.Y("gain_low:Q", title=GAIN), y2="gain_high:Q"))


def _cut() -> dict[str, Any]:
    """Return colour and shape by what the matrix called W_V is."""
    cuts = ["W_V", "rows of Q, K and V mixed"]
    return {
        "color": alt.Color("cut:N", title=None, scale=series(cuts, COLOURS)),
        "shape": alt.Shape("cut:N", title=None, scale=series(cuts, ["circle", "triangle-up"])),
    }

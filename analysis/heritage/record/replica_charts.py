"""The paper's eight figures, and beside each what we would draw; frames from `replica.figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing import names as placing
from analysis.drawing.labs import ORDER
from analysis.drawing.marks import of_lab, points_by_lab
from analysis.drawing.theme import (
    INK,
    SIDES,
    WIDTH,
    found,
    line_at,
    log_axis,
    named,
    reach,
    shrinking,
)
from analysis.heritage.record import replica_findings as findings
from analysis.heritage.record.replica_figures import PANELS, PREDICTORS
from analysis.tidy import prose

HEIGHT = 230
#: Points of a curve that names leave free.
N_ALONG = 120
#: Height of the row of a lab and of a model [px].
LAB, MODEL = 36, 18
GAIN = ["gain [ratio]", SIDES]
#: What a name says of the matrix that is called W_V.
MIXED = {"W_V": "", "rows of Q, K and V mixed": " (mixed)"}
#: Least distance of two names at the ends of lines [px].
LINE = 15


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 1: gain of the Pythia models against depth, and the claimed bound.

    Parameters
    ----------
    models
        `replica.gains_by_depth`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    drawn = models.assign(name=prose.within_suite(models["model"]))
    ends = (float(models["n_layers"].min()) - 3, float(models["n_layers"].max()) + 3)
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    x = alt.X("n_layers:Q", title="depth L [blocks]", scale=scale, axis=alt.Axis(tickMinStep=5))
    inside = bounds[bounds["n_layers"].between(models["n_layers"].min(), ends[1])]
    gains = reach(models["gain_mean"], inside["bound"])
    y, place = _gain(gains), placing.Panel(ends, gains, height=HEIGHT)
    along = np.linspace(inside["n_layers"].min(), inside["n_layers"].max(), N_ALONG)
    bound = np.interp(along, inside["n_layers"], inside["bound"])
    curve = pd.DataFrame({"n_layers": along, "gain_mean": bound})
    limits = (
        alt.Chart(inside)
        .mark_line(color=INK, strokeDash=[6, 4])
        .encode(x=x, y=alt.Y("bound:Q", title=GAIN))
    )
    return _stacked(
        [
            alt.layer(
                shrinking(),
                line_at(1, "y"),
                limits,
                *_by_name(panel, x, y, "n_layers", place, curve=curve),
            )
            for panel in _by_panel(drawn)
        ],
        f"Gain of {models['model'].nunique()} Pythia models, each by its size, against depth, as "
        "the paper draws it and "
        "with the geometric mean over inner blocks; the claimed bound is dashed.",
        findings.signs(models),
        shared=["y"],
    )


def chart_gain_by_size(models: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 6: gain of the Pythia models against parameters, with one sd over prompts.

    ``models`` is `replica.gains_by_depth`; the primary panel has no whiskers, because the file
    holds profiles as means.
    """
    ends = (float(models["n_parameters"].min()) / 1.6, float(models["n_parameters"].max()) * 1.6)
    scale = log_axis(pd.Series(ends), beyond=1)
    scale["axis"].labelExpr = "replace(datum.label, 'G', 'B')"
    x = alt.X("n_parameters:Q", title="size [parameters], log scale", **scale)
    gains = reach(models["gain_mean"], models["gain_low"], models["gain_high"])
    place = placing.Panel(ends, gains, height=HEIGHT, is_log=True)
    y, drawn = _gain(gains), models.assign(name=prose.within_suite(models["model"]))
    return _stacked(
        [
            alt.layer(
                shrinking(),
                line_at(1, "y"),
                _whiskers(panel, x),
                *_by_name(panel, x, y, "n_parameters", place),
            )
            for panel in _by_panel(drawn)
        ],
        f"Gain of {models['model'].nunique()} Pythia models, each by its size, against their "
        "number of parameters, as the "
        "paper draws it and with the geometric mean over inner blocks.",
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
    place = {lab: place for place, lab in enumerate(ORDER)}
    primary = primary.assign(place=primary["lab"].map(place)).sort_values(["place", "gain_mean"])
    y = alt.Y("lab:N", title=None, sort=list(ORDER))
    rows = alt.Y(
        "model:N", title=None, sort=list(primary["model"]), axis=alt.Axis(grid=True, ticks=False)
    )
    axis = alt.Axis(tickCount=5, labelOverlap=True)
    x = alt.X("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False), axis=axis)
    bars = (
        alt.Chart(drawn)
        .mark_rule(color=INK, strokeWidth=2)
        .encode(x=alt.X("gain_low:Q", title=GAIN), x2="gain_high:Q", y=y)
    )
    means = points_by_lab(drawn).encode(x=x, y=y)
    rings = alt.Chart(printed).mark_point(filled=False, size=260, strokeWidth=1.5)
    in_print = rings.encode(x=x, y=y, color=alt.value(INK))
    # One word above its mark and one below: on a phone there is no room for both side by side.
    ends = [(drawn, "of the file", 15), (printed, "as printed", -15)]
    items = [
        alt.Chart(means_of.nsmallest(1, "gain_mean"))
        .mark_text(align="right", dx=5, fontSize=13, color=INK, dy=away)
        .encode(x=x, y=y, text=alt.value(word))
        for means_of, word, away in ends
    ]
    return _stacked(
        [
            alt.layer(line_at(1, "x"), bars, means, in_print, *items).properties(
                height=LAB * len(drawn)
            ),
            alt.layer(line_at(1, "x"), points_by_lab(primary).encode(x=x, y=rows)).properties(
                height=MODEL * len(primary)
            ),
        ],
        "Mean gain by lab with standard errors, the printed means as rings; below, the "
        "gain of each model in a row of its own.",
        findings.printed_means(drawn, printed),
        shared=["x"],
    )


def chart_spectral(models: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 3: spectral norms of what is called W_V against those of W_O.

    ``models`` is `replica.spectral_norms`.
    """
    drawn = models.assign(name=models["model"] + models["cut"].map(MIXED))
    x = alt.X(
        "output_norm:Q",
        title="spectral norm of W_O [weight units], log",
        **log_axis(models["output_norm"], beyond=1.3),
    )
    y = alt.Y(
        "value_norm:Q",
        title="spectral norm of W_V [weight units], log",
        **log_axis(models["value_norm"], beyond=1.3),
    )
    is_right = drawn["output_norm"] > 2 * drawn["output_norm"].median()
    names = [
        alt.Chart(drawn[is_right == right])
        .mark_text(align="right" if right else "left", dx=-10 if right else 10, color=INK)
        .encode(x=x, y=y, text="name:N", size=alt.value(13))
        for right in (False, True)
    ]
    return named(
        alt.layer(points_by_lab(models).encode(x=x, y=y), *names),
        f"Spectral norm of W_V against that of W_O for {len(models)} published models; of those "
        "called "
        "mixed, what is called W_V mixes rows of Q, K and V.",
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
    y = log_axis(values)
    x = alt.X(
        "relative_depth:Q", title="relative depth (l + 1) / L [0 to 1]", axis=alt.Axis(tickCount=5)
    )
    encoded = alt.Chart(rows).encode(
        x=x,
        y=alt.Y("norm:Q", title=f"{power.lower()} of W_V [{unit}], log", **y),
        detail="model:N",
        **of_lab(rows),
    )
    cut = alt.Scale(domain=list(MIXED), range=[[1, 0], [6, 4]])
    lines = encoded.mark_line(point=False, opacity=0.7).encode(
        strokeDash=alt.StrokeDash("cut:N", scale=cut, legend=None)
    )
    least = float(np.log(values.max() / values.min())) * LINE / HEIGHT
    named_rows = rows.assign(name=rows["model"] + rows["cut"].map(MIXED))
    names = placing.at_ends(named_rows, x, "norm", least=least, is_log=True)
    points = encoded.mark_point(filled=True, size=45, opacity=0.9)
    return named(
        alt.layer(lines, points, names),
        f"{power} of W_V of each layer of {rows['model'].nunique()} published models, each named "
        "at its end, read off "
        "the paper's figure; dashed lines are of matrices whose rows mix Q, K and V.",
        findings.rises(rows, "norm", power.lower()),
    )


def chart_transition_layers(models: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 5: predicted against found L*; ``models`` is `replica.transition_layers`."""
    end = float(models[["estimate", "predicted"]].max().max()) + 1
    title = "L* read off the figure [layers]"
    scale = alt.Scale(domain=[0, end], nice=False)
    x = alt.X("estimate:Q", title=title, scale=scale)
    y = alt.Y("predicted:Q", title="predicted L* [layers]", scale=scale)
    equal = (
        alt.Chart(pd.DataFrame({"at": [0.0, end]}))
        .mark_line(color=INK, strokeDash=[6, 4])
        .encode(x=alt.X("at:Q", title=title), y=alt.Y("at:Q", title="predicted L* [layers]"))
    )
    place = placing.Panel((0, end), (0, end), height=HEIGHT)
    panels = []
    for rows in _by_panel(models.assign(name=models["model"]), PREDICTORS):
        placed = placing.placed(rows, place, "estimate", "predicted")
        marks = points_by_lab(rows).encode(x=x, y=y)
        panels.append(alt.layer(equal, marks, *placing.texts(placed, x, y)))
    return _stacked(
        panels,
        f"Predicted against found L* of {models['model'].nunique()} models, by the paper's formula "
        "and by the other "
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
    means = points_by_lab(drawn).encode(x=x, y=y)
    return named(
        alt.layer(line_at(1, "x"), ticks, whiskers, means).properties(height=270),
        "Gain of each Pythia model, mean and one standard deviation over prompts.",
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
            height=HEIGHT if panel.height is alt.Undefined else panel.height,
            title=alt.Title(name, fontSize=14, fontWeight="normal", anchor="start"),
        )
        for name, panel in zip(names, panels, strict=True)
    ]
    scales: dict[str, Any] = dict.fromkeys(("color", "shape", *shared), "shared")
    chart = alt.vconcat(*titled, spacing=24).resolve_scale(**scales)
    return cast(alt.VConcatChart, found(chart.properties(description=description), finding))


def _by_panel(rows: pd.DataFrame, names: Sequence[str] = PANELS) -> list[pd.DataFrame]:
    return [rows[rows["panel"] == name] for name in names]


def _gain(ends: tuple[float, float]) -> alt.Y:
    """Return the axis of gain between its ends."""
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    return alt.Y("gain_mean:Q", title=GAIN, scale=scale)


def _by_name(
    models: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    column: str,
    panel: placing.Panel,
    *,
    curve: pd.DataFrame | None = None,
) -> list[alt.Chart]:
    """Return the marks of models and their names, beside them or joined to them, off a curve."""
    placed = placing.placed(models, panel, column, "gain_mean", lines=[1], curve=curve)
    return [points_by_lab(models).encode(x=x, y=y), *placing.texts(placed, x, y)]


def _whiskers(models: pd.DataFrame, x: alt.X) -> alt.Chart:
    chart = alt.Chart(models.dropna(subset=["gain_low"])).mark_rule(color=INK, strokeWidth=2)
    return cast(alt.Chart, chart.encode(x=x, y=alt.Y("gain_low:Q", title=GAIN), y2="gain_high:Q"))

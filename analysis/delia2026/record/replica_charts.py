"""The paper's Figures 1 to 3, and below each what we would draw; frames from `replica_figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.delia2026.record.replica_figures import PANELS, count_below_one
from analysis.drawing import names as placing
from analysis.drawing.labs import ORDER
from analysis.drawing.marks import points_by_lab
from analysis.drawing.theme import (
    INK,
    SIDES,
    UNCHANGED,
    WIDTH,
    add_finding,
    line_at,
    log_axis,
    named,
    reach,
    shrinking,
)
from analysis.tidy import prose

HEIGHT = 230
#: Points of a curve that names leave free.
N_ALONG = 120
#: Height of the row of a lab and of a model [px].
LAB, MODEL = 36, 18
GAIN = ["gain [ratio]", UNCHANGED, SIDES]
#: What a name says of the matrix that is called W_V.
MIXED = {"W_V": "", "rows of Q, K and V mixed": " (mixed)"}


def chart_gain_by_depth(models: pd.DataFrame, bounds: pd.DataFrame) -> alt.VConcatChart:
    """Draw Figure 1: gain of the Pythia models against depth, and the claimed bound.

    Parameters
    ----------
    models
        `replica.gains_by_depth`.
    bounds
        One row per depth: `n_layers`, `bound` [ratio].
    """
    # "pythia-70m" is "70m": the suite is one.
    drawn = models.assign(name=models["model"].str.partition("-")[2])
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
    texts = [f"{share} models {panel}" for panel, share in count_below_one(models).items()]
    return _stack(
        [
            alt.layer(
                shrinking(),
                line_at(1, "y"),
                limits,
                points_by_lab(panel).encode(x=x, y=y),
                *placing.texts(
                    placing.placed(panel, place, "n_layers", "gain_mean", lines=[1], curve=curve),
                    x,
                    y,
                ),
            )
            for panel in _panels(drawn)
        ],
        f"Gain of {models['model'].nunique()} Pythia models, each by its size, against depth, as "
        "the paper draws it and "
        "with the geometric mean over inner blocks; the claimed bound is dashed.",
        f"The stream shrinks in {prose.listing(texts)}.",
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
    drawn, primary = _panels(labs)
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
    ends = [(drawn, "of the file", 15), (printed, "as published", -15)]
    items = [
        alt.Chart(means_of.nsmallest(1, "gain_mean"))
        .mark_text(align="right", dx=5, fontSize=13, color=INK, dy=away)
        .encode(x=x, y=y, text=alt.value(word))
        for means_of, word, away in ends
    ]
    return _stack(
        [
            alt.layer(line_at(1, "x"), bars, means, in_print, *items).properties(
                height=LAB * len(drawn)
            ),
            alt.layer(line_at(1, "x"), points_by_lab(primary).encode(x=x, y=rows)).properties(
                height=MODEL * len(primary)
            ),
        ],
        "Mean gain by lab with standard errors, the published means as rings; below, the "
        "gain of each model in a row of its own.",
        _printed_means(drawn, printed),
        shared=["x"],
    )


def chart_spectral(models: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 3: spectral norms of what is called W_V against those of W_O.

    ``models`` is `replica.spectral_norms`.
    """
    drawn = models.assign(name=models["model"] + models["cut"].map(MIXED))
    x = alt.X(
        "output_norm:Q",
        title=["spectral norm of output weights", "[weight units], log"],
        **log_axis(models["output_norm"], beyond=1.3),
    )
    y = alt.Y(
        "value_norm:Q",
        title=["spectral norm of value weights", "[weight units], log"],
        **log_axis(models["value_norm"], beyond=1.3),
    )
    is_right = drawn["output_norm"] > 2 * drawn["output_norm"].median()
    names = [
        alt.Chart(drawn[is_right == right])
        .mark_text(align="right" if right else "left", dx=-10 if right else 10, color=INK)
        .encode(x=x, y=y, text="name:N", size=alt.value(13))
        for right in (False, True)
    ]
    wrong = models.loc[models["cut"] != "W_V", "model"].drop_duplicates()
    return named(
        alt.layer(points_by_lab(models).encode(x=x, y=y), *names),
        f"Spectral norm of the value weights against that of the output weights for {len(models)} "
        "published models; for those called mixed, rows of Q, K and V stand for the values.",
        (
            f"In {prose.share_of(len(wrong), models['model'].nunique())} models the value weights "
            f"mix rows of Q, K and V: {prose.listing(sorted(wrong))}."
        ),
    )


def _stack(
    panels: list[Any],
    description: str,
    finding: str,
    *,
    shared: Sequence[str] = (),
) -> alt.VConcatChart:
    """Return panels below each other, each under its name, with the axes that they share."""
    titled = [
        panel.properties(
            width=WIDTH,
            height=HEIGHT if panel.height is alt.Undefined else panel.height,
            title=alt.Title(name, fontSize=14, fontWeight="normal", anchor="start"),
        )
        for name, panel in zip(PANELS, panels, strict=True)
    ]
    scales: dict[str, Any] = dict.fromkeys(("color", "shape", *shared), "shared")
    chart = alt.vconcat(*titled, spacing=24).resolve_scale(**scales)
    return cast(alt.VConcatChart, add_finding(chart.properties(description=description), finding))


def _panels(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [rows[rows["panel"] == name] for name in PANELS]


def _gain(ends: tuple[float, float]) -> alt.Y:
    """Return the axis of gain between its ends."""
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    return alt.Y("gain_mean:Q", title=GAIN, scale=scale)


def _printed_means(labs: pd.DataFrame, printed: pd.DataFrame) -> str:
    """Return the lab whose printed mean is furthest from that of the file."""
    both = labs.merge(printed, on="lab", suffixes=("", "_printed"))
    apart = (both["gain_mean_printed"] - both["gain_mean"]).abs()
    row = both.assign(apart=apart).nlargest(1, "apart").to_dict("records")[0]
    return (
        f"The published mean of {row['lab']} is {prose.number(row['gain_mean_printed'])}; that of "
        f"the file is {prose.number(row['gain_mean'])}."
    )

"""Tidy frames to charts of the published evidence.

A chart draws what its frame says; no statistic is computed here. Every function returns an
Altair chart with a description, axis titles with units, and no background, so that it reads
on a light and on a dark page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import pandas as pd

from analysis.exhibits.drawing import findings
from analysis.exhibits.drawing.marks import filled_and_hollow, marks_by_lab
from analysis.exhibits.drawing.theme import (
    COLOURS,
    INK,
    LABS,
    SHAPES,
    SIDES,
    WIDTH,
    lab_colour,
    lab_shape,
    line_at,
    log_axis,
    named,
    series,
)
from analysis.exhibits.drawing.verdicts import COLOURS as VERDICT_COLOURS
from analysis.tidy import prose

#: Title of an axis of gain.
GAIN = ["mean gain [ratio]", SIDES]

#: Least ratio of the heights of two labels on the logarithmic axis of the traces.
LABELS_APART = 1.35
#: Least difference of the heights of two names on the axis of gain [ratio].
NAMES_APART = 0.03

#: Claims side by side in the column of a verdict, distance between the columns [claims], and side
#: of the square of a claim [pixels].
ABREAST, BETWEEN, SIDE = 3, 3.3, 18


def chart_gain_by_lab(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model in the row of its lab.

    ``models`` has one row per model: `lab`, `norm_position`, `gain_mean` [ratio].
    """
    points = [
        mark.encode(
            x=alt.X("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False)),
            y=alt.Y("lab:N", title=None, sort=list(LABS)),
            color=lab_colour(models).legend(None),
            shape=lab_shape(models).legend(None),
        )
        for mark in marks_by_lab(models)
    ]
    return named(
        alt.layer(line_at(1, "x"), *points).properties(height=190),
        "Gain of each published model, one row per lab, with a line at 1.",
        findings.labs(models),
    )


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
        title="model, head density ρ = H / d_head [1]",
        sort=rows,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(grid=True, ticks=False, domain=False),
    )
    x = alt.X("gain_mean:Q", title=GAIN, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False))
    critical = alt.Chart(drawn[drawn["rho"].between(*band)]).mark_rect(color=INK, opacity=0.2)
    points = [mark.encode(x=x, y=y) for mark in marks_by_lab(drawn)]
    return named(
        alt.layer(critical.encode(y=y), line_at(1, "x"), *points).properties(height=18 * len(rows)),
        "Gain of each published model in the order of head density, the claimed band shaded.",
        findings.band(models, band),
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
        findings.shares(shares),
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
                "gain_mean:Q",
                title=["mean gain [ratio], log scale", SIDES],
                **log_axis(gains["gain_mean"]),
            ),
            y=y,
            color=alt.Color("model:N", title=None, sort=list(order), scale=series(order, COLOURS)),
            shape=alt.Shape("model:N", title=None, sort=list(order), scale=series(order, SHAPES)),
        )
    )
    return named(
        alt.layer(line_at(1, "x"), points).properties(height=44 * gains["definition"].nunique()),
        "Gain of four models under each published definition, one row per definition.",
        findings.order(gains, order),
    )


def chart_trace_profile(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw the trace of each layer against relative depth.

    ``layers`` has one row per model and layer: `model`, `relative_depth` [1], `trace`
    [weight units squared].
    """
    names = sorted(layers["model"].unique())
    encoded = alt.Chart(layers).encode(
        x=alt.X(
            "relative_depth:Q", title="relative depth (l + 1) / L [1]", axis=alt.Axis(tickCount=5)
        ),
        y=alt.Y("trace:Q", title="trace [weight units², log]", **log_axis(layers["trace"])),
        color=alt.Color("model:N", scale=series(names, COLOURS), legend=None),
        shape=alt.Shape("model:N", scale=series(names, SHAPES), legend=None),
    )
    labels = (
        alt.Chart(_apart(layers.sort_values("layer").drop_duplicates("model", keep="last")))
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x="relative_depth:Q", y="label_at:Q", text="model:N")
    )
    marks = [encoded.mark_line(opacity=0.6), encoded.mark_point(filled=True, size=60)]
    return named(
        alt.layer(*marks, labels).properties(width=WIDTH - 90),
        "Trace of the sheaf Laplacian per layer for four published models, each named at its end.",
        findings.trace(layers),
    )


def _apart(ends: pd.DataFrame) -> pd.DataFrame:
    """Return the last points with `label_at`: their trace, raised where a label is too near."""
    ordered = ends.sort_values("trace")
    places: list[float] = []
    for value in ordered["trace"]:
        places.append(max(float(value), places[-1] * LABELS_APART) if places else float(value))
    return ordered.assign(label_at=places)


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
    cuts = {False: "W_V", True: "rows of Q, K and V mixed"}
    both = both.assign(cut=both["is_misread"].map(cuts))
    title = "‖W_V‖ / ‖W_O‖ [1], log scale"
    reach = pd.concat([both["ratio"] / 1.2, both["ratio"] * 2.5])
    x = alt.X("ratio:Q", title=title, **log_axis(reach))
    scale = alt.Scale(zero=False, padding=18)
    y = alt.Y("gain_mean:Q", title=GAIN, scale=scale)
    spoken = list(cuts.values())
    colour = alt.Color("cut:N", title=None, scale=series(spoken, COLOURS))
    shape = alt.Shape("cut:N", title=None, scale=series(spoken, ["circle", "triangle-up"]))
    points = [mark.encode(x=x, y=y, color=colour, shape=shape) for mark in filled_and_hollow(both)]
    names = (
        alt.Chart(_below_each_other(both))
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x=x, y=alt.Y("label_at:Q", title=GAIN, scale=scale), text="model:N")
    )
    return named(
        alt.layer(line_at(1, "y"), *points, names),
        "Gain of six published models against the ratio of the norms of W_V and W_O; models of "
        "low and of high ratio lie on both sides of one.",
        findings.ratio(both),
    )


def _below_each_other(models: pd.DataFrame) -> pd.DataFrame:
    """Return models with `label_at`: the gain, or less where a name would meet one or the line."""
    ordered = models.sort_values("gain_mean", ascending=False)
    places: list[float] = []
    for gain in ordered["gain_mean"]:
        place = min(float(gain), places[-1] - NAMES_APART) if places else float(gain)
        is_struck = abs(place - 1) < NAMES_APART / 2  # by the line of no change
        places.append(1 - NAMES_APART / 2 if is_struck else place)
    return ordered.assign(label_at=places)


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
                title=["mean gain of the last block [ratio]", SIDES],
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
        findings.tuning(pairs),
    )


def chart_verdicts(claims: pd.DataFrame, *, verdicts: Sequence[str]) -> alt.LayerChart:
    """Draw a column per verdict, as high as it has claims, each claim a square with its number.

    ``claims`` has one row per claim: `claim_id`, `label`, `verdict`.
    """
    placed = _tiles(claims, verdicts)
    placed = placed.assign(card=[f"claims.html#claim-{number}" for number in placed["claim_id"]])
    wide, high = BETWEEN * len(verdicts), float(placed["place"].max()) + 2 * ABREAST
    x = alt.X(
        "across:Q", title=None, axis=_names(verdicts), scale=alt.Scale(domain=[0, wide], nice=False)
    )
    y = alt.Y(
        "place:Q",
        title=None,
        axis=None,
        scale=alt.Scale(domain=[0, high], nice=False),
    )
    squares = (
        alt.Chart(placed)
        .mark_square(filled=False, size=(SIDE - 3) ** 2, strokeWidth=1.8, opacity=1)
        .encode(
            x=x,
            y=y,
            description="label:N",
            href="card:N",
            color=alt.Color(
                "verdict:N",
                scale=series(verdicts, [VERDICT_COLOURS[name] for name in verdicts]),
                legend=None,
            ),
        )
    )
    numbers = (
        alt.Chart(placed).mark_text(color=INK, fontSize=12).encode(x=x, y=y, text="claim_id:Q")
    )
    totals = (
        alt.Chart(placed.drop_duplicates("verdict", keep="last"))
        .mark_text(color=INK, fontSize=20, dy=-SIDE)
        .encode(x="middle:Q", y=y, text="total:Q")
    )
    return named(
        alt.layer(numbers, squares, totals).properties(
            width=SIDE * wide, height=SIDE * high / ABREAST
        ),
        "Number of claims with each verdict: a column per verdict of squares that hold the "
        "numbers of the claims, its count on top.",
        findings.verdicts(claims, verdicts),
    )


def _tiles(claims: pd.DataFrame, verdicts: Sequence[str]) -> pd.DataFrame:
    """Return where each claim stands in the column of its verdict, and how many stand there.

    Adds `across` and `middle` (of its square and of its column [squares]), `place` (of the middle
    of its row [claims]) and `total`; ordered by number.
    """
    ordered = claims.sort_values("claim_id", ignore_index=True)
    same = ordered.groupby("verdict", sort=False)["claim_id"]
    nth = same.cumcount()
    middle = (ordered["verdict"].map(list(verdicts).index) + 0.5) * BETWEEN
    return ordered.assign(
        middle=middle,
        across=middle + nth % ABREAST - (ABREAST - 1) / 2,
        place=(nth // ABREAST + 0.5) * ABREAST,
        total=same.transform("size"),
    )


def _names(verdicts: Sequence[str]) -> alt.Axis:
    """Return an axis with the verdicts below the middles of their columns, a word to a line."""
    words = [name.replace("under a", "under\u00a0a").split(" ") for name in verdicts]
    # Every other name stands a line lower, so that long ones do not meet.
    lines = [[" "] * (place % 2) + name for place, name in enumerate(words)]
    return alt.Axis(
        values=[(place + 0.5) * BETWEEN for place in range(len(lines))],
        labelExpr=f"{json.dumps(lines)}[round(datum.value / {BETWEEN} - 0.5)]",
        labelAngle=0,
        labelFontSize=12,
        labelOverlap=False,
        ticks=False,
        grid=False,
        labelPadding=8,
    )

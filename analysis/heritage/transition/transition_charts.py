"""Charts of L*: what the formula predicts, what was found, and what noise would give."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.drawing.names import Align
from analysis.drawing.theme import INK, SHAPES, TONES, greys, line_at, named, series
from analysis.tidy import prose

#: How much higher each line of an error ends than the one before it [share of the highest bar].
STEP = 0.12

#: What the figure calls the estimators of L*, where not by their names.
ESTIMATORS = {
    "argmax abs gradient": "largest gradient",
    "argmax interior gradient": "largest gradient, ends left out",
}


def chart_l_star(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw every published L* of each model as a share of its depth, and the formula's.

    ``shares`` has one row per model and source: `model`, `source`, `share`, `formula` [of L].
    """
    order = list(dict.fromkeys(shares["model"]))
    sources = list(dict.fromkeys(shares["source"]))
    y = alt.Y("model:N", title=None, sort=order, axis=alt.Axis(grid=True, labelPadding=10))
    scale = alt.Scale(domain=[0, 1])
    points = (
        alt.Chart(shares)
        .mark_point(filled=True, size=120, opacity=0.9)
        .encode(
            x=alt.X(
                "share:Q",
                title="L* / L [share of depth]",
                scale=scale,
                axis=alt.Axis(tickCount=5, labelFlush=False),
            ),
            y=y,
            color=alt.Color(
                "source:N",
                title=None,
                scale=greys(sources),
                # Named beside their marks, sources of one model would cover each other.
                legend=alt.Legend(columns=2),
            ),
            shape=alt.Shape("source:N", title=None, scale=series(sources, SHAPES)),
        )
    )
    predicted = (
        alt.Chart(shares.drop_duplicates("model"))
        .mark_tick(color=INK, thickness=4, size=26)
        .encode(x=alt.X("formula:Q", scale=scale), y=y)
    )
    return named(
        alt.layer(line_at(0.5, "x"), predicted, points).properties(height=250),
        f"Published values of L* over depth for {shares['model'].nunique()} models, with the "
        "formula's prediction.",
        _spread_found(shares),
    )


def _spread_found(shares: pd.DataFrame) -> str:
    """Return how far apart the published values of one model lie at most, and at least."""
    ends = shares.groupby("model")["share"].agg(["min", "max", "size"]).query("size > 1")
    apart = (ends["max"] - ends["min"]).sort_values()
    if apart.empty:
        return "No model has two published values of L*."
    return (
        f"Published values of one model's L* part by up to {prose.percent(float(apart.iloc[-1]))} "
        f"of its depth ({apart.index[-1]}), and by {prose.percent(float(apart.iloc[0]))} at least "
        f"({apart.index[0]})."
    )


def chart_error_by_chance(bins: pd.DataFrame, observed: pd.DataFrame) -> alt.LayerChart:
    """Draw the distribution of the formula's error on noise, and the errors in Fig. 5, named.

    Parameters
    ----------
    bins
        One row per bin: `low`, `high` [share of depth], `probability`.
    observed
        One row per prediction: `prediction`, `error` [share of depth].
    """
    scale = alt.Scale(domain=[0, float(bins["high"].max())], nice=False)
    bars = (
        alt.Chart(bins)
        .mark_bar(color=INK, opacity=0.4)
        .encode(
            x=alt.X(
                "low:Q",
                title="mean |predicted − found L*| / L [share of depth]",
                scale=scale,
                axis=alt.Axis(tickCount=5),
            ),
            x2="high:Q",
            y2=alt.datum(0),
            y=alt.Y("probability:Q", title="share of draws [0 to 1]", axis=alt.Axis(tickCount=5)),
        )
    )
    highest = float(bins["probability"].max())
    ordered = observed.sort_values("error", ascending=False, ignore_index=True)
    ends = ordered.assign(
        top=highest * (1 + STEP * (ordered.index + 1)),
        label=ordered["prediction"] + ", " + ordered["error"].map(lambda e: prose.percent(e, 1)),
    )
    lines = (
        alt.Chart(ends)
        .mark_rule(strokeWidth=2.5, color=TONES[0])
        .encode(x=alt.X("error:Q", scale=scale), y="top:Q", y2=alt.datum(0))
    )
    labels = (
        alt.Chart(ends)
        .mark_text(align="left", dx=5, dy=4, fontSize=13, color=INK)
        .encode(x=alt.X("error:Q", scale=scale), y="top:Q", text="label:N")
    )
    return named(
        alt.layer(bars, lines, labels).properties(height=230),
        "Error of the formula when L* is read off noise, and the errors in the paper's figure.",
        _errors_found(bins, observed),
    )


def _errors_found(bins: pd.DataFrame, observed: pd.DataFrame) -> str:
    """Return the mean error on noise beside the errors in the figure."""
    middle = (bins["low"] + bins["high"]) / 2
    by_chance = float((middle * bins["probability"]).sum() / bins["probability"].sum())
    ordered = observed.sort_values("error")
    texts = [
        f"{name} {prose.percent(error, 1)}"
        for name, error in zip(ordered["prediction"], ordered["error"], strict=True)
    ]
    return (
        f"On noise the formula errs by {prose.percent(by_chance, 1)} of the depth on average; in "
        f"the paper's figure: {prose.listing(texts)}."
    )


def chart_noise_layers(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw how often each estimator names each layer of pure noise.

    ``layers`` has one row per estimator and layer: `estimator`, `layer`, `probability`.
    """
    spoken = layers.assign(estimator=layers["estimator"].replace(ESTIMATORS))
    names = list(dict.fromkeys(spoken["estimator"]))
    encoded = alt.Chart(spoken).encode(
        x=alt.X("layer:O", title="layer [block]", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("probability:Q", title="probability [0 to 1]"),
        color=alt.Color("estimator:N", scale=greys(names), legend=None),
        shape=alt.Shape("estimator:N", scale=series(names, SHAPES), legend=None),
    )
    words = [
        alt.Chart(rows)
        .mark_text(align=align, dx=away, dy=-12, fontSize=13, color=INK)
        .encode(x="layer:O", y="probability:Q", text="estimator:N")
        for (align, away), rows in _leads(spoken)
    ]
    return named(
        alt.layer(
            encoded.mark_line(point=False, opacity=0.6),
            encoded.mark_point(filled=True, size=70),
            *words,
        ).properties(height=230),
        "Probability that each estimator names each layer of pure noise.",
        _noise_found(spoken),
    )


def _leads(layers: pd.DataFrame) -> list[tuple[tuple[Align, int], pd.DataFrame]]:
    """Return where each estimator is furthest above the others, and on which side its name goes."""
    table = layers.pivot_table("probability", "layer", "estimator")
    parts: list[tuple[tuple[Align, int], pd.DataFrame]] = []
    for estimator in table:
        lead = table[estimator] - table.drop(columns=estimator).max(axis=1)
        layer = lead[lead > lead.max() - STEP / 4].index[-1]
        row = layers[(layers["estimator"] == estimator) & (layers["layer"] == layer)]
        is_late = layer > table.index.max() / 2
        parts.append((("right", 8) if is_late else ("left", 8), row))
    return parts


def _noise_found(layers: pd.DataFrame) -> str:
    """Return which layers each estimator names more than twice as often as at even odds.

    Twice, because the probabilities of some are simulated.
    """
    even = 1 / layers["layer"].nunique()
    items = []
    for estimator, rows in layers.groupby("estimator", sort=False):
        favoured = rows.loc[rows["probability"] > 2 * even, "layer"].astype(str)
        items.append(f"{estimator}, {prose.listing(list(favoured)) or 'none'}")
    return (
        "Layers of pure noise that an estimator names more than twice as often as even odds of "
        f"{prose.percent(even)} would: {'; '.join(items)}."
    )

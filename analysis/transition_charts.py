"""Charts of L*: what the formula predicts, what was found, and what noise would give."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.theme import COLOURS, INK, SHAPES, line_at, named, series


def chart_l_star(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw every published L* of each model as a share of its depth, and the formula's.

    ``shares`` has one row per model and source: `model`, `source`, `share`, `formula` [of L].
    """
    order = list(dict.fromkeys(shares["model"]))
    sources = list(dict.fromkeys(shares["source"]))
    y = alt.Y("model:N", title=None, sort=order, axis=alt.Axis(grid=True))
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
                scale=series(sources, COLOURS),
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
        "Published values of L* over depth for six models, with the formula's prediction.",
    )


def chart_error_by_chance(bins: pd.DataFrame, observed: pd.DataFrame) -> alt.LayerChart:
    """Draw the distribution of the formula's error on noise, and the errors in Fig. 5.

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
            y=alt.Y("probability:Q", title="share of draws [1]"),
        )
    )
    names = list(observed["prediction"])
    lines = (
        alt.Chart(observed)
        .mark_rule(strokeWidth=3)
        .encode(
            x=alt.X("error:Q", scale=scale),
            color=alt.Color("prediction:N", title="error in Fig. 5", scale=series(names, COLOURS)),
            strokeDash=alt.StrokeDash(
                "prediction:N",
                title="error in Fig. 5",
                scale=series(names, [[1, 0], [6, 4], [2, 3]]),
            ),
        )
    )
    return named(
        alt.layer(bars, lines).properties(height=230),
        "Error of the formula when L* is read off noise, and the errors in the paper's figure.",
    )


def chart_noise_layers(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw how often each estimator names each layer of pure noise.

    ``layers`` has one row per estimator and layer: `estimator`, `layer`, `probability`.
    """
    names = list(dict.fromkeys(layers["estimator"]))
    encoded = alt.Chart(layers).encode(
        x=alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("probability:Q", title="probability [1]"),
        color=alt.Color(
            "estimator:N",
            title=None,
            scale=series(names, COLOURS),
            legend=alt.Legend(columns=1, labelLimit=300),
        ),
        shape=alt.Shape("estimator:N", title=None, scale=series(names, SHAPES)),
    )
    return named(
        alt.layer(
            encoded.mark_line(opacity=0.6), encoded.mark_point(filled=True, size=70)
        ).properties(height=230),
        "Probability that each of three estimators names each layer of pure noise.",
    )

"""What parts of a recipe move growth: the effects of the screening, drawn."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, line_at, named
from analysis.tidy import prose

#: What the high level of each ingredient does that the low one does not.
NAMES: Mapping[str, str] = {
    "norm_position": "norms after each part, too",
    "embedding_scale": "embedding times 8",
    "embedding_norm": "norm of the embedding",
    "learning_rate": "learning rate times 4",
    "decay_turns": "more weight decay",
    "inner": "larger first weights",
    "embedding": "larger first embedding",
    "residual": "smaller first outputs",
    "tied": "embedding tied",
    "beta2": "β₂ .999 for .95",
    "warm_up": "longer warm-up",
    "z_loss": "z-loss",
    "embedding_decay": "embedding not decayed",
    "clip": "tighter clipping",
    "depth": "6 blocks for 3",
    "text": "another text",
}

ROW = 24


def chart_ingredients(effects: pd.DataFrame) -> alt.LayerChart:
    """Draw the effect of each ingredient on growth, the largest above.

    Parameters
    ----------
    effects
        From `screening.main_effects`.
    """
    shown = effects.sort_values("estimate", key=abs, ascending=False, kind="stable")
    rows = shown.assign(
        name=shown["term"].str.removesuffix("_level").map(NAMES),
        effect=shown["estimate"].map("{:+.2f}".format),
        interval=[
            f"{low:+.2f} to {high:+.2f}"
            for low, high in zip(shown["conf_low"], shown["conf_high"], strict=True)
        ],
    )
    order = list(rows["name"])
    y = alt.Y(
        "name:N",
        sort=order,
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False, labelLimit=300),
    )
    x = alt.X(
        "estimate:Q",
        title="what it adds to growth beyond equal writes [nat]",
        scale=alt.Scale(padding=8),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    tips = ["name:N", "effect:N", "interval:N", "n_obs:Q"]
    points = alt.Chart(rows).mark_point(filled=True, size=70, color=INK, opacity=1)
    whiskers = alt.Chart(rows).mark_rule(color=INK, strokeWidth=2)
    chart = alt.layer(
        line_at(0.0, "x"),
        whiskers.encode(x=alt.X("conf_low:Q"), x2="conf_high:Q", y=y),
        points.encode(x=x, y=y, tooltip=tips),
    ).properties(width=300, height=ROW * len(order))
    words = (
        "Ingredients of a recipe in the order of what their high level adds to growth on average "
        "over the others, with 95 % intervals from the variance between seeds."
    )
    largest = [
        f"{row['name']} ({prose.number(row['estimate'])} nat "
        f"{prose.interval(row['conf_low'], row['conf_high'])})"
        for row in rows.head(3).to_dict("records")
    ]
    return named(chart, words, f"What moves growth most: {prose.listing(largest)}.")

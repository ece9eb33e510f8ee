"""What parts of a recipe move growth: the effects of the screening, drawn and told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import altair as alt
import pandas as pd
from scipy import stats

from analysis.exhibits.drawing.theme import INK, line_at, named
from analysis.questions.study.ingredients import ADDED
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

#: Effects whose adjusted p is below are said to be beyond chance.
LEVEL = 0.05

#: Methods of `screening.main_effects`.
SEEDS, LENTH = "seeds", "Lenth"

ROW = 24


def sentence(effects: pd.DataFrame, foretold: pd.DataFrame) -> str:
    """Return which ingredients move growth most, how many do, and whether their sum foretells.

    Parameters
    ----------
    effects, foretold
        From `ingredients.effects` and `ingredients.foretold`; empty while networks lack.
    """
    if effects.empty:
        return "Not told yet: the screening lacks networks."
    said = f"{found_sentence(effects)} {_count_sentence(effects)}"
    return said if foretold.empty else f"{said} {_sum_sentence(foretold)}"


def found_sentence(effects: pd.DataFrame) -> str:
    """Return the three largest effects with their intervals."""
    largest = effects[effects["method"] == SEEDS].head(3)
    said = [
        f"{NAMES[row['term']]} ({prose.number(row['estimate'])} nat "
        f"{prose.interval(row['conf_low'], row['conf_high'])})"
        for row in largest.to_dict("records")
    ]
    return f"What moves growth most: {prose.listing(said)}."


def _count_sentence(effects: pd.DataFrame) -> str:
    beyond = effects[effects["p_adjusted"] < LEVEL].groupby("method").size()
    n = effects["term"].nunique()
    seeds, lenth = (int(beyond.get(method, 0)) for method in (SEEDS, LENTH))
    return (
        f"Of {prose.count(n)} ingredients {prose.count(seeds)} move it further than seeds do, and "
        f"{prose.count(lenth)} further than effects do that are nothing (Lenth); both adjusted for "
        f"{prose.count(n)} tests."
    )


def _sum_sentence(foretold: pd.DataFrame) -> str:
    row = foretold.iloc[0]
    return (
        f"The sum of the {prose.count(ADDED)} largest foretells {prose.count(row['n_obs'])} other "
        f"networks to {prose.number(row['rmse'])} nat, their own mean to "
        f"{prose.number(row['rmse_null'])} nat (R² {prose.number(row['r_squared'])})."
    )


def chart_ingredients(effects: pd.DataFrame) -> alt.LayerChart:
    """Draw the effect of each ingredient on growth, the largest above.

    Parameters
    ----------
    effects
        From `ingredients.effects`.
    """
    shown = effects[effects["method"] == SEEDS]
    rows = shown.assign(
        name=shown["term"].map(NAMES),
        effect=shown["estimate"].map("{:+.2f}".format),
        interval=[
            f"{low:+.2f} to {high:+.2f}"
            for low, high in zip(shown["conf_low"], shown["conf_high"], strict=True)
        ],
    )
    y = alt.Y(
        "name:N",
        sort=list(rows["name"]),
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False),
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
        _band(effects),
        line_at(0.0, "x"),
        whiskers.encode(x=alt.X("conf_low:Q"), x2="conf_high:Q", y=y),
        points.encode(x=x, y=y, tooltip=tips),
    ).properties(width=300, height=ROW * len(rows))
    words = (
        "Ingredients of a recipe in the order of what their high level adds to growth, with 95 % "
        "intervals from the variance between seeds; the band holds an effect that is nothing in 95 "
        "of 100 cases by Lenth's method."
    )
    return named(chart, words, found_sentence(effects))


def _band(effects: pd.DataFrame) -> alt.Chart:
    """Return where an effect that is nothing lies in 95 of 100 cases, by Lenth's method."""
    row = effects[effects["method"] == LENTH].iloc[0]
    half = float(stats.t.ppf((1 + row["conf_level"]) / 2, row["df"]) * row["std_error"])
    ends = pd.DataFrame({"low": [-half], "high": [half]})
    band = alt.Chart(ends).mark_rect(color=INK, opacity=0.25)
    return cast("alt.Chart", band.encode(x=alt.X("low:Q"), x2="high:Q"))

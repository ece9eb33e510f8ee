"""What parts of a recipe move growth: the effects of the screening, drawn and told."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, line_at, named
from analysis.heritage.study.ingredients import ADDED
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

#: What is said of ingredients together where no contrast is left for them.
SATURATED = (
    "Whether they act on each other cannot be told: the design has as many ingredients as "
    "contrasts."
)

#: Methods of `screening.main_effects`.
SEEDS, LENTH = "seeds", "Lenth"

#: The row of what ingredients do together.
TOGETHER = "together (sizes)"

ROW = 24


def sentence(effects: pd.DataFrame, additivity: pd.DataFrame, foretold: pd.DataFrame) -> str:
    """Return what ingredients make alone and together, how many count, and what they foretell.

    Which move it most is the finding of `chart_ingredients`.

    Parameters
    ----------
    effects, additivity, foretold
        From the functions of `ingredients` of these names; empty while networks lack. There is no
        additivity in a saturated design, which has as many ingredients as contrasts.
    """
    if effects.empty:
        return "Not told yet: the screening lacks networks."
    is_saturated = additivity.empty
    parts = [] if is_saturated else [added_sentence(additivity)]
    parts.append(_count_sentence(effects))
    if not foretold.empty:
        parts.append(_sum_sentence(foretold))
    return " ".join([*parts, SATURATED if is_saturated else _company_sentence(additivity)])


def added_sentence(additivity: pd.DataFrame) -> str:
    """Return how much of the differences is the ingredients' own, and how much their company's."""
    row = additivity.iloc[0]
    alone = min(1.0, max(0.0, row["r_squared"]))
    return (
        f"Of the differences between {prose.count(row['n_groups'])} made-up recipes "
        f"{prose.percent(alone)} is what ingredients do each by itself or in threes, which this "
        f"design cannot tell apart; {prose.percent(1 - alone)} is what they do in pairs or fours "
        f"(against chance {prose.p_value(row['p_value'])})."
    )


def found_sentence(effects: pd.DataFrame) -> str:
    """Return the three largest effects with their intervals."""
    largest = effects[effects["method"] == SEEDS].head(3)
    said = [
        f"{NAMES[row['term']]} ({prose.number(row['estimate'])} nat "
        f"{prose.interval(row['conf_low'], row['conf_high'])})"
        for row in largest.to_dict("records")
    ]
    return f"What moves growth most, on average over the others: {prose.listing(said)}."


def _count_sentence(effects: pd.DataFrame) -> str:
    beyond = effects[effects["p_adjusted"] < LEVEL].groupby("method").size()
    n = effects["term"].nunique()
    seeds, lenth = (int(beyond.get(method, 0)) for method in (SEEDS, LENTH))
    return (
        f"On average over the others {prose.count(seeds)} of {prose.count(n)} ingredients move "
        f"growth further than seeds do; "
        f"{prose.count(lenth) if lenth else 'none'} "
        f"{prose.form(lenth or 1, 'stands', 'stand')} out from what "
        f"ingredients do together (Lenth's method). Both are adjusted for {prose.count(n)} tests."
    )


def _sum_sentence(foretold: pd.DataFrame) -> str:
    row = foretold.iloc[0]
    return (
        f"The sum of the {prose.count(ADDED)} largest misses {prose.count(row['n_obs'])} other "
        f"networks by {prose.number(row['rmse'])} nat, their own mean by "
        f"{prose.number(row['rmse_null'])} nat (R² {prose.number(row['r_squared'])})."
    )


def _company_sentence(additivity: pd.DataFrame) -> str:
    row = additivity.iloc[0]
    if row["p_value"] >= LEVEL:
        return "That they act on each other is not seen."
    n_pairs_each = comb(len(NAMES), 2) / row["df_numerator"]
    return (
        "So what one ingredient does depends on the others. Which of them act on each other this "
        f"design does not say: it knows their pairs only in sums of {prose.count(n_pairs_each)}."
    )


def chart_ingredients(effects: pd.DataFrame, together: pd.DataFrame) -> alt.LayerChart:
    """Draw the effect of each ingredient on growth, the largest above, and what they do together.

    Parameters
    ----------
    effects, together
        From the functions of `ingredients` of these names.
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
    order = [*rows["name"], *([] if together.empty else [TOGETHER])]
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
    sizes = together.assign(name=TOGETHER, size=together["estimate"].map("{:.2f}".format))
    strokes = alt.Chart(sizes).mark_tick(color=INK, thickness=2, size=14, opacity=1)
    chart = alt.layer(
        line_at(0.0, "x"),
        whiskers.encode(x=alt.X("conf_low:Q"), x2="conf_high:Q", y=y),
        points.encode(x=x, y=y, tooltip=tips),
        strokes.encode(x=x, y=y, tooltip=["name:N", "size:N"]),
    ).properties(width=300, height=ROW * len(order))
    words = (
        "Ingredients of a recipe in the order of what their high level adds to growth on average "
        "over the others, with 95 % intervals from the variance between seeds"
    )
    words += (
        "."
        if together.empty
        else f"; in the last row strokes for the sizes of {prose.count(len(together))} things they "
        "do together."
    )
    return named(chart, words, found_sentence(effects))

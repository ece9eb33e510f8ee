"""The paper's Figures 6 and 7 redrawn from the file of the sweep; frames from `prompt_figures`."""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.delia2026.record.prompt_figures import correlation
from analysis.drawing import names as placing
from analysis.drawing.marks import points_by_lab
from analysis.drawing.theme import (
    INK,
    SIDES,
    UNCHANGED,
    line_at,
    log_axis,
    named,
    reach,
    shrinking,
)
from analysis.forensics.rounding import read
from analysis.tidy import prose

HEIGHT = 260
#: Height of the row of a model, and of the tick of a prompt in it [px].
ROW, TICK = 34, 16
GAIN = ["gain of the penultimate block [ratio]", UNCHANGED, SIDES]


def chart_gain_by_size(models: pd.DataFrame, printed: str) -> alt.LayerChart:
    """Draw Figure 6: gain of the Pythia models against their parameters.

    Parameters
    ----------
    models
        `prompt_figures.gains_by_size`.
    printed
        `prompt_figures.printed_correlation`.
    """
    drawn = models.assign(name=models["model"].str.partition("-")[2])
    ends = reach(models["gain_low"], models["gain_high"])
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    axis = log_axis(models["parameters"], beyond=1.6)
    x = alt.X("parameters:Q", title="parameters [10⁹], log scale", **axis)
    y = alt.Y("gain_mean:Q", title=GAIN, scale=scale)
    low, high = axis["scale"].domain
    panel = placing.Panel((low, high), ends, height=HEIGHT, is_log=True)
    bars = alt.Chart(models).mark_rule(color=INK, strokeWidth=2)
    names = placing.placed(drawn, panel, "parameters", "gain_mean", lines=[1], curve=_along(drawn))
    return named(
        alt.layer(
            shrinking(),
            line_at(1, "y"),
            bars.encode(x=x, y=alt.Y("gain_low:Q", title=GAIN), y2="gain_high:Q"),
            points_by_lab(models).encode(x=x, y=y),
            *placing.texts(names, x, y),
        ).properties(height=HEIGHT),
        f"Gain of {len(models)} Pythia models, each by its size, against the number of their "
        "parameters; lines are one standard deviation over prompts.",
        scaling(models, printed),
    )


def chart_gain_by_prompt(prompts: pd.DataFrame, models: pd.DataFrame) -> alt.LayerChart:
    """Draw Figure 7: the gain of every prompt in a row per model, with mean and deviation.

    Parameters
    ----------
    prompts
        `prompt_figures.gains_by_prompt`.
    models
        `prompt_figures.gains_by_size`.
    """
    order = list(models["model"])
    y = alt.Y("model:N", title=None, sort=order, axis=alt.Axis(grid=True, ticks=False))
    ends = reach(prompts["gain"])
    scale = alt.Scale(domain=list(ends), zero=False, nice=False)
    x = alt.X("gain:Q", title=GAIN, scale=scale, axis=alt.Axis(tickCount=5))
    ticks = alt.Chart(prompts).mark_tick(color=INK, opacity=0.6, thickness=1.5, size=TICK)
    bars = alt.Chart(models).mark_rule(color=INK, strokeWidth=2)
    apart = prompts[prompts["is_apart"]].assign(name="stands apart")
    below, above = apart[apart["gain"] < 1], apart[apart["gain"] >= 1]
    words = [
        alt.Chart(below).mark_text(align="left", dy=-TICK, fontSize=13, color=INK),
        alt.Chart(above).mark_text(align="right", dy=-TICK, fontSize=13, color=INK),
    ]
    return named(
        alt.layer(
            line_at(1, "x"),
            ticks.encode(x=x, y=y, detail="prompt_id:N"),
            bars.encode(x=alt.X("gain_low:Q", title=GAIN), x2="gain_high:Q", y=y),
            points_by_lab(models).encode(x=alt.X("gain_mean:Q", title=GAIN), y=y),
            *(word.encode(x=x, y=y, text="name:N") for word in words),
        ).properties(height=ROW * len(order)),
        f"Gain of {len(models)} Pythia models on each of {prompts['prompt_id'].nunique()} prompts, "
        "a row per model, with the mean and one standard deviation to each side.",
        robustness(prompts),
    )


def scaling(models: pd.DataFrame, printed: str) -> str:
    """Return the printed and the drawn correlation, and how many bars cross 1."""
    r = correlation(models, "n_layers")
    is_met = read(printed).meets(r, r)
    crossing = models["gain_low"].lt(1) & models["gain_high"].gt(1)
    return (
        f"The paper prints r = {printed} for depth and gain; its data "
        f"{'give the same' if is_met else f'give {prose.number(r)}'}. "
        f"The bars of {prose.share_of(int(crossing.sum()), len(models))} models cross 1."
    )


def robustness(prompts: pd.DataFrame) -> str:
    """Return how many models have prompts on both sides of 1, and whose gains stand apart."""
    sides = prompts.assign(shrinks=prompts["gain"] < 1).groupby("model")["shrinks"].nunique()
    beyond = prompts[prompts["is_apart"]]
    whose = prose.listing(sorted(set(beyond["model"])))
    return (
        f"{prose.share_of(int((sides > 1).sum()), len(sides))} models shrink the stream on some "
        f"prompts and lengthen it on others. {prose.plural(len(beyond), 'gain')} of {whose} "
        f"{prose.form(len(beyond), 'stands', 'stand')} apart from the rest."
    )


def _along(models: pd.DataFrame) -> pd.DataFrame:
    """Return points of the bars, which names leave free."""
    steps = pd.Series([share / 10 for share in range(11)], name="step")
    rows = models[["parameters", "gain_low", "gain_high"]].merge(steps, how="cross")
    gain = rows["gain_low"] + rows["step"] * (rows["gain_high"] - rows["gain_low"])
    return rows.assign(gain_mean=gain)[["parameters", "gain_mean"]]

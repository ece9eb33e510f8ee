"""Charts of the controlled study: a dot per run, and the shares of every response."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import INK, LABS, WIDTH, line_at, named
from analysis.questions.study.fleet import DRAWN, Band

#: What a recipe of the study is called on the page.
RECIPES: Mapping[str, str] = {
    "gpt_neo": "GPT-Neo",
    "gptj": "GPT-J",
    "pythia": "Pythia",
    "pythia_default_init": "Pythia, default start",
    "opt": "OPT",
    "opt_post": "OPT, norms after",
    "bloom": "BLOOM",
    "olmo2": "OLMo 2",
    "gpt2_like_low_decay": "like GPT-2, low decay",
    "gpt2_like_high_decay": "like GPT-2, high decay",
    "llama_like_small_init": "like LLaMA, small start",
    "llama_like_large_init": "like LLaMA, large start",
    "gemma_like_small_init": "like Gemma, small start",
    "gemma_like_large_init": "like Gemma, large start",
    "falcon_like_small_init": "like Falcon, small start",
    "falcon_like_large_init": "like Falcon, large start",
}

#: Lab of a recipe that imitates no documented one.
UNPUBLISHED = "not published"

#: Shape of a mark by depth.
DEPTHS: Mapping[int, str] = {3: "circle", 12: "triangle-up"}

#: Names of the responses.
RESPONSES: Mapping[str, str] = {
    "excess": "growth beyond equal writes",
    "first_log_gain": "jump of block 0",
    "last_log_gain": "gain of the last block",
    "share_negative": "share of shrinking blocks",
}

#: Names, colours and order of the sources of variance.
SOURCES: Mapping[str, tuple[str, str]] = {
    "recipe": ("recipe", "#1F83C9"),
    "geometry": ("shape and size", "#E69F00"),
    "recipe:geometry": ("recipe by shape", "#8C6BB1"),
    "seed": ("chance", INK),
}

ROW = 26


def chart_recipes(runs: pd.DataFrame, band: Band | None) -> alt.LayerChart:
    """Draw recipes in the order of their excess, a dot per run.

    Parameters
    ----------
    runs
        From `recipe_runs`.
    band
        From `band_of_chance`; None where no cell has two seeds yet.
    """
    shown = runs.assign(
        recipe_name=runs["recipe"].map(RECIPES),
        depth=runs["n_layers"].map("{} blocks".format),
        gain=runs["excess"].map(lambda value: f"{value:+.2f}"),
    )
    order = list(dict.fromkeys(shown["recipe_name"]))
    labs = [lab for lab in [*LABS, UNPUBLISHED] if lab in set(shown["lab"])]
    colours = [LABS[lab][0] if lab in LABS else INK for lab in labs]
    present = [n for n in DEPTHS if n in set(shown["n_layers"])]
    y = alt.Y("recipe_name:N", sort=order, title=None, axis=alt.Axis(grid=True))
    x = alt.X("excess:Q", title="growth after block 0 beyond equal writes [nat]")
    points = (
        alt.Chart(shown)
        .mark_point(filled=True, size=75, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("lab:N", title=None, scale=alt.Scale(domain=labs, range=colours)),
            shape=alt.Shape(
                "depth:N",
                title=None,
                scale=alt.Scale(
                    domain=[f"{n} blocks" for n in present], range=[DEPTHS[n] for n in present]
                ),
            ),
            tooltip=["recipe_name:N", "lab:N", "n_layers:Q", "d_model:Q", "seed:Q", "gain:N"],
        )
    )
    layers = [line_at(0.0, "x"), points]
    if band is not None:
        ends = pd.DataFrame({"low": [band.low], "high": [band.high]})
        layers.insert(0, alt.Chart(ends).mark_rect(color=INK, opacity=0.18).encode(
            x=alt.X("low:Q"), x2="high:Q"
        ))  # fmt: skip
    chart = alt.layer(*layers).properties(width=WIDTH - 90, height=ROW * len(order))
    return named(
        chart,
        "Recipes in the order of how much the stream grows after block 0 beyond equal writes, a "
        "mark per trained network: colour for the lab, shape for the depth. The line is growth by "
        "equal writes; the band holds 95 of 100 networks if only the seed mattered.",
    )


def chart_shares(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw one bar per response, cut into the shares of recipe, shape, both together and chance.

    Parameters
    ----------
    shares
        From `response_shares`; one method of them.
    """
    names = {key: name for key, (name, _) in SOURCES.items()}
    rows = shares[shares["term"].isin(names)]
    rows = rows.assign(
        source=rows["term"].map(names),
        place=rows["term"].map({key: i for i, key in enumerate(SOURCES)}),
        response_name=rows["response"].map(RESPONSES),
        percent=100 * rows["estimate"],
        said=(100 * rows["estimate"]).map("{:.0f} %".format),
    ).sort_values(["response", "place"])
    rows = rows.assign(
        end=rows.groupby("response")["percent"].cumsum(),
    )
    rows = rows.assign(
        start=rows["end"] - rows["percent"], middle=rows["end"] - rows["percent"] / 2
    )
    order = [RESPONSES[name] for name in DRAWN if name in set(rows["response"])]
    y = alt.Y("response_name:N", sort=order, title=None)
    present = [key for key in SOURCES if key in set(rows["term"])]
    colour = alt.Color(
        "source:N",
        title=None,
        scale=alt.Scale(
            domain=[names[key] for key in present], range=[SOURCES[key][1] for key in present]
        ),
        legend=alt.Legend(columns=2),
    )
    bars = alt.Chart(rows).mark_bar(stroke="white", strokeWidth=1).encode(
        x=alt.X("start:Q", title="share of the variance among networks [%]",
                scale=alt.Scale(domain=[0, 100])),
        x2="end:Q", y=y, color=colour, tooltip=["response_name:N", "source:N", "said:N"],
    )  # fmt: skip
    labels = (
        alt.Chart(rows[rows["percent"] > 8])
        .mark_text(color="white", fontSize=13)
        .encode(x="middle:Q", y=y, text="said:N")
    )
    chart = alt.layer(bars, labels).properties(width=WIDTH - 90, height=1.4 * ROW * len(order))
    return named(
        chart,
        "One bar per response, cut into the shares of the variance that recipe, shape and size, "
        "both together, and chance make.",
    )


def chart_ladder(runs: pd.DataFrame) -> alt.LayerChart:
    """Draw the held-out loss over the steps of the longest runs, with the trigram's.

    Parameters
    ----------
    runs
        One row per recipe, length and step: `of_recipe`, `n_steps`, `step`, `loss`,
        `trigram_loss` [nats per byte].
    """
    steps = alt.X("step:Q", title="training step [1]", scale=alt.Scale(type="symlog"))
    lines = (
        alt.Chart(runs)
        .mark_line(point=True)
        .encode(
            x=steps,
            y=alt.Y("loss:Q", title="held-out loss [nats per byte]", scale=alt.Scale(zero=False)),
            color=alt.Color("of_recipe:N", title=None),
            strokeDash=alt.StrokeDash("of_recipe:N", title=None),
            detail="n_steps:N",
            tooltip=["of_recipe:N", "n_steps:Q", "step:Q", alt.Tooltip("loss:Q", format=".3f")],
        )
    )
    trigram = float(runs["trigram_loss"].iloc[0])
    layered = alt.layer(line_at(trigram, "y"), lines).properties(width=WIDTH, height=220)
    return named(
        layered,
        "Held-out loss over training for three lengths and four recipes; the line is the loss "
        "of a byte trigram.",
    )

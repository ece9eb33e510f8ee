"""Birth or upbringing: networks trained further under another recipe, drawn and told."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.drawing.labs import lab_colour
from analysis.drawing.theme import INK, SHAPES, found, series
from analysis.heritage.study.inheritance import KEPT, OF_NO_LAB
from analysis.heritage.study.pages.names import RECIPES, RESPONSES
from analysis.heritage.study.pages.words import share_words
from analysis.tidy import prose

#: How a network was trained on, and the shape of its mark.
KINDS = dict(zip(("its own recipe", "another recipe", "Muon"), SHAPES, strict=False))

#: Size of a panel and of a row in it [px].
PANEL, ROW = 300, 27


def sentence(shares: pd.DataFrame, parents: pd.DataFrame, turned: pd.DataFrame) -> str:
    """Return what birth and upbringing make of growth, and how often a sign turned.

    Parameters
    ----------
    shares, parents, turned
        From `inheritance.shares`, `inheritance.between_parents` and `inheritance.turned`; shares
        are empty while networks lack.
    """
    if shares.empty:
        return "Not told yet: births lack upbringings."
    said = [share_sentence(shares), parents_sentence(parents), turned_sentence(turned)]
    return " ".join(filter(None, said))


def share_sentence(shares: pd.DataFrame) -> str:
    """Return the shares of birth and upbringing in growth, in one sentence."""
    said = share_words(shares[shares["response"] == KEPT[0]])
    return (
        "When networks are trained further with each other's training settings, the first recipe "
        f"makes {said['birth']} of the differences in growth after equal steps, the later settings "
        f"{said['upbringing']}."
    )


def parents_sentence(parents: pd.DataFrame) -> str:
    """Return what birth makes of the differences between parents; empty while it cannot be told.

    ``parents`` is from `inheritance.between_parents`.
    """
    if parents.empty:
        return ""
    shares = [share_words(rows)["birth"] for _, rows in parents.groupby("response", sort=False)]
    return (
        "That interval takes the networks as independent, as registered, though those from one "
        f"parent are alike. Between the {prose.count(parents['n_obs'].iloc[0])} parents, each with "
        f"the mean of its networks, birth makes {shares[0]} of the differences in growth and "
        f"{shares[1]} of those in the gain of the last block."
    )


def turned_sentence(turned: pd.DataFrame) -> str:
    """Return in how many cases training on under another recipe turned a sign."""
    others = turned[~turned["is_own"]].set_index("response")
    said = [
        f"{prose.share_of(int(row['n_turned']), int(row['n_cells']))} cases for "
        f"{'' if name == KEPT[0] else 'the '}{RESPONSES[str(name)]} "
        f"(with one seed at least in {prose.count(row['n_turned_once'])})"
        for name, row in others.to_dict("index").items()
    ]
    return (
        "When a network was trained further with another recipe's settings, the sign turned with "
        f"both seeds in {prose.listing(said)}."
    )


def treatment_sentence(told: pd.Series[Any]) -> str:
    """Return what training further changed; ``told`` from `inheritance.treatment`."""
    if pd.isna(told["steps_after"]):
        return "No network was trained further yet."
    decay = f"{prose.number(told['least_decay'], 1)} to {prose.number(told['most_decay'], 1)}"
    settings = [f"weight decay ({decay} e-foldings)"]
    if told["n_embedding"] > 1:
        settings.append("whether the embedding decays")
    if pd.notna(told["most_z_loss"]):
        least, most = prose.number(told["least_z_loss"], 0), prose.number(told["most_z_loss"], 4)
        settings.append(f"a loss on the size of the logits ({least} to {most})")
    return (
        f"The later settings are {prose.listing(settings)}, for {prose.count(told['steps_after'])} "
        f"steps after {prose.count(told['steps_before'])}. They change less than birth does, which "
        "sets architecture and first weights too: the shares compare these treatments, not birth "
        "with every possible training."
    )


def chart_inheritance(children: pd.DataFrame, shares: pd.DataFrame) -> alt.VConcatChart:
    """Draw each network that was trained on in the row of its birth, for both responses.

    Parameters
    ----------
    children
        From `inheritance.networks`.
    shares
        From `inheritance.shares`; empty while networks lack.
    """
    order = list(children.groupby("birth")["excess_born"].mean().sort_values().index)
    panels = [_panel(children, response, order, place == 1) for place, response in enumerate(KEPT)]
    drawn = alt.vconcat(*panels, spacing=24).properties(
        description="Networks in the row of the recipe that they were born under, a mark for each "
        "way of training on: a disc for the same recipe, a diamond for another, a cross for "
        "Muon; upright strokes are the networks before. Above growth, beneath the gain of the last "
        "block."
    )
    apart = drawn.resolve_scale(color="independent", shape="independent")
    return cast("alt.VConcatChart", found(apart, "" if shares.empty else share_sentence(shares)))


def _panel(
    children: pd.DataFrame, response: str, order: list[str], is_last: bool
) -> alt.LayerChart:
    rows = _rows(children, response)
    y = alt.Y(
        "born:N",
        sort=[RECIPES[name] for name in order],
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False),
    )
    x = alt.X(
        "value:Q",
        title=f"{RESPONSES[response]} [nat]",
        scale=alt.Scale(padding=8),
        axis=alt.Axis(grid=False, tickCount=5),
    )
    colour = lab_colour(rows).legend(None)
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    shape = alt.Shape(
        "kind:N",
        title="trained further under",
        scale=series(kinds, [KINDS[kind] for kind in kinds]),
        # Marks of a row lie on each other: named beside them, kinds would not be told apart.
        legend=alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK, offset=8)
        if is_last
        else None,
    )
    tips = ["birth:N", "upbringing:N", "seed:Q", "trained_on:N", "before:N"]
    marks = [
        alt.Chart(rows[rows["kind"] == kind])
        .mark_point(filled=True, size=80, opacity=0.85)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
        for kind in kinds
    ]
    before = (
        alt.Chart(rows.drop_duplicates(["birth", "seed"]))
        .mark_tick(thickness=3, size=ROW - 7)
        .encode(x=alt.X("value_born:Q"), y=y, color=colour)
    )
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=INK, strokeWidth=1.5)
    return cast(
        "alt.LayerChart",
        alt.layer(zero.encode(x="at:Q"), before, *marks).properties(
            width=PANEL, height=ROW * len(order)
        ),
    )


def _rows(children: pd.DataFrame, response: str) -> pd.DataFrame:
    """Return one row per network: its place in the panel and what its mark says."""
    own, other, no_lab = KINDS
    kinds = [
        no_lab if later == OF_NO_LAB else own if later == f"as_{birth}" else other
        for birth, later in zip(children["birth"], children["upbringing"], strict=True)
    ]
    return pd.DataFrame(
        {
            **children[["birth", "upbringing", "seed", "lab"]],
            "born": children["birth"].map(RECIPES),
            "kind": kinds,
            "value": children[response],
            "value_born": children[f"{response}_born"],
            "trained_on": children[response].map("{:+.2f}".format),
            "before": children[f"{response}_born"].map("{:+.2f}".format),
        }
    )

"""The front's two small figures, and the sentences beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.marks import points_by_lab
from analysis.drawing.names import Panel, placed, texts
from analysis.drawing.theme import INK, found, line_at, reach, shrinking
from analysis.tidy import prose
from analysis.tidy.errors import AnalysisError

#: Width and height of a figure, and width of one of two panels on a phone [px].
WIDE, HIGH, PHONE = 310, 142, 118


#: Ends of the axis of depth [blocks].
DEPTHS = (2.0, 44.0)


#: What the front says of the sign, by the verdicts on one network in several gauges.
OF_NETWORK = {
    True: "Not by itself: rewritten weights predict the same with another sign.",
    False: "Yes: no rewriting of the weights that keeps all predictions changed it.",
}


def resting(properties: pd.DataFrame, n_claims: int) -> str:
    """Return how many claims rest on the parametrisation, in one sentence; empty if none does.

    A claim rests on it partly if that moves its quantity in some of the models alone.

    Parameters
    ----------
    properties
        From `analysis.audit.property.properties`.
    n_claims
        Claims in all.
    """
    moved = properties[properties["property"] == "parametrisation"]
    n_partly = int((moved["n_free"] < moved["n_models"]).sum())
    if moved.empty:
        return ""
    partly = f" wholly, {prose.count(n_partly)} partly," if n_partly else ""
    return (
        f"{prose.share_of(len(moved) - n_partly, n_claims)} claims rest{partly} on how weights are "
        "written, not what they compute."
    )


def of_network(gauges: pd.DataFrame) -> str:
    """Return whether the sign is a property of the network, in one sentence.

    Parameters
    ----------
    gauges
        One row per gauge of one network: `verdict`; see
        `analysis.heritage.measured.gauge.verdicts`.

    Raises
    ------
    AnalysisError
        If there is no gauge.
    """
    if gauges.empty:
        raise AnalysisError("The front needs a network in several gauges; the store has none.")
    return OF_NETWORK[len(set(gauges["verdict"])) > 1]


def in_practice(agree: pd.Series) -> str:
    """Return in how many gains of trained networks the free part of the stream moves no sign.

    ``agree`` is the row of `analysis.heritage.measured.gauge.raw_against_centred`.
    """
    same = prose.share_of(int(agree["n_same_sign"]), int(agree["n_gains"]))
    return (
        f"In {prose.plural(int(agree['n_models']), 'network')} trained here the sign is the same "
        f"without the free part of the stream in {same} pairs of prompt and block, "
        f"{prose.count(agree['n_shrink'])} of which shrink it."
    )


def chart_named_gains(models: pd.DataFrame, titles: Sequence[str]) -> alt.HConcatChart:
    """Draw gain against depth in panels side by side, each model by its name, shaded below 1.

    Parameters
    ----------
    models
        One row per panel and model: `panel`, `model`, `lab`, `n_layers`, `gain_mean` [ratio]; as
        `analysis.heritage.record.replica_figures.gains_by_depth` returns it.
    titles
        What each panel shows.
    """
    ends = reach(models["gain_mean"])
    panels = [
        _named_panel(models[models["panel"] == panel], title, ends, is_first=position == 0)
        for position, (panel, title) in enumerate(
            zip(dict.fromkeys(models["panel"]), titles, strict=True)
        )
    ]
    beside = alt.hconcat(*panels, spacing=14).properties(
        description="Gain of the Pythia models against depth, by two definitions."
    )
    counts = [
        (int((rows["gain_mean"] < 1).sum()), len(rows))
        for _, rows in models.groupby("panel", sort=False)
    ]
    shares = [
        f"{prose.share_of(*counts[0])} Pythia models shrink the stream",
        *(str(n) for n, _ in counts[1:]),
    ]
    parts = [
        f"{share} {title[0].lower()}{title[1:]}"
        for share, title in zip(shares, titles, strict=True)
    ]
    return cast("alt.HConcatChart", found(beside, f"{', '.join(parts)}.", is_small=True))


def _named_panel(
    models: pd.DataFrame, title: str, ends: tuple[float, float], *, is_first: bool
) -> alt.LayerChart:
    place = Panel(DEPTHS, ends, width=PHONE, height=HIGH, desk=WIDE / 2)
    names = prose.within_suite(models["model"])
    told = placed(models.assign(name=names), place, "n_layers", "gain_mean", lines=[1])
    x = alt.X(
        "n_layers:Q",
        title="depth [blocks]",
        scale=alt.Scale(domain=list(DEPTHS), nice=False),
        axis=alt.Axis(values=[6, 12, 24, 36], grid=False),
    )
    quiet = {"labels": False, "ticks": False, "domain": False, "title": None}
    y = alt.Y(
        "gain_mean:Q",
        scale=alt.Scale(domain=list(ends), zero=False, nice=False),
        axis=alt.Axis(tickCount=4, **({"title": "gain [ratio]"} if is_first else quiet)),
    )
    marks = points_by_lab(models).encode(x=x, y=y)
    layers = alt.layer(shrinking(), line_at(1, "y"), marks, *texts(told, x, y)).properties(
        width=WIDE / 2,
        height=HIGH,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layers)

"""The front: two small figures and the list of what stands, what depends and what falls."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import cast

import altair as alt
import pandas as pd

from analysis import claims
from analysis.exhibits import tables
from analysis.exhibits.drawing.theme import COLOURS, INK, SHAPES, found, series
from analysis.tidy import prose
from analysis.tidy.errors import AnalysisError

#: Width and height of a panel [px].
WIDE, HIGH = 340, 135
#: Least distance of two names in one panel [ratio].
APART = 0.026
#: Half the width of a mark, and the width of a letter on a phone [blocks].
MARK, WIDTH = 1.0, 2.6
#: Where the axis of depth begins [blocks].
FIRST = 2
#: The gauges that the front shows.
DRAWN = ("growing", "flat", "shrinking")
#: A change of length this near 0 is none [nat].
LEVEL = 1e-9
SAID = {"growing": "grows", "flat": "stays", "shrinking": "shrinks"}
#: Claims that a column of the front names before it links to the rest.
NAMED = 2
#: Heads of the columns of the front, and the verdicts that go under each.
HEADS = {
    "Stands": claims.VERDICTS[:1],
    "Depends on the reading": claims.VERDICTS[1:2],
    "Falls": claims.VERDICTS[2:3],
    "Undecided or no data": claims.VERDICTS[3:],
}
#: What the front says of the sign, by the verdicts on one network in several gauges.
OF_NETWORK = {
    True: "Not by itself: other weights with equal predictions have another sign.",
    False: "Yes: no rewriting of the weights that keeps all predictions changed it.",
}


def counted(judged: pd.DataFrame) -> str:
    """Return how many claims have each verdict that some have, as a list in words."""
    found = judged["verdict"].value_counts()
    said = [tables.counted(int(found[name]), name) for name in claims.VERDICTS if name in found]
    return f"{prose.plural(len(judged), 'claim')}, of which {prose.listing(said)}"


def statements(judged: pd.DataFrame) -> dict[int, str]:
    """Return what each claim says, shortened for a list."""
    return {
        int(number): textwrap.shorten(str(said), 60, placeholder=" …")
        for number, said in zip(judged["claim_id"], judged["statement"], strict=True)
    }


def columns(judged: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Return Markdown with a column for each kind of verdict: a count, and some claims by name.

    Parameters
    ----------
    judged
        One row per claim: `claim_id`, `verdict`.
    names
        What the claims worth naming say, by number, the foremost first.
    """
    parts = [_column(judged, names, head, verdicts) for head, verdicts in HEADS.items()]
    return "\n\n".join([":::: {.front-columns}", *parts, "::::"])


def _column(
    judged: pd.DataFrame, names: Mapping[int, str], head: str, verdicts: Sequence[str]
) -> str:
    having = judged.loc[judged["verdict"].isin(list(verdicts)), "claim_id"].tolist()
    named = [number for number in names if number in having][:NAMED]
    lines = [f"- [{prose.literal(names[number])}](claims.html#claim-{number})" for number in named]
    more = len(having) - len(named)
    lines += [f"- [{more} more](claims.html)"] if more else []
    mark = f"[{head}]{{.verdict .verdict-{verdicts[0].replace(' ', '-')}}}"
    return "\n".join(
        ["::: {.front-column}", f"[{len(having)}]{{.front-count}} {mark}", "", *lines, ":::"]
    )


def resting(judged: pd.DataFrame) -> str:
    """Return how many claims rest on the parametrisation, in one sentence; empty if none does.

    Parameters
    ----------
    judged
        One row per claim: `property`, as `analysis.claims.evaluate` gives it.
    """
    n = int((judged["property"] == "parametrisation").sum())
    if not n:
        return ""
    return (
        f"{prose.share_of(n, len(judged))} claims rest on how the weights are written down, not on "
        "what they compute."
    )


def of_network(gauges: pd.DataFrame) -> str:
    """Return whether the sign is a property of the network, in one sentence.

    Parameters
    ----------
    gauges
        One row per gauge of one network: `verdict`; see `analysis.questions.gauge.verdicts`.

    Raises
    ------
    AnalysisError
        If there is no gauge.
    """
    if gauges.empty:
        raise AnalysisError("The front needs a network in several gauges; the store has none.")
    return OF_NETWORK[len(set(gauges["verdict"])) > 1]


def chart_gauges(layers: pd.DataFrame) -> alt.LayerChart:
    """Draw the length of the stream of one network in three gauges, each line with its name.

    ``layers`` has one row per gauge and layer: `gauge`, `layer`, `log_norm` [nat].
    """
    drawn = layers[layers["gauge"].isin(DRAWN)]
    drawn = drawn.assign(said=drawn["gauge"].map(SAID))
    names = [SAID[name] for name in DRAWN]
    colour = alt.Color("said:N", scale=series(names, COLOURS), legend=None)
    first, last = int(drawn["layer"].min()), int(drawn["layer"].max())
    base = alt.Chart(drawn).encode(
        x=alt.X("layer:Q", scale=alt.Scale(domain=[first, last], nice=False)).axis(
            title="depth [block]", tickMinStep=1, grid=False
        ),
        y=alt.Y("log_norm:Q", scale=alt.Scale(zero=False)).axis(
            title="ln length [nat]", tickCount=4
        ),
        color=colour,
    )
    points = base.mark_point(size=50, filled=True).encode(
        shape=alt.Shape("said:N", scale=series(names, SHAPES), legend=None)
    )
    ends = drawn.pivot_table("log_norm", "said", "layer")
    rises = drawn["said"].map(ends[last] > ends[first])
    words = [
        alt.Chart(drawn[(drawn["layer"] == first + 1) & (rises == is_below)])
        .mark_text(align="left", dx=5, dy=14 if is_below else -12, fontSize=14)
        .encode(x="layer:Q", y="log_norm:Q", text="said:N", color=colour)
        for is_below in (False, True)
    ]
    chart = alt.layer(base.mark_line(strokeWidth=2), points, *words).properties(
        width=WIDE,
        height=HIGH,
        description="Length of the stream of one network over depth, written in three ways.",
    )
    lengths = drawn.pivot_table("log_norm", "gauge", "layer")
    grown = (lengths[last] - lengths[first]).to_dict()
    said = [
        f"{SAID[name]} by {prose.number(abs(grown[name]))} nat"
        if abs(grown[name]) > LEVEL
        else SAID[name]
        for name in DRAWN
    ]
    return cast(
        "alt.LayerChart", found(chart, f"From first to last the stream {prose.listing(said)}.")
    )


def chart_named_gains(models: pd.DataFrame, titles: Sequence[str]) -> alt.HConcatChart:
    """Draw gain against depth in panels side by side, each model by its name.

    Parameters
    ----------
    models
        One row per panel and model: `panel`, `model`, `n_layers`, `gain_mean` [ratio]; as
        `analysis.exhibits.replica.figures.gains_by_depth` returns it.
    titles
        What each panel shows.
    """
    low, high = float(models["gain_mean"].min()), float(models["gain_mean"].max())
    scale = alt.Scale(domain=[low - 0.03, high + 0.03], nice=False)
    panels = [
        _named_panel(models[models["panel"] == panel], title, scale, is_first=position == 0)
        for position, (panel, title) in enumerate(
            zip(dict.fromkeys(models["panel"]), titles, strict=True)
        )
    ]
    beside = alt.hconcat(*panels, spacing=14).properties(
        description="Gain of the Pythia models against depth, by two definitions."
    )
    below = [
        prose.share_of(int((rows["gain_mean"] < 1).sum()), len(rows))
        for _, rows in models.groupby("panel", sort=False)
    ]
    said = [f"{share} models ({title})" for share, title in zip(below, titles, strict=True)]
    return cast("alt.HConcatChart", found(beside, f"The stream shrinks in {prose.listing(said)}."))


def _named_panel(
    models: pd.DataFrame, title: str, scale: alt.Scale, *, is_first: bool
) -> alt.LayerChart:
    sides = {False: ("#1F83C9", "circle"), True: ("#D55E00", "triangle-down")}
    told = _labelled(models)
    x = alt.X(
        "n_layers:Q",
        title="depth [blocks]",
        scale=alt.Scale(domain=[FIRST, 44], nice=False),
        axis=alt.Axis(values=[6, 12, 24, 36], grid=False),
    )
    quiet = {"labels": False, "ticks": False, "domain": False, "title": None}
    axis = alt.Axis(tickCount=4, **({"title": "gain [ratio]"} if is_first else quiet))
    y = alt.Y("gain_mean:Q", scale=scale, axis=axis)
    marks = [
        alt.Chart(told[told["below"] == below])
        .mark_point(filled=True, size=70, color=colour, shape=shape, opacity=1)
        .encode(x=x, y=y)
        for below, (colour, shape) in sides.items()
        if below in set(told["below"])
    ]
    names = [
        alt.Chart(told[told["is_left"] == is_left])
        .mark_text(align="right" if is_left else "left", dx=-7 if is_left else 7, fontSize=13)
        .encode(x=x, y=alt.Y("label_at:Q", scale=scale), text="name:N", color=alt.value(INK))
        for is_left in (False, True)
    ]
    one = alt.Chart(pd.DataFrame({"at": [1.0]})).mark_rule(color=INK, strokeWidth=1.5)
    layered = alt.layer(one.encode(y=alt.Y("at:Q", scale=scale)), *marks, *names).properties(
        width=WIDE / 2 + 10,
        height=HIGH,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layered)


def _labelled(models: pd.DataFrame) -> pd.DataFrame:
    """Return models with their short names and where these stand, so that none covers another.

    Adds `name`, `below` (whether the gain lies below 1), `label_at` [ratio] and `is_left`. A name
    stands at the height of its mark, or as little as need be beside it, first right, then left,
    and not on the line of no change. The deepest are named first: they stand at the edge.
    """
    ordered = models.sort_values(["n_layers", "gain_mean"], ascending=[False, True])
    told = ordered.reset_index(drop=True).assign(
        name=lambda rows: rows["model"].str.replace(r"^.*?-", "", regex=True),
        below=lambda rows: rows["gain_mean"] < 1,
    )
    marks = list(zip(told["n_layers"], told["gain_mean"], strict=True))
    taken = [(depth - MARK, depth + MARK, float(gain)) for depth, gain in marks]
    places: list[tuple[float, bool]] = []
    for (depth, gain), name in zip(marks, told["name"], strict=True):
        for steps, is_left in itertools.product((0, 1, -1, 2, -2, 3), (False, True)):
            at = float(gain) + steps * APART
            ends = sorted((depth, depth + (-1 if is_left else 1) * (2 * MARK + WIDTH * len(name))))
            room = (ends[0] + (0 if is_left else MARK), ends[1] - (MARK if is_left else 0), at)
            is_struck = abs(at - 1) < APART / 2  # by the line of no change
            if (
                ends[0] > FIRST
                and not is_struck
                and not any(_overlap(room, other) for other in taken)
            ):
                break
        taken.append(room)
        places.append((at, is_left))
    return told.assign(
        label_at=[at for at, _ in places], is_left=[is_left for _, is_left in places]
    )


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """Return whether two marks or names meet: their ends [blocks], their height [ratio]."""
    is_beside = one[1] <= other[0] or other[1] <= one[0]
    return not is_beside and abs(one[2] - other[2]) < APART

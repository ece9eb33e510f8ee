"""The section on where along depth suites differ: its chart, its table and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing.labs import lab_colour
from analysis.drawing.theme import INK, line_at
from analysis.drawing.theme import found as with_finding
from analysis.heritage.suites import suites_by_block as suites
from analysis.heritage.suites.blocks import QUARTERS, published_blocks
from analysis.store import Store
from analysis.tidy import prose

#: Columns of the table of parts.
PARTS = {
    "part": "Part of the network",
    "lowest": "Lowest suite",
    "highest": "Highest suite",
    "p": "p",
    "adjusted": "p, Holm",
}

#: Panels side by side, and the size of one [pixels].
COLUMNS, PANEL_WIDTH, PANEL_HEIGHT = 4, 115, 120

SHORT = ("1st", "2nd", "3rd", "last")
#: What the axes of all panels are.
AXES = "gain per block [ratio] against the quarter of the blocks"

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Views:
    """The frames of `suites_by_block` for the published blocks.

    Attributes
    ----------
    tests
        `suites.part_tests`.
    without
        `suites.without_each_suite`.
    numbers, fewer
        `suites.summaries` of all suites, and without GPT-Neo.
    profiles
        `suites.profiles` by quarter, with the `lab` of each suite.
    """

    tests: pd.DataFrame
    without: pd.DataFrame
    numbers: pd.DataFrame
    fewer: pd.DataFrame
    profiles: pd.DataFrame


def views(store: Store) -> Views:
    """Return all frames of the published blocks."""
    blocks = published_blocks(store)
    fitted = suites.fit(blocks)
    return Views(
        tests=suites.part_tests(fitted),
        without=suites.without_each_suite(blocks),
        numbers=suites.summaries(blocks),
        fewer=suites.summaries(blocks[blocks["suite"] != "GPT-Neo"]),
        profiles=_with_lab(suites.profiles(fitted), blocks),
    )


def _with_lab(profiles: pd.DataFrame, blocks: pd.DataFrame) -> pd.DataFrame:
    """Return profiles with the lab of each suite."""
    labs = blocks.drop_duplicates("suite").set_index("suite")["lab"]
    return profiles.assign(lab=profiles["level"].map(labs))


def part_rows(tests: pd.DataFrame) -> pd.DataFrame:
    """Return one row per part, formatted: the extreme suites as gains, and the p-values."""
    lowest = zip(tests["first"], tests["smallest"], strict=True)
    highest = zip(tests["second"], tests["largest"], strict=True)
    return pd.DataFrame(
        {
            "part": tests["part"],
            "lowest": [_suite(*each) for each in lowest],
            "highest": [_suite(*each) for each in highest],
            "p": tests["p_value"].map(prose.p_value).map(prose.bare),
            "adjusted": tests["p_adjusted"].map(prose.p_value).map(prose.bare),
        }
    )


def words(frames: Views) -> dict[str, str]:
    """Return in which quarters suites differ, by how much, and who makes it so."""
    tests, without = frames.tests, frames.without
    last = tests[tests["part"] == QUARTERS[-1]].to_dict("records")[0]
    differing = tests.loc[tests["p_adjusted"] < ALPHA, "part"]
    rest = tests.loc[tests["p_adjusted"] >= ALPHA]
    left = without[without["part"] == QUARTERS[-1]].set_index("left_out")["p_value"]
    every, less = (them.set_index("term")["p_value"] for them in (frames.numbers, frames.fewer))
    return {
        "where": prose.listing([f"the {part}" for part in differing]) or "no quarter",
        "elsewhere": prose.p_value(rest["p_adjusted"].min()),
        "lowest": _gain(last["first"], last["smallest"]),
        "highest": _gain(last["second"], last["largest"]),
        "p_last": prose.p_value(last["p_adjusted"]),
        "p_without_neo": prose.p_value(left["GPT-Neo"]),
        "p_largest": prose.p_value(left.max()),
        "whose": str(left.idxmax()),
        "p_penultimate": prose.p_value(every["penultimate block"]),
        "p_penultimate_without_neo": prose.p_value(less["penultimate block"]),
        "p_mean": prose.p_value(every["mean over blocks"]),
        "p_inner": prose.p_value(every["mean of inner blocks"]),
        "p_maximum": prose.p_value(every["largest block"]),
    }


def chart_profiles(profiles: pd.DataFrame) -> alt.ConcatChart:
    """Draw the gain of every suite by quarter, bands that hold together, a panel per suite.

    ``profiles`` has the rows of `suites.profiles` by quarter, and `lab`, whose colour the line of
    a suite has; the other suites are thin lines. What both axes are stands once, above.
    """
    drawn = profiles.assign(
        quarter=profiles["part"].map(dict(zip(QUARTERS, SHORT, strict=True))),
        gain=np.exp(profiles["estimate"]),
        low=np.exp(profiles["conf_low"]),
        high=np.exp(profiles["conf_high"]),
    )
    names = sorted(set(drawn["level"]))
    ends = (float(drawn["low"].min()), float(drawn["high"].max()))
    panels = [_panel(drawn, name, ends) for name in names]
    title = alt.Title(AXES, anchor="start", fontSize=14, fontWeight="normal", color=INK)
    beside = alt.concat(*panels, columns=COLUMNS, spacing=14).properties(
        title=title,
        description="Gain per block by quarter of depth, one panel per suite with a simultaneous "
        "band; suites lie close together in the second quarter and apart in the last.",
    )
    return cast(alt.ConcatChart, with_finding(beside, _shown(drawn)))


def _panel(drawn: pd.DataFrame, suite: str, ends: tuple[float, float]) -> alt.LayerChart:
    rows, others = drawn[drawn["level"] == suite], drawn[drawn["level"] != suite]
    x = alt.X("quarter:O", title=None, sort=list(SHORT)).axis(labelAngle=0)
    y = alt.Y("gain:Q", title=None, scale=alt.Scale(domain=list(ends), zero=False))
    colour = lab_colour(drawn).legend(None)
    behind = (
        alt.Chart(others)
        .mark_line(color=INK, strokeWidth=1, opacity=0.35)
        .encode(x=x, y=y, detail="level:N")
    )
    band = (
        alt.Chart(rows)
        .mark_area(opacity=0.25)
        .encode(x=x, y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"), color=colour)
    )
    line = alt.Chart(rows).mark_line(strokeWidth=3, point=True).encode(x=x, y=y, color=colour)
    layers = alt.layer(line_at(1, "y"), behind, band, line).properties(
        width=PANEL_WIDTH,
        height=PANEL_HEIGHT,
        title=alt.TitleParams(suite, anchor="start", fontSize=14, fontWeight="normal"),
    )
    return cast(alt.LayerChart, layers)


def _suite(name: str, log_gain: float) -> str:
    return f"{name} {_factor(log_gain)}"


def _factor(log_gain: float) -> str:
    return prose.number(float(np.exp(log_gain)))


def _gain(name: str, log_gain: float) -> str:
    return f"{prose.number(float(np.exp(log_gain)))} ({name})"


def _shown(profiles: pd.DataFrame) -> str:
    """Return in which quarters of depth the suites' gains lie closest and furthest apart.

    ``profiles`` has one row per suite and quarter: `part`, `level`, `gain` [ratio].
    """
    ranked = profiles.sort_values("gain").groupby("part", sort=False)
    ends = ranked.agg(
        low=("gain", "first"),
        high=("gain", "last"),
        least=("level", "first"),
        most=("level", "last"),
    )
    rows = sorted(ends.reset_index().to_dict("records"), key=lambda row: row["high"] - row["low"])
    near, far = (
        f"in the {row['part']} ({row['least']} {prose.number(row['low'])} to {row['most']} "
        f"{prose.number(row['high'])})"
        for row in (rows[0], rows[-1])
    )
    return f"The gains of suites lie closest together {near} and furthest apart {far}."

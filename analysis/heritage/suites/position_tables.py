"""The section on where along depth suites differ: its table and its words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

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
    """

    tests: pd.DataFrame
    without: pd.DataFrame


def views(store: Store) -> Views:
    """Return all frames of the published blocks."""
    blocks = published_blocks(store)
    fitted = suites.fit(blocks)
    return Views(
        tests=suites.part_tests(fitted),
        without=suites.without_each_suite(blocks),
    )


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
    return {
        "where": prose.listing([f"the {part}" for part in differing]) or "no quarter",
        "elsewhere": prose.p_value(rest["p_adjusted"].min()),
        "lowest": _gain(last["first"], last["smallest"]),
        "highest": _gain(last["second"], last["largest"]),
        "p_last": prose.p_value(last["p_adjusted"]),
        "p_without_neo": prose.p_value(left["GPT-Neo"]),
        "p_largest": prose.p_value(left.max()),
        "whose": str(left.idxmax()),
    }


def _suite(name: str, log_gain: float) -> str:
    return f"{name} {_factor(log_gain)}"


def _factor(log_gain: float) -> str:
    return prose.number(float(np.exp(log_gain)))


def _gain(name: str, log_gain: float) -> str:
    return f"{prose.number(float(np.exp(log_gain)))} ({name})"

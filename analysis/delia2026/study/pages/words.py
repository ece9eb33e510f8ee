"""Numbers of the controlled study as its pages write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.delia2026.study.fleet import JOINT
from analysis.delia2026.study.pages.names import RECIPES
from analysis.tidy import prose


def share(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return a share with its interval: columns `estimate`, `conf_low`, `conf_high`."""
    interval = prose.percent_interval(float(row["conf_low"]), float(row["conf_high"]))
    return f"{prose.percent(float(row['estimate']))} {interval}"


def shares(table: pd.DataFrame, response: str = "excess") -> dict[str, str]:
    """Return each source's share of a response with its joint interval, by source.

    ``table`` has the rows of `shares.variance_shares` with `response`.
    """
    joint = table[(table["method"] == JOINT) & (table["response"] == response)]
    return {str(row["term"]): share(row) for row in joint.to_dict("records")}


def estimates(table: pd.DataFrame, digits: int = 2) -> dict[str, str]:
    """Return each estimate with its interval, by `term`."""
    return {
        str(row["term"]): f"{prose.number(row['estimate'], digits)} "
        f"{prose.interval(row['conf_low'], row['conf_high'], digits)}"
        for row in table.to_dict("records")
    }


def lab_p(lab: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return the p of a row of `labs.lab_share`, and whether no labelling gives a smaller one.

    >>> lab_p({"p_value": 0.05, "smallest_p": 0.05}).replace(prose.NO_BREAK, " ")
    'p = 0.050, the smallest possible'
    """
    least = ", the smallest possible" if lab["p_value"] <= lab["smallest_p"] else ""
    return f"{prose.p_value(lab['p_value'])}{least}"


def recipe(level: object) -> str:
    """Return the name of a recipe, in quotes where it has a comma.

    >>> recipe("bloom"), recipe("opt_post")
    ('BLOOM', '“OPT, norms after”')
    """
    name = RECIPES.get(str(level), str(level))
    return f"“{name}”" if "," in name else name

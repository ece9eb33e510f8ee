"""The estimates of claims in a table: a short name for what each is, and its unit.

Claims measure correlations, shares, ratios and counts, which one column heads alike. What an
estimate is its check says (`measure`); shares and errors are printed in percent, so that a claim
of 80 % is met by a number that looks the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from analysis.tidy import prose

#: What lies between 0 and 1, and all that is printed in percent.
SHARES = ("accuracy", "share", "share above")
IN_PERCENT = (*SHARES, "error", "deviation", "change")


def name(row: Mapping[Any, Any]) -> str:
    """Return what the estimate of a claim is, a dash where there is none.

    >>> name({"estimate": 0.8, "measure": "share"})
    'share'
    """
    return prose.MISSING if pd.isna(row["estimate"]) else str(row["measure"]) or prose.MISSING


def estimate(row: Mapping[Any, Any]) -> str:
    r"""Return what the estimate of a claim is, and the estimate.

    >>> estimate({"estimate": 0.4375, "measure": "accuracy", "is_percent": False})
    'accuracy 43.8\xa0%'
    >>> estimate({"estimate": 55.69, "measure": "error", "is_percent": True})
    'error 55.7\xa0%'
    """
    value, unit = in_its_unit(row, float(row["estimate"])), name(row)
    if math.isnan(value):
        return prose.MISSING
    shown = written(unit, value)
    return f"{unit} {shown}" if unit != prose.MISSING else shown


def in_its_unit(row: Mapping[Any, Any], value: float) -> float:
    """Return an estimate of a claim, or an end of its interval, a percentage as a share."""
    return value / 100 if name(row) in IN_PERCENT and row["is_percent"] else value


def written(measure: str, value: float) -> str:
    r"""Return a value of a measure as tables print it.

    >>> written("accuracy", 0.4375), written("ratio", 9.9216), written("count", 33.0)
    ('43.8\xa0%', '9.92', '33')
    """
    if measure in IN_PERCENT:
        return prose.percent(value, 1).replace(f".0{prose.NO_BREAK}", prose.NO_BREAK)
    return prose.number(value, 0 if float(value).is_integer() or abs(value) >= 1000 else 2)


def interval(row: Mapping[Any, Any]) -> str:
    """Return the interval of the estimate of a claim in the same unit."""
    low, high = row["conf_low"], row["conf_high"]
    if pd.isna(low):
        return prose.MISSING
    write: Callable[[float, float], str] = prose.interval
    if name(row) in IN_PERCENT:
        write = prose.percent_interval
    return write(in_its_unit(row, low), in_its_unit(row, high))

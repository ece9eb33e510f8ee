"""The estimates of claims in a table: a short name for what each is, and its unit.

Claims measure correlations, shares, ratios and counts, which one column heads alike. What an
estimate is follows from the method of the check it comes from; shares and errors are printed in
percent, so that a claim of 80 % is met by a number that looks the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from analysis.tidy import prose

#: Beginning of a method, and what it estimates; the first that fits counts.
NAMES = {
    "Pearson correlation": "r",
    "t test of the printed correlation": "r",
    "rank correlation": "rank r",
    "Partial correlation": "partial r",
    "partial correlation": "partial r",
    "mean correlation": "mean r",
    "Fisher's exact test": "odds ratio",
    "Difference of Shapley shares": "difference",
    "Least squares": "exponent",
    "accuracy": "accuracy",
    "share of models above": "share above",
    "share of": "share",
    "count": "count",
    "number of": "count",
    "smallest number of prompts": "count",
    "mean of |formula - L*|": "error",
    "mean of |L/2 - L*|": "error",
    "mean over models [%]": "error",
    "largest relative difference": "deviation",
    "largest |instruct / base - 1|": "change",
    "mean over layers": "mean trace",
    "mean over the lab's models": "mean gain",
    "mean gain over prompts": "mean gain",
    "smallest mean over": "smallest mean",
    "mean difference of": "difference",
    "difference in the share": "difference",
    "difference of means": "difference",
    "standardised slope": "slope",
    "ratio": "ratio",
    "spectral norm of W_V over": "ratio",
    "largest number of additions and multiplications over": "ratio",
    "largest |equation (4)| relative": "ratio",
    "largest L* of the formula over": "ratio",
    "drawn length over": "ratio",
    "largest entry between the heads' blocks": "ratio",
    "largest |sum A - n| over": "ratio",
    "middle of the widest gap": "threshold",
    "least squares of L* / L": "constant",
    "smallest of EleutherAI's": "ratio",
}

#: What lies between 0 and 1, and all that is printed in percent.
SHARES = ("accuracy", "share", "share above")
IN_PERCENT = (*SHARES, "error", "deviation", "change")

#: Mark of a method whose estimate is in percent already.
PERCENT = "[%]"


def name(row: Mapping[Any, Any]) -> str:
    """Return what the estimate of a claim is, a dash where there is none.

    >>> name({"estimate": 0.8, "method": "share of models, Clopper-Pearson interval"})
    'share'
    """
    if pd.isna(row["estimate"]):
        return prose.MISSING
    fitting = (name for start, name in NAMES.items() if str(row["method"]).startswith(start))
    return next(fitting, prose.MISSING)


def estimate(row: Mapping[Any, Any]) -> str:
    r"""Return what the estimate of a claim is, and the estimate.

    >>> estimate({"estimate": 0.4375, "method": "accuracy of a rule"})
    'accuracy 43.8\xa0%'
    >>> estimate({"estimate": 55.69, "method": "mean over models [%]"})
    'error 55.7\xa0%'
    """
    value, said = in_its_unit(row, float(row["estimate"])), name(row)
    if math.isnan(value):
        return prose.MISSING
    shown = written(said, value)
    return f"{said} {shown}" if said != prose.MISSING else shown


def in_its_unit(row: Mapping[Any, Any], value: float) -> float:
    """Return an estimate of a claim, or an end of its interval, a percentage as a share."""
    return value / 100 if name(row) in IN_PERCENT and PERCENT in str(row["method"]) else value


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

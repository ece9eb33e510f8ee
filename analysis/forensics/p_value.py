"""What p a printed test statistic implies, and whether the printed p can be right.

The logic is statcheck's (Epskamp and Nuijten 2016): the statistic stands for every value that
rounds to it, so it implies a range of p, and the printed p is inconsistent when no value that
rounds to it lies in that range. It is a decision error when, besides, one of the two p is
significant and the other is not.

Two differences. A statistic printed with ``<`` or ``>`` is taken as an exact bound. A statistic
printed without degrees of freedom is not passed over: the degrees of freedom that would make
statistic and p agree are searched, and when there are none the pair is inconsistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.forensics.rounding import Printed, read
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import Floats, require_columns, require_option

#: Statistics that can be recomputed; two-sided where the distribution has two tails.
TESTS = ("t", "r", "z", "F", "chi2", "Q")
TWO_TAILED = ("t", "r", "z")
WITHOUT_DF = ("z",)

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"
DECISION_ERROR, NOT_CHECKABLE = "decision error", "not checkable"

#: What has the looks of a test and cannot be read.
NOT_UNDERSTOOD = "not understood"

#: Degrees of freedom searched when none are printed.
MOST_DF = 10_000

#: Not significant, printed as such.
NS = "ns"

COLUMNS = [
    "test",
    "df_numerator",
    "df",
    "comparison",
    "statistic",
    "p_comparison",
    "p_printed",
]


def from_statistic(test: str, value: float, df: float = nan, df_numerator: float = nan) -> float:
    """Return the p of a test statistic, two-sided for t, r and z.

    Parameters
    ----------
    test
        ``t``, ``r`` (Pearson, by its t), ``z``, ``F``, ``chi2`` or ``Q`` (Cochran's, as chi2).
    value
        The statistic; a correlation beyond 1 counts as 1.
    df
        Degrees of freedom: n - 2 for r, of the denominator for F; none for z.
    df_numerator
        Degrees of freedom of the numerator of F.

    Raises
    ------
    AnalysisError
        If the test is unknown.
    DesignError
        If the statistic is missing, or degrees of freedom are missing or not positive.

    >>> round(from_statistic("r", -0.81, df=6), 4), round(from_statistic("z", 1.96), 4)
    (0.0148, 0.05)
    """
    require_option("test", test, TESTS)
    if isnan(value):
        raise DesignError(f"A {test} must be a number; found {value!r}.", "Drop the test.")
    needed = [] if test in WITHOUT_DF else [df_numerator, df] if test == "F" else [df]
    if any(isnan(number) or number <= 0 for number in needed) or (test == "F" and inf in needed):
        raise DesignError(
            f"The degrees of freedom of {test} must be above 0; found "
            f"{' and '.join(f'{number:g}' for number in needed)}.",
            "For a correlation of n pairs they are n - 2.",
        )
    return float(_p(test, abs(value), np.asarray(df, dtype=np.float64), df_numerator))


def p_range(
    test: str, statistic: Printed, df: float = nan, df_numerator: float = nan
) -> tuple[float, float]:
    """Return the smallest and largest p that the printed statistic leaves possible."""
    near, far = _magnitudes(statistic, is_signed=test in TWO_TAILED)
    smallest = 0.0 if far == np.inf else from_statistic(test, far, df, df_numerator)
    return smallest, from_statistic(test, near, df, df_numerator)


def possible_df(test: str, statistic: Printed, p: Printed) -> Floats:
    """Return the whole degrees of freedom at which statistic and p agree, up to 10,000.

    Shape (k,), ascending. For a correlation the sample size is 2 more.

    >>> possible_df("r", read("-0.81"), read("= 0.014")).tolist()
    [6.0]
    """
    require_option("test", test, ("t", "r", "chi2", "Q"))
    df = np.arange(1, MOST_DF + 1, dtype=np.float64)
    near, far = _magnitudes(statistic, is_signed=test in TWO_TAILED)
    smallest = _p(test, far, df, nan) if far < np.inf else np.zeros(len(df))
    ends = [smallest, _p(test, near, df, nan)]
    agreeing = np.array([p.meets(low, high) for low, high in zip(*ends, strict=True)])
    return np.asarray(df[agreeing], dtype=np.float64)


def check(tests: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Recompute the p of every reported test and judge the printed one.

    Parameters
    ----------
    tests
        One row per reported test, as `reported_tests.find` gives them: `test`, `df_numerator`
        and `df` (missing when not printed), `comparison` and `statistic` (text), `p_comparison`
        (``ns`` when so printed) and `p_printed` (text); where there is one, `is_one_sided`, whether
        the p is said to be of one tail.
    alpha
        Level of significance that the paper uses.

    Returns
    -------
    The rows with `p_value` (from the statistic as printed), `p_low` and `p_high` (range that
    its rounding leaves), `consistency` (consistent, inconsistent, decision error, not checkable,
    not understood) and `note`, which says why a test is impossible or a number cannot be read,
    and whether a one-sided p would agree.

    Raises
    ------
    AnalysisError
        If alpha is not between 0 and 1.
    ColumnError
        If a column is absent, or what was printed is not text.
    """
    require_columns(tests, COLUMNS)
    if not 0 < alpha < 1:
        raise AnalysisError(
            f"`alpha` must lie between 0 and 1; found {alpha!r}.", "Five percent is 0.05."
        )
    for name in ("comparison", "statistic", "p_comparison", "p_printed"):
        if not tests[name].map(lambda cell: isinstance(cell, str)).all():
            raise ColumnError(
                f"Column {name!r} must hold text, as printed; some cells do not.",
                "Read it as text: a number loses its last zeros.",
            )
    results = [_judge_or_say(row, alpha) for row in tests.to_dict("records")]
    columns = ["p_value", "p_low", "p_high", "consistency", "note"]
    judged = tests.reset_index(drop=True).join(pd.DataFrame(results, columns=columns))
    glossary.checked(judged.columns, also=[str(name) for name in tests.columns])
    return judged


def _judge_or_say(row: Mapping[Any, Any], alpha: float) -> dict[str, object]:
    """Judge a test; one that cannot exist is inconsistent, with the reason as its note."""
    if row["test"] == NOT_UNDERSTOOD:
        return _verdict(NOT_UNDERSTOOD, note="Looks like a test; check it by hand.")
    if row["test"] not in TESTS:
        return _verdict(NOT_CHECKABLE, note="A p without a statistic.")
    try:
        return _judge(row, alpha)
    except DesignError as error:
        return _verdict(INCONSISTENT, note=error.problem)
    except AnalysisError as error:
        return _verdict(NOT_CHECKABLE, note=error.problem)


def _judge(row: Mapping[Any, Any], alpha: float) -> dict[str, object]:
    statistic = read(row["comparison"] + row["statistic"])
    quoted = _quote(row, alpha)
    if row["test"] == "r" and abs(statistic.value) > 1:
        return _verdict(INCONSISTENT, note="A correlation cannot be beyond 1.")
    if row["test"] not in WITHOUT_DF and isnan(row["df"]):
        return _judge_without_df(row["test"], statistic, quoted)
    df, df_numerator = row["df"], row["df_numerator"]
    p_value = from_statistic(row["test"], statistic.value, df, df_numerator)
    low, high = p_range(row["test"], statistic, df, df_numerator)
    if not 0 < quoted.value <= 1:
        note = "A p cannot be 0." if quoted.value == 0 else "A p lies between 0 and 1."
        return _verdict(INCONSISTENT, p_value, low, high, note)
    if quoted.meets(low, high):
        return _verdict(CONSISTENT, p_value, low, high)
    # As statcheck does: a p that is said to be of one tail may be half of the other.
    if row.get("is_one_sided") and row["test"] in TWO_TAILED and quoted.meets(low / 2, high / 2):
        return _verdict(CONSISTENT, p_value / 2, low / 2, high / 2, "One-sided, as it says.")
    bounds = {"=": (p_value, p_value), "<": (p_value, 1.0), ">": (0.0, p_value)}
    of_size = _relation_of_size(statistic, is_signed=row["test"] in TWO_TAILED)
    is_decision = _contradicts(quoted, *bounds[of_size], alpha)
    tails = ((low / 2, high / 2), (1 - high / 2, 1 - low / 2))
    is_half = row["test"] in TWO_TAILED and any(quoted.meets(*tail) for tail in tails)
    note = "A one-sided p would agree." if is_half else ""
    return _verdict(DECISION_ERROR if is_decision else INCONSISTENT, p_value, low, high, note)


def _verdict(
    consistency: str, p_value: float = nan, low: float = nan, high: float = nan, note: str = ""
) -> dict[str, object]:
    values = {"p_value": p_value, "p_low": low, "p_high": high}
    return {**values, "consistency": consistency, "note": note}


def _judge_without_df(test: str, statistic: Printed, quoted: Printed) -> dict[str, object]:
    """Judge a statistic printed without degrees of freedom by those that would fit."""
    if test == "F":
        return _verdict(NOT_CHECKABLE, note="No degrees of freedom are printed.")
    fitting = possible_df(test, statistic, quoted)
    if not len(fitting):
        return _verdict(INCONSISTENT, note="No degrees of freedom make statistic and p agree.")
    shift, what = (2, "n") if test == "r" else (0, "df")
    first, last = int(fitting[0]) + shift, int(fitting[-1]) + shift
    open_end = " or more" if fitting[-1] == MOST_DF else ""
    named = f"{what} = {first}" if first == last else f"{what} = {first} to {last}{open_end}"
    note = f"Not printed; the two agree for {named}."
    p_value = from_statistic(test, statistic.value, float(fitting[0])) if first == last else nan
    return _verdict(CONSISTENT, p_value, note=note)


def _quote(row: Mapping[Any, Any], alpha: float) -> Printed:
    """Return the printed p; not significant means above alpha."""
    if row["p_comparison"] == NS:
        return read(f"> {alpha}")
    return read(row["p_comparison"] + row["p_printed"])


def _contradicts(quoted: Printed, low: float, high: float, alpha: float) -> bool:
    """Tell whether printed and recomputed p lie on different sides of alpha for certain."""
    claims_significant = quoted.value <= alpha and quoted.relation in "=<≤"
    claims_none = quoted.value > alpha if quoted.relation == "=" else quoted.value >= alpha
    if claims_significant:
        return low > alpha
    return claims_none and quoted.relation in "=>≥" and high <= alpha


def _magnitudes(statistic: Printed, *, is_signed: bool) -> tuple[float, float]:
    """Return the smallest and largest size of the statistic that its printed form leaves."""
    of_size = _relation_of_size(statistic, is_signed=is_signed)
    if of_size == "<":
        return 0.0, abs(statistic.value)
    if of_size == ">":
        return abs(statistic.value), np.inf
    low, high = statistic.low, statistic.high
    if not is_signed:
        return max(low, 0.0), max(high, 0.0)
    return 0.0 if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high))


def _relation_of_size(statistic: Printed, *, is_signed: bool) -> str:
    """Return how the size of a statistic relates to the printed one: below -2 its size is above."""
    relation = {"≤": "<", "≥": ">"}.get(statistic.relation, statistic.relation)
    if is_signed and statistic.value < 0:
        return {"<": ">", ">": "<"}.get(relation, relation)
    return relation


def _p(test: str, size: float, df: Floats, df_numerator: float) -> Floats:
    """Return the p of a statistic of this size at each of some degrees of freedom."""
    p: object
    if test == "t":
        p = 2 * scipy.special.stdtr(df, -size)
    elif test == "r":
        with np.errstate(divide="ignore"):
            clipped = min(size, 1.0)
            p = 2 * scipy.special.stdtr(df, -clipped * np.sqrt(df / np.float64(1 - clipped**2)))
    elif test == "z":
        p = 2 * scipy.special.ndtr(-size)
    elif test == "F":
        p = scipy.stats.f.sf(size, df_numerator, df)
    else:
        p = scipy.stats.chi2.sf(size, df)
    return np.asarray(p, dtype=np.float64)

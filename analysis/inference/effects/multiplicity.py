"""Many tests at once: p-values adjusted within families declared beforehand.

A family is the set of tests of which any one would be reported. Holm (1979) bounds the chance of
one false rejection in it whatever the dependence; Benjamini and Hochberg (1995) bound the
expected share of false ones among the rejections when tests are independent or positively
dependent.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError
from analysis.tidy.frame import Floats, level_codes, require_columns, require_option

METHODS = ("holm", "benjamini-hochberg")


def adjust(
    tests: pd.DataFrame, *, family: str, method: str = "holm", p_value: str = "p_value"
) -> pd.DataFrame:
    """Return the tests with the adjusted p beside the raw one.

    Parameters
    ----------
    tests
        One row per test.
    family
        Column naming the family of every test; families are adjusted apart.
    method
        ``holm`` or ``benjamini-hochberg``, as R's p.adjust.
    p_value
        Column of raw p-values. A missing one, of a test that could not be computed, stays missing
        and does not count, as in R.

    Returns
    -------
    The frame with three columns after the raw p: `p_adjusted`, `n_tests` (tests with a p-value in
    the family) and `adjustment` (the method).

    Raises
    ------
    AnalysisError
        If a p-value lies outside 0 to 1.
    ColumnError
        If a column is absent, a family is missing, or the frame already has a column added here.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> tests = pd.DataFrame({"family": ["f", "f"], "p_value": [0.01, 0.04]})
    >>> ts.adjust(tests, family="family")["p_adjusted"].tolist()
    [0.02, 0.04]
    """
    require_option("method", method, METHODS)
    added = ["p_adjusted", "n_tests", "adjustment"]
    taken = [name for name in added if name in tests.columns]
    if taken:
        raise ColumnError(
            f"The frame must not already have the columns added here; it has {taken}.",
            "Adjust the raw p-values once.",
        )
    families = level_codes(tests, family)[0]
    raw = _probabilities(tests, p_value)
    adjusted = np.full(len(raw), np.nan)
    sizes = np.zeros(len(raw), dtype=np.intp)
    for rows in [
        np.flatnonzero(families == code) for code in range(int(families.max(initial=-1)) + 1)
    ]:
        known = rows[~np.isnan(raw[rows])]
        adjusted[known] = adjusted_values(raw[known], method)
        sizes[rows] = len(known)
    result = tests.copy()
    place = list(result.columns).index(p_value)
    result.insert(place + 1, "p_adjusted", adjusted)
    result.insert(place + 2, "n_tests", sizes)
    result.insert(place + 3, "adjustment", method)
    glossary.checked(added)
    return result


def adjusted_values(raw: Floats, method: str = "holm") -> Floats:
    """Return adjusted p-values of one family, in the order given.

    ``raw`` has one p-value per test, none missing, shape (tests,); ``method`` is one of `METHODS`.
    """
    if method == "benjamini-hochberg" and len(raw):
        return np.asarray(scipy.stats.false_discovery_control(raw), dtype=np.float64)
    # statsmodels' multipletests agrees, but collects garbage at every call: .1 s a family here.
    order = np.argsort(raw)
    adjusted = np.empty(len(raw))
    steps = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _probabilities(tests: pd.DataFrame, name: str) -> Floats:
    require_columns(tests, [name])
    if not pd.api.types.is_numeric_dtype(tests[name]) or pd.api.types.is_complex_dtype(tests[name]):
        raise ColumnError(
            f"Column {name!r} must hold numbers; it holds {tests[name].dtype}.",
            "Give p-values, not text such as '< .001'.",
        )
    values = tests[name].to_numpy(dtype=np.float64, na_value=np.nan)
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise AnalysisError(
            f"A p-value must lie between 0 and 1; column {name!r} holds {float(outside[0])!r}.",
            "Name the column that holds the p-values.",
        )
    return values

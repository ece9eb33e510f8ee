"""Linear contrasts of the fixed effects."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np
import pandas as pd

from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError
from analysis.tidy.frame import nearest, require_conf_level


def contrast(
    model: Fitted,
    contrasts: Mapping[str, Mapping[str, float]],
    df: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return one row per linear contrast: its weights times the coefficients, tested."""
    weights = np.zeros((len(contrasts), len(model.terms)))
    for row, (name, each) in enumerate(contrasts.items()):
        for term, weight in each.items():
            if term not in model.terms:
                raise ColumnError(
                    f"A contrast must weigh coefficients; {term!r} is none, the nearest is "
                    f"{nearest(term, model.terms)!r}.",
                    f"The model has: {', '.join(model.terms)}.",
                )
            given: object = weight
            if not isinstance(given, Real) or not np.isfinite(weight):
                raise ColumnError(
                    f"A weight must be a finite number; contrast {name!r} gives {term!r} "
                    f"{weight!r}.",
                    "Such as 1, or -0.5.",
                )
            weights[row, model.terms.index(term)] = weight
        if not weights[row].any():
            raise ColumnError(
                f"A contrast must weigh some coefficient; {name!r} weighs none.",
                f"The model has: {', '.join(model.terms)}.",
            )
    tests = model.inference.tests(weights, df)
    return _frame(model, list(contrasts), tests, df, conf_level)


def _frame(
    model: Fitted, labels: list[str], tests: ContrastTests, df: str, conf_level: float
) -> pd.DataFrame:
    require_conf_level(conf_level)
    low, high = tests.interval(conf_level)
    result = pd.DataFrame(
        {
            "contrast": labels,
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "statistic": tests.statistics,
            "df": tests.df,
            "p_value": tests.p_values,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_obs": model.statistics.n_obs,
            "method": f"Linear contrast; {NAMES[df]}",
            "note": "p-values are not adjusted for their number." if len(labels) > 1 else "",
        }
    )
    glossary.checked(result.columns)
    return result

"""The standardised difference of two groups, with an interval by inverting the noncentral t.

Steiger and Fouladi (1997); pingouin's interval (0.7) is normal and its correction of d approximate.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import effect_size
>>> frame = pd.DataFrame({"y": [1.0, 2, 3, 2, 3, 4], "g": [*"aaabbb"]})
>>> effect_size.standardised_difference(
...     frame, value="y", group="g")["estimate"].abs().round(2).tolist(
... )
[1.0, 0.8]
"""

from __future__ import annotations

from math import exp, lgamma, sqrt

import numpy as np
import pandas as pd

from analysis.inference.effects.noncentral import noncentrality_t
from analysis.inference.effects.two_samples import two_samples, varies_within
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import require_conf_level


def standardised_difference(
    frame: pd.DataFrame, *, value: str, group: str, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return Cohen's d and Hedges' g of two groups, with noncentral t intervals.

    d divides by the pooled standard deviation; g multiplies d by Hedges's exact correction
    J = G(m/2) / (sqrt(m/2) G((m-1)/2)), m = n1 + n2 - 2 (Hedges 1981).

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers.
    group
        Column with two levels: the first less the second.
    conf_level
        Nominal coverage of the interval.

    Returns
    -------
    Two rows, `term` Cohen's d and Hedges' g: `contrast`, `estimate` [standard deviations],
    `df`, the interval, `n_obs`.

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels, there are fewer than 4 rows, or values do not vary
        within groups, or so little that no noncentral t can be computed.
    """
    require_conf_level(conf_level)
    first, second, levels = two_samples(frame, value=value, group=group)
    df = len(first) + len(second) - 2
    if df < 2 or not varies_within((first, second)):
        raise DesignError(
            f"A standardised difference needs 4 rows that vary within groups; found {df + 2} "
            f"with {len(np.unique(first))} and {len(np.unique(second))} distinct values.",
            "Widen the filter.",
        )
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    d = float(first.mean() - second.mean()) / sqrt(squares / df)
    per_unit = sqrt(1 / len(first) + 1 / len(second))
    low, high = noncentrality_t(d / per_unit, df, conf_level)
    bias = exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2)
    result = pd.DataFrame(
        {
            "term": ["Cohen's d", "Hedges' g"],
            "contrast": f"{levels[0]} - {levels[1]}",
            "estimate": [d, bias * d],
            "df": float(df),
            "conf_low": [low * per_unit, bias * low * per_unit],
            "conf_high": [high * per_unit, bias * high * per_unit],
            "conf_level": conf_level,
            "n_obs": df + 2,
            "method": "Pooled standard deviation; noncentral t interval",
            "note": "",
        }
    )
    glossary.checked(result.columns)
    return result

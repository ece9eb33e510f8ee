"""Two samples: the values of the two levels of a group, in level order, and if they vary.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import two_samples
>>> frame = pd.DataFrame({"y": [1.0, 2, 3, 4], "g": [*"aabb"]})
>>> two_samples.two_samples(frame, value="y", group="g")[2]
('a', 'b')
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import LEAST_SPREAD, Floats, level_codes, numbers


def two_samples(
    frame: pd.DataFrame, *, value: str, group: str
) -> tuple[Floats, Floats, tuple[str, str]]:
    """Return the values of either level, and the names of the levels.

    Parameters
    ----------
    frame
        One row per independent unit.
    value
        Column of finite numbers.
    group
        Column with two levels, in category order, else sorted.

    Raises
    ------
    ColumnError
        If a column is absent or has missing values.
    DesignError
        If the group has not two levels.
    """
    values = numbers(frame, value)
    codes, levels = level_codes(frame, group)
    if len(levels) != 2:
        raise DesignError(
            f"A comparison of two samples needs a group with two levels; {group!r} has "
            f"{len(levels)}.",
            "Filter the rows, or combine levels.",
        )
    return values[codes == 0], values[codes == 1], (str(levels[0]), str(levels[1]))


def varies_within(samples: Iterable[Floats]) -> bool:
    """Tell whether some sample holds values that differ.

    Asked of the values: squares about the mean of equal ones are rounding, and seldom 0.
    """
    return any(len(sample) > 1 and np.ptp(sample) >= LEAST_SPREAD for sample in samples)

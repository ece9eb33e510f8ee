"""Whether a quoted mean absolute percentage error is one.

Mean absolute percentage error divides each miss by the true value. Papers also divide by the
prediction, by the range or size of what is predicted, or take a median, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis.forensics.rounding import read
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, numbers

MAPE = "mean of |error| / found: MAPE"

Definition = Callable[[Floats, Floats, Floats], Floats]


def _median(misses: Floats, observed: Floats, _size: Floats) -> Floats:
    return np.asarray(np.median(misses / np.abs(observed), axis=-1))


#: Each takes misses (>= 0), observed and size, shape (..., cases), and returns shape (...,).
DEFINITIONS: dict[str, Definition] = {
    MAPE: lambda misses, observed, _size: (misses / np.abs(observed)).mean(axis=-1),
    "mean of |error| / size": lambda misses, _observed, size: (misses / size).mean(axis=-1),
    "median of |error| / found": _median,
    "sum of |error| / sum of found": lambda misses, observed, _size: (
        misses.sum(axis=-1) / np.abs(observed).sum(axis=-1)
    ),
    "sum of |error| / sum of size": lambda misses, _observed, size: (
        misses.sum(axis=-1) / size.sum(axis=-1)
    ),
}


def definitions(cases: pd.DataFrame, quoted: str) -> pd.DataFrame:
    """Compute every error that goes by the name, and say which prints as quoted.

    Parameters
    ----------
    cases
        One row per case: `predicted`, `observed` (not 0), `size` (what else the miss may be
        divided by: a range, a depth), all in one unit.
    quoted
        As printed, in percent.

    Returns
    -------
    One row per definition: `term`, `estimate` [%], `printed`, `consistent`, `n_obs`.

    Raises
    ------
    AnalysisError
        If the quoted text is not one number.
    ColumnError
        If a column is absent or not finite.
    DesignError
        If there is no case, or an observed value or a size is 0.

    >>> cases = pd.DataFrame({"predicted": [6, 6], "observed": [3, 6], "size": [12, 12]})
    >>> errors = definitions(cases, "12.5 %")
    >>> errors[errors["consistent"]]["term"].tolist()
    ['mean of |error| / size', 'sum of |error| / sum of size']
    """
    predicted, observed, size = (numbers(cases, name) for name in ("predicted", "observed", "size"))
    if not len(cases) or not (observed.all() and size.all()):
        raise DesignError(
            "A percentage error needs cases, and found values and sizes other than 0; found "
            f"{len(cases)} cases.",
            "An error relative to 0 is not defined.",
        )
    misses = np.abs(predicted - observed)
    estimates = [100 * float(define(misses, observed, size)) for define in DEFINITIONS.values()]
    printed = read(quoted)
    return glossary.table(
        {
            "term": list(DEFINITIONS),
            "estimate": estimates,
            "printed": quoted,
            "consistent": [printed.meets(value, value) for value in estimates],
            "n_obs": len(cases),
        }
    )

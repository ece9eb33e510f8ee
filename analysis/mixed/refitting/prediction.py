"""How well the fixed part predicts units that the fit has not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.linear_predictor import fixed_part
from analysis.mixed.reading.merge import take
from analysis.mixed.reading.statistics import Statistics
from analysis.mixed.reading.units import cells_by_level, require_unit
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import Floats, Integers


def leave_one_out_prediction(model: Fitted, unit: str) -> pd.DataFrame:
    """Return the error of predicting every level of a unit from a fit to the others.

    The prediction is the fixed part; it is compared with the mean of the other levels' rows.
    Sums of squares are those of the cells: no row is read.

    Parameters
    ----------
    model
        The fit.
    unit
        A factor of the statistics, such as the suite.

    Returns
    -------
    One row per level and a last one with `level` empty for all together: `rmse`, `rmse_null` (of
    the mean), `r_squared` (1 - rmse^2 / rmse_null^2, negative when the mean predicts better),
    `n_obs`. A level that the others cannot predict has missing numbers and a `note`.

    Raises
    ------
    DesignError
        If the unit is unknown or has one level.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> table = mixed.leave_one_out_prediction(fitted, "firm")
    >>> table[["level", "r_squared"]].round(2).values.tolist()[-1]
    ['', 0.69]
    """
    require_unit(model.statistics, unit)
    levels = model.statistics.factors[unit].levels
    rows = []
    for level, cells in zip(levels, cells_by_level(model.statistics, unit), strict=True):
        rows.append({"level": level} | _prediction(model, cells))
    found = pd.DataFrame(rows)
    usable = found[found["note"] == ""]
    total = usable[["square", "square_null", "size", "n_obs"]].sum()
    note = "" if len(usable) == len(found) else f"Of {len(usable)} of {len(found)} levels."
    found = pd.concat(
        [found, pd.DataFrame([{"level": "", "note": note} | total.to_dict()])], ignore_index=True
    )
    result = pd.DataFrame(
        {
            "group": unit,
            "level": found["level"],
            "rmse": np.sqrt(found["square"] / found["size"]),
            "rmse_null": np.sqrt(found["square_null"] / found["size"]),
            "r_squared": 1 - found["square"] / found["square_null"],
            "n_obs": found["n_obs"].astype("int64"),
            "method": f"Fixed part, predicted without one {unit} at a time",
            "note": found["note"],
        }
    )
    glossary.checked(result.columns)
    return result


def _prediction(model: Fitted, cells: Integers) -> dict[str, object]:
    """Return sums of squared errors over left-out cells, of the model and of the mean."""
    statistics = model.statistics
    held = take(statistics, cells)
    others = take(statistics, np.setdiff1d(np.arange(len(statistics.counts)), cells))
    response = len(statistics.basis) + model.response
    row: dict[str, object] = {"n_obs": held.n_obs, "size": float(held.product(0, 0).sum())}
    mean = np.zeros((len(statistics.basis), len(cells)))
    mean[0] = others.product(0, response).sum() / others.product(0, 0).sum()
    mean[0] += statistics.shift[response]
    row["square_null"] = squared_error(held, mean, response)
    try:
        refit = model.refitted(others)
    except (AnalysisError, np.linalg.LinAlgError) as error:
        return row | {"square": np.nan, "note": str(error).partition("\n")[0]}
    if refit.terms != model.terms:
        lost = sorted(set(model.terms) - set(refit.terms))
        return row | {"square": np.nan, "note": f"The others have no {lost}."}
    part = fixed_part(model.design.fixed, refit.coefficients, statistics)[:, cells]
    return row | {"square": squared_error(held, part, response), "note": ""}


def squared_error(statistics: Statistics, part: Floats, response: int) -> float:
    """Return the sum over rows of (y - prediction)^2, the prediction by basis and cell."""
    m = len(part)
    about = part.copy()
    about[0] += statistics.shift[:m] @ part - statistics.shift[response]
    total = statistics.product(response, response).copy()
    for i in range(m):
        total -= 2 * about[i] * statistics.product(i, response)
        for j in range(m):
            total += about[i] * about[j] * statistics.product(i, j)
    return float(total.sum())

"""How strong an unmeasured trait of the recipes would have to be to explain what was found.

Least squares on the log gains of the penultimate block, one row per base model. A trait that is
the same in all models of a suite is the suite, and no analysis of these data tells the two apart;
these numbers speak of a trait beside what is in the regression.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.heritage.sign.exchange import NAMED_LAB
from analysis.inference.association import unmeasured
from analysis.tidy import glossary
from analysis.tidy.frame import Floats

#: The definition of gain that is read.
METRIC = "gain_penultimate_block"

#: Suites with fewer models are not set against the others.
LEAST_MODELS = 3

ALPHA = 0.05


def sensitivity(gains: pd.DataFrame) -> pd.DataFrame:
    """Return what an unmeasured trait would have to explain, contrast by contrast.

    Parameters
    ----------
    gains
        As `definitions.gains` returns them.

    Returns
    -------
    One row per contrast: `contrast`, `estimate` [nat; of depth, nat per standard deviation],
    `std_error`, `df`, `statistic`, `p_value`, the interval, `r_squared` (partial),
    `robustness_value`, `robustness_value_alpha` (until p exceeds 0.05), `e_value`,
    `e_value_limit`, `adjusted` (the estimate were a trait measured as strong as depth; missing
    where depth is the predictor), `n_obs`.
    """
    rows = gains[gains["metric"] == METRIC].reset_index(drop=True)
    y = rows["log_gain"].to_numpy(dtype=np.float64)
    depth = _standardised(rows["n_layers"])
    size = _standardised(rows["log_parameters"])
    ones = np.ones(len(rows))
    ours = np.asarray(rows["lab"] == NAMED_LAB, dtype=np.float64)
    items = [
        _row(f"{NAMED_LAB} against all others, given depth and size", y, ours, depth, [ones, size])
    ]
    sizes = rows["suite"].value_counts()
    for suite in sorted(sizes[sizes >= LEAST_MODELS].index):
        indicator = np.asarray(rows["suite"] == suite, dtype=np.float64)
        items.append(_row(f"{suite} against all others, given depth", y, indicator, depth, [ones]))
    suites = list(pd.get_dummies(rows["suite"], dtype=float).to_numpy().T)
    items.append(_row("depth, given suites", y, depth, None, suites))
    result = pd.DataFrame(items)
    glossary.checked(result.columns)
    return result


def _row(
    name: str, y: Floats, treatment: Floats, benchmark: Floats | None, others: list[Floats]
) -> dict[str, float | str]:
    remaining = others if benchmark is None else [*others, benchmark]
    estimate, error, df = _coefficient(y, treatment, remaining)
    t = estimate / error
    reach = float(stats.t.isf(ALPHA / 2, df)) * error
    low, high = estimate - reach, estimate + reach
    spread = float(np.std(y, ddof=1))
    effect, limit = unmeasured.e_values(estimate, low, high, spread)
    weakened = np.nan
    if benchmark is not None:
        of_treatment = _explains(treatment, benchmark, others)
        of_outcome = _explains(y, benchmark, [*others, treatment])
        trait = unmeasured.like_a_benchmark(of_treatment, of_outcome)
        weakened = unmeasured.adjusted(estimate, error, df, trait)[0]
    return {
        "contrast": name,
        "estimate": estimate,
        "std_error": error,
        "df": df,
        "statistic": t,
        "p_value": 2 * float(stats.t.sf(abs(t), df)),
        "conf_low": low,
        "conf_high": high,
        "r_squared": unmeasured.partial_r_squared(t, df),
        "robustness_value": unmeasured.robustness_value(t, df),
        "robustness_value_alpha": unmeasured.robustness_value(t, df, alpha=ALPHA),
        "e_value": effect,
        "e_value_limit": limit,
        "adjusted": weakened,
        "n_obs": len(y),
    }


def _explains(y: Floats, predictor: Floats, others: list[Floats]) -> float:
    """Return the partial R squared of a predictor with a response."""
    estimate, error, df = _coefficient(y, predictor, others)
    return unmeasured.partial_r_squared(estimate / error, df)


def _coefficient(y: Floats, predictor: Floats, others: list[Floats]) -> tuple[float, float, int]:
    """Return a least-squares coefficient, its standard error and the degrees of freedom."""
    design = np.column_stack([predictor, *others])
    coefficients = np.linalg.lstsq(design, y)[0]
    df = len(y) - design.shape[1]
    variance = float(np.square(y - design @ coefficients).sum()) / df
    inverse = np.linalg.inv(design.T @ design)
    return float(coefficients[0]), float(np.sqrt(variance * inverse[0, 0])), df


def _standardised(values: pd.Series[float]) -> Floats:
    array = values.to_numpy(dtype=np.float64)
    return np.asarray((array - array.mean()) / array.std(ddof=1), dtype=np.float64)

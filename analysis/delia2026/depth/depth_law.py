"""Laws of depth compared: how the gain of a model is said to follow its number of blocks L.

Every law is linear in its coefficients on the logarithm of the gain, where errors are additive.
Laws are compared by AICc, which takes models as independent, and by the error of predicting
whole suites left out, which does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import scipy

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    group_codes,
    numbers,
    require_rows,
    require_variation,
    rows_by_group,
)

#: Models needed for AICc of a law with two coefficients and an error variance.
FEWEST_MODELS = 5

#: Mean squared error below which a law fits exactly; gains are of order one.
EXACT = 1e-24

#: The laws compared, simplest first: what each says of log gain without a coefficient, and the
#: columns of its coefficients, both as functions of depth.
LAWS: Mapping[str, tuple[Callable[[Floats], Floats], tuple[Callable[[Floats], Floats], ...]]] = {
    "10^(1/L)": (lambda depth: np.log(10) / depth, ()),
    "1": (np.zeros_like, ()),
    "constant": (np.zeros_like, (np.ones_like,)),
    "C^(1/L)": (np.zeros_like, (lambda depth: 1 / depth,)),
    "a L^b": (np.zeros_like, (np.ones_like, np.log)),
}


def compare(
    models: pd.DataFrame, *, gain: str = "gain_mean", depth: str = "n_layers"
) -> pd.DataFrame:
    """Return how well each law fits, by AICc.

    AICc = AIC + 2k(k + 1)/(n - k - 1), k counting the error variance (Hurvich and Tsai 1989,
    Biometrika 76). It takes models as independent, which models of one suite are not.

    Parameters
    ----------
    models
        One row per model.
    gain
        Column of gains [ratio, > 0].
    depth
        Column of numbers of blocks [> 0].

    Returns
    -------
    One row per law: `law`, `n_coefficients`, `log_likelihood` (of the gains), `aicc`,
    `delta_aicc` (above the best), `weight` (Akaike's), `n_obs`, `method`.

    Raises
    ------
    ColumnError
        If a column is absent or not numeric.
    AnalysisError
        If a gain or depth is not positive.
    DesignError
        If there are fewer than five models, all depths or all gains are equal, or a law fits
        without error.
    """
    depths, log_gains = _check(models, gain, depth)
    n = len(log_gains)
    rows = []
    for law, (_, columns) in LAWS.items():
        residuals = log_gains - _predict(law, depths, log_gains, depths)
        mean_square = float(residuals @ residuals) / n
        if mean_square < EXACT:
            raise DesignError(
                f"A law must leave an error for AICc; {law} fits all {n} models exactly.",
                "Such gains were computed, not measured.",
            )
        likelihood = -n / 2 * (np.log(2 * np.pi * mean_square) + 1) - float(log_gains.sum())
        k = len(columns) + 1
        rows.append(
            {
                "law": law,
                "n_coefficients": len(columns),
                "log_likelihood": likelihood,
                "aicc": 2 * k - 2 * likelihood + 2 * k * (k + 1) / (n - k - 1),
            }
        )
    result = pd.DataFrame(rows)
    delta = result["aicc"] - result["aicc"].min()
    weight = np.exp(-delta / 2)
    return glossary.table(
        result.assign(
            delta_aicc=delta,
            weight=weight / weight.sum(),
            n_obs=n,
            method="Least squares on the logarithm of the gain; AICc",
        )
    )


def prediction_errors(
    models: pd.DataFrame,
    *,
    group: str = "suite",
    gain: str = "gain_mean",
    depth: str = "n_layers",
) -> pd.DataFrame:
    """Return how well each law predicts groups left out, and whether better than a constant.

    Each group in turn is predicted from the law fitted to all others. The 95 % interval is of the
    mean squared error less that of the law ``constant``, from the groups as independent (a
    ratio estimate, t with G - 1 degrees of freedom); folds share training rows, so it is rather
    too narrow. A law is better only where the interval lies below zero.

    Parameters
    ----------
    models, gain, depth
        As in `compare`.
    group
        Column naming what is left out.

    Returns
    -------
    One row per law: `law`, `rmse` [log ratio], `estimate` (difference of mean squared errors to
    the constant), `std_error`, `df`, the interval, `n_obs`, `n_groups`, `method`.

    Raises
    ------
    ColumnError, AnalysisError
        As in `compare`.
    DesignError
        As in `compare`, if there are fewer than two groups, or if all models but one group's
        have one depth.
    """
    depths, log_gains = _check(models, gain, depth)
    folds = rows_by_group(group_codes(models, group))
    sizes = np.array([float(len(fold)) for fold in folds])
    squared = {}
    for law in LAWS:
        errors = [_left_out(law, depths, log_gains, fold) for fold in folds]
        squared[law] = np.array([float(each @ each) for each in errors])
    rows = [
        {"law": law, "rmse": float(np.sqrt(errors.sum() / sizes.sum()))}
        | _difference(errors - squared["constant"], sizes)
        for law, errors in squared.items()
    ]
    return glossary.table(
        pd.DataFrame(rows).assign(
            n_obs=len(models),
            n_groups=len(folds),
            method=f"Error on the logarithm of the gain, leaving out one {group} at a time",
        )
    )


def _check(models: pd.DataFrame, gain: str, depth: str) -> tuple[Floats, Floats]:
    """Return depths and logarithms of gains, checked."""
    depths, gains = numbers(models, depth), numbers(models, gain)
    require_rows(models, FEWEST_MODELS, "A comparison of laws of depth")
    for name, values in ((depth, depths), (gain, gains)):
        require_variation(values, name)
        if not (values > 0).all():
            raise AnalysisError(
                f"Column {name!r} must be positive; {int((values <= 0).sum())} values are not.",
                "A gain is a ratio of norms, not its logarithm.",
            )
    return depths, np.log(gains)


def _predict(law: str, depths: Floats, log_gains: Floats, new: Floats) -> Floats:
    """Return the log gain of new depths by a law fitted to models."""
    fixed, columns = LAWS[law]
    if not columns:
        return fixed(new)
    design, shown = (
        np.column_stack([column(each) for column in columns]) for each in (depths, new)
    )
    coefficients, _, rank, _ = np.linalg.lstsq(design, log_gains - fixed(depths), rcond=None)
    if rank < len(columns):
        raise DesignError(
            f"Training must hold {len(columns)} depths; without one group it holds fewer.",
            "Leave out smaller groups.",
        )
    return np.asarray(fixed(new) + shown @ coefficients, dtype=np.float64)


def _left_out(law: str, depths: Floats, log_gains: Floats, fold: Integers) -> Floats:
    """Return the errors of predicting the rows of one group from all others."""
    rest = np.setdiff1d(np.arange(len(log_gains)), fold)
    return log_gains[fold] - _predict(law, depths[rest], log_gains[rest], depths[fold])


def _difference(excess: Floats, sizes: Floats) -> dict[str, float]:
    """Return the mean excess per row over groups of given sizes, with its interval."""
    ratio = float(excess.sum() / sizes.sum())
    influence = (excess - ratio * sizes) / sizes.mean()
    std_error = float(influence.std(ddof=1) / np.sqrt(len(sizes)))
    df = len(sizes) - 1
    reach = float(-scipy.special.stdtrit(df, 0.025)) * std_error
    return {
        "estimate": ratio,
        "std_error": std_error,
        "df": float(df),
        "conf_low": ratio - reach,
        "conf_high": ratio + reach,
        "conf_level": 0.95,
    }

"""Laws of depth compared: how the gain of a model is said to follow its number of blocks L.

Laws are fitted by least squares with errors additive either on the gain (`raw`) or on its
logarithm (`log`, where an error is a relative one): seven of any gain, one more of some gains.
They are compared by AICc, which takes models as independent, and by the error of predicting whole
groups left out, which does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from analysis.heritage.depth.laws_of_depth import LAWS, Fitted, Law, fit, on_scale
from analysis.inference.association.sandwich import cr2
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    FEW_GROUPS,
    Floats,
    Integers,
    group_codes,
    numbers,
    require_conf_level,
    require_option,
    require_rows,
    require_variation,
    rows_by_group,
)

SCALES = ("log", "raw")

#: Models needed for AICc of a law with two coefficients and an error variance.
FEWEST_MODELS = 5

#: Mean squared error below which a law fits exactly; gains are of order one.
EXACT = 1e-24


def compare(
    models: pd.DataFrame,
    *,
    gain: str = "gain_mean",
    depth: str = "n_layers",
    scale: str = "log",
    laws: Mapping[str, Law] = LAWS,
) -> pd.DataFrame:
    """Return how well each law fits, by AICc.

    The likelihood is that of the gains on either scale, so AICc can be compared across scales.
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
    scale
        Where errors are additive: ``log`` or ``raw``.
    laws
        What is compared, by name; `laws_of_depth.LAWS_OF` has those of a definition of gain.

    Returns
    -------
    One row per law: `law`, `scale`, `n_coefficients`, `sigma` [log ratio, or ratio],
    `log_likelihood`, `aic`, `aicc`, `delta_aicc` (above the best), `weight` (Akaike's), `n_obs`.

    Raises
    ------
    ColumnError
        If a column is absent or not numeric.
    AnalysisError
        If a gain or depth is not positive, or the scale unknown.
    DesignError
        If there are fewer than five models, all depths or all gains are equal, or a law fits
        without error.
    """
    depths, gains = _checked(models, gain, depth, scale)
    n = len(gains)
    jacobian = float(np.log(gains).sum()) if scale == "log" else 0.0
    rows = []
    for name, law in laws.items():
        residuals = fit(law, depths, gains, scale).residuals
        mean_square = float(residuals @ residuals) / n
        if mean_square < EXACT:
            raise DesignError(
                f"A law must leave an error for AICc; {name} fits all {n} models exactly.",
                "Such gains were computed, not measured.",
            )
        log_likelihood = -n / 2 * (np.log(2 * np.pi * mean_square) + 1) - jacobian
        k = len(law.coefficients) + 1
        aic = 2 * k - 2 * log_likelihood
        rows.append(
            {
                "law": name,
                "scale": scale,
                "n_coefficients": len(law.coefficients),
                "sigma": np.sqrt(mean_square),
                "log_likelihood": log_likelihood,
                "aic": aic,
                "aicc": aic + 2 * k * (k + 1) / (n - k - 1),
            }
        )
    result = pd.DataFrame(rows)
    delta = result["aicc"] - result["aicc"].min()
    weight = np.exp(-delta / 2)
    result = result.assign(
        delta_aicc=delta,
        weight=weight / weight.sum(),
        n_obs=n,
        method=f"Least squares, errors additive on the {_words(scale)}; AICc",
    )
    glossary.checked(result.columns)
    return result


def coefficients(
    models: pd.DataFrame,
    *,
    gain: str = "gain_mean",
    depth: str = "n_layers",
    scale: str = "log",
    cluster: str | None = None,
    conf_level: float = 0.95,
    laws: Mapping[str, Law] = LAWS,
) -> pd.DataFrame:
    """Return the coefficients of every law that has any, with intervals.

    Standard errors are those of the law linearised at its fit: the usual ones without a
    cluster, CR2 with Satterthwaite degrees of freedom with one.

    Parameters
    ----------
    models, gain, depth, scale, laws
        As in `compare`.
    cluster
        Column naming the independent units, such as suites.
    conf_level
        Nominal coverage of the t intervals.

    Returns
    -------
    One row per law and coefficient: `law`, `term`, `scale`, `estimate`, `std_error`, `df`, the
    interval, `n_obs`, `n_groups`, `note`.

    Raises
    ------
    ColumnError, AnalysisError, DesignError
        As in `compare`, and if there are fewer than two clusters.
    """
    require_conf_level(conf_level)
    depths, gains = _checked(models, gain, depth, scale)
    clusters = group_codes(models, cluster)
    n_groups = int(clusters.max()) + 1
    rows = []
    for name, law in laws.items():
        if not law.coefficients:
            continue
        fitted = fit(law, depths, gains, scale)
        std_error, df = _spread(fitted, clusters if cluster is not None else None)
        reach = stats.t.isf((1 - conf_level) / 2, df) * std_error
        for place, term in enumerate(law.coefficients):
            estimate = fitted.coefficients[place]
            rows.append(
                {
                    "law": name,
                    "term": term,
                    "scale": scale,
                    "estimate": estimate,
                    "std_error": std_error[place],
                    "df": df[place],
                    "conf_low": estimate - reach[place],
                    "conf_high": estimate + reach[place],
                }
            )
    errors = "usual standard errors" if cluster is None else f"CR2 standard errors by {cluster}"
    few = cluster is not None and n_groups < FEW_GROUPS
    result = pd.DataFrame(rows).assign(
        conf_level=conf_level,
        n_obs=len(models),
        n_groups=n_groups,
        method=f"Least squares, errors additive on the {_words(scale)}; {errors}; t",
        note=f"Only {n_groups} clusters: read the degrees of freedom." if few else "",
    )
    glossary.checked(result.columns)
    return result


def prediction_errors(
    models: pd.DataFrame,
    *,
    group: str | None,
    gain: str = "gain_mean",
    depth: str = "n_layers",
    scale: str = "log",
    conf_level: float = 0.95,
    laws: Mapping[str, Law] = LAWS,
) -> pd.DataFrame:
    """Return how well each law predicts groups left out, and whether better than a constant.

    Each group in turn is predicted from the law fitted to all others. The interval is of the
    mean squared error less that of the law ``constant``, from the groups as independent (a
    ratio estimate, t with G - 1 degrees of freedom); folds share training rows, so it is rather
    too narrow. A law is better only where the interval lies below zero.

    Parameters
    ----------
    models, gain, depth, scale, laws
        As in `compare`; the laws must hold ``constant``, beside which all are judged.
    group
        Column naming what is left out, such as the suite; None leaves out one model at a time.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per law: `law`, `scale`, `rmse` [log ratio, or ratio], `estimate` (difference of
    mean squared errors to the constant), `std_error`, `df`, the interval, `n_obs`, `n_groups`.

    Raises
    ------
    ColumnError, AnalysisError
        As in `compare`, and if no law is ``constant``.
    DesignError
        As in `compare`, if there are fewer than two groups, or if all models but one group's
        have one depth.
    """
    require_conf_level(conf_level)
    if "constant" not in laws:
        raise AnalysisError(
            f"The laws must hold 'constant', beside which all are judged; found {list(laws)}.",
            "Add it: laws_of_depth.LAWS has it.",
        )
    depths, gains = _checked(models, gain, depth, scale)
    groups = rows_by_group(group_codes(models, group))
    squared = {
        name: np.array([_fold(law, depths, gains, scale, rows) for rows in groups])
        for name, law in laws.items()
    }
    sizes = np.array([float(len(rows)) for rows in groups])
    rows = [
        {"law": name, "scale": scale, "rmse": float(np.sqrt(errors.sum() / sizes.sum()))}
        | _difference(errors - squared["constant"], sizes, conf_level)
        for name, errors in squared.items()
    ]
    what = "model" if group is None else group
    result = pd.DataFrame(rows).assign(
        n_obs=len(models),
        n_groups=len(groups),
        method=f"Error on the {_words(scale)}, leaving out one {what} at a time",
        note=f"Only {len(groups)} groups." if len(groups) < FEW_GROUPS else "",
    )
    glossary.checked(result.columns)
    return result


def curves(
    models: pd.DataFrame,
    *,
    gain: str = "gain_mean",
    depth: str = "n_layers",
    scale: str = "log",
    laws: Mapping[str, Law] = LAWS,
) -> pd.DataFrame:
    """Return the fitted gain of every law at every depth between the least and the greatest.

    Parameters are those of `compare`.

    Returns
    -------
    One row per law and depth: `law`, `scale`, `n_layers` [blocks], `fitted` [ratio].
    """
    depths, gains = _checked(models, gain, depth, scale)
    grid = np.arange(np.floor(depths.min()), np.ceil(depths.max()) + 1)
    parts = [
        pd.DataFrame(
            {
                "law": name,
                "scale": scale,
                "n_layers": grid,
                "fitted": law.mean(grid, fit(law, depths, gains, scale).coefficients),
            }
        )
        for name, law in laws.items()
    ]
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns, also=["n_layers"])
    return result


def _checked(models: pd.DataFrame, gain: str, depth: str, scale: str) -> tuple[Floats, Floats]:
    """Return depths and gains, checked."""
    require_option("scale", scale, SCALES)
    depths, gains = numbers(models, depth), numbers(models, gain)
    require_rows(models, FEWEST_MODELS, "A comparison of laws of depth")
    for name, values in ((depth, depths), (gain, gains)):
        require_variation(values, name)
        if not (values > 0).all():
            raise AnalysisError(
                f"Column {name!r} must be positive; {int((values <= 0).sum())} values are not.",
                "A gain is a ratio of norms, not its logarithm.",
            )
    return depths, gains


def _fold(law: Law, depths: Floats, gains: Floats, scale: str, held_out: Integers) -> float:
    """Return the sum of squared errors of predicting the rows of one group."""
    training = np.setdiff1d(np.arange(len(gains)), held_out)
    if len(np.unique(depths[training])) < len(law.coefficients):
        raise DesignError(
            f"Training must hold {len(law.coefficients)} depths; without one group it holds fewer.",
            "Leave out smaller groups.",
        )
    known = fit(law, depths[training], gains[training], scale).coefficients
    predicted = law.mean(depths[held_out], known)
    errors = on_scale(predicted, scale) - on_scale(gains[held_out], scale)
    return float(errors @ errors)


def _difference(excess: Floats, sizes: Floats, conf_level: float) -> dict[str, float]:
    """Return the mean excess per row over groups of given sizes, with its interval."""
    ratio = float(excess.sum() / sizes.sum())
    influence = (excess - ratio * sizes) / sizes.mean()
    std_error = float(influence.std(ddof=1) / np.sqrt(len(sizes)))
    df = len(sizes) - 1
    reach = float(stats.t.isf((1 - conf_level) / 2, df)) * std_error
    return {
        "estimate": ratio,
        "std_error": std_error,
        "df": float(df),
        "conf_low": ratio - reach,
        "conf_high": ratio + reach,
        "conf_level": conf_level,
    }


def _spread(fitted: Fitted, clusters: Integers | None) -> tuple[Floats, Floats]:
    """Return standard errors and degrees of freedom of the coefficients."""
    design, residuals = fitted.design, fitted.residuals
    n, p = design.shape
    if clusters is not None:
        sandwich = cr2(design, residuals, clusters)
        return np.sqrt(np.diag(sandwich.covariance)), sandwich.df
    root = np.linalg.inv(np.linalg.qr(design, mode="r"))
    variance = float(residuals @ residuals) / (n - p)
    return np.sqrt(variance * np.diag(root @ root.T)), np.full(p, float(n - p))


def _words(scale: str) -> str:
    return "logarithm of the gain" if scale == "log" else "gain"

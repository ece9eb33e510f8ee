"""Cluster-robust tests of the fixed part by least squares, and the wild cluster bootstrap.

The estimates are those of least squares, whose errors may be dependent within clusters in any
way: no random effect is supposed. They answer the same question as the mixed model with fewer
assumptions and less power. Their numbers come from sums over clusters (`association.cluster_sums`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.inference.association.cluster_sums import (
    MOST_CLUSTERS_ENUMERATED,
    TIE,
    ClusterSums,
    cr2_variances,
    every_sign,
    require_testable,
    variances,
    wild_statistics,
)
from analysis.mixed.algebra.crossproducts import cluster_products
from analysis.mixed.frames.tables import df_note
from analysis.mixed.inference.distributions import t_p_value, t_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.reading.units import require_unit
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import (
    Floats,
    generator,
    nearest,
    require_conf_level,
    require_count,
    require_option,
)

COVARIANCES = ("CR0", "CR1", "CR2", "CR3")


def cluster_robust(
    model: Fitted, cluster: str, *, covariance: str = "CR2", conf_level: float = 0.95
) -> pd.DataFrame:
    """Return one row per fixed term: least squares with cluster-robust standard errors.

    Error, test and interval are missing for a term that one cluster alone determines: no
    comparison of clusters shows its variance, whichever the covariance.

    Parameters
    ----------
    model
        A fit, for its fixed design and statistics; its random effects are not used.
    cluster
        A factor of the statistics, such as the lab.
    covariance
        ``CR2`` with Satterthwaite degrees of freedom; ``CR0``, ``CR1`` (with Stata's
        correction, CR1S in clubSandwich) or ``CR3`` with t(G - 1).
    conf_level
        Nominal coverage.

    Raises
    ------
    DesignError
        If the cluster is unknown or has one level.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> table = mixed.cluster_robust(fitted, "firm").set_index("term")
    >>> table.loc["value", ["estimate", "std_error"]].astype(float).round(3).tolist()
    [0.141, 0.016]
    """
    require_option("covariance", covariance, COVARIANCES)
    require_conf_level(conf_level)
    sums = cluster_sums(model, cluster)
    variance, df = cr2_variances(sums)
    if covariance != "CR2":
        testable = np.isfinite(variance)
        variance = np.where(testable, variances(sums, covariance), np.nan)
        df = np.where(testable, len(sums.scores) - 1.0, np.nan)
    std_error = np.sqrt(variance)
    statistic = sums.coefficients / std_error
    reach = t_quantile((1 + conf_level) / 2, df) * std_error
    name = "Satterthwaite t" if covariance == "CR2" else "t(G - 1)"
    result = pd.DataFrame(
        {
            "term": model.terms,
            "estimate": sums.coefficients,
            "std_error": std_error,
            "statistic": statistic,
            "df": df,
            "p_value": t_p_value(statistic, df),
            "conf_low": sums.coefficients - reach,
            "conf_high": sums.coefficients + reach,
            "conf_level": conf_level,
            "n_obs": sums.n_obs,
            "n_groups": len(sums.scores),
            "method": f"Least squares; {covariance} standard errors by {cluster}; {name}",
            "note": [
                _untestable(error) or " ".join(df_note(each))
                for error, each in zip(std_error, df, strict=True)
            ],
        }
    )
    glossary.checked(result.columns)
    return result


def wild_cluster_bootstrap(
    model: Fitted,
    term: str,
    cluster: str,
    *,
    rng: np.random.Generator | None = None,
    n_resamples: int = 9999,
) -> pd.DataFrame:
    """Return the wild cluster bootstrap p-value of one fixed term, the null imposed.

    Cameron, Gelbach and Miller (2008), Review of Economics and Statistics 90, 414 (WCR):
    residuals under the null get one random sign per cluster, and |t| with CR1 is compared.
    Up to twelve clusters all 2^G sign vectors are used, beyond `n_resamples` are drawn.

    Returns
    -------
    One row: `term`, `estimate`, `statistic`, `p_value`, `smallest_p`, `n_resamples` (sign vectors),
    `n_groups`, `n_obs`.

    Raises
    ------
    AnalysisError
        If `rng` is needed and is no generator.
    DesignError
        If the term or the cluster is unknown, or one cluster alone determines the term.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> mixed.wild_cluster_bootstrap(fitted, "value", "firm")["p_value"].round(3).item()
    0.012
    """
    if term not in model.terms:
        raise DesignError(
            f"The term tested must be a fixed effect; {term!r} is none, the nearest is "
            f"{nearest(term, model.terms)!r}.",
            f"The model has: {', '.join(model.terms)}.",
        )
    sums = cluster_sums(model, cluster)
    require_testable(sums, model.terms.index(term), term)
    n_clusters = len(sums.scores)
    signs = _signs(n_clusters, rng, n_resamples)
    direction = sums.to_terms[model.terms.index(term)]
    estimate = float(sums.coefficients[model.terms.index(term)])
    observed = estimate / np.sqrt(sums.correction * float(((sums.scores @ direction) ** 2).sum()))
    drawn = np.abs(wild_statistics(sums, direction, estimate, signs))
    reached = drawn >= abs(observed) * (1 - TIE)
    enumerated = n_clusters <= MOST_CLUSTERS_ENUMERATED
    result = pd.DataFrame(
        {
            "term": [term],
            "estimate": [estimate],
            "statistic": [observed],
            "p_value": [reached.mean() if enumerated else (reached.sum() + 1) / (len(signs) + 1)],
            # A sign vector and its opposite give the same |t|.
            "smallest_p": [2 / len(signs) if enumerated else 1 / (len(signs) + 1)],
            "n_resamples": [len(signs)],
            "n_groups": [n_clusters],
            "n_obs": [sums.n_obs],
            "method": [
                f"Wild cluster bootstrap by {cluster}, null imposed, "
                f"{'all' if enumerated else 'drawn'} Rademacher signs"
            ],
            "note": [""],
        }
    )
    glossary.checked(result.columns)
    return result


def cluster_sums(model: Fitted, cluster: str) -> ClusterSums:
    """Return the least-squares fit of the fixed part by clusters.

    Raises
    ------
    DesignError
        If the cluster is unknown or has one level.
    """
    require_unit(model.statistics, cluster)
    known = model.statistics.factors[cluster]
    products = cluster_products(
        model.statistics, model.design, known.codes, len(known.levels), response=model.response
    )
    squares, across = products[:, :-1, :-1], products[:, :-1, -1]
    root = np.linalg.inv(np.linalg.cholesky(squares.sum(axis=0))).T
    coefficients = root @ root.T @ across.sum(axis=0)
    scores = across - squares @ coefficients
    cross = model.cross
    return ClusterSums(
        squares=root.T @ squares @ root,
        scores=scores @ root,
        to_terms=cross.centring @ root,
        coefficients=cross.centring @ coefficients + cross.shift,
        n_obs=model.statistics.n_obs,
    )


def _untestable(std_error: float) -> str:
    if np.isfinite(std_error):
        return ""
    return "One cluster alone determines this term, wholly or in part: it cannot be tested."


def _signs(n_clusters: int, rng: np.random.Generator | None, n_resamples: int) -> Floats:
    if n_clusters <= MOST_CLUSTERS_ENUMERATED:
        return every_sign(n_clusters)
    rng = generator(rng, f"2^{n_clusters} sign vectors are too many to enumerate")
    require_count("n_resamples", n_resamples)
    return rng.choice((-1.0, 1.0), size=(n_resamples, n_clusters))

"""Cluster-robust tests of the fixed part by least squares, and the wild cluster bootstrap.

The estimates are those of least squares, whose errors may be dependent within clusters in any
way: no random effect is supposed. They answer the same question as the mixed model with fewer
assumptions and less power. CR0 to CR3 as in R's clubSandwich (Pustejovsky and Tipton 2018,
Journal of Business & Economic Statistics 36, 672): with G_g = X_g'X_g, M = (X'X)^-1 and the
score s_g of a cluster, CR2 uses (I - G_g M)^(-1/2) s_g and CR3 uses (I - G_g M)^-1 s_g, so
that sums over clusters suffice.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis import glossary
from analysis.errors import DesignError
from analysis.frame import Floats, nearest, require_conf_level, require_count, require_option
from analysis.mixed.crossproducts import cluster_products
from analysis.mixed.distributions import t_p_value, t_quantile
from analysis.mixed.units import require_unit
from analysis.sandwich import DETERMINED, satterthwaite_df

if TYPE_CHECKING:
    from analysis.mixed.model import MixedModel

COVARIANCES = ("CR0", "CR1", "CR2", "CR3")

#: CR2's expected share below which comparing clusters does not show a coefficient's variance.
TESTABLE = 1 - 1e-6

#: Up to this many clusters every sign vector of the wild bootstrap is used.
MOST_CLUSTERS_ENUMERATED = 12

#: Statistics closer than this, relatively, are tied.
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Least squares by clusters, in orthonormal coordinates.

    Attributes
    ----------
    squares
        Q_g'Q_g with X = QR, shape (G, p, p).
    scores
        Q_g'(y_g - X_g b), shape (G, p).
    to_terms
        R^-1, mapped to the formula's coefficients, shape (p, p).
    coefficients
        Least-squares estimates, shape (p,).
    n_obs
        Rows.
    """

    squares: Floats
    scores: Floats
    to_terms: Floats
    coefficients: Floats
    n_obs: int

    @property
    def correction(self) -> float:
        """G / (G - 1) (n - 1) / (n - p), Stata's."""
        clusters, terms = self.scores.shape
        return float(clusters / (clusters - 1) * (self.n_obs - 1) / (self.n_obs - terms))


def cluster_robust(
    model: MixedModel, cluster: str, *, covariance: str = "CR2", conf_level: float = 0.95
) -> pd.DataFrame:
    """Return one row per fixed term: least squares with cluster-robust standard errors.

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
    """
    require_option("covariance", covariance, COVARIANCES)
    require_conf_level(conf_level)
    sums = cluster_sums(model, cluster)
    if covariance == "CR2":
        variance, df = _cr2(sums)
    else:
        variance = _sandwich(sums, covariance)
        df = np.full(len(sums.coefficients), len(sums.scores) - 1.0)
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
            "note": [_untestable(each) for each in std_error],
        }
    )
    glossary.checked(result.columns)
    return result


def wild_cluster_bootstrap(
    model: MixedModel,
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
    DesignError
        If the term or the cluster is unknown, or `rng` is needed and absent.
    """
    if term not in model.terms:
        raise DesignError(
            f"The term tested must be a fixed effect; {term!r} is none, the nearest is "
            f"{nearest(term, model.terms)!r}.",
            f"The model has: {', '.join(model.terms)}.",
        )
    sums = cluster_sums(model, cluster)
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


def cluster_sums(model: MixedModel, cluster: str) -> ClusterSums:
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


def _sandwich(sums: ClusterSums, covariance: str) -> Floats:
    """Return the variances of the coefficients by CR0, CR1 or CR3."""
    scores = sums.scores
    if covariance == "CR3":
        remaining = np.eye(scores.shape[1]) - sums.squares
        inverse = np.linalg.pinv(remaining, rcond=DETERMINED, hermitian=True)
        scores = np.einsum("gab,gb->ga", inverse, scores)
    correction = sums.correction if covariance == "CR1" else 1.0
    result: Floats = correction * ((scores @ sums.to_terms.T) ** 2).sum(axis=0)
    return result


def _cr2(sums: ClusterSums) -> tuple[Floats, Floats]:
    """Return variances and Satterthwaite degrees of freedom, missing where one cluster decides."""
    values, vectors = np.linalg.eigh(sums.squares)
    values = np.clip(values, 0.0, 1.0)
    free = 1 - values > DETERMINED
    roots = np.where(free, (1 - np.where(free, values, 0.0)) ** -0.5, 0.0)
    adjusted = np.einsum("gab,gb,gcb,gc->ga", vectors, roots, vectors, sums.scores)
    inner = (vectors * (values * roots)[:, None, :]) @ vectors.transpose(0, 2, 1)
    outer = (vectors * (values * roots**2)[:, None, :]) @ vectors.transpose(0, 2, 1)
    weights = sums.to_terms.T
    df, expected = satterthwaite_df(weights, inner, outer)
    testable = expected / (weights**2).sum(axis=0) > TESTABLE
    variance = ((adjusted @ weights) ** 2).sum(axis=0)
    return np.where(testable, variance, np.nan), np.where(testable, df, np.nan)


def _untestable(std_error: float) -> str:
    if np.isfinite(std_error):
        return ""
    return "One cluster alone determines this term, wholly or in part: it cannot be tested."


def _signs(n_clusters: int, rng: np.random.Generator | None, n_resamples: int) -> Floats:
    if n_clusters <= MOST_CLUSTERS_ENUMERATED:
        return np.array(list(itertools.product((-1.0, 1.0), repeat=n_clusters)))
    if rng is None:
        raise DesignError(
            f"2^{n_clusters} sign vectors are too many to enumerate; `rng` must be given.",
            "Pass rng=numpy.random.default_rng(seed).",
        )
    require_count("n_resamples", n_resamples)
    return rng.choice((-1.0, 1.0), size=(n_resamples, n_clusters))


def wild_statistics(sums: ClusterSums, direction: Floats, estimate: float, signs: Floats) -> Floats:
    """Return the CR1 t of every weighting of clusters, the null imposed, shape (S,).

    In orthonormal coordinates the coefficients under the null are those of least squares
    less direction * estimate / direction'direction.

    Parameters
    ----------
    sums
        Least squares by clusters.
    direction
        Row of `sums.to_terms` of the term tested, shape (p,).
    estimate
        Estimate of the term less its value under the null.
    signs
        Weights, one row per draw, shape (S, G).
    """
    moved = direction * (estimate / float(direction @ direction))
    null_scores = sums.scores + sums.squares @ moved
    shifts = signs @ null_scores
    residual_scores = signs[:, :, None] * null_scores - np.einsum(
        "gab,sb->sga", sums.squares, shifts
    )
    variance = sums.correction * ((residual_scores @ direction) ** 2).sum(axis=1)
    found: Floats = (shifts @ direction) / np.sqrt(variance)
    return found

"""Least squares by clusters from sums: cluster-robust variances and wild-bootstrap statistics.

CR0 to CR3 as in R's clubSandwich (Pustejovsky and Tipton 2018, Journal of Business & Economic
Statistics 36, 672): with G_g = X_g'X_g, M = (X'X)^-1 and the score s_g of a cluster, CR2 uses
(I - G_g M)^(-1/2) s_g and CR3 uses (I - G_g M)^-1 s_g, so that sums over clusters suffice.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import cluster_sums
>>> sorted(name for name in cluster_sums.__dict__ if name == "variances")
['variances']
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from analysis.inference.association.sandwich import DETERMINED, satterthwaite_df
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

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


def variances(sums: ClusterSums, covariance: str) -> Floats:
    """Return the variances of the coefficients by CR0, CR1 or CR3, shape (p,)."""
    scores = sums.scores
    if covariance == "CR3":
        remaining = np.eye(scores.shape[1]) - sums.squares
        inverse = np.linalg.pinv(remaining, rcond=DETERMINED, hermitian=True)
        scores = np.einsum("gab,gb->ga", inverse, scores)
    correction = sums.correction if covariance == "CR1" else 1.0
    result: Floats = correction * ((scores @ sums.to_terms.T) ** 2).sum(axis=0)
    return result


def cr2_variances(sums: ClusterSums) -> tuple[Floats, Floats]:
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


def require_testable(sums: ClusterSums, place: int, term: str) -> None:
    """Raise DesignError where one cluster alone determines a coefficient.

    Its own score is zero whatever its rows are, so that other clusters' residuals, or rounding,
    would stand for its error: neither a sandwich nor signs of clusters can test it.
    """
    if np.isnan(cr2_variances(sums)[0][place]):
        raise DesignError(
            f"Several clusters must determine {term!r} for it to be tested; one alone determines "
            "it, wholly or in part.",
            "Take smaller clusters, or drop the test.",
        )


def every_sign(n_clusters: int) -> Floats:
    """Return all sign vectors of the clusters, shape (2^G, G)."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n_clusters)))


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

"""Sandwich covariance of least squares when rows of one cluster are not independent.

CR2 with Satterthwaite degrees of freedom is Bell and McCaffrey
(2002), Survey Methodology 28, in the notation of Pustejovsky and Tipton (2018), Journal of
Business & Economic Statistics 36: unbiased when the errors are in truth independent, and
with degrees of freedom that fall when few clusters carry a coefficient.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import sandwich
>>> x = np.column_stack([np.ones(6), np.arange(6.0)])
>>> residuals, clusters = np.array([1.0, -1, 1, -1, 1, -1]), np.array([0, 0, 1, 1, 2, 2])
>>> sandwich.cr2(x, residuals, clusters).covariance.shape
(2, 2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.tidy.frame import Floats, Integers, rows_by_group

#: One minus a squared singular value below this is zero: the cluster determines a direction.
DETERMINED = 1e-10


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Covariance of p coefficients with what the t test of each needs."""

    covariance: Floats  #: Shape (p, p).
    df: Floats  #: Degrees of freedom of each coefficient's t distribution, shape (p,).
    #: Expectation of the CR2 variance over the true one when errors are independent, shape (p,): 1,
    #: or less when one cluster alone determines part of a coefficient, whose variance no comparison
    #: of clusters can then show.
    expected_share: Floats


def cr2(design: Floats, residuals: Floats, clusters: Integers) -> Sandwich:
    """Return the CR2 covariance with Satterthwaite degrees of freedom.

    With X = QR and Q_g = U S V' in cluster g, the adjustment (I - Q_g Q_g')^(-1/2) acts on Q_g
    as U S (1 - S^2)^(-1/2) V'; directions with S = 1 are dropped (Moore-Penrose inverse).

    Parameters
    ----------
    design
        Full-rank design matrix, shape (n, p).
    residuals
        Least-squares residuals, shape (n,).
    clusters
        Cluster code 0..G-1 of every row, shape (n,).
    """
    orthogonal, triangular = np.linalg.qr(design)
    weights = np.linalg.inv(triangular).T
    scores, inner, outer = [], [], []
    for rows in rows_by_group(clusters):
        left, singular, right = np.linalg.svd(orthogonal[rows], full_matrices=False)
        outside = 1 - singular**2
        adjustment = np.zeros_like(outside)
        positive = outside > DETERMINED
        adjustment[positive] = outside[positive] ** -0.5
        adjusted = left * (singular * adjustment) @ right
        scores.append(adjusted.T @ residuals[rows])
        inner.append((right.T * (singular**2 * adjustment)) @ right)
        outer.append((right.T * (singular * adjustment) ** 2) @ right)
    meat = np.array(scores).T @ np.array(scores)
    covariance = weights.T @ meat @ weights
    df, expected = _satterthwaite_df(weights, np.array(inner), np.array(outer))
    return Sandwich(covariance, df, expected / (weights**2).sum(axis=0))


def _satterthwaite_df(weights: Floats, inner: Floats, outer: Floats) -> tuple[Floats, Floats]:
    """Return degrees of freedom and expectation of each variance estimate under unit variance.

    The estimate is a quadratic form whose matrix over clusters is P; its degrees of freedom
    are tr(P)^2 / tr(PP). P is a diagonal less M M', whose squares are summed by M'M, so that
    it is never formed. `weights` holds one column per coefficient, shape (p, p); `inner` and
    `outer` are (G, p, p).
    """
    df, expected = [], []
    for weight in weights.T:
        projected = inner @ weight
        lengths = (projected**2).sum(axis=1)
        diagonal = outer @ weight @ weight - lengths
        between = float(((projected.T @ projected) ** 2).sum() - (lengths**2).sum())
        trace, square = float(diagonal.sum()), float((diagonal**2).sum()) + max(between, 0.0)
        df.append(trace**2 / square if square > 0 else np.nan)
        expected.append(trace)
    return np.array(df), np.array(expected)

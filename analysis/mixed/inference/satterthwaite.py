"""Degrees of freedom by Satterthwaite's method, as in R's lmerTest.

Kuznetsova, Brockhoff and Christensen (2017), Journal of Statistical Software 82(13): for a
contrast l, df = 2 (l'Cl)^2 / (g'Ag), where C is the covariance of the fixed effects, g the
gradient of l'Cl by (theta, log sigma) and A their asymptotic covariance, twice the inverse Hessian
of the deviance. For several contrasts F has the df of Fai and Cornelius (1996).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.descent import hessian_by_differences
from analysis.mixed.algebra.deviance import Profile, profile, relative_factors
from analysis.mixed.algebra.estimates import Information
from analysis.mixed.algebra.optimise import natural_scale
from analysis.tidy.frame import Floats

#: Curvatures of the deviance below this show no variance parameter (lmerTest's tolerance).
FLAT = 1e-8


@dataclass(frozen=True, slots=True)
class Satterthwaite:
    """What the degrees of freedom of any contrast follow from."""

    covariance: Floats  #: Covariance of the fixed effects, shape (p, p).
    derivatives: Floats  #: Its derivatives by theta and log sigma, shape (m, p, p).
    uncertainty: Floats  #: Asymptotic covariance of theta and log sigma, shape (m, m).

    def df(self, contrast: Floats) -> float:
        """Return the degrees of freedom of one contrast, shape (p,)."""
        gradient = np.einsum("a,jab,b->j", contrast, self.derivatives, contrast)
        variance = contrast @ self.covariance @ contrast
        return float(self.df_of(variance[None], gradient[None])[0])

    def df_of(self, variances: Floats, gradients: Floats) -> Floats:
        """Return the degrees of freedom of n estimated variances, shape (n,).

        Gradients are their derivatives by theta and log sigma, shape (n, m).
        """
        spread = np.einsum("nj,jk,nk->n", gradients, self.uncertainty, gradients)
        moved = spread > 0
        df = np.full(len(variances), np.inf)
        df[moved] = 2 * variances[moved] ** 2 / spread[moved]
        return df

    def df_joint(self, contrasts: Floats) -> float:
        """Return the denominator degrees of freedom of a joint F test, contrasts (q, p)."""
        values, vectors = np.linalg.eigh(contrasts @ self.covariance @ contrasts.T)
        usable = values > np.finfo(np.float64).eps * values.max() * len(values)
        each = np.array([self.df(row) for row in vectors[:, usable].T @ contrasts])
        if len(each) == 1 or np.ptp(each) < FLAT:
            return float(each.mean())
        if (each <= 2).any():
            return 2.0
        expectation = float((each / (each - 2)).sum()) if np.isfinite(each).all() else np.nan
        return 2 * expectation / (expectation - len(each))


def satterthwaite(
    cross: CrossProducts, solution: Profile, products: Information, *, reml: bool
) -> Satterthwaite:
    """Return the covariance of the fixed effects with its uncertainty."""
    inner = np.linalg.inv(products.fixed)
    derivatives = [
        solution.variance * inner @ each @ inner
        for each in _information_derivatives(products, solution.theta)
    ]
    derivatives.append(2 * solution.variance * inner)
    scale = natural_scale(cross)
    by_unit = np.array(derivatives)
    by_unit[:-1] /= scale[:, None, None]
    centring = cross.centring
    return Satterthwaite(
        covariance=solution.variance * centring @ inner @ centring.T,
        derivatives=centring @ by_unit @ centring.T,
        uncertainty=_uncertainty(
            deviance_hessian(cross, solution, scale, reml),
            np.append(np.maximum(1.0, np.abs(solution.theta * scale)), 1.0),
        ),
    )


def _information_derivatives(products: Information, theta: Floats) -> list[Floats]:
    """Return -d(X'H^-1 X) by every element of theta: X'H^-1 Z (dLL' + LdL') Z'H^-1 X."""
    derivatives = []
    for place, (block, factor) in enumerate(
        zip(products.blocks, relative_factors(products.blocks, theta), strict=True)
    ):
        towards = products.fixed_products(place)
        scaled = factor.T @ towards
        for row, column in block.positions:
            half = towards[:, row].T @ scaled[:, column]
            derivatives.append(half + half.T)
    return derivatives


def deviance_hessian(cross: CrossProducts, solution: Profile, scale: Floats, reml: bool) -> Floats:
    """Return the Hessian of the deviance by theta, in units of `scale`, and log sigma.

    With sigma held the deviance is log-determinants + d log(2 pi sigma^2) + r^2 / sigma^2. By the
    logarithm its curvature has no unit: one that shows sigma in volts shows it in microvolts.
    """

    def gradient(at: Floats, variance: float) -> Floats:
        return profile(cross, at / scale, reml=reml, variance=variance).gradient / scale

    at, variance = solution.theta * scale, solution.variance
    size = len(at)
    hessian = np.empty((size + 1, size + 1))
    hessian[:size, :size] = hessian_by_differences(lambda each: gradient(each, variance), at)
    # Only r^2 / sigma^2 depends on sigma and theta, so two variances show the slope of r^2.
    residual_slope = 2 * variance * (gradient(at, variance) - gradient(at, 2 * variance))
    hessian[:size, size] = hessian[size, :size] = -2 * residual_slope / variance
    hessian[size, size] = 4 * solution.residual / variance
    return hessian


def _uncertainty(hessian: Floats, units: Floats) -> Floats:
    """Return twice the inverse Hessian, over the directions that are not flat.

    Flat is judged by the relative change of each large theta: where groups deviate 100,000 times
    as much as residuals, the curvature by theta itself is below any tolerance, and not flat.
    """
    values, vectors = np.linalg.eigh(hessian * np.outer(units, units))
    usable, inward = values > FLAT, vectors * units[:, None]
    return np.asarray(2 * (inward[:, usable] / values[usable]) @ inward[:, usable].T)

"""Kenward and Roger's covariance and degrees of freedom, as in R's pbkrtest.

Kenward and Roger (1997), Biometrics 53, 983; Halekoh and Hojsgaard (2014), Journal of
Statistical Software 59(9), section 5. V = sum of phi_r G_r, where phi are the elements of the
random effects' covariances and the residual variance. With P_r = -X'V^-1 G_r V^-1 X and
Q_rs = X'V^-1 G_r V^-1 G_s V^-1 X, Phi = (X'V^-1 X)^-1 and W the covariance of phi,

    adjusted Phi = Phi + 2 Phi [sum of W_rs (Q_rs - P_r Phi P_s)] Phi.

Everything here is relative to the residual variance (H = V / sigma^2, psi = phi / sigma^2).
The terms of the residual need no matrix over rows: H = I + sum of psi_r G_r, hence
H^-2 = H^-1 - sum of psi_r H^-1 G_r H^-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import Profile, relative_factors
from analysis.mixed.algebra.estimates import Information
from analysis.mixed.algebra.optimise import natural_scale
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: The information on a variance must exceed its rounding error as many times.
ACCURATE = 100

#: Terms of the degrees of freedom below this are zero but for rounding.
ZERO = 1e-14


@dataclass(frozen=True, slots=True)
class KenwardRoger:
    """What the test of any contrast follows from."""

    covariance: Floats  #: Unadjusted covariance of the fixed effects, shape (p, p).
    adjusted: Floats  #: Adjusted covariance, shape (p, p).
    slopes: Floats  #: Phi P_r Phi for every covariance parameter, shape (m, p, p).
    uncertainty: Floats  #: W, the covariance of the covariance parameters, shape (m, m).

    def df(self, contrast: Floats) -> float:
        """Return the degrees of freedom of one contrast, shape (p,)."""
        return self.joint(contrast[None, :])[0]

    def joint(self, contrasts: Floats) -> tuple[float, float]:
        """Return denominator df and scale of the F statistic of contrasts, shape (q, p).

        The F statistic uses the adjusted covariance and is multiplied by the scale.
        """
        first, second = self._moments(contrasts)
        q = len(contrasts)
        if second == 0:
            return np.inf, 1.0  # no covariance parameter moves the variance of the contrasts
        combined = (first + 6 * second) / (2 * q)
        g = ((q + 1) * first - (q + 4) * second) / ((q + 2) * second)
        divisor = 3 * q + 2 * (1 - g)
        numerator = 1 + g / divisor * combined
        middle = 1 - (q - g) / divisor * combined
        last = 1 - (q + 2 - g) / divisor * combined
        # Both are zero at two degrees of freedom; their ratio is one, as in pbkrtest.
        near = abs(middle) < ZERO and abs(1 - second / q) < ZERO
        ratio = 1.0 if near else (1 - second / q) / middle
        excess = ratio**2 * numerator - last
        if excess == 0:
            return np.inf, 1.0
        # pbkrtest divides by `last`, which is zero at four degrees of freedom.
        df = float(4 + (q + 2) * last / excess)
        scale = 1.0 if abs(df - 2) < 0.01 else df * (1 - second / q) / (df - 2)
        return df, float(scale)

    def _moments(self, contrasts: Floats) -> tuple[float, float]:
        """Return A1 and A2 of Kenward and Roger (1997)."""
        theta = contrasts.T @ np.linalg.solve(contrasts @ self.covariance @ contrasts.T, contrasts)
        through = theta @ self.slopes
        traces = np.einsum("jaa->j", through)
        first = float(traces @ self.uncertainty @ traces)
        pairs = np.einsum("iab,jba->ij", through, through)
        return first, float((self.uncertainty * pairs).sum())


@dataclass(frozen=True, slots=True)
class _Orders:
    """X'H^-1 G_r H^-1 X, X'H^-1 G_r H^-1 G_s H^-1 X and tr(H^-1 G_r H^-1 G_s)."""

    firsts: Floats
    seconds: Floats
    traces: Floats


def kenward_roger(cross: CrossProducts, solution: Profile, products: Information) -> KenwardRoger:
    """Return the adjusted covariance of the fixed effects, from a REML fit."""
    psi = [factor @ factor.T for factor in relative_factors(products.blocks, solution.theta)]
    parameters = np.array([psi[place][row, column] for place, row, column in _parameters(products)])
    orders = _append_residual(cross, products, parameters)
    inner = np.linalg.inv(products.fixed)
    slopes = -inner @ orders.firsts @ inner
    expected = (
        orders.traces
        - 2 * np.einsum("ab,rsba->rs", inner, orders.seconds)
        - np.einsum("rab,sba->rs", slopes, orders.firsts)
    )
    largest = float(np.max(np.abs(solution.theta) * natural_scale(cross), initial=0.0))
    _require_information(expected, orders.traces, largest)
    # In units of each parameter, so that a slope per billion has a variance like any other.
    units = 1 / np.sqrt(np.diag(expected))
    scaled = expected * np.outer(units, units)
    uncertainty = 2 * np.linalg.pinv(scaled, hermitian=True) * np.outer(units, units)
    excess = inner @ orders.seconds @ inner
    excess -= (slopes @ products.fixed)[:, None] @ slopes
    adjusted = inner + 2 * np.einsum("rs,rsab->ab", uncertainty, excess)
    centring = cross.centring
    # phi = sigma^2 psi and Phi = sigma^2 inner: the powers of sigma^2 cancel in slopes and W.
    return KenwardRoger(
        covariance=solution.variance * centring @ inner @ centring.T,
        adjusted=solution.variance * centring @ adjusted @ centring.T,
        slopes=solution.variance * centring @ slopes @ centring.T,
        uncertainty=uncertainty,
    )


def _require_information(expected: Floats, traces: Floats, largest: float) -> None:
    """Refuse variances of which the information is lost in rounding.

    Products with H^-1 lose digits as the largest relative deviation squared, their products as
    its fourth power: a residual variance that is nothing beside the groups' has no digit left.
    """
    left, lost = np.diag(expected), np.finfo(np.float64).eps * (1 + largest) ** 4
    if not (np.isfinite(expected).all() and (left > ACCURATE * lost * np.diag(traces)).all()):
        raise DesignError(
            "Kenward and Roger's test must know how uncertain each variance is; it does not. The "
            f"fit is so close that groups deviate {largest:.3g} times as much as residuals.",
            "Use fewer terms or groups.",
        )


def _parameters(products: Information) -> list[tuple[int, int, int]]:
    """Return block, row and column of every element of the random effects' covariances."""
    return [
        (place, row, column)
        for place, block in enumerate(products.blocks)
        for row, column in block.positions
    ]


def _sides(row: int, column: int) -> list[tuple[int, int]]:
    """Return the elements of the symmetric unit matrix E of a parameter."""
    return [(row, column)] if row == column else [(row, column), (column, row)]


def _first_order(products: Information, place: int, row: int, column: int) -> Floats:
    """Return X'H^-1 G H^-1 X of one parameter, shape (p, p)."""
    towards = products.fixed_products(place)
    return sum(
        (towards[:, i].T @ towards[:, j] for i, j in _sides(row, column)),
        np.zeros_like(products.fixed),
    )


def _effect_products(products: Information, first: int, i: int, second: int, j: int) -> Floats:
    """Return Z'H^-1 Z between effect i of a block and effect j of another, over levels."""
    if first == 0 and second == 0:
        raise ValueError("Products within the first block are never formed.")
    if first == 0:
        across = products.first_later[:, i, products.rows(second)]
        return across[:, j :: products.blocks[second].width]
    if second == 0:
        return _effect_products(products, second, j, first, i).T
    rows, columns = products.rows(first), products.rows(second)
    width, other = products.blocks[first].width, products.blocks[second].width
    return products.later[rows, columns][i::width, j::other]


def _second_orders(products: Information, parameters: list[tuple[int, int, int]]) -> Floats:
    """Return X'H^-1 G_r H^-1 G_s H^-1 X of every pair, shape (m, m, p, p)."""
    m, p = len(parameters), len(products.fixed)
    result = np.zeros((m, m, p, p))
    for r, (first, row, column) in enumerate(parameters):
        for s, (second, other_row, other_column) in enumerate(parameters):
            left, right = products.fixed_products(first), products.fixed_products(second)
            for a, b in _sides(row, column):
                for c, d in _sides(other_row, other_column):
                    ends = left[:, a], right[:, d]
                    result[r, s] += _bilinear(products, (first, b), (second, c), ends)
    return result


def _bilinear(
    products: Information,
    first: tuple[int, int],
    second: tuple[int, int],
    ends: tuple[Floats, Floats],
) -> Floats:
    """Return left' S right, S = Z'H^-1 Z between two (block, effect), ends over levels (L, p)."""
    left, right = ends
    if first[0] or second[0]:
        return left.T @ _effect_products(products, *first, *second) @ right
    i, j = first[1], second[1]
    local = (left * products.within[:, i, j][:, None]).T @ right
    there, back = left.T @ products.outward[:, i], right.T @ products.outward[:, j]
    return local - there @ products.kernel @ back.T


def _traces(products: Information, parameters: list[tuple[int, int, int]]) -> Floats:
    """Return tr(H^-1 G_r H^-1 G_s) of every pair, shape (m, m)."""
    m = len(parameters)
    result = np.zeros((m, m))
    for r, (first, row, column) in enumerate(parameters):
        for s, (second, other_row, other_column) in enumerate(parameters[: r + 1]):
            total = 0.0
            for a, b in _sides(row, column):
                for c, d in _sides(other_row, other_column):
                    total += _trace(products, first, second, (b, c), (d, a))
            result[r, s] = result[s, r] = total
    return result


def _trace(
    products: Information, first: int, second: int, there: tuple[int, int], back: tuple[int, int]
) -> float:
    """Return tr(S_bc S_da), S = Z'H^-1 Z from the first to the second block and back."""
    (b, c), (d, a) = there, back
    if first or second:
        forward = _effect_products(products, first, b, second, c)
        backward = _effect_products(products, second, d, first, a)
        return float((forward * backward.T).sum())
    outward, kernel = products.outward, products.kernel
    local = products.within[:, b, c] @ products.within[:, d, a]
    spread = outward @ kernel
    crossed = (spread[:, b] * outward[:, c]).sum(axis=1) @ products.within[:, d, a]
    crossed += (spread[:, d] * outward[:, a]).sum(axis=1) @ products.within[:, b, c]
    one = outward[:, c].T @ outward[:, d]
    other = outward[:, a].T @ outward[:, b]
    return float(local - crossed + ((kernel @ one) * (kernel @ other).T).sum())


def _append_residual(cross: CrossProducts, products: Information, psi: Floats) -> _Orders:
    """Return all orders, the residual variance as the last parameter."""
    parameters = _parameters(products)
    m, p = len(psi), len(products.fixed)
    firsts = np.zeros((m + 1, p, p))
    firsts[:m] = [_first_order(products, *each) for each in parameters]
    firsts[m] = products.fixed - np.einsum("r,rab->ab", psi, firsts[:m])
    seconds = np.zeros((m + 1, m + 1, p, p))
    seconds[:m, :m] = _second_orders(products, parameters)
    for r in range(m):
        seconds[r, m] = firsts[r] - np.einsum("s,sab->ab", psi, seconds[r, :m])
        seconds[m, r] = seconds[r, m].T
    seconds[m, m] = firsts[m] - np.einsum("r,rab->ab", psi, seconds[:m, m])
    traces = np.zeros((m + 1, m + 1))
    traces[:m, :m] = _traces(products, parameters)
    plain = np.array([_plain_trace(products, *each) for each in parameters])
    traces[:m, m] = traces[m, :m] = plain - traces[:m, :m] @ psi
    traces[m, m] = cross.n_obs - psi @ plain - psi @ traces[:m, m]
    return _Orders(firsts, seconds, traces)


def _plain_trace(products: Information, place: int, row: int, column: int) -> float:
    """Return tr(H^-1 G) of one parameter."""
    if place == 0:
        spread = products.outward @ products.kernel
        diagonal = products.within[:, row, column].sum()
        diagonal -= (spread[:, row] * products.outward[:, column]).sum()
    else:
        diagonal = np.trace(_effect_products(products, place, row, place, column))
    return float(diagonal) * (1 if row == column else 2)

"""L*: the layer at which a profile over depth turns, by every published estimator.

A profile is one number per block, 0 to L - 1. An estimator returns the block it names, or NaN
when a value of the profile is missing or infinite, and when the profile is too short or
constant: a block is never named by default (caveat B8). The published estimators disagree on
the same profile, so none is evidence by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from analysis.tidy.frame import Floats

Estimator = Callable[[ArrayLike], float]

#: Constants of the formula of section 5.3 and of the a priori curve of script 20.
SHARE, GROWTH, PER_HEAD, STEEPNESS = 0.11, 0.012, 4.9, 5.0


def argmax_interior_gradient(profile: ArrayLike) -> float:
    """Return the interior block where |x_{l+1} - x_{l-1}| / 2 is largest: the primary definition.

    The first of equals. The two ends, where the difference is one-sided, are left out.

    >>> argmax_interior_gradient([0, 0, 4, 4, 4])
    1.0
    """
    return float(steepest(np.atleast_2d(np.asarray(profile, dtype=np.float64)))[0])


def argmax_abs_gradient(profile: ArrayLike) -> float:
    """Return the block where |np.gradient| is largest, ends included (script 20).

    >>> argmax_abs_gradient([0, 3, 4, 4, 4])
    0.0
    """
    values = _usable(profile, at_least=2)
    return math.nan if values is None else float(np.argmax(np.abs(np.gradient(values))))


def argmax_abs_diff(profile: ArrayLike) -> float:
    """Return the block before the largest |x_{l+1} - x_l|.

    >>> argmax_abs_diff([0, 3, 4, 4, 4])
    0.0
    """
    values = _usable(profile, at_least=2)
    return math.nan if values is None else float(np.argmax(np.abs(np.diff(values))))


def first_sign_change(profile: ArrayLike) -> float:
    """Return the first block that is larger than both its neighbours (notebook 17).

    NaN when there is none. The notebook then falls back on other rules, which are no sign
    change; all values it published come from a sign change.

    >>> first_sign_change([0, 3, 1, 4, 1]), first_sign_change([1, 2, 3])
    (1.0, nan)
    """
    values = _usable(profile, at_least=3)
    if values is None:
        return math.nan
    steps = np.diff(values)
    peaks = np.flatnonzero((steps[:-1] > 0) & (steps[1:] < 0))
    return float(peaks[0] + 1) if len(peaks) else math.nan


def argmin_contraction(profile: ArrayLike) -> float:
    """Return the block where the profile is smallest, the first of equals (notebook 15).

    >>> argmin_contraction([3, 1, 2]), argmin_contraction([3, float("nan"), 2])
    (1.0, nan)
    """
    values = _usable(profile, at_least=2)
    return math.nan if values is None else float(np.argmin(values))


def argmax_gap(profile: ArrayLike) -> float:
    """Return the block where the profile is largest, the first of equals (script 19).

    >>> argmax_gap([3, 1, 2])
    0.0
    """
    values = _usable(profile, at_least=2)
    return math.nan if values is None else float(np.argmax(values))


#: Estimators that read a profile, by the name a table prints; the primary one first.
ESTIMATORS: MappingProxyType[str, Estimator] = MappingProxyType(
    {
        "argmax_interior_gradient": argmax_interior_gradient,
        "argmax_abs_gradient": argmax_abs_gradient,
        "argmax_abs_diff": argmax_abs_diff,
        "first_sign_change": first_sign_change,
        "argmin_contraction": argmin_contraction,
        "argmax_gap": argmax_gap,
    }
)


def formula(n_layers: float, n_heads: float) -> float:
    """Return L (0.11 + 0.012 L + 4.9 / H), the formula of section 5.3; no profile enters.

    >>> round(formula(12, 12), 3)
    7.948
    """
    return n_layers * (SHARE + GROWTH * n_layers + PER_HEAD / n_heads)


def a_priori(n_layers: float, gain: float) -> float:
    """Return (L / 2)(1 + tanh(5 (G - 1))) of script 20; ``gain`` is a model's gain [ratio].

    >>> round(a_priori(12, 1.157), 3)
    9.933
    """
    return n_layers / 2 * (1 + math.tanh(STEEPNESS * (gain - 1)))


def half_depth(n_layers: float) -> float:
    """Return L / 2, the theoretical value of notebook 18.

    >>> half_depth(12)
    6.0
    """
    return n_layers / 2


def sign_change_by_chance(layer: int) -> float:
    r"""Return the probability that `first_sign_change` names a layer of pure noise.

    Of the orders of l + 2 independent values, 2^{l+1} have no peak inside, so the first peak
    lies beyond layer l with probability 2^{l+1} / (l + 2)!. The mean is (e^2 - 3) / 2 = 2.19
    in an endless profile.

    >>> [round(sign_change_by_chance(layer), 2) for layer in (1, 2, 3, 4, 5)]
    [0.33, 0.33, 0.2, 0.09, 0.03]
    """
    if layer < 1:
        return 0.0
    return 2.0**layer / math.factorial(layer + 1) - 2.0 ** (layer + 1) / math.factorial(layer + 2)


def steepest(profiles: Floats) -> Floats:
    """Return the primary L* of each row of an array (profiles, layers), shape (profiles,).

    `argmax_interior_gradient` of many profiles at once.
    """
    n_profiles, n_layers = profiles.shape
    if n_layers < 3:
        return np.full(n_profiles, np.nan)
    with np.errstate(invalid="ignore"):
        slopes = np.abs(profiles[:, 2:] - profiles[:, :-2]) / 2
        is_usable = np.isfinite(profiles).all(axis=1) & (slopes.max(axis=1) > 0)
    return np.where(is_usable, np.argmax(slopes, axis=1) + 1.0, np.nan)


def _usable(profile: ArrayLike, *, at_least: int) -> Floats | None:
    """Return the values of a profile that an estimator may read, else None."""
    values = np.asarray(profile, dtype=np.float64)
    if len(values) < at_least or not np.isfinite(values).all() or np.ptp(values) == 0:
        return None
    return values

"""The descent finds the bottoms of functions whose bottoms are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, minimize, rosen, rosen_der

from analysis.mixed.algebra.quasi_newton import descend

FREE = np.full(2, -np.inf)


def valley(at: np.ndarray) -> tuple[float, np.ndarray]:
    """Return Rosenbrock's function, least at (1, 1)."""
    return float(rosen(at)), rosen_der(at)


def test_a_curved_valley_is_followed_to_its_end() -> None:
    found = descend(valley, np.array([-1.2, 1.0]), FREE, tolerance=1e-16, flat=1e-9)
    np.testing.assert_allclose(found, [1, 1], atol=1e-8)


def test_a_bound_stops_a_parameter_and_not_the_others() -> None:
    # With x at least 1.5 the valley's floor is y = x squared.
    low = np.array([1.5, -np.inf])
    found = descend(valley, np.array([3.0, 0.0]), low, tolerance=1e-16, flat=1e-9)
    np.testing.assert_allclose(found, [1.5, 2.25], atol=1e-8)


def test_a_parameter_that_is_not_free_stays() -> None:
    free = np.array([False, True])
    found = descend(valley, np.array([0.3, 5.0]), FREE, free=free, tolerance=1e-16, flat=1e-9)
    np.testing.assert_allclose(found, [0.3, 0.09], atol=1e-8)


def test_a_start_below_its_bound_is_put_on_it() -> None:
    found = descend(valley, np.array([-4.0, 0.0]), np.zeros(2), tolerance=1e-16, flat=1e-9)
    np.testing.assert_allclose(found, [1, 1], atol=1e-7)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 6))
def test_bounded_quadratics_have_the_bottom_that_scipy_finds(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    curve, centre = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)
    low = np.where(rng.random(size) < 0.5, 0.0, -np.inf)

    def quadratic(at: np.ndarray) -> tuple[float, np.ndarray]:
        slope = curve @ (at - centre)
        return float((at - centre) @ slope / 2), slope

    ours = descend(quadratic, np.ones(size), low, tolerance=1e-16, flat=1e-10)
    theirs = minimize(
        quadratic, np.ones(size), jac=True, method="L-BFGS-B", bounds=Bounds(low, np.inf)
    )
    assert (ours >= low).all()
    assert quadratic(ours)[0] <= theirs.fun + 1e-9


def test_at_the_bottom_nothing_moves() -> None:
    at = np.array([1.0, 1.0])
    np.testing.assert_array_equal(descend(valley, at, FREE), at)
    assert valley(at)[0] == pytest.approx(0)

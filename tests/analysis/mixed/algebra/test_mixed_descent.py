"""The descent finds the bottoms of functions whose bottoms are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from analysis.mixed.algebra.descent import descend


def valley(at: np.ndarray) -> tuple[float, np.ndarray]:
    """Return Rosenbrock's function, least at (1, 1)."""
    return float(rosen(at)), rosen_der(at)


def test_a_curved_valley_is_followed_to_its_end() -> None:
    found = descend(valley, np.array([-1.2, 1.0]), tolerance=1e-16, flat=1e-9)
    np.testing.assert_allclose(found, [1, 1], atol=1e-8)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 6))
def test_quadratics_have_the_bottom_that_scipy_finds(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    curve, centre = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)

    def quadratic(at: np.ndarray) -> tuple[float, np.ndarray]:
        slope = curve @ (at - centre)
        return float((at - centre) @ slope / 2), slope

    ours = descend(quadratic, np.ones(size), tolerance=1e-16, flat=1e-10)
    assert quadratic(ours)[0] <= minimize(quadratic, np.ones(size), jac=True).fun + 1e-9


def test_at_the_bottom_nothing_moves() -> None:
    at = np.array([1.0, 1.0])
    np.testing.assert_array_equal(descend(valley, at), at)
    assert valley(at)[0] == pytest.approx(0)

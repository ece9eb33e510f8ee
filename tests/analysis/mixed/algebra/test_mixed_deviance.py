"""The deviance is the normal likelihood, written out over rows; its gradient is its slope."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from analysis import mixed
from analysis.mixed.algebra.crossproducts import assemble
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.algebra.estimates import information
from analysis.mixed.algebra.levels import gather, separate
from analysis.mixed.inference.kenward_roger import kenward_roger
from analysis.mixed.inference.satterthwaite import satterthwaite
from analysis.tidy.errors import DesignError


def small(seed, n=60):
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 5, n), rng.integers(0, 4, n)
    x = rng.normal(size=n)
    y = 1 + 0.5 * x + rng.normal(size=5)[g] + rng.normal(size=4)[h] + rng.normal(size=n)
    labels = pd.DataFrame({"g": np.array(list("abcde"))[g], "h": np.array(list("pqrs"))[h]})
    return labels.assign(x=x, y=y)


FORMULA = "y ~ x + (1 + x | g) + (1 | h)"


def written_out(rows, theta):
    """Return X and H = Z Lambda Lambda' Z' + I over rows, for FORMULA."""
    factor = np.array([[theta[0], 0], [theta[1], theta[2]]])
    design = np.column_stack([np.ones(len(rows)), rows["x"]])
    same_g = rows["g"].to_numpy()[:, None] == rows["g"].to_numpy()
    same_h = rows["h"].to_numpy()[:, None] == rows["h"].to_numpy()
    relative = same_g * (design @ factor @ factor.T @ design.T) + same_h * theta[3] ** 2
    return design, relative + np.eye(len(rows))


@cache
def crossed_of(seed):
    return crossed(small(seed))


def crossed(rows):
    model = mixed.fit(FORMULA, rows)
    assert [block.group for block in model.design.blocks] == ["g", "h"]
    return model.cross


thetas = st.tuples(st.floats(0, 2), st.floats(-2, 2), st.floats(0, 2), st.floats(0, 2))


@settings(max_examples=20, deadline=None)
@given(theta=thetas, seed=st.integers(0, 5))
def test_the_deviance_is_the_normal_likelihood_over_rows(theta, seed):
    rows = small(seed)
    at = np.array(theta)
    result = profile(crossed_of(seed), at, reml=False)
    design, relative = written_out(rows, at)
    inverse = np.linalg.inv(relative)
    beta = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ rows["y"])
    residual = rows["y"] - design @ beta
    variance = residual @ inverse @ residual / len(rows)
    normal = multivariate_normal(design @ beta, variance * relative)
    assert result.variance == pytest.approx(variance, rel=1e-9)
    assert result.criterion == pytest.approx(-2 * normal.logpdf(rows["y"]), abs=1e-8)
    restricted = profile(crossed_of(seed), at).criterion
    n, p = design.shape
    moment = np.linalg.slogdet(design.T @ inverse @ design).logabsdet
    scale = residual @ inverse @ residual / (n - p)
    by_hand = (
        np.linalg.slogdet(relative).logabsdet + moment + (n - p) * (1 + np.log(2 * np.pi * scale))
    )
    assert restricted == pytest.approx(by_hand, abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(theta=thetas, seed=st.integers(0, 5), reml=st.booleans())
def test_the_gradient_is_the_slope_of_the_deviance(theta, seed, reml):
    cross, at = crossed_of(seed), np.array(theta)
    slopes = []
    for unit in np.eye(4) * 1e-5:
        ahead, behind = (profile(cross, at + step, reml=reml) for step in (unit, -unit))
        slopes.append((ahead.criterion - behind.criterion) / 2e-5)
    np.testing.assert_allclose(profile(cross, at, reml=reml).gradient, slopes, atol=2e-5, rtol=1e-6)


def test_classes_of_equal_levels_sum_to_the_levels_and_give_the_same_fit():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 4, 200).astype(float)
    cross = rng.normal(size=(200, 1, 5))
    apart = separate(sizes[:, None, None], cross)
    classes = gather(sizes[:, None, None], cross)
    assert classes.outer is not None
    assert classes.sizes.sum() == 200
    kernel = 1 / (1 + classes.diagonal)
    np.testing.assert_allclose(
        classes.weighted(kernel), apart.weighted(kernel[classes.codes]), atol=1e-10
    )
    through = cross[0].T @ cross[0]
    by_class = np.zeros(len(classes.sizes))
    np.add.at(by_class, classes.codes, apart.inner(through)[:, 0, 0])
    np.testing.assert_allclose(classes.inner(through)[:, 0, 0], by_class, atol=1e-10)
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 400, 2000)
    block = rng.integers(0, 6, 2000)
    y = rng.normal(size=400)[unit] + rng.normal(size=6)[block] + rng.normal(size=2000)
    rows = pd.DataFrame({"y": y, "unit": unit, "block": block, "x": rng.normal(size=2000)})
    gathered = mixed.fit("y ~ x + (1 | unit) + (1 | block)", rows)
    assert gathered.cross.levels.outer is not None
    weighted = mixed.fit(
        "y ~ x + (1 | unit) + (1 | block)", rows.assign(w=1 + 1e-9 * rng.random(2000)), weights="w"
    )
    assert weighted.cross.levels.outer is None
    np.testing.assert_allclose(gathered.coefficients, weighted.coefficients, rtol=1e-6)
    np.testing.assert_allclose(gathered.solution.theta, weighted.solution.theta, rtol=1e-6)


def test_a_residual_variance_that_is_lost_in_rounding_is_refused():
    cross, at = crossed_of(0), np.array([1.0, 0.2, 0.5, 1.0])
    known = profile(cross, at)
    among = cross.among.copy()
    among[-1, -1] -= 0.5 * known.residual
    assert profile(replace(cross, among=among), at).residual == pytest.approx(known.residual / 2)
    among[-1, -1] -= known.residual
    with pytest.raises(DesignError, match="residual variance"):
        profile(replace(cross, among=among), at)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_a_slope_does_not_matter(scale):
    rows = small(3)
    plain = mixed.fit(FORMULA, rows)
    scaled = mixed.fit(FORMULA, rows.assign(x=rows["x"] * scale))
    # The restricted likelihood has log|X'H^-1 X|, which a change of units moves.
    criterion = scaled.solution.criterion - 2 * np.log(scale)
    assert criterion == pytest.approx(plain.solution.criterion, abs=1e-6)
    np.testing.assert_allclose(scaled.coefficients[1] * scale, plain.coefficients[1], rtol=1e-6)
    assert scaled.tidy()["df"].tolist() == pytest.approx(
        plain.tidy()["df"].tolist(), rel=1e-4, nan_ok=True
    )


@pytest.mark.parametrize("first", ["g", "h"])
def test_it_does_not_matter_which_factor_is_eliminated(first):
    rows = small(9, 90)
    model = mixed.fit(FORMULA, rows)
    blocks = sorted(model.design.blocks, key=lambda block: block.group != first)
    cross = assemble(model.statistics, replace(model.design, blocks=tuple(blocks)))
    theta = model.solution.theta
    ordered = theta if first == "g" else np.concatenate([theta[3:], theta[:3]])
    result = profile(cross, ordered)
    products = information(cross, result)
    assert result.criterion == pytest.approx(model.solution.criterion, abs=1e-10)
    adjusted = kenward_roger(cross, result, products)
    expected = model.inference.kenward_roger
    np.testing.assert_allclose(adjusted.adjusted, expected.adjusted, rtol=1e-9)
    freedom = satterthwaite(cross, result, products, reml=True)
    for contrast in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, 2.0])):
        assert adjusted.df(contrast) == pytest.approx(expected.df(contrast), rel=1e-8)
        reference = model.inference.satterthwaite.df(contrast)
        assert freedom.df(contrast) == pytest.approx(reference, rel=1e-5)


def test_a_variance_without_evidence_is_exactly_zero():
    rng = np.random.default_rng(14)
    noise = pd.DataFrame(
        {"g": rng.integers(0, 6, 120), "h": rng.integers(0, 8, 120), "x": rng.normal(size=120)}
    ).assign(y=rng.normal(size=120))
    model = mixed.fit("y ~ x + (1 + x | g) + (1 | h)", noise)
    assert model.optimum.theta.tolist() == [0, 0, 0, 0]
    assert model.optimum.singular
    assert model.optimum.converged

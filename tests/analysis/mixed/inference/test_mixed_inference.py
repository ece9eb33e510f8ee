"""Parametric bootstrap and comparison of models."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.frames.comparison import boundary_p_value, compare
from analysis.mixed.refitting.bootstrap import parametric_bootstrap
from analysis.tidy.errors import DesignError
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt)"


@pytest.fixture(scope="module")
def whole():
    return mixed.fit(FORMULA, rows)


def test_drawn_cross_products_have_the_moments_of_drawn_rows(whole):
    # Means and variances of X'y, Z1'y and y'y over many draws against those of the model.
    rng = np.random.default_rng(7)
    cross, result = whole.cross, whole.solution
    source = simulator(cross, result)
    drawn = [source.draw(rng) for _ in range(4000)]
    q = cross.n_random
    fixed = np.array([each.rest[q:-1, -1] for each in drawn])
    expected = cross.rest[q:-1, q:-1] @ result.coefficients
    error = fixed.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(fixed.mean(axis=0) - expected) < 4 * error).all()
    squares = np.array([each.rest[-1, -1] for each in drawn])
    theta = result.theta**2
    sizes = np.array(
        [cross.diagonal.sum()] + [np.trace(cross.rest[a:b, a:b]) for a, b in ((0, 12), (12, 17))]
    )
    mean = result.coefficients @ expected + result.variance * (cross.n_obs + theta @ sizes)
    assert squares.mean() == pytest.approx(mean, abs=4 * squares.std() / np.sqrt(len(drawn)))


@pytest.mark.slow
def test_the_parametric_bootstrap_repeats_the_standard_errors(whole):
    result = parametric_bootstrap(whole, rng=np.random.default_rng(3), n_resamples=400)
    fixed = result.query("effect == 'fixed'")
    tidy = whole.tidy(["fixed"], df="satterthwaite")
    # The relative error of a standard deviation of 400 draws is 1 / sqrt(800), 3.5 %.
    np.testing.assert_allclose(fixed["std_error"], tidy["std_error"], rtol=0.14)
    assert (result["conf_low"] <= result["conf_high"]).all()


def test_the_parametric_bootstrap_has_a_seed_and_enough_resamples(whole):
    one, other = (
        parametric_bootstrap(whole, rng=np.random.default_rng(5), n_resamples=40) for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(DesignError, match="39 resamples"):
        parametric_bootstrap(whole, rng=np.random.default_rng(5), n_resamples=10)


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e-8])
@pytest.mark.parametrize("formula", ["depth + kind + (depth | model)", "depth + kind + (1 | lab)"])
def test_drawn_noise_has_the_covariance_of_columns_of_any_size(unit, formula):
    model = mixed.fit(f"gain ~ {formula}", rows.assign(depth=unit * rows["depth"]))
    cross, source = model.cross, simulator(model.cross, model.solution)
    first = source.first_root @ source.first_root.transpose(0, 2, 1)
    assert first == pytest.approx(cross.diagonal, rel=1e-9)
    across = np.einsum("lir,lij,ljs->rs", source.regression, first, source.regression)
    rest = cross.rest[:-1, :-1]
    sizes = np.sqrt(np.diag(rest))
    result = source.rest_root @ source.rest_root.T + across
    np.testing.assert_allclose(
        result / np.outer(sizes, sizes), rest / np.outer(sizes, sizes), atol=1e-9
    )


def test_models_are_compared_from_the_smallest_at_the_boundary(whole):
    smaller = mixed.fit("gain ~ rho + depth + (1 | model) + (1 | prompt)", rows)
    frame = compare([smaller, whole])
    assert frame["p_value_boundary"].iloc[1] < frame["p_value"].iloc[1]
    with pytest.raises(DesignError, match="Models must be ordered from the smallest"):
        compare([whole, smaller])
    with pytest.raises(DesignError, match="on the same rows"):
        compare([mixed.fit(FORMULA, rows[:300]), whole])
    smaller = mixed.fit("gain ~ depth + (1 | lab) + (1 | model) + (1 | prompt)", rows)
    frame = compare([smaller, whole])
    assert frame["method"].iloc[0] == "Likelihood ratio, maximum likelihood"
    by_hand = smaller.refit(reml=False).solution.criterion
    by_hand -= whole.refit(reml=False).solution.criterion
    assert frame["statistic"].iloc[1] == pytest.approx(by_hand, abs=1e-9)
    assert boundary_p_value(2.0, 1) == pytest.approx(stats.chi2.sf(2.0, 1) / 2)
    mixture = (stats.chi2.sf(5.0, 2) + stats.chi2.sf(5.0, 1)) / 2
    assert boundary_p_value(5.0, 2) == pytest.approx(mixture)
    assert boundary_p_value(0.0, 1) == 1.0


def test_drawn_effects_have_the_covariance_of_the_model():
    # One group with correlated effects is the eliminated one: its draws keep their covariance.
    rng = np.random.default_rng(11)
    group = np.repeat(np.arange(40), 5)
    x = rng.normal(size=200)
    effects = rng.multivariate_normal([0, 0], [[1.0, -0.8], [-0.8, 1.0]], 40)[group]
    y = effects[:, 0] + effects[:, 1] * x + 0.3 * rng.normal(size=200)
    model = mixed.fit("y ~ x + (1 + x | g)", pd.DataFrame({"y": y, "x": x, "g": group}))
    result = parametric_bootstrap(model, rng=rng, n_resamples=60).set_index("term")
    row = result.loc["cor__Intercept.x"]
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert row["conf_high"] < 0
    for term in ("sd__Intercept", "sd__x"):
        middle = (result.loc[term, "conf_low"] + result.loc[term, "conf_high"]) / 2
        assert middle == pytest.approx(result.loc[term, "estimate"], rel=0.15)

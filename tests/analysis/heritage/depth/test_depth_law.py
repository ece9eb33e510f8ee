"""Laws of depth compared, and the bound tested by counting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import approx_fprime

from analysis.heritage.depth import depth_bound, depth_law
from analysis.heritage.depth.laws_of_depth import EQUAL_WRITES, GROWTH, LAWS, LAWS_OF, fit
from analysis.inference.association import regression
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError

R = Path(__file__).parents[3] / "r"

#: nls() stops when steps are small; criteria are flat at the minimum, coefficients are not.
CRITERION, COEFFICIENT = 1e-9, 1e-6

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "depth_law.csv", keep_default_na=False)
COLUMNS = {"gain": "gain", "depth": "layers"}


def oracle(kind: str, scale: str) -> pd.DataFrame:
    return answers[(answers["kind"] == kind) & (answers["scale"] == scale)]


@pytest.mark.parametrize("scale", ["log", "raw"])
def test_aicc_and_likelihood_agree_with_nls(scale: str) -> None:
    found = depth_law.compare(models, scale=scale, **COLUMNS)
    expected = oracle("law", scale)
    assert found["law"].tolist() == expected["law"].tolist()
    np.testing.assert_allclose(found["aicc"], expected["estimate"], atol=CRITERION)
    np.testing.assert_allclose(found["log_likelihood"], expected["conf_low"], atol=CRITERION)


@pytest.mark.parametrize("scale", ["log", "raw"])
def test_coefficients_and_intervals_agree_with_nls(scale: str) -> None:
    found = depth_law.coefficients(models, scale=scale, **COLUMNS)
    expected = oracle("coefficient", scale)
    assert found["law"].tolist() == expected["law"].tolist()
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(found[column], expected[column], rtol=COEFFICIENT)


@pytest.mark.parametrize("scale", ["log", "raw"])
def test_prediction_of_suites_left_out_agrees_with_nls(scale: str) -> None:
    found = depth_law.prediction_errors(models, group="suite", scale=scale, **COLUMNS)
    np.testing.assert_allclose(found["rmse"], oracle("law", scale)["conf_high"], rtol=COEFFICIENT)


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_are_those_of_the_law(law: str) -> None:
    depth = np.array([6.0, 12.0, 24.0])
    known = np.array([1.3, -0.2])[: len(LAWS[law].coefficients)]
    found = LAWS[law].gradient(depth, known)
    for row, at in enumerate(depth):
        numeric = approx_fprime(known, lambda c, at=at: LAWS[law].mean(np.array([at]), c)[0])
        np.testing.assert_allclose(found[row], numeric, rtol=1e-5)


@pytest.mark.parametrize("scale", ["log", "raw"])
@pytest.mark.parametrize(
    ("law", "known"),
    [("constant", [1.2]), ("C^(1/L)", [2.3]), ("a + b/L", [0.9, 3.0]), ("a L^b", [0.4, -0.1])],
)
def test_a_law_is_found_in_gains_that_follow_it(law: str, known: list[float], scale: str) -> None:
    depth = np.array([6.0, 12, 16, 24, 32])
    gains = LAWS[law].mean(depth, np.array(known))
    found = fit(LAWS[law], depth, gains, scale)
    np.testing.assert_allclose(found.coefficients, known, rtol=1e-9)
    np.testing.assert_allclose(found.residuals, 0, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(noise=st.lists(st.floats(-0.3, 0.3), min_size=8, max_size=8))
def test_a_law_with_one_more_coefficient_never_fits_worse(noise: list[float]) -> None:
    depth = np.array([6.0, 12, 12, 16, 24, 24, 32, 36])
    gains = np.exp(0.05 + np.array(noise) + np.linspace(0, 0.01, 8))
    for scale in ("log", "raw"):
        square = {
            law: float((fit(LAWS[law], depth, gains, scale).residuals ** 2).sum()) for law in LAWS
        }
        for wider in ("a + b/L", "a L^b", "a + b ln L"):
            assert square[wider] <= square["constant"] * (1 + 1e-9) + 1e-12
        assert square["C^(1/L)"] <= min(square["10^(1/L)"], square["1"]) * (1 + 1e-9)


def test_akaike_weights_sum_to_one_and_the_best_has_no_delta() -> None:
    found = depth_law.compare(models, **COLUMNS)
    assert found["weight"].sum() == pytest.approx(1)
    assert found["delta_aicc"].min() == 0
    assert found["n_coefficients"].tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_clustered_errors_of_a_straight_line_are_those_of_regression() -> None:
    rows = models.assign(inverse=1 / models["layers"])
    line = regression.fit(rows, "gain ~ inverse", cluster="suite").tidy()
    found = depth_law.coefficients(rows, scale="raw", cluster="suite", **COLUMNS)
    found = found[found["law"] == "a + b/L"]
    for column in ("estimate", "std_error", "df", "conf_low", "conf_high"):
        np.testing.assert_allclose(found[column], line[column], rtol=1e-8)


def test_the_constant_predicts_no_better_than_itself() -> None:
    found = depth_law.prediction_errors(models, group="suite", **COLUMNS).set_index("law")
    own = found.loc["constant", ["estimate", "conf_low", "conf_high"]]
    assert own.tolist() == [0, 0, 0]


def test_leaving_out_models_one_at_a_time_by_hand() -> None:
    rows = pd.DataFrame({"n_layers": [1, 2, 3, 4, 5], "gain_mean": [1.0, 1, 1, 1, 2]})
    found = depth_law.prediction_errors(rows, group=None, scale="raw").set_index("law")
    # Left out in turn, the ones are predicted by 5/4 and the two by 1.
    assert found.loc["constant", "rmse"] == pytest.approx(((4 / 16 + 1) / 5) ** 0.5)
    assert found.loc["1", "rmse"] == pytest.approx((1 / 5) ** 0.5)
    assert found.loc["1", "estimate"] == pytest.approx(1 / 5 - 1.25 / 5)
    assert found["n_groups"].tolist() == [5] * 7


def test_curves_run_over_every_depth() -> None:
    found = depth_law.curves(models, **COLUMNS)
    part = found[found["law"] == "10^(1/L)"].set_index("n_layers")["fitted"]
    assert part.index.tolist() == list(range(12, 49))
    assert part[12] == pytest.approx(10 ** (1 / 12))


def test_equal_writes_say_of_every_gain_what_equal_orthogonal_updates_do() -> None:
    # |x_l|^2 = l + 1 after block l: the lengths of a stream of eight blocks, by hand.
    lengths = np.sqrt(np.arange(1, 9))
    gains = lengths[1:] / lengths[:-1]
    expected = [gains[5], gains.max(), np.prod(gains[:6])]
    depth, none = np.array([8.0]), np.empty(0)
    found = [laws[EQUAL_WRITES].mean(depth, none)[0] for laws in LAWS_OF.values()]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert all(len(laws) == 8 for laws in LAWS_OF.values())


def test_a_root_law_holds_in_every_block_of_a_growth() -> None:
    depth = np.array([6.0, 12.0, 24.0])
    each = LAWS["C^(1/L)"].mean(depth, np.array([1.7]))
    whole = LAWS_OF[GROWTH]["C^(1/L)"].mean(depth, np.array([1.7]))
    np.testing.assert_allclose(whole, each ** (depth - 2))
    claimed = LAWS_OF[GROWTH]["10^(1/L)"].mean(depth, np.empty(0))
    np.testing.assert_allclose(claimed, 10 ** ((depth - 2) / depth))
    np.testing.assert_allclose(
        fit(LAWS_OF[GROWTH]["C^(1/L)"], depth, whole, "log").coefficients, [1.7]
    )


def test_aicc_of_a_law_without_coefficients_is_that_of_its_errors() -> None:
    found = depth_law.compare(models, laws=LAWS_OF[GROWTH], **COLUMNS).set_index("law")
    errors = np.log(models["gain"] / np.sqrt(models["layers"] - 1)).to_numpy()
    spread = np.sqrt(np.mean(errors**2))
    likelihood = stats.lognorm.logpdf(
        models["gain"], s=spread, scale=np.sqrt(models["layers"] - 1)
    ).sum()
    n = len(errors)
    assert found.loc[EQUAL_WRITES, "log_likelihood"] == pytest.approx(likelihood)
    assert found.loc[EQUAL_WRITES, "aicc"] == pytest.approx(2 - 2 * likelihood + 4 / (n - 2))


def test_a_gain_that_is_not_positive_is_refused() -> None:
    with pytest.raises(AnalysisError, match="'gain' must be positive; 1 values are not"):
        depth_law.compare(models.assign(gain=np.r_[0.0, models["gain"][1:]]), **COLUMNS)


def test_four_models_are_too_few() -> None:
    with pytest.raises(DesignError, match="A comparison of laws of depth needs at least 5 rows"):
        depth_law.compare(models.head(4), **COLUMNS)


@pytest.mark.parametrize("base", [10.0, 7.0])
def test_gains_that_were_computed_are_refused(base: float) -> None:
    rows = pd.DataFrame({"n_layers": [2, 4, 8, 16, 32]})
    rows["gain_mean"] = base ** (1 / rows["n_layers"])
    with pytest.raises(DesignError, match="fits all 5 models exactly"):
        depth_law.compare(rows)


def test_one_depth_without_a_suite_is_refused() -> None:
    rows = pd.DataFrame(
        {"n_layers": [12] * 4 + [24], "gain_mean": [1, 1.1, 1.2, 1.3, 0.9], "suite": list("aabbc")}
    )
    with pytest.raises(DesignError, match="Training must hold 2 depths"):
        depth_law.prediction_errors(rows, group="suite")


def test_laws_are_judged_beside_a_constant() -> None:
    laws = {"a + b/L": LAWS["a + b/L"]}
    with pytest.raises(AnalysisError, match=r"must hold 'constant'.*found \['a \+ b/L'\]"):
        depth_law.prediction_errors(models, group="suite", laws=laws, **COLUMNS)


@pytest.fixture(scope="module")
def bounded() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "suite": list("aaabbcde"),
            "gain_mean": [1.3, 1.3, 1.1, 1.3, 1.1, 1.1, 1.1, 1.1],
            "bound": 1.2,
            "conf_low": [1.25, 1.1, 1.0, np.nan, 1.0, 1.0, 1.0, 1.0],
        }
    )


def test_violations_are_counted_three_ways(bounded: pd.DataFrame) -> None:
    found = depth_bound.violations(
        bounded, rng=np.random.default_rng(1), lower="conf_low", n_resamples=999
    )
    assert found["n_violations"].tolist() == [3, 3, 1, 2]
    np.testing.assert_allclose(found["estimate"], [3 / 8, 3 / 8, 1 / 8, 2 / 5])
    assert found["n_obs"].tolist() == [8, 8, 8, 5]
    # Clopper-Pearson of 3 in 8, from R's binom.test.
    assert found.loc[0, "conf_low"] == pytest.approx(0.08523341, abs=1e-8)
    assert found.loc[0, "conf_high"] == pytest.approx(0.7551368, abs=1e-7)
    assert found.loc[1, "conf_low"] == 0
    assert 0.5 < found.loc[1, "conf_high"] < 0.7


def test_a_bound_that_all_respect_has_no_bootstrap(bounded: pd.DataFrame) -> None:
    found = depth_bound.violations(bounded.assign(bound=2.0), rng=np.random.default_rng(1))
    assert found["n_violations"].tolist() == [0, 0]
    assert found["conf_low"].tolist() == [0, 0]
    assert found["conf_high"].iloc[0] == pytest.approx(1 - 0.025 ** (1 / 8))
    glossary.checked(found.columns)

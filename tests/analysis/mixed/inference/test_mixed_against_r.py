"""Everything lme4, lmerTest, pbkrtest and performance say, at their own parameters.

Two optimisers stop at different digits, so all but the optimum itself is compared at R's
theta. `tests/r/mixed.R` wrote the answers with lme4 1.1-31, lmerTest 3.1-3, pbkrtest 0.5.2
and performance 0.10.2.
"""

import numpy as np
import pytest

from analysis import mixed
from analysis.mixed.frames.comparison import compare
from tests.analysis.mixed.at_theta import parameter, plain
from tests.analysis.places import R

#: lme4 solves with sparse Cholesky factors of unshifted columns; ours are shifted.
FIXED = 1e-8
SIGMA = 1e-10
CRITERION = 1e-7
MODES = 1e-8

#: lmerTest differentiates the deviance numerically: with a response of 1e4 it keeps six digits.
SATTERTHWAITE = 1e-6
SATTERTHWAITE_SHIFTED = 1e-5

#: pbkrtest multiplies n x n matrices; both are exact otherwise.
KENWARD_ROGER = 1e-9

#: On a ridge where a correlation is one the curvature is rounding error in lmerTest.
RIDGE = ("flat_singular", "ML")


def test_likelihood_ratios_fitted_values_and_residuals_agree(against_r):
    answered = set(zip(against_r.glances["name"], against_r.glances["estimator"], strict=True))
    assert answered == {(name, how) for name in against_r.formulas for how in ("REML", "ML")}
    for row in against_r.likelihood_ratio.itertuples():
        smaller = against_r.fitted(row.smaller, "ML")
        larger = against_r.fitted(row.larger, "ML")
        frame = compare([smaller, larger])
        assert frame["statistic"].iloc[-1] == pytest.approx(row.statistic, abs=1e-7)
        assert frame["df"].iloc[-1] == row.df
        assert frame["p_value"].iloc[-1] == pytest.approx(row.p_value, rel=1e-6)
    import pandas as pd

    answer = pd.read_csv(R / "mixed_augment.csv")
    augmented = against_r.at_r("crossed_correlated", "REML").augment()
    np.testing.assert_allclose(augmented["fitted"], answer["fitted"], atol=1e-10)
    np.testing.assert_allclose(augmented["residual"], answer["residual"], atol=1e-10)


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        import pandas as pd

        glances = pd.read_csv(R / "mixed_glance.csv")
        metafunc.parametrize(("name", "estimator"), glances[["name", "estimator"]].to_numpy())


def test_the_optimum_and_the_criteria_agree(against_r, name, estimator):
    answer = against_r.answer("glances", name, estimator).iloc[0]
    model = against_r.at_r(name, estimator)
    # With a response of 1e4 the last digits of y'y are lme4's rounding, not ours.
    assert model.solution.criterion == pytest.approx(answer["criterion"], abs=CRITERION, rel=0)
    assert np.sqrt(model.solution.variance) == pytest.approx(answer["sigma"], rel=SIGMA)
    model = against_r.fitted(name, estimator)
    rounding = 1e-14 * abs(answer["criterion"])
    assert model.solution.criterion <= answer["criterion"] + max(rounding, 5e-12)
    assert model.optimum.converged
    assert model.optimum.singular == answer["singular"]
    glance = against_r.at_r(name, estimator).glance().iloc[0]
    for column in ("log_likelihood", "aic", "bic"):
        assert glance[column] == pytest.approx(answer[column], abs=CRITERION, rel=0)
    assert glance["n_obs"] == answer["n_obs"]


def test_fixed_effects_and_their_tests_agree(against_r, name, estimator):
    answer = against_r.answer("fixed", name, estimator).set_index("term")
    model = against_r.at_r(name, estimator)
    tidy = model.tidy(["fixed"], df="satterthwaite").set_index("term")
    tidy.index = [plain(term) for term in tidy.index]
    tidy = tidy.loc[[plain(term) for term in answer.index]]
    np.testing.assert_allclose(tidy["estimate"], answer["estimate"], rtol=FIXED)
    np.testing.assert_allclose(tidy["std_error"], answer["std_error"], rtol=FIXED)
    if (name, estimator) != RIDGE:
        tolerance = SATTERTHWAITE_SHIFTED if name == "shifted" else SATTERTHWAITE
        np.testing.assert_allclose(tidy["df"], answer["satterthwaite_df"], rtol=tolerance)
    answer = against_r.answer("fixed", name, estimator).set_index("term")
    if answer["kr_df"].isna().any():
        # pbkrtest neither takes ML fits nor uses weights.
        assert estimator == "ML" or name == "crossed_weights"
        return
    tidy = against_r.at_r(name, estimator).tidy(["fixed"]).set_index("term")
    tidy.index = [plain(term) for term in tidy.index]
    tidy = tidy.loc[[plain(term) for term in answer.index]]
    np.testing.assert_allclose(tidy["std_error"], answer["kr_std_error"], rtol=KENWARD_ROGER)
    np.testing.assert_allclose(tidy["df"], answer["kr_df"], rtol=KENWARD_ROGER)


def test_modes_variances_and_their_shares_agree(against_r, name, estimator):
    answer = against_r.answer("modes", name, estimator)
    answer["group"] = [plain(g.split(".")[0]) for g in answer["group"].astype(str)]
    answer["term"] = [plain(str(term)) for term in answer["term"]]
    answer["level"] = [plain(str(level)) for level in answer["level"]]
    ours = against_r.at_r(name, estimator).ranef()
    for column in ("group", "term", "level"):
        ours[column] = [plain(each) for each in ours[column]]
    both = answer.merge(ours, on=["group", "term", "level"], suffixes=("_r", ""))
    assert len(both) == len(answer) == len(ours)
    np.testing.assert_allclose(both["estimate"], both["estimate_r"], atol=MODES, rtol=0)
    np.testing.assert_allclose(both["std_error"], both["std_error_r"], atol=MODES, rtol=0)
    answer = against_r.answer("pars", name, estimator)
    ours = against_r.at_r(name, estimator).tidy(["ran_pars"])
    for row in answer.itertuples():
        # A deviation of zero has no correlation, and a deviation is the root of a difference.
        result = parameter(ours, row)
        assert result == pytest.approx([row.sdcor], rel=1e-7, abs=1e-9, nan_ok=True)
    answer = against_r.answer("glances", name, estimator).iloc[0]
    if name in NO_SHARES or np.isnan(answer["r_squared_conditional"]):
        assert name in NO_SHARES or answer["singular"]
        return
    glance = against_r.at_r(name, estimator).glance().iloc[0]
    for column in ("r_squared_marginal", "r_squared_conditional", "icc"):
        assert glance[column] == pytest.approx(answer[column], rel=1e-8, abs=1e-12)


#: insight 0.19.0, which performance asks, counts other random variances for slopes split by ||
#: and for slopes without an intercept (written out below), and averages over rows where we
#: average over weights. It answers no singular fit.
NO_SHARES = ("sleep_uncorrelated", "crossed_uncorrelated", "crossed_weights", "machines_factor")


def test_shares_of_variance_are_those_written_out_over_rows(against_r):
    days = against_r.rows("sleep_uncorrelated")["Days"]
    model = against_r.fitted("sleep_uncorrelated", "REML")
    intercept, slope, sigma = model.tidy(["ran_pars"])["estimate"]
    fixed = (model.coefficients[1] * days).var()
    random = (intercept**2 + (slope * days) ** 2).mean()
    glance = model.glance().iloc[0]
    total = fixed + random + sigma**2
    assert glance["r_squared_marginal"] == pytest.approx(fixed / total)
    assert glance["r_squared_conditional"] == pytest.approx((fixed + random) / total)
    assert glance["icc"] == pytest.approx(random / (random + sigma**2))
    rows, model = (against_r.rows("crossed_weights"), against_r.fitted("crossed_weights", "REML"))
    weights = rows["precision"]
    part = dict(zip(model.terms, model.coefficients, strict=True))
    values = part["rho"] * rows["rho"] + part["depth"] * rows["depth"]
    mean = np.average(values, weights=weights)
    fixed = np.average((values - mean) ** 2, weights=weights) * len(rows) / (len(rows) - 1)
    random = 0.0
    for modes in model.inference.modes:
        columns = np.column_stack([np.ones(len(rows)), rows["depth"]])[:, : modes.block.width]
        forms = np.einsum("ni,ij,nj->n", columns, modes.covariance, columns)
        random += np.average(forms, weights=weights)
    glance = model.glance().iloc[0]
    residual = np.average(model.solution.variance / weights, weights=weights)
    assert glance["icc"] == pytest.approx(random / (random + residual))
    marginal = fixed / (fixed + random + residual)
    assert glance["r_squared_marginal"] == pytest.approx(marginal)
    formula, rows = model.formula.text, against_r.rows("crossed_weights")
    other = mixed.fit(formula, rows, weights="100 * precision").glance().iloc[0]
    assert other["icc"] == pytest.approx(glance["icc"], rel=1e-6)


def test_joint_tests_agree_and_a_contrast_that_follows_adds_nothing(against_r):
    for row in against_r.joint.itertuples():
        model = against_r.at_r(row.name, "REML")
        method = row.method.lower()
        pattern = row.pattern.removeprefix("^").partition("[")[0]
        interaction = ":" in row.pattern
        terms = [
            place
            for place, term in enumerate(model.terms)
            if term.startswith(pattern) and (":" in term) == interaction
        ]
        test = model.inference.joint(np.eye(len(model.terms))[terms], method)
        assert test.df == row.num_df
        assert test.statistic == pytest.approx(row.statistic, rel=1e-7)
        assert test.df_residual == pytest.approx(row.den_df, rel=1e-6)
        assert test.p_value == pytest.approx(row.p_value, rel=1e-6)
    tests = against_r.fitted("crossed_intercepts", "REML").inference
    two = np.eye(3)[1:]
    # Satterthwaite's degrees of freedom depend on how contrasts are written.
    for method in ("wald", "kenward-roger"):
        result, expected = (
            tests.joint(np.vstack([two, two.sum(0)]), method),
            tests.joint(two, method),
        )
        assert result.df == expected.df == 2
        assert result.statistic == pytest.approx(expected.statistic)
        assert result.df_residual == pytest.approx(expected.df_residual)


def test_a_response_of_ten_thousand_loses_no_digits(against_r):
    rows = against_r.rows("crossed_correlated")
    formula = against_r.formulas["shifted"]
    plain_fit = mixed.fit(formula, rows)
    shifted = mixed.fit(formula, rows.assign(gain=rows["gain"] + 1e4))
    assert shifted.solution.criterion == pytest.approx(
        plain_fit.solution.criterion, abs=1e-9, rel=0
    )
    difference = shifted.coefficients - plain_fit.coefficients
    np.testing.assert_allclose(difference, [1e4, 0, 0], atol=1e-9)

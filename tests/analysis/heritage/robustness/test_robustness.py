"""How far the answer holds: beliefs, all definitions at once, and the unmeasured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.robustness import definitions, unmeasured
from analysis.heritage.robustness import priors as beliefs

R = Path(__file__).parents[3] / "r"


@pytest.fixture(scope="module")
def gains(published_store):
    return definitions.gains(published_store)


@pytest.fixture(scope="module")
def believed(published_store):
    return beliefs.believe(published_store, [beliefs.MIDDLE], n_nodes=2**12)


def test_the_joint_fit_of_all_definitions_is_lme4s(gains):
    theirs = pd.read_csv(R / "definitions_variances.csv").set_index("group")["variance"]
    given = pd.read_csv(R / "definitions_rows.csv")
    np.testing.assert_allclose(gains["standardised"], given["standardised"], rtol=1e-12)
    found = definitions.components(gains, rng=np.random.default_rng(1), n_resamples=5)
    ours = found.set_index("group").rename(index={"residual": "Residual"})["variance"]
    np.testing.assert_allclose(ours, theirs.loc[ours.index], rtol=1e-5, atol=1e-9)
    assert definitions.fit(gains).found.criterion == pytest.approx(321.06418699375172, rel=1e-9)
    assert found["variance_share"].sum() == pytest.approx(1)


def test_joint_contrasts_are_generalised_least_squares_with_the_fitted_variances(gains):
    found = definitions.contrasts(gains).set_index("metric")
    marked = gains.assign(others=(gains["lab"] != "EleutherAI").astype(float))
    pars = definitions.mixed.fit(definitions.CONTRASTS, marked).tidy(["ran_pars"])
    spread = pars.set_index("group")["estimate"]
    labels = {
        "suite": gains["suite"],
        "model_id": gains["model_id"],
        "suite:metric": gains["suite"] + gains["metric"],
    }
    covariance = spread["Residual"] ** 2 * np.eye(len(gains))
    for group, level in labels.items():
        same = level.to_numpy()[:, None] == level.to_numpy()[None, :]
        covariance += spread[group] ** 2 * same
    dummies = pd.get_dummies(gains["metric"], dtype=float)
    depth, others = (marked[name].to_numpy()[:, None] for name in ("n_layers", "others"))
    design = np.hstack([dummies, dummies * depth, dummies * others])
    weight = np.linalg.inv(covariance)
    by_hand = np.linalg.solve(
        design.T @ weight @ design, design.T @ weight @ gains["standardised"].to_numpy()
    )
    np.testing.assert_allclose(
        found.loc[dummies.columns, "estimate"], by_hand[-len(dummies.columns) :], rtol=1e-6
    )
    # An interval by Kenward and Roger's t lies about its estimate.
    middle = (found["conf_low"] + found["conf_high"]) / 2
    np.testing.assert_allclose(middle, found["estimate"], rtol=1e-9)


def test_every_definition_of_enough_models_enters_in_its_own_units(gains):
    sizes = gains.groupby("metric")["model_id"].nunique()
    assert (sizes >= definitions.LEAST_MODELS).all()
    assert {"gain_penultimate_block", definitions.PROFILE_MEAN} <= set(sizes.index)
    by_metric = gains.groupby("metric")["standardised"]
    np.testing.assert_allclose(by_metric.std(), 1)
    np.testing.assert_allclose(by_metric.mean(), 0, atol=1e-12)


def test_beliefs_speak_of_every_definition_and_add_up(believed, gains):
    assert {each.metric for each in believed} == set(gains["metric"])
    shares = beliefs.shares(believed)
    keys = ["metric", "prior_scale", "population", "stage"]
    np.testing.assert_allclose(shares.groupby(keys)["share"].sum(), 1)
    orders = beliefs.rankings(believed)
    assert (orders.groupby(keys).size() == 120).all()
    np.testing.assert_allclose(orders.groupby(keys)["probability"].sum(), 1)
    prior = shares[(shares["stage"] == "prior") & (shares["population"] == "new levels")]
    np.testing.assert_allclose(prior["probability"].dropna(), 0.2, atol=0.005)
    assert (shares["n_effective"] > 100).all()


def test_the_suite_outranks_the_lab_in_the_penultimate_block(believed):
    found = beliefs.pairs(believed)
    asked = found[
        (found["metric"] == "gain_penultimate_block")
        & (found["first"] == "lab")
        & (found["second"] == "suite")
        & (found["stage"] == "posterior")
    ]
    assert (asked["probability"] < 0.25).all()


def test_a_sibling_is_foreseen_better_than_a_new_suite_and_that_than_a_new_lab(believed):
    own = [each for each in believed if each.metric == "gain_penultimate_block"]
    found = beliefs.predictions(own)
    found["width"] = found["predicted_high"] - found["predicted_low"]
    widths = found.groupby("unit")["width"].max()
    assert widths["sibling"] < widths["new suite"] < widths["new lab"]
    lowest = found[found["unit"] == "sibling"].set_index("level")["estimate"]
    assert lowest.idxmin() == "GPT-Neo"


def test_what_a_trait_would_have_to_explain_stands_beside_the_plain_regression(gains):
    found = unmeasured.sensitivity(gains).set_index("contrast")
    depth = found.loc["depth, given suites"]
    assert (depth["n_obs"], depth["df"]) == (22, 14)
    assert np.isnan(depth["adjusted"])
    neo = found.loc["GPT-Neo against all others, given depth"]
    assert neo["estimate"] < 0
    assert neo["robustness_value"] > neo["robustness_value_alpha"] > 0
    assert abs(neo["adjusted"]) < abs(neo["estimate"])
    assert neo["e_value"] > neo["e_value_limit"] > 1
    lab = found.loc["EleutherAI against all others, given depth and size"]
    assert (lab["robustness_value_alpha"] > 0) == (lab["p_value"] < 0.05)

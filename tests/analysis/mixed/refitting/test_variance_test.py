"""The restricted likelihood ratio of a variance and the profile of its share, against R."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.algebra.crossproducts import assemble
from analysis.mixed.refitting.variance_test import eigenvalues, likelihood_ratio, null_ratios
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R

models = pd.read_csv(R / "components_models.csv")
tests = pd.read_csv(R / "components_tests.csv").to_dict("records")
quantiles = pd.read_csv(R / "components_quantiles.csv")
intervals = pd.read_csv(R / "components_intervals.csv").to_dict("records")


def fitted(fixed, groups):
    random = " + ".join(f"(1 | {group})" for group in groups.split(" + "))
    return mixed.fit(f"{fixed} + {random}", models)


@pytest.mark.parametrize("answer", tests, ids=lambda row: f"{row['tested']} in {row['groups']}")
def test_ratio_and_p_are_those_of_rlrsim(answer):
    model = fitted(answer["fixed"], answer["groups"])
    rng = np.random.default_rng(4)
    row = mixed.variance_test(model, answer["tested"], rng=rng, n_resamples=40_000).iloc[0]
    assert row["statistic"] == pytest.approx(answer["statistic"], abs=1e-6)
    error = 4 * np.sqrt(answer["p_value"] / 40_000) + 1 / 40_000
    assert row["p_value"] == pytest.approx(answer["p_value"], abs=error)
    assert ("exact" in row["method"]) == (answer["groups"] == answer["tested"])


@pytest.mark.parametrize("group", ["suite", "lab"])
def test_the_null_distribution_has_the_quantiles_of_rlrsim(group):
    model = fitted(tests[2]["fixed"], group)
    cross = assemble(model.statistics, model.design)
    values = eigenvalues(cross)
    drawn = null_ratios(values, cross.n_obs - cross.n_fixed, np.random.default_rng(5), 100_000)
    answers = quantiles[quantiles["group"] == group]
    at_zero, rest = answers.iloc[0]["value"], answers.iloc[1:]
    assert float((drawn < 1e-8).mean()) == pytest.approx(at_zero, abs=0.008)
    for row in rest.to_dict("records"):
        below = float((drawn <= row["value"]).mean())
        at_least = max(row["probability"], at_zero)
        assert below == pytest.approx(at_least, abs=4 * np.sqrt(at_least * (1 - at_least) / 66_667))


def test_the_ratio_of_one_way_data_is_that_counted_by_hand():
    # Balanced one-way data: the REML likelihood depends on two mean squares alone.
    rows = pd.DataFrame({"group": list("aabbcc"), "y": [1.0, 2.0, 4.0, 5.0, 9.0, 12.0]})
    between, within = 2 * ((np.array([1.5, 4.5, 10.5]) - 5.5) ** 2).sum(), 0.5 + 0.5 + 4.5
    alone = 5 * np.log((between + within) / 5)
    apart = 2 * np.log(between / 2) + 3 * np.log(within / 3)
    model = mixed.fit("y ~ 1 + (1 | group)", rows)
    assert likelihood_ratio(model, "group") == pytest.approx(alone - apart, abs=1e-9)


@pytest.mark.parametrize("answer", intervals, ids=lambda row: f"{row['held']}, {row['fixed']}")
def test_shares_and_their_profiles_are_those_of_lme4s_deviance(answer):
    model = fitted(answer["fixed"], "lab + suite")
    row = mixed.share_intervals(model, [answer["held"].split(" + ")]).iloc[0]
    result = [row["variance_share"], row["conf_low"], row["conf_high"]]
    wanted = [answer["estimate"], answer["conf_low"], answer["conf_high"]]
    assert result == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("group", ["suite", "lab"])
def test_a_group_alone_has_its_own_share_and_an_interval_around_it(group):
    row = mixed.share_intervals(fitted(tests[2]["fixed"], group), [[group]]).iloc[0]
    assert row["conf_low"] <= row["variance_share"] <= row["conf_high"]
    wanted = {"suite": (0.780, 0.402, 0.950), "lab": (0.391, 0.0, 0.891)}[group]
    assert tuple(row[["variance_share", "conf_low", "conf_high"]]) == pytest.approx(
        wanted, abs=6e-4
    )


def test_slopes_unknown_groups_and_repeated_groups_are_refused():
    rng = np.random.default_rng(1)
    sloped = mixed.fit("log_gain ~ n_layers + (1 + n_layers || suite)", models)
    with pytest.raises(DesignError, match="must be an intercept"):
        mixed.variance_test(sloped, "suite", rng=rng)
    plain = fitted("log_gain ~ n_layers", "suite")
    with pytest.raises(DesignError, match="one of the model's"):
        mixed.variance_test(plain, "lab", rng=rng)
    with pytest.raises(DesignError, match="each once"):
        mixed.share_intervals(plain, [["suite", "suite"]])
    with pytest.raises(AnalysisError, match="n_resamples"):
        mixed.variance_test(plain, "suite", rng=rng, n_resamples=0)

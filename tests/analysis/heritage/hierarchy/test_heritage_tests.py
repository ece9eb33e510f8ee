"""The same difference by every test and every exchange of suites; recipes of published models."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.hierarchy import every_test as heritage_tests
from analysis.heritage.hierarchy import exchanges, recipes
from analysis.heritage.sign.readings import models
from analysis.tidy import prose


@pytest.fixture
def drawn():
    """Six suites of two labs, three drawn each; EleutherAI's lie 0.1 lower."""
    rng = np.random.default_rng(8)
    suites = np.repeat(np.arange(6), 3)
    ours = suites < 3
    gains = 0.05 - 0.1 * ours + rng.normal(0, 0.05, 18)
    return pd.DataFrame(
        {"model_id": [f"m{number}" for number in range(18)], "log_gain": gains}
        | {"lab": np.where(ours, "EleutherAI", "Meta"), "suite": [f"s{place}" for place in suites]}
        | {"sign_strict": np.where(gains < 0, "dampen", "expand")}
    )


def test_every_test_answers_counts_its_own_units_and_is_printed(drawn):
    result = heritage_tests.every_test(drawn)
    assert len(result) == 6
    assert result["estimate"].notna().all()
    assert set(result.loc[result["unit"] == "model", "n_obs"]) == {18}
    assert set(result.loc[result["unit"] == "suite", "n_obs"]) == {6}
    assert result[["p_value", "bayes_factor", "conf_low"]].notna().any(axis=1).all()
    rows = heritage_tests.printable(heritage_tests.every_test(drawn)).set_index("method")
    assert rows.loc["Fisher", "bayes_factor"] == prose.MISSING
    assert rows.loc["t test, Hedges' g [SD]", "bayes_factor"] != prose.MISSING
    tests = pd.DataFrame({"unit": ["model"] * 3, "p_value": [0.01, 0.02, float("nan")]})
    assert heritage_tests.p_range(tests, "model") == "0.010 and 0.020"


def test_fisher_and_the_exchange_of_suites_are_those_of_a_hand_count(drawn):
    result = heritage_tests.every_test(drawn).set_index("method")
    ours = drawn["lab"] == "EleutherAI"
    below = drawn["log_gain"] < 0
    counts = [[(ours & below).sum(), (ours & ~below).sum()]]
    counts += [[(~ours & below).sum(), (~ours & ~below).sum()]]
    assert result.loc["Fisher", "p_value"] == pytest.approx(stats.fisher_exact(counts).pvalue)
    exchanged = result.loc["exchange of suites, difference of means"]
    assert exchanged["smallest_p"] == pytest.approx(2 / 20)
    assert exchanged["estimate"] == pytest.approx(
        drawn.loc[ours, "log_gain"].mean() - drawn.loc[~ours, "log_gain"].mean()
    )


@pytest.fixture(scope="module")
def table(shipped_store):
    return exchanges.exchanges(shipped_store).set_index("specification")


def test_p_of_the_hunt_by_suites_is_that_of_all_ways_to_choose_them(table, shipped_store):
    rows = models(shipped_store, "hunt")
    dampens = (rows["sign_strict"] == "dampen").astype(float)
    means = dampens.groupby(rows["suite"]).mean()
    ours = rows.groupby("suite")["lab"].first() == "EleutherAI"
    ways = [
        means.iloc[list(some)].mean() - means.drop(means.index[list(some)]).mean()
        for some in combinations(range(len(means)), int(ours.sum()))
    ]
    observed = means[ours].mean() - means[~ours].mean()
    expected = np.mean(np.abs(ways) >= abs(observed) - 1e-12)
    assert table.loc["hunt_suite_share_of_units", "p_value"] == pytest.approx(expected)
    known = {"share_of_units": 6, "share_pooled": 3, "gain_of_units": 10}
    for statistic, ways in known.items():
        assert table.loc[f"hunt_suite_{statistic}", "p_value"] == pytest.approx(ways / 35)
    told = exchanges.bounds(table.reset_index())
    assert float(told["least"]) == pytest.approx(table["p_value"].min(), abs=0.0006)
    assert float(told["most"]) == pytest.approx(table["p_value"].max(), abs=0.006)
    assert (table["p_value"] >= table["smallest_p"] - 1e-12).all()


@pytest.fixture(scope="module")
def with_recipe(published_store):
    return recipes.gains_with_recipe(published_store)


def test_every_fact_names_its_source_and_pythia_is_two_recipes(published_store):
    facts = published_store.query("FROM training_recipe")
    assert len(facts) > 200
    for column in ("repository", "path", "revision", "quoted"):
        assert (facts[column].str.len() > 0).all(), column
    known = set(published_store.query("SELECT model_id FROM model")["model_id"])
    assert set(facts["model_id"]) <= known
    known = recipes.recipes(published_store)
    result = known.set_index("model_id")["decay_turns"]
    assert result["EleutherAI/pythia-70m"] == pytest.approx(0.1 * 1e-3 * 143000 * 0.55, rel=0.01)
    assert np.isnan(result["bigscience/bloom-560m"])
    assert result["EleutherAI/gpt-neo-2.7B"] == 0
    starts = known[known["suite"] == "Pythia"].groupby("inner_rule")["model_id"].apply(sorted)
    assert starts["normal"] == ["EleutherAI/pythia-12b", "EleutherAI/pythia-6.9b"]
    assert len(starts["small_init"]) == 6
    # N(0, 2 / (5 d)), with d = 512.
    spread = known.set_index("model_id")["inner_spread"]
    assert spread["EleutherAI/pythia-70m"] == pytest.approx((2 / 5 / 512) ** 0.5)
    scaled = known.loc[known["inner_rule"] == "small_init", "inner_spread_scaled"]
    assert scaled.to_numpy() == pytest.approx(0.4**0.5)  # whatever the width
    table = recipes.start_rows(known)
    pythias = table[table["models"].str.startswith("Pythia")]
    assert list(pythias["inner"]) == ["normal", "small_init"]


@pytest.mark.parametrize(("decay", "steps"), [(100, 100), (60, 100)])
def test_the_sum_of_rates_is_that_of_the_schedule(published_store, decay, steps):
    peak, final, warmup = 0.3, 0.03, 10
    at = np.arange(steps) + 0.5
    fall = final + (peak - final) * (1 + np.cos(np.pi * (at - warmup) / (decay - warmup))) / 2
    rates = np.where(at < warmup, peak * at / warmup, np.where(at < decay, fall, final))
    result = published_store.query(
        f"SELECT rate_sum({peak}, {final}, {warmup}, {decay}, {steps}) AS total"
    )
    assert result["total"].iloc[0] == pytest.approx(rates.sum(), rel=1e-4)


def test_correlations_within_suites_are_those_of_deviations_from_the_suite(with_recipe):
    result = recipes.within_suites(with_recipe).set_index(["term", "condition"])["estimate"]
    several = with_recipe[with_recipe.groupby("suite")["suite"].transform("size") > 1]
    logs = ["log_rate", "log_depth", "log_width", "log_gain"]
    apart = several[logs] - several.groupby("suite")[logs].transform("mean")
    for (one, other), estimate in result.items():
        assert estimate == pytest.approx(apart[one].corr(apart[other]), abs=1e-12)
    assert result["log_depth", "log_rate"] < -0.9

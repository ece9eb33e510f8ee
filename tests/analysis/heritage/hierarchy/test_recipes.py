"""Recipes of published models: every fact has its source, and what follows from them is counted."""

import numpy as np
import pytest

from analysis.heritage.hierarchy import recipes


@pytest.fixture(scope="module")
def rows(published_store):
    return recipes.gains_with_recipe(published_store)


def test_every_fact_names_its_source_and_quotes_it(published_store):
    facts = published_store.query("FROM training_recipe")
    assert len(facts) > 200
    for column in ("repository", "path", "revision", "quoted"):
        assert (facts[column].str.len() > 0).all(), column
    known = set(published_store.query("SELECT model_id FROM model")["model_id"])
    assert set(facts["model_id"]) <= known


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


def test_decay_turns_are_missing_where_the_length_of_training_is(published_store):
    result = recipes.recipes(published_store).set_index("model_id")["decay_turns"]
    assert result["EleutherAI/pythia-70m"] == pytest.approx(0.1 * 1e-3 * 143000 * 0.55, rel=0.01)
    assert np.isnan(result["bigscience/bloom-560m"])
    assert result["EleutherAI/gpt-neo-2.7B"] == 0


def test_pythia_is_two_recipes(published_store):
    known = recipes.recipes(published_store)
    starts = known[known["suite"] == "Pythia"].groupby("inner_rule")["model_id"].apply(sorted)
    assert starts["normal"] == ["EleutherAI/pythia-12b", "EleutherAI/pythia-6.9b"]
    assert len(starts["small_init"]) == 6
    # N(0, 2 / (5 d)), with d = 512.
    spread = known.set_index("model_id")["inner_spread"]
    assert spread["EleutherAI/pythia-70m"] == pytest.approx((2 / 5 / 512) ** 0.5)
    scaled = known.loc[known["inner_rule"] == "small_init", "inner_spread_scaled"]
    assert scaled.to_numpy() == pytest.approx(0.4**0.5)  # whatever the width


def test_correlations_within_suites_are_those_of_deviations_from_the_suite(rows):
    result = recipes.within_suites(rows).set_index(["term", "condition"])["estimate"]
    several = rows[rows.groupby("suite")["suite"].transform("size") > 1]
    logs = ["log_rate", "log_depth", "log_width", "log_gain"]
    apart = several[logs] - several.groupby("suite")[logs].transform("mean")
    for (one, other), estimate in result.items():
        assert estimate == pytest.approx(apart[one].corr(apart[other]), abs=1e-12)
    assert result["log_depth", "log_rate"] < -0.9


def test_the_table_of_starts_parts_the_two_pythias(published_store):
    table = recipes.start_rows(recipes.recipes(published_store))
    pythias = table[table["models"].str.startswith("Pythia")]
    assert list(pythias["inner"]) == ["normal", "small_init"]

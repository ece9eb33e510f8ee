"""The same difference by every test: each row is that method's own answer, by its own unit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.hierarchy import every_test as heritage_tests
from analysis.tidy import prose

METHODS = 6


@pytest.fixture
def models():
    """Six suites of two labs, three models each; EleutherAI's lie 0.1 lower."""
    rng = np.random.default_rng(8)
    suites = np.repeat(np.arange(6), 3)
    ours = suites < 3
    gains = 0.05 - 0.1 * ours + rng.normal(0, 0.05, 18)
    return pd.DataFrame(
        {
            "model_id": [f"m{number}" for number in range(18)],
            "lab": np.where(ours, "EleutherAI", "Meta"),
            "suite": [f"s{number}" for number in suites],
            "log_gain": gains,
            "sign_strict": np.where(gains < 0, "dampen", "expand"),
        }
    )


def test_every_test_answers_and_counts_its_own_units(models):
    result = heritage_tests.every_test(models)
    assert len(result) == METHODS
    assert result["estimate"].notna().all()
    assert set(result.loc[result["unit"] == "model", "n_obs"]) == {18}
    assert set(result.loc[result["unit"] == "suite", "n_obs"]) == {6}
    assert result[["p_value", "bayes_factor", "conf_low"]].notna().any(axis=1).all()


def test_fisher_and_the_exchange_of_suites_are_those_of_a_hand_count(models):
    result = heritage_tests.every_test(models).set_index("method")
    ours = models["lab"] == "EleutherAI"
    below = models["log_gain"] < 0
    counts = [[(ours & below).sum(), (ours & ~below).sum()]]
    counts += [[(~ours & below).sum(), (~ours & ~below).sum()]]
    assert result.loc["Fisher", "p_value"] == pytest.approx(stats.fisher_exact(counts).pvalue)
    exchanged = result.loc["exchange of suites, difference of means"]
    assert exchanged["smallest_p"] == pytest.approx(2 / 20)
    assert exchanged["estimate"] == pytest.approx(
        models.loc[ours, "log_gain"].mean() - models.loc[~ours, "log_gain"].mean()
    )


def test_the_table_prints_a_dash_where_a_test_has_no_p(models):
    rows = heritage_tests.printable(heritage_tests.every_test(models)).set_index("method")
    assert rows.loc["Fisher", "bayes_factor"] == prose.MISSING
    assert rows.loc["t test, Hedges' g [SD]", "bayes_factor"] != prose.MISSING


def test_the_range_of_p_leaves_out_tests_without_one():
    tests = pd.DataFrame({"unit": ["model"] * 3, "p_value": [0.01, 0.02, float("nan")]})
    assert heritage_tests.p_range(tests, "model") == "0.010 and 0.020"

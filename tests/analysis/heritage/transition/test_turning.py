"""L* of the models in a store: every profile, every method, primary runs only."""

import math

import pytest

from analysis.heritage.transition import turning
from analysis.tidy.errors import AnalysisError


def test_every_method_names_a_layer_or_says_why_not(tiny_store):
    rows = turning.layers(tiny_store, "trace_folded").set_index("method")
    # The profile is 200, 800, 1800; the gain of the penultimate block is (6/4 + 1/2) / 2 = 1.
    expected = {
        "argmax_interior_gradient": 1,
        "argmax_abs_gradient": 2,
        "argmax_abs_diff": 1,
        "first_sign_change": math.nan,
        "argmin_contraction": 0,
        "argmax_gap": 2,
        "formula": 3 * (0.11 + 0.012 * 3 + 4.9 / 2),
        "a_priori": 1.5,
        "half_depth": 1.5,
    }
    assert rows["estimate"].to_dict() == pytest.approx(expected, nan_ok=True)
    assert rows.index.tolist() == list(expected)
    assert rows.loc["first_sign_change", "note"] == "The profile has no such layer."
    assert set(rows["source"]) == {"measured"}


def test_an_unknown_profile_is_refused_with_a_guess(tiny_store):
    with pytest.raises(AnalysisError, match="'trace_fold' is not") as refusal:
        turning.profiles(tiny_store, "trace_fold")
    assert refusal.value.hint == "Did you mean 'trace_folded'?"


def test_the_estimators_disagree_on_the_published_traces(published_store):
    assert turning.disagreement(published_store, "openai-community/gpt2") == {
        "first_head": "9",
        "multi_head": "0",
        "lowest": "0",
        "highest": "11",
        "n_layers": "12",
    }
    assert set(turning.disagreement(published_store, "nobody/nothing").values()) == {"–"}
    assert turning.sign_changes(published_store) == {"published": "2.0", "by_chance": "2.2"}


def test_each_prediction_is_compared_with_each_estimate(tiny_store):
    rows = turning.errors(tiny_store, "trace_folded").set_index(["method", "prediction"])
    # L* by the interior gradient is 1 of 3 layers, half the depth is 1.5.
    row = rows.loc[("argmax_interior_gradient", "half_depth")]
    assert row["error_over_depth"] == pytest.approx(0.5 / 3)
    assert row["error_over_layer"] == pytest.approx(0.5)
    # The smallest value lies at layer 0, over which nothing can be divided.
    smallest = rows.loc[("argmin_contraction", "half_depth")]
    assert smallest["error_over_depth"] == pytest.approx(0.5)
    assert math.isnan(smallest["error_over_layer"])
    assert "first_sign_change" not in rows.index.get_level_values("method")

"""L* as frames and charts: every estimator on every profile, other suites asked."""

import math

import pandas as pd
import pytest

from analysis.heritage.transition import frames as l_star_frames
from analysis.heritage.transition import l_star, transition_charts, turning
from analysis.heritage.transition import l_star_tables as l_star_exhibits
from analysis.tidy import prose
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.drawn import encodings, lines_with_points


def profiles(**named):
    return pd.DataFrame(
        [
            {"prompt_id": name, "layer": layer, "trace": value}
            for name, values in named.items()
            for layer, value in enumerate(values)
        ]
    )


STEP_AT_1 = [0.0, 0.0, 4.0, 4.0, 4.0]


def test_every_profile_meets_every_estimator_and_a_gap_is_no_layer():
    rows = profiles(a=STEP_AT_1, b=[2.0, 1.0, 3.0, 3.0, 7.0])
    result = l_star_frames.estimates(rows.iloc[::-1], value="trace", by=["prompt_id"])
    assert result.groupby("prompt_id")["method"].agg(list).tolist() == [list(l_star.ESTIMATORS)] * 2
    primary = result[result["method"] == "argmax_interior_gradient"]
    assert primary["estimate"].tolist() == [1, 3]
    assert set(result["n_obs"]) == {5}
    none = result[(result["prompt_id"] == "a") & (result["method"] == "first_sign_change")].iloc[0]
    assert math.isnan(none["estimate"])
    assert none["note"] == "The profile has no such layer."
    rows = profiles(a=[1.0, None, 4.0, 4.0])
    result = l_star_frames.estimates(rows, value="trace", by=["prompt_id"])
    assert result["estimate"].isna().all()
    assert set(result["note"]) == {"1 of 4 values are missing."}


def test_a_profile_with_a_layer_missing_or_twice_is_refused():
    rows = profiles(a=STEP_AT_1)
    with pytest.raises(DesignError, match=r"each layer once; \('a',\) has \[0, 1, 3, 4\]"):
        l_star_frames.estimates(rows[rows["layer"] != 2], value="trace", by=["prompt_id"])
    with pytest.raises(DesignError, match="each layer once"):
        l_star_frames.estimates(profiles(a=STEP_AT_1, b=STEP_AT_1), value="trace", by=["layer"])
    with pytest.raises(ColumnError, match="'depth'"):
        l_star_frames.estimates(rows, value="depth", by=["prompt_id"])


def test_a_constant_share_is_learnt_from_the_other_suites_only():
    models = pd.DataFrame(
        {"suite": ["x", "x", "y"], "n_layers": [10, 20, 40], "estimate": [1.0, 4.0, 20.0]}
    )
    # Suite x has shares 0.1 and 0.2, suite y has 0.5.
    fitted = l_star_frames.constant_share(models)["fitted"]
    assert fitted.tolist() == pytest.approx([5.0, 10.0, 6.0])
    with pytest.raises(DesignError, match="at least 2 suites; found 1"):
        l_star_frames.constant_share(models[:2])


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


def test_each_published_layer_is_one_point_of_the_chart_and_the_table(published_store):
    shares = l_star_exhibits.shares(published_store)
    spec = transition_charts.chart_l_star(shares).to_dict()
    assert len(spec["description"]) > 30
    columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
    channels = [channel for encoding in encodings(spec) for channel in encoding.values()]
    assert {channel["field"] for channel in channels if "field" in channel} <= columns
    assert not lines_with_points(spec)
    assert shares["source"].value_counts().to_dict() == {
        "Fig. 5, read off": 6,
        "notebook 17": 6,
        "script 20, head 0": 4,
        "script 20, all heads": 4,
    }
    assert shares["formula"].nunique() == 2
    assert shares["share"].between(0, 1).all()
    first = l_star_exhibits.error_rows(published_store).iloc[0]
    printed = {name: first[name].replace(prose.NO_BREAK, " ") for name in l_star_exhibits.HEADERS}
    assert printed == {
        "source": "Fig. 5, read off",
        "prediction": "formula",
        "models": "6",
        "over_depth": "15.7 %",
        "over_layer": "28.8 %",
    }

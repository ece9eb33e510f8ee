"""Estimators of L* by hand, on noise and against the published ones; their frames and charts."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.delia2026.transition import frames as l_star_frames
from analysis.delia2026.transition import l_star, transition_charts, turning
from analysis.delia2026.transition import l_star_tables as l_star_exhibits
from analysis.delia2026.transition import published as published_l_star
from analysis.tidy import prose
from analysis.tidy.columns import texts
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.drawn import encodings, lines_with_points

NAN = math.nan

#: Slopes by np.gradient: -1, 0.5, 1, 2, 1, -1.5, -2. By np.diff: -1, 2, 0, 4, -2, -1.
PROFILE = [2.0, 1.0, 3.0, 3.0, 7.0, 5.0, 4.0]


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        # Central differences of the interior: 0.5, 1, 2, 1, 1.5.
        ("argmax_interior_gradient", 3),
        ("argmax_abs_gradient", 3),
        ("argmax_abs_diff", 3),
        ("first_sign_change", 4),
        ("argmin_contraction", 1),
        ("argmax_gap", 4),
    ],
)
def test_each_estimator_names_the_block_found_by_hand(estimator, expected):
    assert l_star.ESTIMATORS[estimator](PROFILE) == expected


@pytest.mark.parametrize("estimator", l_star.ESTIMATORS.values())
@given(
    profile=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=12),
    place=st.integers(0, 11),
    gap=st.sampled_from([NAN, math.inf, -math.inf]),
)
def test_a_missing_value_anywhere_is_no_layer(estimator, profile, place, gap):
    profile[place % len(profile)] = gap
    assert math.isnan(estimator(profile))


@pytest.mark.parametrize("estimator", l_star.ESTIMATORS.values())
@pytest.mark.parametrize("profile", [[], [1.0], [2.0] * 6])
def test_a_profile_without_a_slope_is_no_layer(estimator, profile):
    assert math.isnan(estimator(profile))


@pytest.mark.parametrize("estimator", l_star.ESTIMATORS.values())
@given(profile=st.lists(st.integers(-50, 50), min_size=3, max_size=12), scale=st.integers(1, 8))
def test_the_unit_of_the_profile_does_not_matter(estimator, profile, scale):
    values = np.array(profile, dtype=float)
    np.testing.assert_equal(estimator(values), estimator(values * scale + 3))


@given(profiles=st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=1))
def test_many_profiles_at_once_are_each_one_by_itself(profiles):
    values = np.array(profiles, dtype=float)
    one_by_one = [l_star.argmax_interior_gradient(row) for row in values]
    np.testing.assert_equal(l_star.steepest(values), one_by_one)


def published(store, metric):
    rows = store.query(
        "SELECT model_id, list(value ORDER BY layer) AS profile FROM published_profile "
        "WHERE metric = $metric GROUP BY model_id",
        metric=metric,
    )
    return dict(zip(rows["model_id"], rows["profile"], strict=True))


MODELS = ["EleutherAI/pythia-160m", "EleutherAI/pythia-410m"]
MODELS += ["facebook/opt-125m", "openai-community/gpt2"]


def test_the_published_layers_and_predictions_follow_from_the_published_traces(published_store):
    traces = published(published_store, "trace_first_head")
    result = [l_star.argmax_abs_gradient(traces[model_id]) for model_id in MODELS]
    stated = published_store.query(
        "SELECT model_id, mean FROM published_figure "
        "WHERE metric = 'l_star_empirical' AND path LIKE '%L_star_trace'"
    ).set_index("model_id")["mean"]
    assert result == stated[MODELS].tolist() == [7, 16, 8, 9]
    assert l_star.argmax_abs_diff(traces["facebook/opt-125m"]) == 2
    rows = published_store.query(
        "SELECT f.model_id, f.path, f.mean, m.n_layers, m.n_heads FROM published_figure AS f "
        "JOIN raw.model AS m USING (model_id) WHERE f.metric = 'l_star_predicted'"
    )
    by_formula = rows[rows["path"].str.endswith("L_star_predicted")]
    assert len(by_formula) == 6
    for row in by_formula.itertuples():
        assert l_star.formula(row.n_layers, row.n_heads) == pytest.approx(row.mean, rel=1e-12)
    by_gain = rows[rows["path"].str.endswith("L_star_apriori")].set_index("model_id")
    typed_in = {"EleutherAI/pythia-160m": 1.157, "EleutherAI/pythia-410m": 0.978}
    for model_id, gain in typed_in.items():
        row = by_gain.loc[model_id]
        assert l_star.a_priori(row["n_layers"], gain) == pytest.approx(row["mean"], rel=1e-12)
    assert l_star.half_depth(12) == 6


def test_chance_is_counted_over_all_orders_of_noise():
    # The first peak of 7 values in each of their 5040 orders.
    peaks = [l_star.first_sign_change(order) for order in permutations(range(7))]
    for layer in range(1, 6):
        share = sum(peak == layer for peak in peaks) / len(peaks)
        assert l_star.sign_change_by_chance(layer) == pytest.approx(share, rel=1e-12)
    assert sum(math.isnan(peak) for peak in peaks) == 2**6
    chances = [l_star.sign_change_by_chance(layer) for layer in range(60)]
    assert chances[0] == 0
    assert [round(chance, 2) for chance in chances[1:6]] == [0.33, 0.33, 0.2, 0.09, 0.03]
    assert sum(chances) == pytest.approx(1)
    mean = sum(layer * chance for layer, chance in enumerate(chances))
    assert mean == pytest.approx((math.e**2 - 3) / 2)
    assert round(mean, 1) == 2.2


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


def test_profiles_that_are_incomplete_or_unknown_are_refused(tiny_store):
    rows = profiles(a=STEP_AT_1)
    with pytest.raises(DesignError, match=r"each layer once; \('a',\) has \[0, 1, 3, 4\]"):
        l_star_frames.estimates(rows[rows["layer"] != 2], value="trace", by=["prompt_id"])
    with pytest.raises(DesignError, match="each layer once"):
        l_star_frames.estimates(profiles(a=STEP_AT_1, b=STEP_AT_1), value="trace", by=["layer"])
    with pytest.raises(ColumnError, match="'depth'"):
        l_star_frames.estimates(rows, value="depth", by=["prompt_id"])
    with pytest.raises(AnalysisError, match="'trace_fold' is not") as refusal:
        turning.profiles(tiny_store, "trace_fold")
    assert refusal.value.hint == "Did you mean 'trace_folded'?"


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
    expected = {"argmax_interior_gradient": 1, "argmax_abs_gradient": 2, "argmax_abs_diff": 1}
    expected |= {"first_sign_change": math.nan, "argmin_contraction": 0, "argmax_gap": 2}
    expected |= {"formula": 3 * (0.11 + 0.012 * 3 + 4.9 / 2), "a_priori": 1.5, "half_depth": 1.5}
    assert rows["estimate"].to_dict() == pytest.approx(expected, nan_ok=True)
    assert rows.index.tolist() == list(expected)
    assert rows.loc["first_sign_change", "note"] == "The profile has no such layer."
    assert set(rows["source"]) == {"measured"}


def test_the_estimators_disagree_on_the_published_traces(published_store):
    turns = {"first_head": "9", "multi_head": "0", "lowest": "0", "highest": "11", "n_layers": "12"}
    assert turning.disagreement(published_store, "openai-community/gpt2") == turns
    assert set(turning.disagreement(published_store, "nobody/nothing").values()) == {"–"}
    assert turning.sign_changes(published_store) == {"published": "2.0", "by_chance": "2.2"}


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
    first = texts(published_l_star.errors(published_store), l_star_exhibits.ERRORS).iloc[0]
    printed = {name: first[name].replace(prose.NO_BREAK, " ") for name in l_star_exhibits.ERRORS}
    assert printed == {
        "source": "Fig. 5, read off",
        "prediction": "formula",
        "models": "6",
        "over_depth": "15.7 %",
        "over_layer": "28.8 %",
    }

"""Estimators of L* by hand, against the published estimates, and on pure noise."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.heritage.transition import l_star

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


MODELS = [
    "EleutherAI/pythia-160m",
    "EleutherAI/pythia-410m",
    "facebook/opt-125m",
    "openai-community/gpt2",
]


def test_the_published_layers_follow_from_the_published_traces(published_store):
    traces = published(published_store, "trace_first_head")
    result = [l_star.argmax_abs_gradient(traces[model_id]) for model_id in MODELS]
    stated = published_store.query(
        "SELECT model_id, mean FROM published_figure "
        "WHERE metric = 'l_star_empirical' AND path LIKE '%L_star_trace'"
    ).set_index("model_id")["mean"]
    assert result == stated[MODELS].tolist() == [7, 16, 8, 9]
    assert l_star.argmax_abs_diff(traces["facebook/opt-125m"]) == 2


def test_the_predictions_are_the_published_ones(published_store):
    rows = published_store.query(
        "SELECT f.model_id, f.path, f.mean, m.n_layers, m.n_heads FROM published_figure AS f "
        "JOIN model AS m USING (model_id) WHERE f.metric = 'l_star_predicted'"
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

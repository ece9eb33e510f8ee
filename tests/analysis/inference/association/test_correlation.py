from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.inference.association import correlation
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

#: R and scipy sum in another order and use other series for the t and normal distributions.
AGREEMENT = 1e-12

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "correlation.csv")
COMPARED = ["estimate", "statistic", "df", "p_value", "conf_low", "conf_high"]

pairs = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=8
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


def points(x, y):
    return pd.DataFrame({"x": x, "y": y}, dtype=float)


def computed(answer):
    rows = models.head(int(answer["n"]))
    level, method = answer["conf_level"], answer["method"]
    if method == "partial":
        names = {"x": "density", "y": "gain", "covariates": answer["case"].split("+")}
        return correlation.partial(rows, **names, conf_level=level)
    y, x = answer["case"].split(" ~ ")
    return correlation.correlate(rows, x=x, y=y, method=method, conf_level=level)


@pytest.mark.parametrize("position", range(len(answers)))
def test_every_number_agrees_with_r(position):
    answer = answers.loc[position]
    row = computed(answer).iloc[0]
    np.testing.assert_allclose(
        row[COMPARED].astype(float), answer[COMPARED].astype(float), rtol=AGREEMENT
    )


def test_exact_spearman_p_by_hand_and_by_enumeration():
    row = correlation.correlate(
        points([1, 2, 3, 4, 5], [10, 20, 30, 40, 500]), x="x", y="y", method="spearman"
    ).iloc[0]
    assert row["estimate"] == 1
    assert row["p_value"] == 2 / factorial(5)
    assert "no width" in row["note"]
    rows = points([1, 1, 2, 3, 3, 4], [2, 1, 1, 5, 4, 4])
    centred = rows.rank().sub(rows.rank().mean())
    enumerated = stats.permutation_test(
        (centred["x"].to_numpy(),),
        lambda x: abs(float(x @ centred["y"].to_numpy())),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=factorial(6),
    )
    row = correlation.correlate(rows, x="x", y="y", method="spearman").iloc[0]
    assert row["p_value"] == pytest.approx(enumerated.pvalue, abs=1e-15)


def orders_by_sum_of_products(n):
    """Return how many of the n! orders have each sum of products, by the ranks taken so far."""
    largest = n * (n + 1) * (2 * n + 1) // 6
    ways = {0: np.eye(1, largest + 1)[0]}
    for rank in range(1, n + 1):
        longer = {}
        for taken, counts in ways.items():
            for other in range(1, n + 1):
                if not taken & 1 << other:
                    # No sum exceeds the largest, so nothing comes round.
                    moved = np.roll(counts, rank * other)
                    longer[taken | 1 << other] = longer.get(taken | 1 << other, 0) + moved
        ways = longer
    (orders,) = ways.values()
    assert orders.sum() == factorial(n)
    return orders


@pytest.mark.parametrize(("n", "relative", "absolute"), [(10, 1e-12, 0), (13, 0.06, 1.5e-4)])
def test_spearman_p_without_ties_is_exact_to_twelve_rows_and_near_it_beyond(n, relative, absolute):
    orders = orders_by_sum_of_products(n)
    distances = np.abs(np.arange(len(orders)) - n * (n + 1) ** 2 / 4)
    ranks, rng = np.arange(1.0, n + 1), np.random.default_rng(1)
    for shuffled in (0, *range(2, n + 1)) * 4:
        y = ranks.copy()
        y[:shuffled] = rng.permutation(y[:shuffled])
        rows = points(ranks.tolist(), y.tolist())
        row = correlation.correlate(rows, x="x", y="y", method="spearman").iloc[0]
        exact = orders[distances >= distances[int(ranks @ y)]].sum() / factorial(n)
        assert row["p_value"] == pytest.approx(exact, rel=relative, abs=absolute)
        assert row["p_value"] >= 2 / factorial(n) * (1 - 1e-9)


def test_a_printed_r_gives_the_row_of_the_data_and_three_rows_the_whole_range():
    whole = correlation.correlate(models, x="density", y="gain")
    printed = correlation.from_summary(float(whole["estimate"].iloc[0]), len(models))
    numeric = ["estimate", "statistic", "df", "p_value", "conf_low", "conf_high", "n_obs"]
    pd.testing.assert_frame_equal(whole[numeric], printed[numeric], rtol=1e-13)
    row = correlation.correlate(points([1, 2, 3], [1, 3, 2]), x="x", y="y").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (-1, 1)
    assert "whole range" in row["note"]


@settings(max_examples=60, deadline=None)
@given(rows=pairs, method=st.sampled_from(correlation.METHODS), seed=st.integers(0, 99))
def test_order_of_rows_and_of_x_and_y_does_not_matter(rows, method, seed):
    frame = pd.DataFrame(rows, columns=["x", "y"])
    shuffled = frame.sample(frac=1, random_state=seed)
    first = correlation.correlate(frame, x="x", y="y", method=method).iloc[0]
    second = correlation.correlate(shuffled, x="y", y="x", method=method).iloc[0]
    for name in ("estimate", "p_value", "conf_low", "conf_high"):
        assert first[name] == pytest.approx(second[name], rel=1e-9, abs=1e-12)
    assert 0 <= first["p_value"] <= 1
    assert first["conf_low"] <= first["estimate"] <= first["conf_high"]


@settings(max_examples=40, deadline=None)
@given(rows=pairs, shift=st.integers(-9, 9), scale=st.integers(1, 9))
def test_pearson_ignores_shift_and_scale_and_follows_the_sign(rows, shift, scale):
    frame = pd.DataFrame(rows, columns=["x", "y"])
    plain = correlation.correlate(frame, x="x", y="y").iloc[0]
    moved = correlation.correlate(frame.assign(x=shift - scale * frame["x"]), x="x", y="y").iloc[0]
    assert moved["estimate"] == pytest.approx(-plain["estimate"], abs=1e-12)
    assert moved["conf_low"] == pytest.approx(-plain["conf_high"], abs=1e-9)


REFUSED = [
    (models, {"x": "densty"}, ColumnError, "'densty'; the nearest is 'density'"),
    (models, {"x": "lab"}, ColumnError, "'lab' must hold numbers; it holds str"),
    (models, {"method": "spear"}, AnalysisError, "'pearson', 'spearman'; found 'spear'"),
    (models, {"conf_level": 95}, AnalysisError, "between 0 and 1; found 95"),
    (models.assign(density=models.index % 2 / 0), {}, ColumnError, "numbers; .* not: 24 of 24"),
    (models.assign(density=2.0), {}, DesignError, r"'density' must vary; all 24 rows hold 2\.0"),
    (models.head(2), {}, DesignError, "needs at least 3 rows; found 2"),
]


@pytest.mark.parametrize(("frame", "options", "error", "message"), REFUSED)
def test_what_has_no_correlation_is_refused(frame, options, error, message):
    with pytest.raises(error, match=message):
        correlation.correlate(frame, **{"x": "density", "y": "gain"} | options)


def test_a_covariate_that_repeats_another_is_refused():
    rows = models.assign(twice=2 * models["layers"])
    with pytest.raises(DesignError, match="linear combination"):
        correlation.partial(rows, x="density", y="gain", covariates=["layers", "twice"])
    with pytest.raises(ColumnError, match="Name each column once"):
        correlation.partial(rows, x="density", y="gain", covariates=["gain"])


@pytest.mark.parametrize(
    ("r", "n", "error", "message"),
    [
        (-1.2, 8, AnalysisError, r"\[-1, 1\]; found -1\.2"),
        (0.5, 2, DesignError, "at least 3; found 2"),
        (0.5, float("nan"), DesignError, "at least 3; found nan"),
        (0.5, float("inf"), DesignError, "at least 3; found inf"),
        ("0.3", 10, AnalysisError, "numbers"),
        (0.3, "10", AnalysisError, "numbers"),
    ],
)
def test_an_impossible_printed_r_is_refused(r, n, error, message):
    with pytest.raises(error, match=message):
        correlation.from_summary(r, n)

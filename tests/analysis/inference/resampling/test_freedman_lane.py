from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from analysis.inference.resampling.freedman_lane import freedman_lane
from analysis.inference.resampling.permutation import permutation_test
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R

small = pd.DataFrame(
    {"y": [1.0, 2.5, 2.0, 4.0, 6.5, 5.0], "x": [0.0, 1.0, 2.0, 1.0, 3.0, 4.0]}
    | {"g": list("aabbcc"), "h": list("uuuuvv")}
)


def f_by_least_squares(y, small_x, large_x):
    def left(x):
        return float(((y - x @ np.linalg.lstsq(x, y)[0]) ** 2).sum())

    p, q = np.linalg.matrix_rank(small_x), np.linalg.matrix_rank(large_x)
    return (left(small_x) - left(large_x)) / (q - p) / (left(large_x) / (len(y) - q))


def share_of_orders(orders, small_x, large_x):
    y = small["y"].to_numpy()
    fitted = small_x @ np.linalg.lstsq(small_x, y)[0]
    residual = y - fitted
    values = [f_by_least_squares(fitted + residual[order], small_x, large_x) for order in orders]
    return float(np.mean(np.array(values) >= values[0] * (1 - 1e-9)))


def designs():
    line = np.column_stack([np.ones(6), small["x"]])
    return line, np.column_stack([line, pd.get_dummies(small["g"]).to_numpy(float)])


def test_every_order_of_six_rows_as_by_refitting_each():
    orders = [list(order) for order in permutations(range(6))]
    row = freedman_lane(small, "y ~ x", "y ~ x + g").iloc[0]
    assert row["n_permutations"] == 720
    assert row["p_value"] == pytest.approx(share_of_orders(orders, *designs()), abs=1e-12)
    assert row["statistic"] == pytest.approx(f_by_least_squares(small["y"].to_numpy(), *designs()))
    y = small["y"].to_numpy()
    left = [((y - x @ np.linalg.lstsq(x, y)[0]) ** 2).sum() for x in designs()]
    assert row["estimate"] == pytest.approx((left[0] - left[1]) / ((y - y.mean()) ** 2).sum())
    line, full = designs()
    nested = np.column_stack([line, small["h"] == "v"])
    orders = [[*a, *b] for a in permutations(range(4)) for b in permutations((4, 5))]
    row = freedman_lane(small, "y ~ x + h", "y ~ x + h + g", within="h").iloc[0]
    assert row["n_permutations"] == 48
    assert row["p_value"] == pytest.approx(share_of_orders(orders, nested, full), abs=1e-12)


def test_few_rows_have_few_orders_counted():
    # R's vegan: the groups do not overlap, so only they and their exchange reach the F observed.
    y = [-0.1281, 0.0264, 0.2268, -0.1615, 1.4171, 1.4475, 1.5297, 1.3943]
    row = freedman_lane(pd.DataFrame({"y": y, "g": list("aaaabbbb")}), "y ~ 1", "y ~ g").iloc[0]
    assert row["n_permutations"] == 70
    assert row["p_value"] == row["smallest_p"] == pytest.approx(2 / 70, abs=1e-15)
    assert row["p_value_f"] < 1e-4
    # Of the three ways to pair, one has F = 8e7; of the others the observed one is the better.
    rows = pd.DataFrame({"y": [0.0, 1e-4, 1.0, 1 + 2e-4], "g": list("abab")})
    row = freedman_lane(rows, "y ~ 1", "y ~ g").iloc[0]
    assert (row["p_value"], row["smallest_p"]) == pytest.approx((2 / 3, 1 / 3))


def test_units_that_the_design_does_not_tell_apart_are_exchanged_once():
    # Every order within two levels, against the 6 * 3 that differ.
    rows = pd.DataFrame(
        {"y": [1.0, 2.0, 4.0, 8.0, 3.0, 9.0, 5.0], "h": list("uuuuvvv"), "g": list("aabbaba")}
    )
    row = freedman_lane(rows, "y ~ h", "y ~ h + g", within="h").iloc[0]
    design = np.column_stack([np.ones(7), rows["h"] == "v"])
    full = np.column_stack([design, rows["g"] == "b"])
    y = rows["y"].to_numpy()
    residual = y - design @ np.linalg.lstsq(design, y)[0]
    orders = [[*a, *b] for a in permutations(range(4)) for b in permutations((4, 5, 6))]
    values = np.array([f_by_least_squares(residual[order], design, full) for order in orders])
    assert row["n_permutations"] == 6 * 3
    share = np.mean(values >= values[0] * (1 - 1e-9))
    assert row["p_value"] == pytest.approx(share, abs=1e-12)


def test_beside_a_mean_it_is_the_exchange_of_labels():
    models = pd.read_csv(R / "models.csv")
    labs = models.groupby("lab", as_index=False)[["gain", "heritage"]].mean()

    def difference(rows):
        marked = rows["heritage"] == 1
        return float(rows.loc[marked, "gain"].mean() - rows.loc[~marked, "gain"].mean())

    exchanged = permutation_test(labs, difference, label="heritage", unit="lab").iloc[0]
    row = freedman_lane(labs, "gain ~ 1", "gain ~ heritage").iloc[0]
    assert row["p_value"] == pytest.approx(exchanged["p_value"], abs=1e-12)


def test_sampled_orders_are_reproducible_and_agree_with_all():
    rows = pd.concat([small, small.assign(y=small["y"] + 0.3, g="d")], ignore_index=True)
    with pytest.raises(AnalysisError, match="rng"):
        freedman_lane(rows, "y ~ x", "y ~ x + g")
    result = [
        freedman_lane(
            rows, "y ~ x", "y ~ x + g", rng=np.random.default_rng(3), n_permutations=999
        ).iloc[0]["p_value"]
        for _ in range(2)
    ]
    assert result[0] == result[1]
    assert (result[0] * 1000) == pytest.approx(round(result[0] * 1000))


@pytest.mark.parametrize("levels", [[0, 1, 2], [0.1, 0.3, 0.7]])
def test_a_model_that_fits_every_row_has_an_infinite_f_and_the_p_of_its_orders(levels):
    rows = pd.DataFrame({"y": np.repeat(levels, 2), "g": list("aabbcc")})
    row = freedman_lane(rows, "y ~ 1", "y ~ g").iloc[0]
    assert (row["statistic"], row["estimate"], row["p_value_f"]) == (np.inf, 1.0, 0.0)
    # Of the 6! orders those that keep equal values in one group: 3! groups, 2 orders in each.
    assert row["p_value"] == row["smallest_p"] == pytest.approx(48 / 720)


def test_a_smaller_model_that_fits_every_row_leaves_nothing_to_test():
    rows = small.assign(y=0.1 * small["x"] + 0.3)
    with pytest.raises(DesignError, match="must leave something to explain"):
        freedman_lane(rows, "y ~ x", "y ~ x + g")


@pytest.mark.parametrize(
    ("reduced", "full", "options", "message"),
    [
        ("y ~ x", "y ~ g", {}, "must lie in the larger"),
        ("y ~ g", "y ~ g + h", {}, "must add something"),
        ("x ~ y", "y ~ x", {}, "one response"),
        ("y ~ x", "y ~ x + g", {"within": "x"}, ""),
        ("y ~ x", "y ~ x + g", {"within": "y"}, "has one row"),
        ("y ~ x", "y ~ C(x) + g", {}, "leave a residual"),
    ],
)
def test_comparisons_that_are_none_are_refused(reduced, full, options, message):
    if not message:
        result = freedman_lane(small, reduced, full, **options).iloc[0]
        assert result["n_permutations"] == 2
        assert "no other to change places" in result["note"]
        return
    with pytest.raises(DesignError, match=message):
        freedman_lane(small, reduced, full, **options)

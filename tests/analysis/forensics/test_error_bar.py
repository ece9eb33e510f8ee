"""What printed numbers and error bars leave open, where they come from, tables against R."""

from itertools import combinations, product
from statistics import mean, stdev

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.forensics import error_bar, granularity, mape, provenance, table_search
from analysis.forensics.rounding import percent_change, ratio, read
from analysis.tidy import numerals
from tests.analysis.places import R

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_kinds_are_what_a_hand_computes():
    kinds = error_bar.kinds(stdev(VALUES), 5, "0.71").set_index("term")
    assert kinds["estimate"].to_dict() == pytest.approx(
        {
            "standard deviation": 2.5**0.5,
            "standard deviation, divisor n": 2**0.5,
            "standard error": 0.5**0.5,
            "standard error, divisor n": 0.4**0.5,
            "half of the 95 % interval": 2.776445 * 0.5**0.5,
        },
        rel=1e-6,
    )
    assert kinds.index[kinds["consistent"]].tolist() == ["standard error"]
    assert error_bar.kinds(1.0, 4, "0.55", accuracy=0.04)["consistent"].sum() == 0
    named = error_bar.kinds(1.0, 4, "0.55", accuracy=0.06).set_index("term")["consistent"]
    assert named[named].index.tolist() == ["standard error"]


def test_the_choices_are_those_that_counting_finds():
    values = np.random.default_rng(3).normal(1, 0.2, 9).tolist()
    drawn = [values[place] for place in (0, 3, 7, 8)]
    centre, length = f"{mean(drawn):.2f}", f"{stdev(drawn) / 2:.2f}"
    result = error_bar.subsets(values, 4, centre, length)
    counted = [
        places
        for places in combinations(range(9), 4)
        if abs(mean(values[place] for place in places) - float(centre)) <= 0.005
        and abs(stdev(values[place] for place in places) / 2 - float(length)) <= 0.005
    ]
    assert result["rows"].tolist() == counted
    assert (0, 3, 7, 8) in counted
    assert (result["n_choices"] == 126).all()
    assert error_bar.subsets(VALUES, 3, "9.00", "0.10").empty


def test_matches_by_chance_are_the_neighbours_of_a_choice():
    values = np.random.default_rng(5).normal(1, 0.2, 8).tolist()
    choices = [[values[place] for place in places] for places in combinations(range(8), 3)]
    points = [(mean(chosen), stdev(chosen) / 3**0.5) for chosen in choices]
    neighbours = [
        sum(abs(a - c) <= 0.05 and abs(b - d) <= 0.05 for c, d in points) - 1 for a, b in points
    ]
    first = points[0]
    result = error_bar.subsets(values, 3, f"{first[0]:.6f}", f"{first[1]:.6f}", accuracy=0.05)
    assert result["expected_matches"].iloc[0] == pytest.approx(mean(neighbours))


FIGURE = pd.DataFrame(
    {
        "subject": ["a", "b", "c"],
        "printed": ["1.10", "0.93", ""],
        "accuracy": [np.nan, 0.01, np.nan],
    }
)
OF_FILES = pd.DataFrame(
    {
        "file": ["right"] * 3 + ["swapped"] * 3 + ["other"],
        "subject": ["a", "b", "c", "a", "b", "c", "z"],
        "value": [1.102, 0.938, 5.0, 0.93, 1.1, 7.0, 1.1],
    }
)


def test_the_file_with_the_numbers_of_the_same_subjects_comes_first():
    result = provenance.sources(FIGURE, OF_FILES).set_index("file")
    assert result.index.tolist() == ["right", "swapped", "other"]
    assert result["n_hits"].tolist() == [3, 1, 0]
    assert result["consistent"].tolist() == [True, False, False]
    assert (result["n_obs"] == 3).all()
    # Of its three values one fits each printed number, and all fit the one not printed.
    assert result["n_by_chance"]["swapped"] == pytest.approx(1 / 3 + 1 / 3 + 1)
    assert result["n_by_chance"]["other"] == 0
    exact = FIGURE.assign(accuracy=[np.nan, np.nan, np.nan])
    assert provenance.sources(exact, OF_FILES)["n_hits"].iloc[0] == 2
    assert provenance.sources(FIGURE, OF_FILES.iloc[:0]).empty
    values = pd.DataFrame({"file": "one", "subject": ["a", "a", "b", "b"], "value": [1, 2, 3, 4.0]})
    figure = pd.DataFrame({"subject": ["a"], "printed": ["1"], "accuracy": [None]})
    # Of the six pairs of its values three hold the 1.
    assert provenance.sources(figure, values)["n_by_chance"].item() == pytest.approx(1 / 2)


ANSWERS = pd.read_csv(R / "table_search.csv")

#: R enumerates on the log scale.
DIGITS = 1e-9


@pytest.mark.parametrize("place", range(len(ANSWERS)), ids=ANSWERS["name"])
def test_the_exact_p_is_that_of_r(place):
    answer = ANSWERS.loc[place]
    hits, totals = ([int(n) for n in answer[name].split()] for name in ("hits", "totals"))
    assert table_search.exact_p(hits, totals) == pytest.approx(answer["p_value"], rel=DIGITS)


def test_the_quoted_p_needs_few_tables_and_large_ones_are_exact():
    assert table_search.exact_p([0, 0], [4, 9]) == 1
    assert table_search.exact_p([1000, 1000], [2000, 2000]) == 1.0
    result = table_search.tables(["80 %", "0 %"], "< 0.001", n=23)
    ours = result[result["group"] == 0].set_index("n_obs")
    assert ours["n_hits"].to_dict() == {5: 4, 10: 8, 15: 12, 20: 16}
    assert ours["consistent"].tolist() == [True, True, True, False]
    expected = stats.fisher_exact([[4, 1], [0, 18]]).pvalue
    assert ours["p_value"][5] == pytest.approx(expected)
    result = table_search.tables(["80 %", "0 %"], "< 0.001", sizes=[5, 11])
    assert result["p_value"].tolist() == pytest.approx([5 / 1820] * 2)
    assert not result["consistent"].any()


def test_every_table_with_the_shares_is_found_and_no_other():
    result = table_search.tables(["67 %", "33 %"], "< 0.1", n=18)
    rows = result.pivot_table(index="table", columns="group", values=["n_hits", "n_obs"])
    tables = {tuple(int(value) for value in row) for row in rows.to_numpy()}
    counted = {
        (a, b, m, 18 - m)
        for m in range(1, 18)
        for a, b in product(range(m + 1), range(19 - m))
        if f"{100 * a / m:.0f}" == "67" and f"{100 * b / (18 - m):.0f}" == "33"
    }
    assert tables == counted
    assert len(counted) > 4
    result = table_search.tables(["100 %", "50 %", "0 %"], "< 0.05", n=8)
    totals = result.groupby("table")["n_obs"].sum()
    assert set(totals) == {8}
    assert result.groupby("table")["group"].count().eq(3).all()
    assert table_search.tables(["43.75 %", "0 %"], "< 0.05", n=10).empty
    pair = ["80 %", "0 %"]
    by_list = table_search.tables(pair, "< 0.001", sizes=[5, 18])
    pd.testing.assert_frame_equal(
        table_search.tables(pair, "< 0.001", sizes=np.array([5, 18])), by_list
    )


@pytest.mark.parametrize(
    ("text", "value", "low", "high", "relation"),
    [
        ("−0.81", -0.81, -0.815, -0.805, "="),
        ("< .001", 0.001, 0.0005, 0.0015, "<"),
        ("≥ 2", 2, 1.5, 2.5, "≥"),
        ("62,696", 62696, 62695.5, 62696.5, "="),
        ("50 %", 50, 49.5, 50.5, "="),
        ("26×", 26, 25.5, 26.5, "="),
        ("1.20e-3", 0.0012, 0.001195, 0.001205, "="),
        ("5.", 5, 4.5, 5.5, "="),
    ],
)
def test_the_last_digit_says_what_is_left_open(text, value, low, high, relation):
    number = read(text)
    assert (number.value, number.low, number.high) == pytest.approx((value, low, high))
    assert number.relation == relation


def test_zeros_at_the_end_may_be_rounding_and_an_accuracy_replaces_the_last_digit():
    assert (read("50").low, read("50", trailing_zeros_count=False).low) == (49.5, 45)
    assert read("300", trailing_zeros_count=False).high == 350
    assert read("5.0", trailing_zeros_count=False).high == 5.05
    assert read("0", trailing_zeros_count=False).high == 0.5
    number = read("0.0419", accuracy=0.0005)
    assert (number.low, number.high) == (0.0414, 0.0424)
    assert numerals.plain("−1\u00a0–2") == "-1 -2"


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_the_true_value_is_always_left_open(value, decimals):
    number = read(f"{value:.{decimals}f}")
    assert number.low - 1e-9 <= value <= number.high + 1e-9


@settings(deadline=None)
@given(st.floats(0.5, 1e4), st.floats(0.5, 1e4), st.integers(0, 3), st.integers(0, 3))
def test_an_honest_ratio_or_change_is_consistent(first, second, decimals, shown):
    parts = f"{first:.{decimals}f}", f"{second:.{decimals}f}"
    assume(min(float(part) for part in parts) > 0.6)
    assert ratio(*parts, f"{first / second:.{shown}f}")["consistent"].item()
    change = abs(100 * (second / first - 1))
    assert percent_change(*parts, f"{change:.{shown}f} %")["consistent"].item()


def test_the_printed_ratio_of_traces_and_a_change_follow():
    row = ratio("62,696", "2,368", "26×").iloc[0]
    assert row["estimate"] == pytest.approx(62696 / 2368)
    assert row["value_low"] == pytest.approx(62695.5 / 2368.5)
    assert row["value_high"] == pytest.approx(62696.5 / 2367.5)
    assert not ratio("62,696", "2,368", "27×")["consistent"].item()
    row = percent_change("2.32", "1.15", "50 %").iloc[0]
    assert row["estimate"] == pytest.approx(100 * (1 - 1.15 / 2.32))
    assert percent_change("1.00", "1.50", "50 %")["consistent"].item()
    assert percent_change("1.0", "1.0", "0 %")["value_low"].item() == 0
    assert not percent_change("2.32", "1.15", "40 %")["consistent"].item()


def test_bounds_are_compared_as_bounds_and_shares_name_their_numbers_of_units():
    assert read("< 0.05").meets(0.01, 0.02)
    assert not read("< 0.05").meets(0.05, 0.06)
    assert read("> 0.05").meets(0.01, 0.06)
    assert (read("≥ 23").meets(23, 23), read("≥ 23").meets(22, 22)) == (True, False)
    assert (read("≤ 5").meets(5, 5), read("< 5").meets(5, 5)) == (True, False)
    assert granularity.denominators("43.75 %", 40)["n_obs"].tolist() == [16, 32]
    rows = granularity.denominators("80 %", 12)
    assert list(zip(rows["n_obs"], rows["n_hits"], strict=True)) == [(5, 4), (10, 8)]
    assert granularity.denominators("33 %", 3)["n_hits"].tolist() == [1]
    assert granularity.hits_of(read("> 50 %"), 4) == [3, 4]


CASES = pd.DataFrame({"predicted": [6.0, 6.0, 9.0], "observed": [3.0, 6.0, 10.0], "size": 12.0})


def test_each_definition_is_what_a_hand_computes():
    found = mape.definitions(CASES, "36.67 %").set_index("term")
    assert found["estimate"].to_dict() == pytest.approx(
        {
            mape.MAPE: 100 * (1 + 0 + 0.1) / 3,
            "mean of |error| / size": 100 * (3 + 0 + 1) / 36,
            "median of |error| / found": 10,
            "sum of |error| / sum of found": 100 * 4 / 19,
            "sum of |error| / sum of size": 100 * 4 / 36,
        }
    )
    assert found.index[found["consistent"]].tolist() == [mape.MAPE]
    assert (found["n_obs"] == 3).all()
    found = mape.definitions(CASES, "11.1 %").set_index("term")["consistent"]
    assert not found[mape.MAPE]
    assert found["mean of |error| / size"]

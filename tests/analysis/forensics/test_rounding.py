"""What a printed number leaves open, what follows from two, which shares and errors it can be."""

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.forensics import granularity, mape
from analysis.forensics.rounding import percent_change, ratio, read
from analysis.tidy import numerals


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


def test_bounds_are_compared_as_bounds():
    assert read("< 0.05").meets(0.01, 0.02)
    assert not read("< 0.05").meets(0.05, 0.06)
    assert read("> 0.05").meets(0.01, 0.06)
    assert (read("≥ 23").meets(23, 23), read("≥ 23").meets(22, 22)) == (True, False)
    assert (read("≤ 5").meets(5, 5), read("< 5").meets(5, 5)) == (True, False)


def test_a_share_names_the_numbers_of_units_it_can_be_of():
    assert granularity.denominators("43.75 %", 40)["n_obs"].tolist() == [16, 32]
    rows = granularity.denominators("80 %", 12)
    assert list(zip(rows["n_obs"], rows["n_hits"], strict=True)) == [(5, 4), (10, 8)]
    assert granularity.denominators("33 %", 3)["n_hits"].tolist() == [1]
    assert granularity.hits_of(read("> 50 %"), 4) == [3, 4]


CASES = pd.DataFrame({"predicted": [6.0, 6.0, 9.0], "found": [3.0, 6.0, 10.0], "size": 12.0})


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

"""What a printed number leaves open, and what follows from two of them."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.forensics import rounding
from analysis.forensics.rounding import percent_change, ratio, read
from analysis.tidy import numerals
from analysis.tidy.errors import AnalysisError, DesignError


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


def test_zeros_at_the_end_may_be_rounding():
    assert (read("50").low, read("50", trailing_zeros_count=False).low) == (49.5, 45)
    assert read("300", trailing_zeros_count=False).high == 350
    assert read("5.0", trailing_zeros_count=False).high == 5.05
    assert read("0", trailing_zeros_count=False).high == 0.5


def test_a_text_is_no_answer_to_whether_zeros_count():
    with pytest.raises(AnalysisError, match="`trailing_zeros_count` must be True or False"):
        read("50", trailing_zeros_count="no")


def test_an_accuracy_replaces_the_last_digit():
    number = read("0.0419", accuracy=0.0005)
    assert (number.low, number.high) == (0.0414, 0.0424)


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


def test_the_printed_ratio_of_traces_follows_from_the_traces():
    row = ratio("62,696", "2,368", "26×").iloc[0]
    assert row["estimate"] == pytest.approx(62696 / 2368)
    assert row["value_low"] == pytest.approx(62695.5 / 2368.5)
    assert row["value_high"] == pytest.approx(62696.5 / 2367.5)
    assert not ratio("62,696", "2,368", "27×")["consistent"].item()


def test_a_change_may_go_either_way():
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


@pytest.mark.parametrize("text", ["", "about 3", "1.2.3", "3 of 5", ".", "1,23"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(AnalysisError, match="A printed number must be digits"):
        read(text)


def test_a_denominator_that_may_be_zero_is_refused():
    with pytest.raises(DesignError, match=r"The denominator must not round from 0; found '0\.0'"):
        ratio("1", "0.0", "1")
    with pytest.raises(DesignError, match="The first number must not round from 0"):
        percent_change("0", "1", "1")


def test_typographic_signs_become_plain():
    assert numerals.plain("−1\u00a0–2") == "-1 -2"


@pytest.mark.parametrize(
    ("printed", "refusal"),
    [(2.5, "must be text, which keeps its last zeros"), ("1e400", "at most 300 places")],
)
def test_numbers_that_no_page_prints_are_refused(printed, refusal):
    with pytest.raises(AnalysisError, match=refusal):
        rounding.read(printed)

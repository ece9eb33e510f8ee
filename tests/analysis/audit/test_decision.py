"""The rules of decision where a number lies on the line itself, and how numbers print."""

import pytest

from analysis.audit.evidence import decision
from analysis.tidy.errors import AnalysisError


@pytest.mark.parametrize(
    ("low", "high", "is_above", "is_below"),
    [
        (0.0, 1.0, None, None),
        (-1.0, 0.0, None, None),
        (0.1, 1.0, True, False),
        (-1.0, -0.1, False, True),
        (float("nan"), float("nan"), None, None),
    ],
)
def test_an_interval_that_holds_the_line_decides_nothing(low, high, is_above, is_below):
    assert decision.above(low, high, 0.0) is is_above
    assert decision.below(low, high, 0.0) is is_below


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 1.1, True),
        (0.8, 1.1, None),
        (0.9, 1.2, None),
        (0.5, 0.8, None),
        (1.2, 1.5, None),
        (0.5, 0.79, False),
        (1.21, 1.5, False),
        (0.5, 1.5, None),
    ],
)
def test_an_interval_that_touches_the_margin_decides_nothing(low, high, expected):
    assert decision.within(low, high, 0.8, 1.2) is expected


@pytest.mark.parametrize(
    ("hits", "unclear", "expected"),
    [(4, 0, False), (5, 3, True), (4, 1, None), (0, 5, None), (0, 4, False)],
)
def test_half_is_not_most(hits, unclear, expected):
    assert decision.more_than_half(hits, unclear, 8) is expected


@pytest.mark.parametrize(
    ("value", "stated", "prints"),
    [
        (105.1, "110", True),
        (104.9, "110", False),
        (1049.0, "1000", True),
        (1.5, "2", True),
        (-26.4, "-26", True),
        (0.0, "0", True),
        (0.4, "0", True),
        (1.0, "0", False),
        (0.1951, "0.20", True),
        (0.2049, "0.20", True),
        (0.206, "0.20", False),
    ],
)
def test_a_value_prints_at_the_digits_of_the_one_stated(value, stated, prints):
    assert decision.prints_as(value, stated) is prints


@pytest.mark.parametrize(
    ("value", "stated"),
    [
        (0.0496, ".05"),
        (-0.8116, "−0.81"),
        (62695.87, "62,696"),
        (49.6, "50 %"),
        (0.5, "+0.5"),
        (-0.001, "0.00"),
        (-0.3, "0"),
        (0.00123, "1.2e-3"),
        (1234.0, "1.2e3"),
    ],
)
def test_a_number_may_be_printed_in_any_usual_form(value, stated):
    assert decision.prints_as(value, stated)
    assert not decision.prints_as(1.1 * value + 1, stated)


@pytest.mark.parametrize("stated", ["", "< 0.001", "two", "0.1 to 0.2"])
def test_what_is_no_number_is_refused_rather_than_unlike_every_value(stated):
    with pytest.raises(AnalysisError, match="must be one number"):
        decision.prints_as(0.1, stated)


@pytest.mark.parametrize("stated", ["100", "100 %", "0", "0%"])
def test_none_and_all_are_not_nearly_none_and_nearly_all(stated):
    whole = float(stated.startswith("100"))
    assert decision.share_prints_as(whole, stated)
    assert not decision.share_prints_as(abs(whole - 1 / 24), stated)
    assert not decision.share_prints_as(abs(whole - 1 / 1000), stated)

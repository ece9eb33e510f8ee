"""The rules of decision on the line itself, the reading that gives the numbers, testability."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from analysis.audit import testable
from analysis.audit.claim import Claim, verdict
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, across, lacks_null, missing, null_of
from analysis.audit.examination import examined
from analysis.audit.wording import primary
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.tournament import criterion
from analysis.tidy import prose
from analysis.tidy.errors import AnalysisError


@pytest.mark.parametrize(
    ("low", "high", "is_above", "is_below"),
    [(0, 1, None, None), (-1, 0, None, None), (0.1, 1, True, False), (-1, -0.1, False, True)],
)
def test_an_interval_that_holds_the_line_decides_nothing(low, high, is_above, is_below):
    assert decision.above(low, high, 0.0) is is_above
    assert decision.below(low, high, 0.0) is is_below
    nothing = float("nan")
    assert decision.above(nothing, nothing, 0.0) is decision.below(nothing, nothing, 0.0) is None


def test_an_interval_that_touches_the_margin_decides_nothing_and_half_is_not_most():
    touching = [(0.8, 1.1), (0.9, 1.2), (0.5, 0.8), (1.2, 1.5), (0.5, 1.5)]
    assert {decision.within(*ends, 0.8, 1.2) for ends in touching} == {None}
    assert decision.within(0.9, 1.1, 0.8, 1.2) is True
    assert {decision.within(*ends, 0.8, 1.2) for ends in ((0.5, 0.79), (1.21, 1.5))} == {False}
    counts = [(4, 0), (5, 3), (4, 1), (0, 5), (0, 4)]
    answers = [decision.more_than_half(hits, unclear, 8) for hits, unclear in counts]
    assert answers == [False, True, None, None, False]


@pytest.mark.parametrize(
    ("stated", "printing", "others"),
    [
        ("110", [105.1], [104.9]),
        ("1000", [1049.0], []),
        ("2", [1.5], []),
        ("-26", [-26.4], []),
        ("0", [0.0, 0.4, -0.3], [1.0]),
        ("0.20", [0.1951, 0.2049], [0.206]),
        # Any usual form.
        (".05", [0.0496], [1.06]),
        ("−0.81", [-0.8116], [0.11]),
        ("62,696", [62695.87], [68966.0]),
        ("50 %", [49.6], [55.6]),
        ("+0.5", [0.5], [1.6]),
        ("0.00", [-0.001], [0.99]),
        ("1.2e-3", [0.00123], [1.001]),
        ("1.2e3", [1234.0], [1358.0]),
    ],
)
def test_a_value_prints_at_the_digits_of_the_one_stated_in_any_usual_form(stated, printing, others):
    assert [decision.prints_as(value, stated) for value in printing] == [True] * len(printing)
    assert not any(decision.prints_as(value, stated) for value in others)


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


def test_a_reading_that_decides_gives_the_numbers():
    stated = Check("law", "as stated", None, estimate=0.15, p_value=0.5)
    other = Check("law", "another", False, estimate=-0.72, p_value=0.002)
    assert verdict([stated, other], "equality") == "undecided"
    assert primary([stated, other], "equality") is stated
    holds = Check("first", "as stated", True, estimate=1.0)
    is_open = Check("second", "a file", None, estimate=0.3)
    absent = missing("second", "another file", "no file")
    assert primary([holds, is_open, absent], "value") is is_open
    # No other reading stands for a stated one without data.
    assert primary([holds, absent, is_open], "value") is holds
    is_open = Check("law", "as stated", None, estimate=0.15)
    holds = Check("law", "another", True, estimate=0.9)
    assert verdict([is_open, holds], "value") == "depends on the reading"
    assert primary([is_open, holds], "value") is holds
    absent = missing("law", "a file", "no file")
    assert primary([absent], "value") is absent


FISHER = {"estimate": 8.0, "conf_low": 0.64, "conf_high": 472.0, "p_value": 0.14, "null_value": 1}


@pytest.mark.parametrize(
    ("changed", "side", "expected"),
    [
        # An odds ratio of 8 with p = .14 refutes nothing; nor does one of 0 in eight models.
        ({}, "above", None),
        ({"estimate": 0.0, "conf_low": 0.0, "conf_high": 1.88, "p_value": 0.2}, "above", None),
        ({"conf_low": 1.2, "p_value": 0.03}, "above", True),
        ({"conf_low": 1.2, "p_value": 0.03}, "other", True),
        ({"conf_low": 1.2, "p_value": 0.03}, "below", False),
        # Interval and p of Fisher's test may disagree: neither alone decides.
        ({"conf_low": 0.9, "p_value": 0.03}, "above", None),
        ({"conf_low": 1.2, "p_value": 0.06}, "above", None),
        # Without an interval the p decides, and without a p the interval.
        ({"conf_low": math.nan, "conf_high": math.nan, "p_value": 0.01}, "above", True),
        ({"conf_low": math.nan, "conf_high": math.nan, "p_value": 0.01}, "below", False),
        ({"conf_low": math.nan, "conf_high": math.nan}, "below", None),
        ({"conf_low": 1.2, "p_value": math.nan}, "above", True),
        ({"conf_low": 0.1, "conf_high": 0.8, "p_value": math.nan}, "above", False),
        ({"estimate": math.inf, "conf_high": math.inf}, "above", None),
    ],
)
def test_a_row_holds_fails_or_cannot_tell(changed, side, expected):
    assert decision.significant(FISHER | changed, side) is expected
    assert decision.significant(pd.Series(FISHER | changed), side) is expected


@pytest.mark.parametrize(
    ("row", "asked", "named"),
    [
        (FISHER, {"side": "more"}, "above, below, other"),
        ({"estimate": 1.0, "p_value": 0.1}, {"null": 0}, "a column conf_low; it has estimate, p"),
        ({**FISHER, "null_value": 1}, {"null": None, "side": "less"}, "found 'less'"),
        (dict.fromkeys([*FISHER][:4], math.nan), {"null": 0}, "neither"),
        (dict.fromkeys([*FISHER][:4], 1.0), {}, "a column null_value"),
    ],
)
def test_a_row_that_cannot_be_asked_is_refused_by_name(row, asked, named):
    with pytest.raises(AnalysisError, match=named):
        decision.significant(row, **asked)


def test_a_check_that_fails_though_its_interval_cannot_tell_is_named():
    def open_(**other):
        given = {"conf_low": 0.64, "conf_high": 472.0, "p_value": 0.14, "measure": "odds ratio"}
        return Check("part", "condition", False, **(given | other))

    assert "[0.64, 472] contains 1" in across(open_())
    assert "[0.64, 472] contains 100" in across(open_(measure="", null=100))
    assert "p = 0.14" in across(open_(conf_low=math.nan, conf_high=math.nan))
    # Refuted on the other side, undecided, of another kind, or of a measure without a null.
    assert across(open_(conf_high=0.9)) == across(open_(conf_low=1.1)) == ""
    assert across(replace(open_(), holds=None)) == across(open_(kind="value")) == ""
    assert across(open_(), "universal") == across(open_(measure="mean")) == ""


@pytest.mark.parametrize(
    ("given", "null"),
    [
        ({"measure": "rank r"}, 0),
        ({"measure": "Odds ratio"}, 1),
        ({"measure": "share"}, math.nan),
        ({"measure": "hedges g", "null": 0}, 0),
        ({"measure": "hedges g", "null": math.nan}, math.nan),
        ({"measure": "hedges g", "kind": "value"}, math.nan),
        ({"measure": ""}, math.nan),
    ],
)
def test_a_check_of_a_difference_says_where_there_is_nothing_or_its_measure_does(given, null):
    check = Check("part", "condition", True, estimate=0.5, **given)
    assert null_of(check) == pytest.approx(null, nan_ok=True)
    assert not lacks_null(check, "difference")


def test_a_measure_whose_null_nobody_knows_is_refused(shipped_store):
    check = Check("part", "here", True, estimate=0.5, measure="hedges g")
    assert lacks_null(check, "difference")
    assert not lacks_null(check, "universal")
    one = Claim(7, "g", "g is above 0.", lambda _: [check])
    with pytest.raises(AnalysisError, match=r"'part_here' of claim 7 .* 'hedges g'"):
        examined(one, shipped_store)
    assert examined(replace(one, kind="universal"), shipped_store) == [check]


def rates(**shares):
    rows = [
        (1, truth, False, verdict, share)
        for (truth, verdict), share in {
            ("law", "reproduced"): shares.get("power", 0.0),
            ("law", "contradicted"): 0.0,
            ("nothing", "reproduced"): 0.01,
            ("nothing", "contradicted"): shares.get("contrary", 0.0),
        }.items()
    ]
    columns = ["claim_id", "truth", "wrong_labels", "verdict", "probability"]
    return pd.DataFrame(rows, columns=columns)


def claim(**fields):
    return Claim(1, "estimand", "rule", lambda store: [], **fields)


def found(kind):
    return [Check("part", "reading", True, kind=kind)]


@pytest.mark.parametrize(
    ("power", "contrary", "word"),
    [
        (0.2, 0.0, testable.TESTABLE),
        (0.0, 0.2, testable.TESTABLE),
        (0.199, 0.199, testable.NOT_TESTABLE),
    ],
)
def test_a_claim_is_testable_if_either_verdict_can_fall(power, contrary, word):
    one = testable.possible_verdicts(
        claim(true_where="law"), found("difference"), rates(power=power, contrary=contrary)
    )
    assert (one["reproduced_if_true"], one["contradicted_if_false"]) == (power, contrary)
    assert one["reproduced_if_false"] == 0.01
    assert (one["testable"], one["power_basis"]) == (word, testable.SIMULATION)


def test_the_false_world_is_the_one_that_is_reproduced_most_often():
    rows = rates(power=0.7, contrary=0.9)
    other = rows[rows["truth"] == "nothing"].assign(truth="other", probability=[0.3, 0.4])
    both = pd.concat([rows, other])
    one = testable.possible_verdicts(claim(true_where="law"), found("difference"), both)
    assert (one["false_world"], one["reproduced_if_false"]) == ("other", 0.3)
    assert one["contradicted_if_false"] == 0.4
    left = claim(true_where="law", open_where=["other"])
    assert testable.possible_verdicts(left, found("difference"), both)["false_world"] == "nothing"


def test_a_printed_value_or_a_record_comes_again_or_does_not():
    repeat = Claim(2, "", "", lambda store: [], true_where="law", repeats=1)
    assert (
        testable.possible_verdicts(repeat, found("value"), rates(power=0.7))["reproduced_if_true"]
        == 0.7
    )
    one = testable.possible_verdicts(claim(), found("value"), rates())
    assert all(math.isnan(one[name]) for name in testable.SHARES)
    assert one["power_basis"] == testable.ALGEBRA
    one = testable.possible_verdicts(claim(rests_on="record"), found("universal"), rates())
    assert all(math.isnan(one[name]) for name in testable.SHARES)
    assert one["power_basis"] == testable.ALGEBRA
    missing = [Check("part", "reading", None, kind="value", has_data=False)]
    one = testable.possible_verdicts(claim(), missing, rates())
    assert (one["testable"], one["power_basis"]) == ("", testable.NO_DATA)


@pytest.mark.parametrize("kind", ["difference", "universal", "equality"])
def test_what_was_not_simulated_is_not_given(kind):
    one = testable.possible_verdicts(claim(), found(kind), rates())
    assert all(math.isnan(one[name]) for name in testable.SHARES)
    assert (one["testable"], one["power_basis"]) == ("", testable.NOT_PLANTED)


def test_every_claim_has_probabilities_or_the_reason_why_not(judged):
    given = judged["reproduced_if_true"].notna()
    assert set(judged.loc[given, "power_basis"]) == {testable.SIMULATION}
    reasons = {testable.NO_DATA, testable.NOT_PLANTED, testable.ALGEBRA}
    assert set(judged.loc[~given, "power_basis"]) == reasons
    assert testable.LEAST == criterion.TESTABLE
    central = judged[judged["importance"] == "central"]
    assert set(central["power_basis"]) == {testable.SIMULATION}
    assert all(CLAIMS[number].true_where for number in central["claim_id"])


@pytest.mark.parametrize(
    ("verdict", "rate", "is_told"),
    [
        ("contradicted", 0.06, True),
        ("contradicted", 0.05, False),
        ("contradicted", float("nan"), False),
        ("undecided", 0.5, False),
    ],
)
def test_a_contradiction_that_is_not_bounded_says_what_is_contradicted(verdict, rate, is_told):
    told = testable.printed_remark({"verdict": verdict, "contradicted_if_true": rate})
    assert bool(told) is is_told
    assert (f"6{prose.NO_BREAK}%" in told) is is_told

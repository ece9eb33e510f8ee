"""What a verdict could have been: from simulated papers, by algebra, or not given."""

import math

import pandas as pd
import pytest

from analysis.audit import testable
from analysis.audit.claim import Claim
from analysis.audit.evidence.checks import Check
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.tournament import criterion


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
    one = testable.of_claim(
        claim(true_where="law"), found("difference"), rates(power=power, contrary=contrary)
    )
    assert (one["reproduced_if_true"], one["contradicted_if_false"]) == (power, contrary)
    assert one["reproduced_if_false"] == 0.01
    assert (one["testable"], one["power_basis"]) == (word, testable.SIMULATION)


def test_a_repeat_has_the_probabilities_of_what_it_repeats():
    repeat = Claim(2, "", "", lambda store: [], true_where="law", repeats=1)
    assert testable.of_claim(repeat, found("value"), rates(power=0.7))["reproduced_if_true"] == 0.7


def test_a_printed_value_comes_again_or_does_not():
    one = testable.of_claim(claim(), found("value"), rates())
    assert [one[name] for name in testable.SHARES] == [1, 0, 0, 1]
    assert one["power_basis"] == testable.ALGEBRA


@pytest.mark.parametrize("kind", ["difference", "universal", "equality"])
def test_what_was_not_simulated_is_not_given(kind):
    one = testable.of_claim(claim(), found(kind), rates())
    assert all(math.isnan(one[name]) for name in testable.SHARES)
    assert (one["testable"], one["power_basis"]) == ("", testable.NOT_PLANTED)


def test_what_a_record_says_comes_again_or_does_not():
    one = testable.of_claim(claim(rests_on="record"), found("universal"), rates())
    assert [one[name] for name in testable.SHARES] == [1, 0, 0, 1]
    assert one["power_basis"] == testable.ALGEBRA


def test_every_claim_has_probabilities_or_the_reason_why_not(judged):
    given = judged["reproduced_if_true"].notna()
    assert set(judged.loc[given, "power_basis"]) == {testable.SIMULATION, testable.ALGEBRA}
    assert set(judged.loc[~given, "power_basis"]) == {testable.NO_DATA, testable.NOT_PLANTED}


def test_a_claim_without_data_is_not_given():
    missing = [Check("part", "reading", None, kind="value", has_data=False)]
    one = testable.of_claim(claim(), missing, rates())
    assert (one["testable"], one["power_basis"]) == ("", testable.NO_DATA)


def test_the_line_is_that_of_the_criterion_and_central_claims_are_given(judged):
    assert testable.LEAST == criterion.TESTABLE
    central = judged[judged["importance"] == "central"]
    assert set(central["power_basis"]) == {testable.SIMULATION}
    assert all(CLAIMS[number].true_where for number in central["claim_id"])

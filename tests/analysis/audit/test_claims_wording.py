"""The numbers beside a verdict are those of the reading that decides it."""

from analysis.audit.claim import verdict
from analysis.audit.evidence.checks import Check, missing
from analysis.audit.wording import primary


def test_an_undecided_claim_has_the_numbers_of_its_stated_reading_not_of_one_that_fails():
    stated = Check("law", "as stated", None, estimate=0.15, p_value=0.5)
    other = Check("law", "another", False, estimate=-0.72, p_value=0.002)
    assert verdict([stated, other], "equality") == "undecided"
    assert primary([stated, other], "equality") is stated


def test_an_undecided_part_gives_the_numbers_though_another_part_holds():
    holds = Check("first", "as stated", True, estimate=1.0)
    absent = missing("second", "a file", "no file")
    is_open = Check("second", "another file", None, estimate=0.3)
    assert primary([holds, absent, is_open], "value") is is_open


def test_a_decided_claim_has_the_numbers_of_the_first_reading_that_the_data_answer():
    is_open = Check("law", "as stated", None, estimate=0.15)
    holds = Check("law", "another", True, estimate=0.9)
    assert verdict([is_open, holds], "value") == "depends on the reading"
    assert primary([is_open, holds], "value") is holds


def test_a_claim_without_data_has_its_first_check():
    absent = missing("law", "a file", "no file")
    assert primary([absent], "value") is absent

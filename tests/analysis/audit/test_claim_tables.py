"""The tables of claims are those of the claims, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.audit import claim_tables
from analysis.audit.claim import Claim, Line
from analysis.heritage.pages.register import CLAIMS
from analysis.tidy.errors import AnalysisError

HOME = Path(__file__).parents[3] / "data/published"
ONE = Claim(
    1,
    "mean",
    "It is 2.",
    lambda _: [],
    statement='"two, or so"',
    place="§1",
    lines=(Line("the mean", "mean gain", 2), Line("the mean", "p", 0.05, None, 0.1)),
)


def test_the_shipped_tables_are_those_of_the_claims():
    assert claim_tables.differing(CLAIMS, HOME) == []
    assert len(claim_tables.tables(CLAIMS)) == 6


def test_a_claim_is_its_rows():
    assert claim_tables.tables({1: ONE}) == {
        "claim.csv": 'claim_id,statement,place\n1,"""two, or so""",§1\n',
        "claim_line.csv": "claim_id,part,measure,value,low,high\n"
        "1,the mean,mean gain,2,,\n1,the mean,p,0.05,,0.1\n",
    }


def test_a_table_that_is_absent_or_of_other_claims_is_named_and_written(tmp_path):
    assert claim_tables.differing({1: ONE}, tmp_path) == ["claim.csv", "claim_line.csv"]
    claim_tables.write({1: ONE}, tmp_path)
    assert claim_tables.differing({1: ONE}, tmp_path) == []
    assert claim_tables.differing({1: replace(ONE, place="§2")}, tmp_path) == ["claim.csv"]


def test_statements_that_only_the_table_has_are_not_overwritten(tmp_path):
    (tmp_path / "claim.csv").write_text("claim_id,statement,place\n2,three,\n")
    with pytest.raises(AnalysisError, match=r"without one: 2\."):
        claim_tables.write({1: ONE, 2: replace(ONE, claim_id=2, statement="")}, tmp_path)
    assert "three" in (tmp_path / "claim.csv").read_text()

"""The first page: every answer, name and direction follows from a computed row."""

import re
from pathlib import Path

import pandas as pd
import pytest

from analysis.audit.pages.tables import Words
from analysis.heritage.pages import summary
from analysis.tidy.errors import AnalysisError

ROOT = Path(__file__).parents[4]
QUARTO = ROOT / "quarto"

#: What each check that a sentence quotes by its place is about.
QUOTED = Path(__file__).parent / "quoted_checks.csv"

JUDGED = pd.DataFrame(
    {
        "claim_id": [1, 2, 5, 7],
        "verdict": ["reproduced", "contradicted", "contradicted", "no data"],
        "importance": ["supporting", "supporting", "central", "central"],
        "repeats": float("nan"),
    }
)


def test_an_answer_changes_with_the_verdict():
    assert summary.answer(JUDGED, 5) == "No."
    assert summary.answer(JUDGED, 5, no="Not so.") == "Not so."
    assert summary.answer(JUDGED.assign(verdict="reproduced"), 5) == "Yes."
    with pytest.raises(AnalysisError, match="claim 9 has not"):
        summary.answer(JUDGED, 9)


def test_only_key_claims_with_the_verdict_are_named():
    said = summary.named(JUDGED, "contradicted")
    assert said == (
        "[the largest block gain is 10 to the power 1/L](#sec-depth) ([5](claims.html#claim-5))"
    )
    assert summary.named(JUDGED, "depends on the reading") == "none of the main claims"


def test_the_headline_counts_the_central_findings_and_links_each():
    assert summary.headline(JUDGED) == (
        "of 2 central findings 1 is contradicted ([5]{.claims}) and "
        "1 is without data ([7]{.claims})"
    )


def test_every_key_claim_links_to_a_section_of_the_report():
    sources = "".join(path.read_text() for path in QUARTO.rglob("*.qmd"))
    sections = set(re.findall(r"\{#(sec-[\w-]+)\}", sources))
    assert {section for _, section in summary.KEY.values()} <= sections


@pytest.mark.parametrize(
    ("low", "high", "course", "covers"),
    [
        (-2.0, -1.0, "falls", "excludes"),
        (1.0, 2.0, "rises", "excludes"),
        (-1.0, 1.0, "neither clearly falls nor rises", "contains"),
    ],
)
def test_a_direction_is_read_off_the_interval(low, high, course, covers):
    told = Words({"conf_low": low, "conf_high": high})
    assert summary.course(told) == course
    assert summary.covers(told, 0) == covers


def test_a_check_is_found_by_its_condition_or_refused():
    told = [
        Words({"condition": "all", "term": "a bound"}),
        Words({"condition": "all", "term": "a slope"}),
    ]
    assert summary.reading(told, "all", "slope") is told[1]
    with pytest.raises(AnalysisError, match="2 have the condition 'all'"):
        summary.reading(told, "all")
    with pytest.raises(AnalysisError, match="0 have the condition 'some'"):
        summary.reading(told, "some")


def test_every_check_that_a_sentence_quotes_by_place_is_the_one_it_means(made):
    sources = "".join(path.read_text() for path in QUARTO.rglob("*.qmd"))
    places = {
        (int(claim), int(place)) for claim, place in re.findall(r"said\[(\d+)\]\[(\d+)\]", sources)
    }
    quoted = pd.read_csv(QUOTED)
    assert places == set(zip(quoted["claim_id"], quoted["position"], strict=True))
    found = [made[row.claim_id][row.position].condition for row in quoted.itertuples()]
    assert found == quoted["condition"].tolist()

"""The first page: every answer, name and direction follows from a computed row."""

import re
from pathlib import Path

import pandas as pd
import pytest

from analysis.audit.pages import tables
from analysis.heritage.pages import summary
from analysis.heritage.pages.register import CLAIMS
from analysis.tidy.errors import AnalysisError

ROOT = Path(__file__).parents[4]
QUARTO = ROOT / "quarto"


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


def test_a_check_that_no_claim_has_is_refused(made):
    check = tables.quoting(made, CLAIMS)
    assert check(6, "product_block0").row["check_id"] == "product_block0"
    with pytest.raises(AnalysisError, match="'product_block9'"):
        check(6, "product_block9")


def test_every_check_that_a_page_quotes_is_made(made):
    sources = "".join(path.read_text() for path in QUARTO.rglob("*.qmd"))
    ids = {(int(n), name) for n, name in re.findall(r'check\((\d+), "(\w+)"\)', sources)}
    assert len(ids) > 50
    assert ids <= {(claim_id, check.id) for claim_id, of in made.items() for check in of}

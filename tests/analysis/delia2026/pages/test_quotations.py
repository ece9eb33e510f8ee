"""The claims are in the author's words: each quotation is found in its document, letter by letter.

The documents are not shipped. Where they lie beside the checkout each quotation is looked up in
them; elsewhere it is compared with where it was found, by the hash of its words. After a change:
``python -m tests.analysis.delia2026.pages.test_quotations --write``.
"""

import csv
import hashlib
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from analysis.delia2026.declared import DOCUMENTS
from analysis.delia2026.pages.register import CLAIMS
from tests.analysis.places import PUBLISHED, SHARED

PAPER = SHARED / "paper"
FOUND = Path(__file__).with_name("quotations.csv")
COLUMNS = ["claim_id", "document", "offset", "sha256"]
QUOTED = [(number, each) for number, one in CLAIMS.items() for each in one.quotations]
AUTHORS = [one for one in CLAIMS.values() if one.stated_by == "author"]

#: Markup of the documents, and what stands for it in plain letters; in this order.
PLAIN = {
    r"\\text\{([^}]*)\}": r"\1",
    r"\\mathcal\{F\}": "F",
    r"\\sqrt\{([^}]*\})\}": r"√\1",
    r"\\frac\{4.9\}\{H\}": "4.9/H",
    r"\\frac\{d\}\{d\\ell\}": "d/dℓ",
    r"\\blacktriangledown": "▼",
    r"\\blacktriangle": "▲",
    r"\\(left|right)": "",
    r"\\rho": "ρ",
    r"\\times": "×",
    r"\\cdot": "·",
    r"\\approx": "≈",
    r"\\sim": "∼",
    r"\\sum": "Σ",
    r"\\ell": "ℓ",
    r"\\\|": "‖",
    r"--": "–",
    r"²": "2",
    r"₂": "2",
    r"arg\W*max": "argmax",
}


def plain(text):
    """Return letters, digits and operators of a text, without markup, blanks and brackets."""
    for pattern, words in PLAIN.items():
        text = re.sub(pattern, words, text)
    # A norm's index and power stand in either order.
    text = re.sub(r"(‖W_V‖)\^?2_F", r"\1_F2", text.replace("−", "-").replace("^", ""))
    return re.sub(r"""[\s$\\*(){}_"|]""", "", text)


def looked_up():
    """Return where each quotation stands: rows of the file beside this one."""
    rows = []
    for number, each in QUOTED:
        text = (PAPER / f"{each.document}.md").read_text(encoding="utf-8")
        place = text.find(each.quotation)
        assert place >= 0, (number, each)
        rows.append((number, each.document, place, _hash(each.quotation)))
    return rows


def _hash(words):
    return hashlib.sha256(words.encode()).hexdigest()


def test_quotations_are_those_found_in_the_documents():
    rows = pd.read_csv(FOUND)
    again = [(number, each.document, _hash(each.quotation)) for number, each in QUOTED]
    assert [*rows[["claim_id", "document", "sha256"]].itertuples(index=False, name=None)] == again
    shipped = pd.read_csv(PUBLISHED / "claim_quotation.csv")
    assert [*shipped["quotation"].map(_hash)] == [*rows["sha256"]]


def test_each_quotation_stands_in_its_document_at_its_place():
    if not PAPER.is_dir():
        pytest.skip("the paper's documents are not beside the checkout: ../shared/paper")
    rows = looked_up()
    found = [tuple(row) for row in pd.read_csv(FOUND).itertuples(index=False, name=None)]
    assert rows == found
    for (_, each), (*_, offset, _hashed) in zip(QUOTED, rows, strict=True):
        before = (PAPER / f"{each.document}.md").read_text(encoding="utf-8")[:offset]
        if each.place.startswith("line "):
            assert each.place == f"line {before.count(chr(10)) + 1}"
        else:
            assert each.place in {section(before), *figure(before)}, each


def section(before):
    """Return the section of the paper in which a text ends, as the claims name it."""
    headings = re.findall(
        r"(?m)^(Abstract|References|\d(?:\.\d)*(?= [A-Z])|[A-F](?= [A-Z\\L]))", before
    )
    last = headings[-1]
    return "abstract" if last == "Abstract" else f"App. {last}" if last.isalpha() else f"§{last}"


def figure(before):
    """Return the figure whose caption is the paragraph that a text ends in, if it is one."""
    captions = re.findall(r"\AFigure (\d): ", before.rpartition("\n\n")[2].lstrip("\xa0 \n"))
    return {f"Fig. {number}" for number in captions}


@pytest.mark.parametrize("one", AUTHORS, ids=lambda one: str(one.claim_id))
def test_a_statement_in_quotation_marks_has_the_words_of_its_quotations(one):
    spoken = re.findall('"([^"]+)"', one.statement)
    assert "**" not in one.statement
    assert " ".join(f'"{words}"' for words in spoken) == one.statement
    assert [plain(words) for words in spoken] == [plain(it.quotation) for it in one.quotations]


def test_what_the_author_does_not_state_has_no_quotation_and_stands_apart():
    others = {number: one.stated_by for number, one in CLAIMS.items() if one not in AUTHORS}
    assert others == {41: "audit", 43: "audit", 60: "file", 61: "file"}
    for number, one in CLAIMS.items():
        assert bool(one.quotations) == (number not in others)
        assert {it.document for it in one.quotations} <= set(DOCUMENTS)
        assert one.category
        # No place is a catch-all: at most as many as the statement has quotations.
        assert len(one.place.split("; ")) <= max(len(one.quotations), 1)


if __name__ == "__main__":
    assert sys.argv[1:] == ["--write"], "python -m tests....test_quotations --write"
    if PAPER.is_dir():
        with FOUND.open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle, lineterminator="\n").writerows([COLUMNS, *looked_up()])
    else:
        print("quotations.csv is as it was: the paper's documents are not in ../shared/paper")

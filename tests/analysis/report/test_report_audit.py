"""An audit is opened for every page; its claims are judged only for pages that ask."""

import subprocess
import sys

import pytest

from analysis.audit import paper
from analysis.report import audit as audits
from analysis.report.reading import places
from analysis.report.reading.chunk import Chunk
from analysis.report.reading.source import read_source
from tests.analysis.places import ROOT, SECOND


def test_claims_are_judged_when_a_page_asks(monkeypatch):
    examined = []
    examine = audits.claims.examine
    monkeypatch.setattr(
        audits.claims, "examine", lambda *given: examined.append(1) or examine(*given)
    )
    opened = audits.opened.__wrapped__(folder=str(SECOND))
    assert list(opened.registry)
    assert not examined
    assert sorted(opened.judged["claim_id"]) == sorted(opened.registry)
    assert list(opened.made) == list(opened.registry)
    assert opened.judged is opened.judged
    assert len(examined) == 1


def test_every_chunk_that_draws_names_its_file_of_rows():
    drawing = [
        part
        for page in places.pages(ROOT / "quarto")
        for part in read_source(page).blocks
        if isinstance(part, Chunk) and "fig-alt" in part.options
    ]
    assert len(drawing) > 10
    assert [part.code for part in drawing if not part.options.get("label")] == []


TEXT = "from analysis.report.reading import inline, origin, places"
AUDIT = """
from pathlib import Path
from analysis.audit import evidence, weight
from analysis.audit.pages import tables
from analysis.report.audit import opened
opened("data/published").registry
"""


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [(TEXT, {"pandas", "duckdb", "altair", "scipy"}), (AUDIT, {"scipy.stats", "scipy.optimize"})],
)
def test_a_page_imports_what_it_needs(code, unneeded):
    listing = f"{code}\nimport sys\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert unneeded & set(ran.stdout.split()) == set()


def test_pages_of_text_link_to_the_cards_that_there_are():
    folder = ROOT / "data" / "published"
    assert places.claim_numbers(folder) == list(paper.load(folder))

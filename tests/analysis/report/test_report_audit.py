"""An audit is opened for every page; its claims are judged only for pages that ask."""

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

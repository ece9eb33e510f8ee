"""The embedded renderer and Quarto say the same; the comparison itself finds what differs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.analysis.report.alone import render
from tests.analysis.report.both_renderers import content, differences

EXAMPLE = Path(__file__).parent / "report_example"

MARKUP = Path(__file__).parent / "markup"
OURS = (MARKUP / "embedded.html").read_text(encoding="utf-8")


#: The same as Quarto marks it up.
THEIRS = (MARKUP / "quarto.html").read_text(encoding="utf-8")


def test_two_markups_of_one_page_say_the_same():
    result = content(OURS)
    assert result.headings == ["1 One"]
    assert result.captions == ["Figure 1: A line."]
    assert result.tables == [[["a", "b"], ["1", ".5"]]]
    links = [("#fig-a", "Figure 1"), ("claims.html#claim-7", "claim 7")]
    assert result.links == [*links, ("data:text/csv;base64,YQo=", "Data (CSV)")]
    before = ["See", "Figure", "1", "and", "claim", "7", "."]
    drawn = ["It", "rises.", "Data", "(CSV)"]
    assert result.words == [*before, *drawn, "Named", "Inside."]
    assert differences(OURS, THEIRS) == []


@pytest.mark.parametrize(
    ("kind", "text", "instead"),
    [
        ("headings", 'section-number">1<', 'section-number">2<'),
        ("captions", "A line.", "A dot."),
        ("tables", "<td>.5</td>", "<td>0.5</td>"),
        ("links", "#claim-7", "#claim-8"),
        ("words", "Inside.", ""),
    ],
)
def test_what_differs_is_told_by_kind(kind: str, text: str, instead: str):
    assert text in OURS
    told = differences(OURS.replace(text, instead), THEIRS)
    assert told
    assert {line.split(":")[0] for line in told} == {kind}


@pytest.mark.skipif(shutil.which("quarto") is None, reason="quarto is not on the PATH")
def test_the_example_says_the_same_in_both_renderings(tmp_path: Path):
    pages = []
    for engine in ("quarto", "embedded"):
        project = shutil.copytree(EXAMPLE, tmp_path / engine)
        page = render(project / "paper.qmd", tmp_path / f"{engine} out", engine=engine)
        pages.append(page.read_text(encoding="utf-8"))
    assert differences(*pages) == []

"""Several pages of one project: references between them, cards of claims, all or nothing."""

import json
import os
import re
import sys

import pytest

from analysis.delia2026.pages.register import CLAIMS
from analysis.report import site
from analysis.report.examination import refuse_faults
from analysis.report.making.page import pandoc, program
from analysis.report.reading import places
from analysis.report.reading.source import Line, Prose, read_source
from analysis.report.site import render_site, results_of_report
from analysis.tidy.errors import AnalysisError, MissingExtraError, ReportError
from tests.analysis.places import ROOT

FILTER = ROOT / "quarto" / "filters" / "site.lua"
PROJECT = f"""project: {{type: default, render: [a.qmd, b.qmd]}}
filters: [{FILTER}]
format: {{html: {{number-sections: true}}}}
"""
SETUP = """```{python}
#| echo: false
from pathlib import Path
from IPython.display import Markdown
from analysis.report.reading import origin, places
Markdown(places.block(Path(), "%s", [7, 22]))
```
"""
A = f"""---
title: The first
short-title: First
---
{SETUP % "a"}

# One {{#sec-one}}

See @sec-two, [-@tbl-two], [what it says](#sec-two) and @sec-one; claims 7, 22 and 9, and (claim 7).

[7 to 9, (22)]{{.claims}} `--too-long skip` `no_hyphen`

::: {{.callout-note}}
## Not numbered
Text.
:::
"""
B = f"""---
title: The second
---
{SETUP % "b"}

# Before {{#sec-before}}

## Two {{#sec-two}}

`check(22, "any")` is used here.

| A |
|---|
| 1 |

: A table. {{#tbl-two}}
"""


OLD = '<nav class="site-nav"></nav>the old page'


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "quarto"
    folder.mkdir()
    for name, text in {"_quarto.yml": PROJECT, "a.qmd": A, "b.qmd": B}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_pages_refer_to_each_other_by_number_and_to_cards(project, capsys):
    out = project.parent / "out"
    out.mkdir()
    (out / "claims.html").write_text('<p id="claim-7"></p><p id="claim-22"></p>', encoding="utf-8")
    made = render_site(project, out, engine="embedded", results=state(project))
    assert [path.name for path in made] == ["a.html", "b.html"]
    _unchanged_until_a_word_is(project, out, capsys)
    first = (out / "a.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert '<a href="b.html#sec-two" class="xref">Section 1.1 in <em>The second</em></a>' in first
    assert '<a href="b.html#tbl-two" class="xref">1 in <em>The second</em></a>' in first
    assert '<a href="b.html#sec-two">what it says</a>' in first
    assert '<a href="#sec-one" class="xref">Section 1</a>' in first
    for printed in (
        'claims <a href="claims.html#claim-7" class="claim-link">7</a>, <a href="claims.html',
        '<p><a href="claims.html#claim-7" class="claim-link">7</a> to 9, (<a href="claims.html',
        '<code class="unbroken">--too-long skip</code> <code>no_hyphen</code>',
        '">22</a> and 9, and (claim <a href="claims.html#claim-7" class="claim-link">7</a>).',
    ):
        assert printed in " ".join(first.split())
    assert "site-places" not in first
    moved = first.replace("Section 1.1 in", "Section 1.2 in")
    (out / "a.html").write_text(moved, encoding="utf-8")
    with pytest.raises(ReportError, match=r"says 1\.2 of 'b\.html#sec-two', whose number is 1\.1"):
        refuse_faults([out / "a.html", out / "b.html"])


def state(project):
    return results_of_report(project.parent, {}, project.parent / "kept")


def _unchanged_until_a_word_is(project, out, capsys):
    pages = {path: path.read_bytes() for path in out.glob("?.html")}
    (out / "a.html").write_text(OLD, encoding="utf-8")
    again = render_site(project, out, engine="embedded", results=state(project))
    assert "rendering: " not in capsys.readouterr().err
    assert {path: path.read_bytes() for path in again} == pages
    (project / "b.qmd").write_text(B.replace("is used here", "is told here"), encoding="utf-8")
    for is_said in (True, False):
        render_site(project, out, engine="embedded", results=state(project))
        assert "is told here" in (out / "b.html").read_text(encoding="utf-8")
        assert is_said or len(list((project.parent / "kept").glob("pages-*"))) == 2


def test_no_number_of_a_claim_in_the_sources_is_left_without_its_card():
    lines = [
        line.text
        for page in places.pages(ROOT / "quarto")
        for block in read_source(page).blocks
        if isinstance(block, Prose)
        for line in (*block.lines, Line("", page, 0))
        if not line.fence
    ]
    known = {"page": "x", "pages": {}, "labels": {}}
    known["claims"] = dict.fromkeys(map(str, CLAIMS), True)
    told = f"```{{.site-places}}\n{json.dumps(known)}\n```\n\n" + "\n".join(lines)
    made = pandoc(
        told, ["--from=markdown", "--to=html", "--mathml", f"--lua-filter={FILTER}"], directory=ROOT
    )
    assert made.count('class="claim-link"') > 5
    words = re.sub(r"<code.*?</code>|<a\b.*?</a>|<[^>]*>", "", made, flags=re.DOTALL)
    bare = re.findall(r".{0,40}\b[Cc]laims?\s+\d.{0,40}", words)
    assert bare == []


def test_the_paper_is_printed_or_every_page_or_those_that_are_named(project, monkeypatch):
    def instead(_make, sources, *_):
        return {path: b"Typst " + path.stem.encode() for path in sources}

    monkeypatch.setattr(site, "run_workers", instead)
    out = project.parent / "out"
    made = site.render_site(project, out, engine="embedded", to="typst")
    assert [(path.name, path.read_bytes()) for path in made] == [
        ("a.pdf", b"Typst a"),
        ("b.pdf", b"Typst b"),
    ]
    (only,) = site.render_site(project, out, engine="embedded", to="typst", only=["b"])
    assert only.name == "b.pdf"


@pytest.mark.parametrize(("to", "name"), [("html", "b.html"), ("typst", "b.pdf")])
@pytest.mark.parametrize("content", [b"", b"my own page", b"<html><nav>mine</nav></html>"])
def test_a_file_of_somebody_else_is_not_replaced(to, name, content, project, monkeypatch):
    monkeypatch.setattr(site, "run_workers", lambda *_: pytest.fail("something ran"))
    out = project.parent / "out"
    out.mkdir()
    (out / name).write_bytes(content)
    with pytest.raises(AnalysisError, match=name) as caught:
        site.render_site(project, out, engine="embedded", to=to)
    assert caught.value.exit_code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {name: content}


def test_a_missing_package_is_refused_before_anything_runs(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingExtraError, match="typst"):
        site.render_site(project, project.parent / "out", engine="embedded", to="typst")
    assert not (project.parent / "out").exists()


@pytest.mark.slow
def test_no_page_is_replaced_unless_all_are_whole(project):
    out = project.parent / "out"
    out.mkdir()
    for name in ("a.html", "b.html"):
        (out / name).write_text(OLD, encoding="utf-8")
    with pytest.raises(ReportError, match=r"a\.html: a link to 'claims.html#claim-7', which does"):
        render_site(project, out, engine="embedded")
    left = {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()}
    assert left == dict.fromkeys(("a.html", "b.html"), OLD)
    with pytest.raises(ReportError, match="c is not"):
        render_site(project, out, engine="embedded", only=["c"])


def test_places_are_numbered_as_renderers_do(project):
    result = {place.identifier: place for place in places.places(project)}
    numbers = {"sec-one": "1", "sec-before": "1", "sec-two": "1.1", "tbl-two": "1"}
    assert {name: place.number for name, place in result.items()} == numbers
    assert result["sec-two"].claims == {22}
    assert places.used_in(project)[22] == "[Two](b.html#sec-two) (The second)"
    assert places.titles(project) == {"a": "First", "b": "The second"}


def test_a_label_stands_on_one_page_and_a_page_that_is_named_must_exist(project):
    (project / "a.qmd").write_text(A.replace("#sec-one", "#sec-two"), encoding="utf-8")
    with pytest.raises(ReportError, match="'sec-two' is on a and b"):
        places.places(project)
    (project / "b.qmd").unlink()
    with pytest.raises(ReportError, match=r"files under 'render'; b\.qmd"):
        places.pages(project)


def test_every_page_stands_among_its_links_and_every_claim_in_a_section():
    stems = {path.stem for path in places.pages(ROOT / "quarto")}
    opening = (ROOT / "quarto" / "site" / "opening.html").read_text(encoding="utf-8")
    assert {stem for stem in stems if f'href="{stem}.html"' in opening} == stems
    assert set(places.used_in(ROOT / "quarto", without=["claims"])) == set(CLAIMS)
    for path in places.pages(ROOT / "quarto"):
        assert read_source(path).front_matter["short-title"]
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "quarto").rglob("*.qmd")}
    assert len(texts) > 40
    assert not {path.name for path, text in texts.items() if re.search(r"\n\n\(@", text)}


def test_no_pandoc_of_the_path_is_taken(tmp_path, monkeypatch):
    other = tmp_path / "pandoc"
    other.write_text("#!/bin/sh\necho pandoc 99.9", encoding="utf-8")
    other.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pypandoc" in str(program())


def test_quarto_makes_the_page_that_is_named_and_no_other(project, monkeypatch):
    command = project.parent / "bin" / "quarto"
    command.parent.mkdir()
    asked = project.parent / "asked"
    write = f"echo '{OLD}' $s > {project}/$s.html"
    script = f'echo "$2" >> {asked}; for s in a b; do {write}; done'
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    render_site(project, project.parent / "out", engine="quarto", only=["b"])
    assert asked.read_text(encoding="utf-8").splitlines() == [str(project / "b.qmd")]
    render_site(project, project.parent / "out", engine="quarto")
    assert asked.read_text(encoding="utf-8").splitlines()[1:] == [str(project)]

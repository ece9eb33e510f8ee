"""Whole pages: what they hold, what is refused, and which renderer runs."""

import os
import re
import sys
from pathlib import Path

import pytest

from analysis.tidy.errors import ReportError
from tests.analysis.report.alone import render
from tests.analysis.report.parsed import Page

EXAMPLE = Path(__file__).parent / "report_example" / "paper.qmd"

#: A page of Quarto's, which another render may replace.
OLD = '<meta name="generator" content="quarto-1.9.1">the old page'


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "paper"
    path = render(EXAMPLE, folder, parameters={"n_points": "5"}, engine="embedded")
    assert path == folder / "paper.html"
    assert [it.name for it in folder.iterdir()] == ["paper.html"]
    markup = path.read_text(encoding="utf-8")
    return Page(markup), markup


def document(directory, body, *, front="title: T"):
    source = directory / "paper.qmd"
    source.write_text(f"---\n{front}\n---\n\n{body}\n", encoding="utf-8")
    return source


def refusal(source, **options):
    """Return the message of a refused rendering; the page that was there must survive."""
    destination = source.with_suffix(".html")
    destination.write_text(OLD, encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        render(source, source.parent, engine="embedded", **options)
    assert destination.read_text(encoding="utf-8") == OLD
    assert not list(source.parent.glob(".*.tmp"))
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
def test_the_page_loads_nothing_and_is_accessible_in_structure(example):
    page, _ = example
    loaded = [it[key] for _, it in page.tags for key in ("src", "srcset", "data") if key in it]
    assert loaded == []
    assert len(page.all("svg", role="graphics-document document")) == 2
    assert page.all("link") == page.all("iframe") == page.all("object") == []
    assert set(re.findall(r"url\(.{15}", page.styles)) == {"url(data:font/woff;"}
    assert "@import" not in page.styles
    assert ".verdict-holds" in page.styles
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.all("nav", **{"aria-label": "Contents"})
    assert page.all("a", **{"class": "skip", "href": "#main"})
    assert [it["aria-label"] for it in page.all("svg")] == [
        "A line that rises from the lower left to the upper right.",
        "Points on a rising diagonal.",
    ]
    cells = page.all("th")
    assert {cell["scope"] for cell in cells} == {"col"}
    targets = [it["href"][1:] for it in page.all("a") if it.get("href", "").startswith("#")]
    assert len(targets) > 20
    assert set(targets) <= set(page.text)


@pytest.mark.slow
def test_captions_references_citations_and_values_are_resolved(example):
    page, _ = example
    assert page.words("fig-line").endswith("Figure\u00a01: The points of Table\u00a01, drawn.")
    assert page.words("fig-div").endswith("Figure\u00a02: The same 5 points, p = 0.5.")
    assert page.words("tbl-counts").startswith("Table\u00a01: Points by coordinate.")
    assert page.words("tbl-wide").startswith("Table\u00a02: A wide table of 5 points.")
    assert page.words("tbl-hand").startswith("Table\u00a03: A table written by hand")
    assert page.words("sec-end").startswith(
        "3 End# As Section\u00a01, Section\u00a02, Section\u00a02.1 and Equation\u00a01 say; "
        "see 1, Chart\u00a01 and Figure\u00a01, Figure\u00a02. "
        "Tukey (Tukey 1962, 2) wrote so, and so did Tukey (1962).1"
    )
    assert "The Future of Data Analysis" in page.words("ref-tukey1962")
    assert page.words("fn1").startswith("A footnote with code and markup.")
    assert "reference to Figure\u00a01" in page.words("main")
    text = page.words("sec-beginning")
    assert "There are 5 points from somewhere." in text
    assert "A space that does not break is a space: 5\u00a0%." in text
    assert "nothing: A string is literal: 3 * 4 * 5 -- _not_ italic." in text
    assert "`{python} n_points`" in text


SHOW = "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "named"),
    [
        (f"```{{python}}\n#| label: fig-a\n#| fig-cap: C\n{SHOW}\n```",
         ["The chunk 'fig-a' at paper.qmd:6 must have one 'fig-alt'"]),
        ("See [@here] and [@nowhere].", ["in the bibliography; missing: nowhere."]),
        ("One.\n\nSee @fig-nowhere.", ["@fig-nowhere at paper.qmd:8"]),
        ('<script src="https://a.b/c.js"></script>\n\n[gone](#nowhere)',
         ["<script> loads 'https://a.b/c.js'", "a link to '#nowhere', which does not exist."]),
        ("A share of `{python} '80\\u00a0%'`.", ["The inline code ''80\\u00a0%'' at paper.qmd:6",
         "Quarto would print '80\\xa0%'."]),
    ],
)  # fmt: skip
def test_what_no_page_may_hold_is_refused_with_its_name(tmp_path, body, named):
    (tmp_path / "a.bib").write_text("@book{here, title={T}, year={1}}\n", encoding="utf-8")
    message = refusal(document(tmp_path, body, front="title: T\nbibliography: a.bib"))
    assert [it for it in named if it not in message] == []


@pytest.mark.slow
def test_what_is_missing_or_cannot_be_written_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    source = document(tmp_path, "Text.")
    with pytest.raises(ReportError, match=r"out must be writable; "):
        render(source, tmp_path / "file" / "out", engine="embedded")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="needs the quarto command on the PATH"):
        render(source, tmp_path / "out", engine="quarto")


def test_an_unknown_parameter_is_refused_before_anything_runs(tmp_path):
    body = "```{python}\n#| tags: [parameters]\na = 1\n```"
    message = refusal(document(tmp_path, body), parameters={"b": "1"})
    assert message.startswith("A parameter must be assigned in the chunk at paper.qmd:5;")


def fake_quarto(directory, monkeypatch, script):
    command = directory / "bin" / "quarto"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)


def test_quarto_renders_where_it_is_installed(tmp_path, monkeypatch):
    (tmp_path / "_quarto.yml").write_text(
        "project: {output-dir: out, render: [paper.qmd]}\n", encoding="utf-8"
    )
    source = document(tmp_path, "Text.")
    fake_quarto(
        tmp_path,
        monkeypatch,
        f"mkdir -p out; echo '{OLD}' > {tmp_path}/out/paper.html\n"
        f'echo "$@ $QUARTO_PYTHON" >> {tmp_path}/out/paper.html',
    )
    monkeypatch.chdir(tmp_path)
    parameters = {"a": "1", "b": "x #y", "c": ""}
    page = render(source, tmp_path / "deep", parameters=parameters)
    printed = f'render {source} -P a:"1" -P b:"x #y" -P c:"" {sys.executable}\n'
    assert page.read_text(encoding="utf-8") == f"{OLD}\n{printed}"
    assert render(source, tmp_path / "out") == tmp_path / "out" / "paper.html"


def test_a_failing_or_silent_quarto_is_refused(tmp_path, monkeypatch):
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, "exit $STATUS")
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(ReportError, match="'quarto render' must succeed; it ended with code 3"):
        render(source, tmp_path / "out")
    monkeypatch.setenv("STATUS", "0")
    with pytest.raises(ReportError, match=r"must write .*paper\.html; it did not"):
        render(source, tmp_path / "out", engine="quarto")


def test_a_faulty_page_of_quarto_is_refused_and_not_passed_on(tmp_path, monkeypatch):
    """Quarto itself warns of these and ends with success."""
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "<p><b>?@fig-a</b></p>" > "${2%.qmd}.html"')
    with pytest.raises(ReportError, match=r"found in paper\.html: a reference without a target"):
        render(source, tmp_path / "out", engine="quarto")
    assert not list((tmp_path / "out").iterdir())


def test_a_page_cut_short_by_a_full_disk_leaves_the_old_one(tmp_path, monkeypatch):
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "the new page" > "${2%.qmd}.html"')
    destination = tmp_path / "out" / "paper.html"
    destination.parent.mkdir()
    destination.write_text(OLD, encoding="utf-8")

    def no_space(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ReportError, match=r"paper\.html must be writable; No space left on device"):
        render(source, destination.parent)
    assert destination.read_text(encoding="utf-8") == OLD
    assert not list(destination.parent.glob(".*.tmp"))

"""Whole pages: what a rendered document holds, what is refused, which renderer runs."""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from analysis.tidy.errors import ReportError
from tests.analysis.report.alone import render

EXAMPLE = Path(__file__).parent / "report_example" / "paper.qmd"
VOID = {"meta", "link", "img", "br", "hr", "input", "col", "wbr"}


class Page(HTMLParser):
    """Tags with their attributes, and the text below each tag that has an id."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: dict[str, str] = {}
        self.styles = ""
        self._open: list[tuple[str, str]] = []
        self.feed(markup)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        if "id" in values:
            assert values["id"] not in self.text
            self.text[values["id"]] = ""
        if tag not in VOID:
            self._open.append((tag, values.get("id", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.styles += data if self._open and self._open[-1][0] == "style" else ""
        for _, identifier in self._open:
            if identifier:
                self.text[identifier] += data

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [
            attributes
            for name, attributes in self.tags
            if name == tag and all(attributes.get(key) == it for key, it in wanted.items())
        ]

    def words(self, identifier: str) -> str:
        return re.sub(r"[ \n]+", " ", self.text[identifier]).strip()


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, str]:
    folder = tmp_path_factory.mktemp("reports") / "paper"
    path = render(EXAMPLE, folder, parameters={"n_points": "5"}, engine="embedded")
    assert path == folder / "paper.html"
    assert [it.name for it in folder.iterdir()] == ["paper.html"]
    markup = path.read_text(encoding="utf-8")
    return Page(markup), markup


def document(directory: Path, body: str, *, front: str = "title: T") -> Path:
    source = directory / "paper.qmd"
    source.write_text(f"---\n{front}\n---\n\n{body}\n", encoding="utf-8")
    return source


def refusal(source: Path, **options: Any) -> str:
    """Return the message of a refused rendering; the page that was there must survive."""
    destination = source.with_suffix(".html")
    destination.write_text("the old page", encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        render(source, source.parent, engine="embedded", **options)
    assert destination.read_text(encoding="utf-8") == "the old page"
    assert not list(source.parent.glob(".*.tmp"))
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
def test_the_page_loads_nothing_from_outside(example: tuple[Page, str]) -> None:
    page, _ = example
    loaded = [it[key] for _, it in page.tags for key in ("src", "srcset", "data") if key in it]
    assert loaded == []
    assert len(page.all("svg", role="graphics-document document")) == 2
    assert page.all("link") == page.all("iframe") == page.all("object") == []
    assert set(re.findall(r"url\(.{15}", page.styles)) == {"url(data:font/woff;"}
    assert "@import" not in page.styles
    assert ".verdict-holds" in page.styles


@pytest.mark.slow
def test_the_page_is_accessible_in_structure(example: tuple[Page, str]) -> None:
    page, _ = example
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


@pytest.mark.slow
def test_every_link_inside_the_page_has_a_target(example: tuple[Page, str]) -> None:
    page, _ = example
    targets = [it["href"][1:] for it in page.all("a") if it.get("href", "").startswith("#")]
    assert len(targets) > 20
    assert set(targets) <= set(page.text)


@pytest.mark.slow
def test_captions_carry_numbers_and_evaluated_code(example: tuple[Page, str]) -> None:
    page, _ = example
    assert page.words("fig-line").endswith("Figure\u00a01: The points of Table\u00a01, drawn.")
    assert page.words("fig-div").endswith("Figure\u00a02: The same 5 points, p = 0.5.")
    assert page.words("tbl-counts").startswith("Table\u00a01: Points by coordinate.")
    assert page.words("tbl-wide").startswith("Table\u00a02: A wide table of 5 points.")
    assert page.words("tbl-hand").startswith("Table\u00a03: A table written by hand")


@pytest.mark.slow
def test_references_and_citations_are_resolved(example: tuple[Page, str]) -> None:
    page, _ = example
    assert page.words("sec-end").startswith(
        "3 End# As Section\u00a01, Section\u00a02, Section\u00a02.1 and Equation\u00a01 say; "
        "see 1, Chart\u00a01 and Figure\u00a01, Figure\u00a02. "
        "Tukey (Tukey 1962, 2) wrote so, and so did Tukey (1962).1"
    )
    assert "The Future of Data Analysis" in page.words("ref-tukey1962")
    assert page.words("fn1").startswith("A footnote with code and markup.")
    assert "reference to Figure\u00a01" in page.words("main")


@pytest.mark.slow
def test_values_in_prose_are_those_of_the_parameters(example: tuple[Page, str]) -> None:
    page, _ = example
    text = page.words("sec-beginning")
    assert "There are 5 points from somewhere." in text
    assert "A space that does not break is a space: 5\u00a0%." in text
    assert "nothing: A string is literal: 3 * 4 * 5 -- _not_ italic." in text
    assert "`{python} n_points`" in text


@pytest.mark.slow
def test_callouts_and_code_are_boxes_and_folds(example: tuple[Page, str]) -> None:
    page, markup = example
    boxes = [it["class"] for it in page.all("div") if "callout " in it.get("class", "")]
    assert boxes == [f"callout callout-{kind}" for kind in ("note", "warning", "important")]
    assert page.all("details", **{"class": "callout callout-tip"}) == [
        {"class": "callout callout-tip"}
    ]
    folds = page.all("details", **{"class": "code-fold"})
    assert len(folds) == 3
    assert not any("open" in fold for fold in folds)
    assert "<summary>Code</summary>" in markup
    assert "Hidden until opened: 5." in page.words("sec-deep")


@pytest.mark.slow
def test_the_contents_list_the_sections(example: tuple[Page, str]) -> None:
    page, markup = example
    contents = markup[markup.index("<nav") : markup.index("</nav>")]
    targets = re.findall(r'href="#([\w-]+)"', contents)
    assert targets == [
        "sec-beginning",
        "sec-middle",
        "sec-deep",
        "sec-end",
        "unnumbered",
        "references",
    ]
    assert page.words("eq-mean").endswith("(1)")
    assert len(page.all("math")) == 3


@pytest.mark.slow
def test_the_page_says_that_quarto_did_not_make_it(example: tuple[Page, str]) -> None:
    page, _ = example
    (generator,) = page.all("meta", name="generator")
    assert "not Quarto" in generator["content"]
    assert "without Quarto" in page.words("main")


@pytest.mark.slow
def test_a_figure_without_alternative_text_is_refused_by_name(tmp_path: Path) -> None:
    show = "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
    body = f"```{{python}}\n#| label: fig-a\n#| fig-cap: C\n{show}\n```"
    message = refusal(document(tmp_path, body))
    assert message.startswith("The chunk 'fig-a' at paper.qmd:5 must have one 'fig-alt'")


@pytest.mark.slow
def test_a_missing_citation_is_refused_by_key(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text("@book{here, title={T}, year={1}}\n", encoding="utf-8")
    source = document(
        tmp_path, "See [@here] and [@nowhere].", front="title: T\nbibliography: a.bib"
    )
    message = refusal(source)
    assert message.startswith("Every citation must be in the bibliography; missing: nowhere.")


@pytest.mark.slow
def test_an_unresolved_reference_is_refused_with_its_line(tmp_path: Path) -> None:
    message = refusal(document(tmp_path, "One.\n\nSee @fig-nowhere."))
    assert "@fig-nowhere at paper.qmd:7" in message


@pytest.mark.slow
def test_what_would_load_from_outside_is_refused(tmp_path: Path) -> None:
    body = '<script src="https://a.b/c.js"></script>\n\n[gone](#nowhere)'
    message = refusal(document(tmp_path, body))
    assert message == (
        "The page must be complete in itself; found: <script> loads 'https://a.b/c.js'; "
        "a link to '#nowhere', which does not exist."
    )


def test_an_unknown_parameter_is_refused_before_anything_runs(tmp_path: Path) -> None:
    body = "```{python}\n#| tags: [parameters]\na = 1\n```"
    message = refusal(document(tmp_path, body), parameters={"b": "1"})
    assert message.startswith("A parameter must be assigned in the chunk at paper.qmd:5;")


def fake_quarto(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = directory / "bin" / "quarto"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)


def test_quarto_renders_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_quarto.yml").write_text(
        "project: {output-dir: out, render: [paper.qmd]}\n", encoding="utf-8"
    )
    source = document(tmp_path, "Text.")
    fake_quarto(
        tmp_path, monkeypatch, f'mkdir -p out; echo "$@ $QUARTO_PYTHON" > {tmp_path}/out/paper.html'
    )
    monkeypatch.chdir(tmp_path)
    parameters = {"a": "1", "b": "x #y", "c": ""}
    page = render(source, tmp_path / "deep", parameters=parameters)
    printed = f'render {source} -P a:"1" -P b:"x #y" -P c:"" {sys.executable}\n'
    assert page.read_text(encoding="utf-8") == printed
    assert render(source, tmp_path / "out") == tmp_path / "out" / "paper.html"


def test_a_failing_or_silent_quarto_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, "exit $STATUS")
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(ReportError, match="'quarto render' must succeed; it ended with code 3"):
        render(source, tmp_path / "out")
    monkeypatch.setenv("STATUS", "0")
    with pytest.raises(ReportError, match=r"must write .*paper\.html; it did not"):
        render(source, tmp_path / "out", engine="quarto")


def test_a_faulty_page_of_quarto_is_refused_and_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quarto itself warns of these and ends with success."""
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "<p><b>?@fig-a</b></p>" > "${2%.qmd}.html"')
    with pytest.raises(ReportError, match=r"found in paper\.html: a reference without a target"):
        render(source, tmp_path / "out", engine="quarto")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.slow
def test_a_string_without_a_markdown_form_is_refused_where_quarto_would_garble_it(
    tmp_path: Path,
) -> None:
    message = refusal(document(tmp_path, "A share of `{python} '80\\u00a0%'`."))
    assert "The inline code ''80\\u00a0%'' at paper.qmd:5 must have a form that readers" in message
    assert "Quarto would print '80\\xa0%'." in message


def test_a_page_cut_short_by_a_full_disk_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "the new page" > "${2%.qmd}.html"')
    destination = tmp_path / "out" / "paper.html"
    destination.parent.mkdir()
    destination.write_text("the old page", encoding="utf-8")

    def no_space(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ReportError, match=r"paper\.html must be writable; No space left on device"):
        render(source, destination.parent)
    assert destination.read_text(encoding="utf-8") == "the old page"
    assert not list(destination.parent.glob(".*.tmp"))


def test_the_engine_quarto_needs_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="needs the quarto command on the PATH"):
        render(document(tmp_path, "Text."), tmp_path / "out", engine="quarto")


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ReportError, match=r"out must be writable; "):
        render(document(tmp_path, "Text."), tmp_path / "file" / "out", engine="embedded")

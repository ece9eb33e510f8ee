"""The page as PDF: what Typst is told, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from analysis.report import printing
from analysis.report.making.callout import with_callouts
from analysis.report.making.crossref import numbered, resolved
from analysis.report.making.pandoc import pandoc
from analysis.report.making.typeset import for_print
from analysis.report.printing import render_pdf
from analysis.report.reading.markup import Gallery, Picture
from analysis.tidy.errors import MissingExtraError, ReportError
from tests.architecture import ROOT

CHART = b'<svg class="marks" width="400" height="2000"><metadata class="rows">eA==</metadata></svg>'
TEXT = """
# A part {#sec-a}

See @fig-a, @tbl-a, [there](#sec-a), [elsewhere](claims.html#claim-7) and $x^2$.

::: {.code}
```{.python}
secret = 1
```
:::

::: {#fig-a}
![](chunk-image-1)

A caption.
:::

| a | b |
|--:|---|
| 1 | 2 |

: Numbers. {#tbl-a}

::: {.callout-note collapse="true"}
## Named
Inside.
:::
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("print")
    gallery = Gallery()
    gallery.add(Picture("image/svg+xml", CHART, 'It "falls".'))
    tree = json.loads(pandoc(TEXT, ["--from=markdown", "--to=json"], directory=folder))
    tree, numbering = numbered(with_callouts(tree), number_sections=True)
    tree, _ = resolved(tree, numbering.labels, str)
    document = for_print(tree, gallery, folder, folder)
    options = ["--from=json", "--to=typst", "--wrap=none", "--shift-heading-level-by=-1"]
    return pandoc(json.dumps(document), options, directory=folder), folder


def test_floats_keep_number_label_and_place_of_caption(printed: tuple[str, Path]) -> None:
    text = " ".join(printed[0].split())
    assert '#figure(kind: "fig", supplement: none, numbering: none, placement: auto, [ ' in text
    assert "], caption: [ Figure~1: A caption. ]) <fig-a>" in text
    assert 'kind: "tbl", supplement: none, numbering: none, caption: [' in text
    assert "]) <tbl-a>" in text


def test_references_are_links_and_pages_that_are_not_there_are_words(
    printed: tuple[str, Path],
) -> None:
    text, _ = printed
    assert "#link(<fig-a>)[Figure~1]" in text
    assert "#link(<sec-a>)[there]" in text
    assert "elsewhere" in text
    assert "claims.html" not in text


def test_code_is_left_out_and_folds_are_open(printed: tuple[str, Path]) -> None:
    text, _ = printed
    assert "secret" not in text
    assert "#callout([\nNote: Named" in text
    assert "Inside." in text


def test_a_chart_stays_a_drawing_that_fits_the_page(printed: tuple[str, Path]) -> None:
    text, folder = printed
    assert '#image("image-0.svg", width: 118pt, alt: "It \\"falls\\".")' in text
    assert (
        folder / "image-0.svg"
    ).read_text() == '<svg class="marks" width="400" height="2000"></svg>'


def test_a_missing_package_and_an_unknown_page_are_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingExtraError, match="needs the package 'typst'"):
        render_pdf(ROOT / "quarto", tmp_path, engine="embedded")
    with pytest.raises(ReportError, match="A page must be one of the project's; x is not"):
        render_pdf(ROOT / "quarto", tmp_path, engine="embedded", only=["x"])
    assert not list(tmp_path.iterdir())


def test_a_project_without_the_paper_prints_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_quarto.yml").write_text("project: {render: [b.qmd, a.qmd]}\n", encoding="utf-8")
    for name in ("a", "b"):
        (tmp_path / f"{name}.qmd").write_text("Text.\n", encoding="utf-8")
    monkeypatch.setattr(printing, "pdf_of", lambda source, *_: source.stem.encode())
    made = printing.render_pdf(tmp_path, tmp_path / "out", engine="embedded")
    assert [(path.name, path.read_bytes()) for path in made] == [("b.pdf", b"b"), ("a.pdf", b"a")]
    (only,) = printing.render_pdf(tmp_path, tmp_path / "out", engine="embedded", only=["a"])
    assert only.name == "a.pdf"

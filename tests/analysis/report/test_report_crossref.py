"""Numbers and references, callouts and images, on pandoc's own trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.report.making.callout import with_callouts
from analysis.report.making.crossref import numbered, resolved
from analysis.report.making.images import embedded, natural_width
from analysis.report.making.pandoc import pandoc
from analysis.report.reading.markup import Gallery, Picture
from analysis.tidy.errors import ReportError

HERE = Path(__file__).parent
SVG = b'<svg class="marks" width="320" height="90" xmlns="http://www.w3.org/2000/svg"></svg>'


def tree(markdown: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        pandoc(markdown, ["--from=markdown", "--to=json"], directory=HERE)
    )
    return document


def html(document: dict[str, Any]) -> str:
    options = ["--from=json", "--to=html5", "--wrap=none"]
    return pandoc(json.dumps(document), options, directory=HERE)


def labels(markdown: str, *, number_sections: bool = True) -> dict[str, str]:
    return dict(numbered(tree(markdown), number_sections=number_sections)[1].labels)


def linked(markdown: str) -> str:
    document, numbering = numbered(tree(markdown), number_sections=True)
    return html(resolved(document, numbering.labels, lambda _: "x.qmd:9")[0])


def test_sections_are_numbered_by_level_and_restart() -> None:
    markdown = (
        "# A {#sec-a}\n\n## B {#sec-b}\n\n### C {#sec-c}\n\n## D {#sec-d}\n\n"
        "# Z {.unnumbered}\n\n# E {#sec-e}\n\n## F {#sec-f}"
    )
    assert labels(markdown) == {
        "sec-a": "1",
        "sec-b": "1.1",
        "sec-c": "1.1.1",
        "sec-d": "1.2",
        "sec-e": "2",
        "sec-f": "2.1",
    }
    assert labels(markdown, number_sections=False) == {}


def test_a_heading_carries_its_number_and_a_named_anchor() -> None:
    markup = linked("# First *one* {#sec-a}")
    assert '<h2 id="sec-a"><span class="section-number">1</span> First <em>one</em>' in markup
    assert (
        '<a href="#sec-a" class="anchor" aria-label="Link to section 1 First one">#</a>' in markup
    )


def test_each_kind_of_float_counts_by_itself() -> None:
    markdown = (
        "![One](a.png){#fig-a}\n\n| a |\n|---|\n| 1 |\n\n: Two {#tbl-a}\n\n"
        "::: {#fig-b}\n![text](b.png)\n\nThree\n:::\n\n"
        "::: {#tbl-b}\n| a |\n|---|\n| 1 |\n\nFour\n:::\n\n$$x$$ {#eq-a}\n"
    )
    numbers = {"tbl-a": "1", "fig-a": "1", "fig-b": "2", "tbl-b": "2", "eq-a": "1"}
    assert labels(markdown) == numbers
    markup = linked(markdown)
    for number, caption in (("Figure", "One"), ("Table", "Two")):
        label = f'<span class="float-number">{number}\u00a01: </span>{caption}'
        assert label in markup
    assert markup.count("<figure") == markup.count("</figcaption>") == 4
    assert "(1)" in markup


def test_the_caption_is_below_a_figure_and_above_a_table() -> None:
    figure = linked("::: {#fig-b}\n![text](b.png)\n\nCaption\n:::")
    assert figure.index("<img") < figure.index("Caption")
    table = linked("::: {#tbl-b}\n| a |\n|---|\n| 1 |\n\nCaption\n:::")
    assert table.index("Caption") < table.index("<table")


def test_a_wide_table_scrolls_and_leaves_its_columns_to_the_browser() -> None:
    words = "word " * 20
    markup = linked(f"| a | b |\n|---|---|\n| 1 | {words}|")
    assert "<colgroup>" not in markup
    assert markup.startswith('<div class="table-scroll" role="group" tabindex="0" aria-label=')


def test_a_table_that_scrolls_is_named_by_its_caption_or_else_its_headers() -> None:
    table = "| a *b* | c |\n|---|---|\n| 1 | 2 |\n"
    markup = linked(f"{table}\n\n: One {{#tbl-a}}\n\n::: {{#tbl-b}}\n{table}\nTwo\n:::\n\n{table}")
    for label in ("tbl-a", "tbl-b"):
        assert f'<figcaption id="{label}-caption">' in markup
        assert f'tabindex="0" aria-labelledby="{label}-caption">' in markup
    assert markup.count("aria-label=") == 1
    assert 'aria-label="Table of a b, c">' in markup


@pytest.mark.parametrize(
    "figure", ["::: {#fig-b}\n![text](b.png)\n\nCaption\n:::", "![Caption](b.png){#fig-b}"]
)
def test_a_figure_scrolls_without_its_caption(figure: str) -> None:
    markup = linked(figure).replace("\n", "")
    box = '<div class="img-scroll" role="group" tabindex="0" aria-label="Figure\u00a01"><img'
    assert markup.startswith(f'<figure id="fig-b" class="float float-fig">{box}')
    assert '/></div><figcaption id="fig-b-caption">' in markup


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("@fig-a", '<a href="#fig-a" class="xref">Figure\u00a01</a>'),
        ("[-@fig-a]", '<a href="#fig-a" class="xref">1</a>'),
        ("[Chart @fig-a]", '<a href="#fig-a" class="xref">Chart\u00a01</a>'),
        ("@sec-a", '<a href="#sec-a" class="xref">Section\u00a01</a>'),
        (
            "[@fig-a; @sec-a]",
            '<a href="#fig-a" class="xref">Figure\u00a01</a>, '
            '<a href="#sec-a" class="xref">Section\u00a01</a>',
        ),
    ],
)
def test_a_reference_becomes_a_link_with_the_number(reference: str, text: str) -> None:
    markup = linked(f"# A {{#sec-a}}\n\nSee {reference}.\n\n![One](a.png){{#fig-a}}")
    assert f"<p>See {text}.</p>" in markup


def test_an_unresolved_reference_is_refused_by_name() -> None:
    with pytest.raises(ReportError) as caught:
        linked("# A {#sec-a}\n\nSee @fig-nowhere and @tbl-neither.")
    assert caught.value.problem.endswith(
        "unresolved: @fig-nowhere (x.qmd:9), @tbl-neither (x.qmd:9)."
    )
    assert caught.value.hint == "The labels are sec-a."


def test_a_repeated_label_and_a_missing_caption_are_refused() -> None:
    with pytest.raises(ReportError, match="must be used once; 'fig-a' is used again"):
        linked("![One](a.png){#fig-a}\n\n![Two](b.png){#fig-a}")
    with pytest.raises(ReportError, match="'fig-b' must end with a paragraph, its caption"):
        linked("::: {#fig-b}\nText.\n\n![](b.png)\n:::")
    with pytest.raises(ReportError, match="'eq-a' must follow a displayed formula"):
        linked("No formula {#eq-a}")


def test_citations_are_left_to_the_bibliography() -> None:
    document = tree("As [@tukey1962] says.")
    assert resolved(document, {}, str)[1] == ["tukey1962"]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (
            '::: {.callout-warning title="Mind"}\nText.\n:::',
            '<div class="callout callout-warning" role="note"><p class="callout-title">'
            '<span class="callout-kind">Warning</span> <span class="callout-name">Mind</span>'
            '</p><div class="callout-body"><p>Text.</p></div></div>',
        ),
        (
            '::: {.callout-tip collapse="true"}\n## A *b*\n\nText.\n:::',
            '<details class="callout callout-tip"><summary class="callout-title">'
            '<span class="callout-kind">Tip</span> '
            '<span class="callout-name">A <em>b</em></span>'
            '</summary><div class="callout-body"><p>Text.</p></div></details>',
        ),
        (
            "::: {#lim .callout-note}\nText.\n:::",
            '<div id="lim" class="callout callout-note" role="note"><p class="callout-title">'
            '<span class="callout-kind">Note</span></p>'
            '<div class="callout-body"><p>Text.</p></div></div>',
        ),
    ],
)
def test_a_callout_names_its_kind_and_title(markdown: str, expected: str) -> None:
    assert html(with_callouts(tree(markdown))).replace("\n", "") == expected


def test_a_collapsed_callout_can_start_open() -> None:
    callout = '::: {.callout-tip collapse="false"}\nText.\n:::'
    assert '<details class="callout callout-tip" open>' in html(with_callouts(tree(callout)))


def test_an_image_is_embedded_at_its_own_width(tmp_path: Path) -> None:
    (tmp_path / "line.svg").write_bytes(SVG)
    document = tree('![Caption](line.svg){fig-alt="A line."}')
    markup = html(embedded(document, Gallery(), tmp_path, str))
    assert 'src="data:image/svg+xml;base64,' in markup
    assert 'alt="A line."' in markup
    assert 'style="--natural: 320px"' in markup


def test_a_chart_becomes_part_of_the_page_with_its_rows_as_a_link(tmp_path: Path) -> None:
    rows = b'<svg class="marks" width="320" height="9"><metadata class="rows">eA==</metadata></svg>'
    gallery = Gallery()
    name = gallery.add(Picture("image/svg+xml", rows, 'A "line".', "fig-a", "charts.draw"))
    markup = html(embedded(tree(f"![]({name})"), gallery, tmp_path, str))
    assert markup.startswith('<p><svg class="picture marks" role="graphics-document document"')
    assert 'aria-label="A &quot;line&quot;."' in markup
    assert "metadata" not in markup
    assert '<a download="fig-a.csv" href="data:text/csv;base64,eA==">Data (CSV)</a>' in markup
    assert "<code>charts.draw</code>" in markup


def test_an_image_without_text_or_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "line.svg").write_bytes(SVG)
    with pytest.raises(ReportError, match=r"alternative text; 'line.svg' at x:1 has none"):
        embedded(tree("![](line.svg)"), Gallery(), tmp_path, lambda _: "x:1")
    with pytest.raises(ReportError, match=r"must be a file of kind .*; 'gone.svg' at x:1 is not"):
        embedded(tree("![Text](gone.svg)"), Gallery(), tmp_path, lambda _: "x:1")
    with pytest.raises(ReportError, match="the page loads nothing from elsewhere"):
        embedded(tree("![Text](https://a.b/c.png)"), Gallery(), tmp_path, lambda _: "x:1")


def test_the_width_of_a_png_is_read_from_its_header() -> None:
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (640).to_bytes(4) + (480).to_bytes(4)
    assert natural_width(Picture("image/png", header, "A line.")) == 640
    assert natural_width(Picture("image/svg+xml", b"<svg>", "A line.")) is None


def test_what_pandoc_warns_about_is_refused() -> None:
    with pytest.raises(ReportError, match="Pandoc must convert the document without complaint"):
        pandoc("[a]: x\n[a]: y\n", ["--from=markdown", "--to=json"], directory=HERE)

"""What the filter makes of Markdown, on a page and in print: numbers, links, callouts, images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.report.making.images import Gallery, Picture
from analysis.report.making.page import ASSETS, pandoc
from analysis.tidy.errors import ReportError

HERE = Path(__file__).parent
SVG = '<svg class="marks" width="320" height="90" xmlns="http://www.w3.org/2000/svg"></svg>'
ROWS = '<metadata class="rows">eA==</metadata>'


def made(
    markdown: str,
    *flags: str,
    to: str = "html5",
    directory: Path = HERE,
    numbered: Sequence[str] = ("--metadata=number-sections",),
) -> str:
    options = ["--from=markdown", f"--to={to}", "--wrap=none", f"--lua-filter={ASSETS}/page.lua"]
    options += [*numbered, *flags]
    return pandoc(markdown, options, directory=directory)


@pytest.fixture
def image(tmp_path: Path) -> str:
    (tmp_path / "b.svg").write_text(SVG, encoding="utf-8")
    return str(tmp_path / "b.svg")


def test_sections_are_numbered_by_level_and_restart() -> None:
    markdown = (
        "# A {#sec-a}\n\n## B\n\n### C {#sec-c}\n\n## D {#sec-d}\n\n"
        "# Z {.unnumbered}\n\n# E\n\n## F {#sec-f}\n\n@sec-a @sec-c @sec-d @sec-f"
    )
    last = made(markdown).splitlines()[-1]
    assert [last.count(f"Section\u00a0{number}<") for number in ("1", "1.1.1", "1.2", "2.1")] == [
        1
    ] * 4
    assert "section-number" not in made("# A", numbered=())


def test_a_heading_carries_its_number_and_a_named_anchor_a_level_down() -> None:
    markup = made("# First *one* {#sec-a}")
    assert '<h2 id="sec-a"><span class="section-number">1</span> First <em>one</em>' in markup
    assert 'href="#sec-a" class="anchor" aria-label="Link to section 1 First one">#</a>' in markup


def test_each_kind_of_float_counts_by_itself_with_its_caption_in_place(image: str) -> None:
    table = "| a *b* | c |\n|---|---|\n| 1 | 2 |\n"
    markup = made(
        f"![One]({image}){{#fig-a}}\n\n{table}\n\n: Two {{#tbl-a}}\n\n"
        f"::: {{#fig-b}}\n![text]({image})\n\nThree\n:::\n\n"
        f"::: {{#tbl-b}}\n{table}\nFour\n:::\n\n$$x$$ {{#eq-a}}\n\n{table}\n"
        "@fig-a [-@fig-b] [Chart @fig-a] [@tbl-b; @eq-a]"
    )
    numbers = {"Figure\u00a01": "One", "Table\u00a01": "Two", "Figure\u00a02": "Three"}
    for number, caption in {**numbers, "Table\u00a02": "Four"}.items():
        assert f'<span class="float-number">{number}: </span>{caption}' in markup
    assert markup.count("<figure") == markup.count("</figcaption>") == 4
    places = [markup.index(text) for text in ("<img", "</span>One", "</span>Two", "<table")]
    assert places == sorted(places)
    for label in ("tbl-a", "tbl-b"):
        assert f'tabindex="0" aria-labelledby="{label}-caption">' in markup
    assert 'aria-label="Table of a b, c">' in markup
    assert markup.count('class="img-scroll" role="group" tabindex="0" aria-label="Figure') == 2
    assert "<colgroup>" not in markup
    for link in ("fig-a" + '" class="xref">Figure\u00a01', "fig-b" + '" class="xref">2'):
        assert f'href="#{link}</a>' in markup
    assert 'class="xref">Chart\u00a01</a>' in markup
    assert 'class="xref">Table\u00a02</a>, <a href="#eq-a" class="xref">Equation\u00a01</a>' in (
        markup
    )


@pytest.mark.parametrize(
    ("markdown", "named"),
    [
        ("# A {#sec-a}\n\n@fig-nowhere and @tbl-neither.", "@fig-nowhere, @tbl-neither"),
        ("# A {#sec-a}\n\n# B {#sec-a}", "'sec-a' is used again"),
        ("::: {#fig-b}\nText.\n\n![](b.png)\n:::", "'fig-b' must end with a paragraph"),
        ("No formula {#eq-a}", "'eq-a' must follow a displayed formula"),
        ("![](line.svg)", "'line.svg' has no alternative text"),
        ("![Text](gone.svg)", "'gone.svg' must be an image file"),
        ("![Text](https://a.b/c.png)", "c.png' must be an image file"),
        ("[a]: x\n[a]: y\n", "Pandoc must convert the document without complaint"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(markdown: str, named: str) -> None:
    with pytest.raises(ReportError) as caught:
        made(markdown)
    assert named in caught.value.problem


CALLOUTS = {
    '::: {.callout-warning title="Mind"}\nText.\n:::': (
        '<div class="callout callout-warning" role="note"><p class="callout-title">'
        '<span class="callout-kind">Warning</span> <span class="callout-name">Mind</span>'
        '</p><div class="callout-body"><p>Text.</p></div></div>'
    ),
    '::: {.callout-tip collapse="true"}\n## A *b*\n\nText.\n:::': (
        '<details class="callout callout-tip"><summary class="callout-title">'
        '<span class="callout-kind">Tip</span> <span class="callout-name">A <em>b</em></span>'
        '</summary><div class="callout-body"><p>Text.</p></div></details>'
    ),
    '::: {#lim .callout-note collapse="false"}\nText.\n:::': (
        '<details id="lim" class="callout callout-note" open><summary class="callout-title">'
        '<span class="callout-kind">Note</span></summary>'
        '<div class="callout-body"><p>Text.</p></div></details>'
    ),
}


@pytest.mark.parametrize("markdown", CALLOUTS)
def test_a_callout_names_its_kind_and_title(markdown: str) -> None:
    assert made(markdown).replace("\n", "") == CALLOUTS[markdown]


def test_the_contents_are_nested_and_end_with_the_references() -> None:
    text = "# A\n\n## B\n\n# C\n\n#### D\n\nSee @here."
    markup = made(text, "--metadata=toc", "--standalone", f"--template={HERE}/contents.template")
    assert markup.count("<ul>") == 2
    assert [name for name in ("#a", "#b", "#c", "#d", "#references") if f'"{name}"' in markup] == [
        "#a",
        "#b",
        "#c",
        "#references",
    ]


def shown(picture: Picture, tmp_path: Path) -> str:
    return made(f"![]({Gallery(tmp_path).add(picture)})")


def test_a_chart_becomes_part_of_the_page_with_its_rows_as_a_link(tmp_path: Path) -> None:
    chart = SVG.replace("></svg>", f">{ROWS}</svg>")
    markup = shown(Picture(chart, 'A "line".', "fig-a", "charts.draw"), tmp_path)
    assert markup.startswith('<p><svg class="picture marks" role="graphics-document document"')
    assert 'aria-label="A &quot;line&quot;." style="--natural: 320px"' in markup
    assert "metadata" not in markup
    assert '<a download="fig-a.csv" href="data:text/csv;base64,eA==">Data (CSV)</a>' in markup
    assert "<code>charts.draw</code>" in markup


def test_print_has_floats_links_open_folds_and_charts_that_fit_and_no_code(tmp_path: Path) -> None:
    chart = SVG.replace('"320"', '"400"').replace('"90"', '"2000"')
    gallery = Gallery(tmp_path, for_print=True)
    name = gallery.add(Picture(chart.replace("></svg>", f">{ROWS}</svg>"), 'It "falls".'))
    text = made(
        "# A part {#sec-a}\n\n"
        "@fig-a, @tbl-a, [there](#sec-a), [elsewhere](claims.html#claim-7).\n\n"
        "::: {.code}\n```{.python}\nsecret = 1\n```\n:::\n\n"
        f"::: {{#fig-a}}\n![]({name})\n\nA caption.\n:::\n\n"
        "| a |\n|--:|\n| 1 |\n\n: Numbers. {#tbl-a}\n\n"
        '::: {.callout-note collapse="true"}\n## Named\nInside.\n:::\n',
        to="typst",
    )
    joined = " ".join(text.split())
    assert '#figure(kind: "fig", supplement: none, numbering: none, placement: auto, [ ' in joined
    assert "], caption: [ Figure~1: A caption. ]) <fig-a>" in joined
    assert 'kind: "tbl", supplement: none, numbering: none, caption: [' in joined
    assert "]) <tbl-a>" in joined
    assert "#link(<fig-a>)[Figure~1]" in text
    assert "#link(<sec-a>)[there]" in text
    assert "elsewhere" in text
    assert "claims.html" not in text
    assert "secret" not in text
    assert "#callout([ Note: Named" in joined
    assert '#image("chunk-image-1.svg", width: 118pt, alt: "It \\"falls\\".")' in text
    assert (tmp_path / "chunk-image-1.svg").read_text(encoding="utf-8") == chart

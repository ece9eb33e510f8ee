"""Kernel answers as Markdown: inline values, outputs, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.report.making.images import Gallery, Picture
from analysis.report.making.markup import chunk_markdown, prose_markdown
from analysis.report.reading.chunk import chunk_of
from analysis.report.reading.inline import Inline
from analysis.report.reading.source import Line
from analysis.tidy.errors import ReportError

SHOWN = {"image/svg+xml": "<svg/>", "text/plain": "<c>"}
QUIET = {"echo": False}


class Named(Gallery):
    """A gallery that only names its pictures."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.pictures: dict[str, Picture] = {}

    def add(self, picture: Picture) -> str:
        self.pictures["chunk-image-1"] = picture
        return "chunk-image-1"


def chunk_text(*options: str, outputs: list[dict[str, str]], gallery: Gallery | None = None) -> str:
    chunk = chunk_of([*(f"#| {option}" for option in options), "code()"], place="x.qmd:1")
    return chunk_markdown(chunk, outputs, QUIET, gallery or Named()).strip()


@pytest.mark.parametrize(
    ("value", "markdown"),
    [
        ({"text/plain": "'a_b'"}, r"a\_b"),
        ({"text/plain": '"it\'s <b> & $x$ [1] -- @y"'}, r"it's \<b\> \& \$x\$ \[1\] \-\- \@y"),
        ({"text/plain": "0.5"}, "0.5"),
        ({"text/plain": "<Markdown>", "text/markdown": "*p*"}, "*p*"),
        ({"text/plain": "<HTML>", "text/html": "<b>x</b>"}, "`<b>x</b>`{=html}"),
    ],
)
def test_an_inline_value_is_literal_text_unless_it_is_markup(
    value: dict[str, str], markdown: str
) -> None:
    line = Line("`{python} f()`", Path("paper.qmd"), 1)
    assert prose_markdown([line], lambda asked: [value]) == markdown


def test_inline_code_is_replaced_outside_of_fences_only() -> None:
    requests = []

    def evaluate(asked: Sequence[Inline]) -> list[dict[str, str]]:
        requests.append(asked)
        return [{"text/plain": str(7 + place)} for place in range(len(asked))]

    path = Path("paper.qmd")
    lines = [
        Line("a `{python} x` and `{python} f('b')`.", path, 1),
        Line("`{python} y`", path, 2, "inside"),
        Line("``{python} z`` and `python w`", path, 3),
    ]
    text = prose_markdown(lines, evaluate)
    assert text == "a 7 and 8.\n`{python} y`\n``{python} z`` and `python w`"
    assert requests == [[Inline("x", "paper.qmd:1"), Inline("f('b')", "paper.qmd:1")]]


def test_html_outranks_markdown_and_plain_text() -> None:
    data = {"text/plain": "p", "text/markdown": "m", "text/html": "<i>h</i>"}
    text = chunk_text(outputs=[data])
    assert text == "::: {.cell-output .html-output}\n``` {=html}\n<i>h</i>\n```\n:::"


def test_plain_text_becomes_a_code_block_longer_than_its_ticks() -> None:
    text = chunk_text(outputs=[{"text/plain": "```\nred\n"}])
    assert text == "```` {.cell-output}\n```\nred\n````"


def test_an_image_is_kept_under_a_name_with_its_text() -> None:
    gallery = Named()
    text = chunk_text("fig-alt: A line.", outputs=[SHOWN], gallery=gallery)
    assert text == "![](chunk-image-1)"
    picture = gallery.pictures["chunk-image-1"]
    assert (picture.drawing, picture.alt) == ("<svg/>", "A line.")


def test_an_image_that_is_no_drawing_is_refused() -> None:
    with pytest.raises(ReportError, match="image/png"):
        chunk_text("fig-alt: A line.", outputs=[{"image/png": "eA==", "text/plain": "<c>"}])


@pytest.mark.parametrize("options", [(), ("label: fig-x", "fig-cap: C"), ("fig-alt: ' '",)])
def test_an_image_without_alternative_text_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(ReportError) as caught:
        chunk_text(*options, outputs=[SHOWN])
    name = "'fig-x' at x.qmd:1" if len(options) == 2 else "at x.qmd:1"
    assert caught.value.problem.startswith(f"The chunk {name} must have one 'fig-alt' for one")


def test_a_labelled_chunk_becomes_a_division_that_ends_with_its_caption() -> None:
    options = ("label: fig-x", "fig-cap: >", "  Two", "  lines.", "fig-alt: A line.")
    text = chunk_text(*options, outputs=[SHOWN])
    assert text == "::: {#fig-x .fig-float}\n![](chunk-image-1)\n\nTwo lines.\n:::"


def test_a_chunk_that_is_not_included_shows_nothing() -> None:
    assert chunk_text("include: false", "echo: true", outputs=[{"text/plain": "1"}]) == ""


def test_code_is_folded_when_the_document_says_so() -> None:
    chunk = chunk_of(["code()"], place="x.qmd:1")
    folded = chunk_markdown(chunk, [], {"code-fold": True}, Named())
    assert "<details class='code-fold'><summary>Code</summary>" in folded
    assert "``` {.python .cell-code}\ncode()\n```" in folded
    assert "details" not in chunk_text("echo: true", outputs=[])

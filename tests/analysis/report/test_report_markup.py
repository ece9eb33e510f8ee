"""Kernel answers as Markdown: inline values, outputs, pictures."""

import base64
from pathlib import Path

import pytest

from analysis.report.making.images import Gallery
from analysis.report.making.markup import chunk_markdown, prose_markdown
from analysis.report.reading.chunk import chunk_of
from analysis.report.reading.inline import Inline
from analysis.report.reading.source import Line
from analysis.tidy.errors import ReportError

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SHOWN = {"type": "display_data", "data": {"image/png": PNG, "text/plain": "<c>"}}
QUIET = {"echo": False}


class Named(Gallery):
    """A gallery that only names its pictures."""

    def __init__(self):
        super().__init__(Path())
        self.pictures = {}

    def add(self, picture):
        self.pictures["chunk-image-1"] = picture
        return "chunk-image-1"


def chunk_text(*options, outputs, gallery=None):
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
def test_an_inline_value_is_literal_text_unless_it_is_markup(value, markdown):
    line = Line("`{python} f()`", Path("paper.qmd"), 1)
    assert prose_markdown([line], lambda asked: [value]) == markdown


def test_inline_code_is_replaced_outside_of_fences_only():
    requests = []

    def evaluate(asked):
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


def test_outputs_become_markdown_of_their_kind():
    data = {"text/plain": "p", "text/markdown": "m", "text/html": "<i>h</i>"}
    text = chunk_text(outputs=[{"type": "execute_result", "data": data}])
    assert text == "::: {.cell-output .html-output}\n``` {=html}\n<i>h</i>\n```\n:::"
    text = chunk_text(outputs=[{"type": "stream", "name": "stdout", "text": "```\n\x1b[31mred\n"}])
    assert text == "```` {.cell-output .stdout}\n```\nred\n````"
    gallery = Named()
    text = chunk_text("fig-alt: A line.", outputs=[SHOWN], gallery=gallery)
    assert text == "![](chunk-image-1)"
    picture = gallery.pictures["chunk-image-1"]
    assert (picture.mime, picture.alt) == ("image/png", "A line.")
    assert picture.content == b"\x89PNG\r\n\x1a\n"
    options = ("label: fig-x", "fig-cap: >", "  Two", "  lines.", "fig-alt: A line.")
    text = chunk_text(*options, outputs=[SHOWN])
    assert text == "::: {#fig-x .fig-float}\n![](chunk-image-1)\n\nTwo lines.\n:::"


@pytest.mark.parametrize("options", [(), ("label: fig-x", "fig-cap: C"), ("fig-alt: ' '",)])
def test_an_image_without_alternative_text_is_refused(options):
    with pytest.raises(ReportError) as caught:
        chunk_text(*options, outputs=[SHOWN])
    name = "'fig-x' at x.qmd:1" if len(options) == 2 else "at x.qmd:1"
    assert caught.value.problem.startswith(f"The chunk {name} must have one 'fig-alt' for each")


def test_warnings_outputs_and_code_are_shown_as_the_options_say():
    warning = {"type": "stream", "name": "stderr", "text": "careful"}
    printed = {"type": "stream", "name": "stdout", "text": "*said*"}
    assert "careful" in chunk_text(outputs=[warning])
    assert chunk_text("warning: false", outputs=[warning]) == ""
    assert chunk_text("output: false", outputs=[printed]) == ""
    assert chunk_text("output: asis", outputs=[printed]) == "*said*"
    assert chunk_text("include: false", "echo: true", outputs=[printed]) == ""
    assert chunk_text("output: false", outputs=[SHOWN]) == ""
    folded = chunk_text("echo: true", "code-fold: true", outputs=[])
    assert "<details class='code-fold'><summary>Code</summary>" in folded
    assert "``` {.python .cell-code}\ncode()\n```" in folded
    assert "<details class='code-fold' open>" in chunk_text(
        "echo: true", "code-fold: show", outputs=[]
    )
    assert "details" not in chunk_text("echo: true", outputs=[])

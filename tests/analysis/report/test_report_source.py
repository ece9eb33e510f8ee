"""Sources read, and kernel answers as Markdown: fences, options, values, pictures."""

import base64
import re
from pathlib import Path

import pytest

from analysis.report.making.images import Gallery
from analysis.report.making.markup import chunk_markdown, prose_markdown
from analysis.report.reading.chunk import Chunk, assignments, chunk_of
from analysis.report.reading.inline import Inline
from analysis.report.reading.origin import link
from analysis.report.reading.settings import settings_of
from analysis.report.reading.source import Line, read_source
from analysis.tidy.errors import ReportError
from tests.analysis.places import ROOT

QUARTO = ROOT / "quarto"


def written(directory, name, text):
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_source_is_front_matter_prose_and_chunks_in_order(tmp_path):
    text = "---\ntitle: T\n---\nBefore.\n\n```{python}\n#| label: a\nx = 1\n```\nAfter.\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert source.front_matter == {"title": "T"}
    before, chunk, after = source.blocks
    assert [line.text for line in before.lines] == ["Before.", ""]
    assert chunk == Chunk("x = 1", {"label": "a"}, "paper.qmd:6")
    assert [(line.text, line.place) for line in after.lines] == [("After.", "paper.qmd:10")]
    source = read_source(written(tmp_path, "paper.qmd", "Only text.\n"))
    assert source.front_matter == {}
    assert source.place_of("text") == "paper.qmd:1"
    assert source.place_of("absent") == "paper.qmd"
    text = "```{python}\n1\n```\n```{python}\n2\n```\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert [chunk.code for chunk in source.chunks] == ["1", "2"]
    text = "````markdown\n```{python}\n1\n```\n{{< include nothing.qmd >}}\n````\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert source.chunks == ()
    (prose,) = source.blocks
    assert [line.fence for line in prose.lines] == ["open", *["inside"] * 4, "close"]


def test_nested_includes_start_at_the_main_document_and_a_page_hands_them_out(tmp_path):
    written(tmp_path, "sections/_b.qmd", "{{< include sections/_c.qmd >}}\n")
    written(tmp_path, "sections/_c.qmd", "```{python}\n#| label: deep\n1\n```\n")
    source = read_source(written(tmp_path, "paper.qmd", "{{< include sections/_b.qmd >}}\n"))
    assert [chunk.place for chunk in source.chunks] == ["_c.qmd:1"]
    address = re.search(r'download="paper.qmd" href="data:[^,]*,([^"]*)"', link(QUARTO, "paper"))
    assert address is not None
    text = base64.b64decode(address[1]).decode()
    page = read_source(QUARTO / "paper.qmd")
    assert "{{<" not in text
    assert [chunk.code in text for chunk in page.chunks] == [True] * len(page.chunks)
    assert text.count("\n") > 2 * (QUARTO / "paper.qmd").read_text().count("\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{{< include sections/_b.qmd >}}\n", "_c.qmd, included at _b.qmd:1, must be"),
        ("\n{{< include absent.qmd >}}\n", "absent.qmd, included at paper.qmd:2,"),
        ("{{< include _b.qmd >}}\n", "A file must not include itself; _b.qmd:1 includes"),
        ("{{< meta title >}}", "found '{{< meta title >}}' at paper.qmd:1."),
        ("See {{< include a.qmd >}}", "found 'See {{< include a.qmd >}}' at paper.qmd:1."),
        ("Text.\n```{python}\n1\n", "The fence opened at paper.qmd:2 must be closed"),
        ("```{r}\n1\n```\n", "found '```{r}' at paper.qmd:1."),
        ("```{python, echo=FALSE}\n1\n```\n", "found '```{python, echo=FALSE}' at paper.qmd:1."),
        ("  ```{python}\n1\n```\n", "found '  ```{python}' at paper.qmd:1."),
    ],
)
def test_a_source_that_quarto_would_read_otherwise_is_refused_with_its_line(tmp_path, text, named):
    written(tmp_path, "_b.qmd", "{{< include paper.qmd >}}\n")
    # A nested include starts at the main document, where there is no such file.
    written(tmp_path, "sections/_b.qmd", "{{< include _c.qmd >}}\n")
    written(tmp_path, "sections/_c.qmd", "Text.\n")
    with pytest.raises(ReportError) as caught:
        read_source(written(tmp_path, "paper.qmd", text))
    assert named in str(caught.value)


def test_chunk_options_outrank_the_document_and_unknown_ones_are_refused():
    with pytest.raises(ReportError) as caught:
        chunk_of(["#| label: a", "#| fig-caption: x", "1"], place="paper.qmd:7")
    assert "'a' at paper.qmd:7" in caught.value.problem
    assert "'fig-caption'" in caught.value.problem
    assert "fig-cap" in caught.value.hint
    chunk = chunk_of(["#| echo: true", "1"], place="x.qmd:1")
    document = {"code-fold": True, "execute": {"echo": False, "include": False, "freeze": False}}
    assert chunk.settled(document) == {"echo": True, "include": False, "code-fold": True}
    assert chunk_of(["1"], place="x.qmd:1").settled({})["include"]


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("echo: maybe", "'echo' of the chunk at x.qmd:1 cannot be 'maybe'"),
        ("label: 1", "'label' of the chunk '1' at x.qmd:1 cannot be 1"),
        ("echo: [", "YAML of x.qmd:1 must be readable"),
        ("just text", "YAML of x.qmd:1 must be 'key: value' lines; found 'just text'"),
    ],
)
def test_a_chunk_option_of_the_wrong_kind_is_refused(option, wanted):
    with pytest.raises(ReportError) as caught:
        chunk_of([f"#| {option}", "1"], place="x.qmd:1")
    assert wanted in str(caught.value)


def test_parameters_become_assignments_and_unknown_ones_are_refused():
    tagged = chunk_of(["#| tags: [parameters]", "a = '1'", "b = 'x'"], place="x.qmd:1")
    code = assignments([tagged], {"b": "../data/it's", "a": "3"})
    assert code == "b = \"../data/it's\"\na = '3'"
    with pytest.raises(ReportError) as caught:
        assignments([tagged], {"c": "3"})
    assert "x.qmd:1; found: c." in caught.value.problem
    assert caught.value.hint == "Its parameters are a, b."
    assert caught.value.exit_code == 2
    with pytest.raises(ReportError, match="need a chunk tagged 'parameters'; there is none"):
        assignments([chunk_of(["a = 1"], place="x.qmd:1")], {"a": "3"})


def test_settings_come_from_front_matter_project_and_html_options(tmp_path):
    written(
        tmp_path,
        "_quarto.yml",
        "execute: {echo: true, warning: false}\nlang: de\n"
        "format: {html: {toc: true, code-fold: true, lang: en}}\n",
    )
    options = settings_of({"execute": {"echo": False}, "title": "T", "date": "today"}, tmp_path)
    assert options["execute"] == {"echo": False, "warning": False}
    assert (options["lang"], options["toc"], options["code-fold"]) == ("en", True, True)
    assert options["title"] == "T"
    assert re.fullmatch(r"\d+ [A-Z]\w+ 20\d\d", options["date"])
    assert settings_of({}, tmp_path / "elsewhere") == {"lang": "en"}


SHOWN = {"image/svg+xml": "<svg/>", "text/plain": "<c>"}
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
    text = chunk_text(outputs=[data])
    assert text == "::: {.cell-output .html-output}\n``` {=html}\n<i>h</i>\n```\n:::"
    text = chunk_text(outputs=[{"text/plain": "```\nred\n"}])
    assert text == "```` {.cell-output}\n```\nred\n````"
    gallery = Named()
    text = chunk_text("fig-alt: A line.", outputs=[SHOWN], gallery=gallery)
    assert text == "![](chunk-image-1)"
    picture = gallery.pictures["chunk-image-1"]
    assert (picture.drawing, picture.alt) == ("<svg/>", "A line.")
    with pytest.raises(ReportError, match="image/png"):
        chunk_text("fig-alt: A line.", outputs=[{"image/png": "eA==", "text/plain": "<c>"}])
    options = ("label: fig-x", "fig-cap: >", "  Two", "  lines.", "fig-alt: A line.")
    text = chunk_text(*options, outputs=[SHOWN])
    assert text == "::: {#fig-x .fig-float}\n![](chunk-image-1)\n\nTwo lines.\n:::"


@pytest.mark.parametrize("options", [(), ("label: fig-x", "fig-cap: C"), ("fig-alt: ' '",)])
def test_an_image_without_alternative_text_is_refused(options):
    with pytest.raises(ReportError) as caught:
        chunk_text(*options, outputs=[SHOWN])
    name = "'fig-x' at x.qmd:1" if len(options) == 2 else "at x.qmd:1"
    assert caught.value.problem.startswith(f"The chunk {name} must have one 'fig-alt' for one")


def test_chunks_and_code_are_shown_as_the_options_say():
    assert chunk_text("include: false", "echo: true", outputs=[{"text/plain": "1"}]) == ""
    chunk = chunk_of(["code()"], place="x.qmd:1")
    folded = chunk_markdown(chunk, [], {"code-fold": True}, Named())
    assert "<details class='code-fold'><summary>Code</summary>" in folded
    assert "``` {.python .cell-code}\ncode()\n```" in folded
    assert "details" not in chunk_text("echo: true", outputs=[])

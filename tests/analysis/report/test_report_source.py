"""Sources: fences, includes, chunk options, parameters, settings."""

import base64
import re

import pytest

from analysis.report.reading.chunk import Chunk, assignments, chunk_of
from analysis.report.reading.origin import link
from analysis.report.reading.settings import settings_of
from analysis.report.reading.source import read_source
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


def test_a_nested_include_starts_at_the_main_document(tmp_path):
    written(tmp_path, "sections/_b.qmd", "{{< include sections/_c.qmd >}}\n")
    written(tmp_path, "sections/_c.qmd", "```{python}\n#| label: deep\n1\n```\n")
    source = read_source(written(tmp_path, "paper.qmd", "{{< include sections/_b.qmd >}}\n"))
    assert [chunk.place for chunk in source.chunks] == ["_c.qmd:1"]


def test_a_page_hands_out_its_source_with_included_files_in_their_places():
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
    options = chunk.settled({"echo": False, "warning": False, "freeze": False})
    assert (options["echo"], options["warning"], options["include"]) == (True, False, True)
    assert "freeze" not in options


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("echo: maybe", "'echo' of the chunk at x.qmd:1 cannot be 'maybe'"),
        ("output: none", "'output' of the chunk at x.qmd:1 cannot be 'none'"),
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
    tagged = chunk_of(["#| tags: [parameters]", "a = 1", "b: str = 'x'"], place="x.qmd:1")
    code = assignments([tagged], {"b": "../data/it's", "a": "3"})
    assert code == 'b = "../data/it\'s"\na = 3'
    with pytest.raises(ReportError) as caught:
        assignments([tagged], {"c": "3"})
    assert "x.qmd:1; found: c." in caught.value.problem
    assert caught.value.hint == "Its parameters are a and b."
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
    settings = settings_of({"execute": {"echo": False}, "title": "T"}, tmp_path)
    assert settings.chunk_defaults == {"echo": False, "warning": False, "code-fold": True}
    assert (settings.lang, settings.toc, settings.number_sections) == ("en", True, False)
    assert settings.title_block == {"title": "T"}
    settings = settings_of({"author": [{"name": "A"}, "B"], "date": "today"}, tmp_path)
    assert settings.title_block["author"] == ["A", "B"]
    assert settings.title_block["date"] != "today"
    with pytest.raises(ReportError, match="named under 'bibliography' must exist; it does not"):
        settings_of({"bibliography": "absent.bib"}, tmp_path)


@pytest.mark.parametrize(
    ("licence", "words"),
    [("All rights", "All rights"), ({"text": "Code MIT"}, "Code MIT"), ({}, "")],
)
def test_a_licence_says_its_words(tmp_path, licence, words):
    assert settings_of({"license": licence}, tmp_path).reuse == words

"""Sources: fences, includes, chunk options, parameters, settings."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from analysis.report.reading.chunk import Chunk, assignments, chunk_of
from analysis.report.reading.origin import link
from analysis.report.reading.settings import settings_of
from analysis.report.reading.source import Prose, read_source
from analysis.tidy.errors import ReportError

QUARTO = Path(__file__).parents[3] / "quarto"


def written(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ReportError) as caught:
        read_source(path)
    return str(caught.value)


def test_a_source_is_front_matter_prose_and_chunks_in_order(tmp_path: Path) -> None:
    text = "---\ntitle: T\n---\nBefore.\n\n```{python}\n#| label: a\nx = 1\n```\nAfter.\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert source.front_matter == {"title": "T"}
    before, chunk, after = source.blocks
    assert isinstance(before, Prose)
    assert [line.text for line in before.lines] == ["Before.", ""]
    assert chunk == Chunk("x = 1", {"label": "a"}, "paper.qmd:6")
    assert isinstance(after, Prose)
    assert [(line.text, line.place) for line in after.lines] == [("After.", "paper.qmd:10")]


def test_a_source_without_front_matter_begins_with_its_first_line(tmp_path: Path) -> None:
    source = read_source(written(tmp_path, "paper.qmd", "Only text.\n"))
    assert source.front_matter == {}
    assert source.place_of("text") == "paper.qmd:1"
    assert source.place_of("absent") == "paper.qmd"


def test_two_chunks_may_touch(tmp_path: Path) -> None:
    text = "```{python}\n1\n```\n```{python}\n2\n```\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert [chunk.code for chunk in source.chunks] == ["1", "2"]


def test_a_chunk_inside_a_longer_fence_is_text(tmp_path: Path) -> None:
    text = "````markdown\n```{python}\n1\n```\n{{< include nothing.qmd >}}\n````\n"
    source = read_source(written(tmp_path, "paper.qmd", text))
    assert source.chunks == ()
    (prose,) = source.blocks
    assert isinstance(prose, Prose)
    assert [line.fence for line in prose.lines] == ["open", *["inside"] * 4, "close"]


def test_a_nested_include_starts_at_the_main_document(tmp_path: Path) -> None:
    written(tmp_path, "sections/_b.qmd", "{{< include sections/_c.qmd >}}\n")
    written(tmp_path, "sections/_c.qmd", "```{python}\n#| label: deep\n1\n```\n")
    source = read_source(written(tmp_path, "paper.qmd", "{{< include sections/_b.qmd >}}\n"))
    assert [chunk.place for chunk in source.chunks] == ["_c.qmd:1"]


def test_a_page_hands_out_its_source_with_included_files_in_their_places() -> None:
    address = re.search(r'download="paper.qmd" href="data:[^,]*,([^"]*)"', link(QUARTO, "paper"))
    assert address is not None
    text = base64.b64decode(address[1]).decode()
    page = read_source(QUARTO / "paper.qmd")
    assert "{{<" not in text
    assert [chunk.code in text for chunk in page.chunks] == [True] * len(page.chunks)
    assert text.count("\n") > 2 * (QUARTO / "paper.qmd").read_text().count("\n")


def test_a_nested_include_beside_the_including_file_is_refused_as_quarto_does(
    tmp_path: Path,
) -> None:
    written(tmp_path, "sections/_b.qmd", "{{< include _c.qmd >}}\n")
    written(tmp_path, "sections/_c.qmd", "Text.\n")
    message = refusal(written(tmp_path, "paper.qmd", "{{< include sections/_b.qmd >}}\n"))
    assert message.startswith(f"The source {tmp_path / '_c.qmd'}, included at _b.qmd:1, must be")
    assert message.endswith("starts at the main document, in nested includes too.")


def test_a_missing_include_names_the_line_that_wants_it(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "paper.qmd", "\n{{< include absent.qmd >}}\n"))
    assert message.startswith(f"The source {tmp_path / 'absent.qmd'}, included at paper.qmd:2,")
    assert "No such file or directory" in message


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "_b.qmd", "{{< include paper.qmd >}}\n")
    message = refusal(written(tmp_path, "paper.qmd", "{{< include _b.qmd >}}\n"))
    assert message.startswith("A file must not include itself; _b.qmd:1 includes")


@pytest.mark.parametrize("line", ["{{< meta title >}}", "See {{< include a.qmd >}}"])
def test_other_shortcodes_are_refused(tmp_path: Path, line: str) -> None:
    message = refusal(written(tmp_path, "paper.qmd", line))
    assert message.startswith("A shortcode must be '{{< include file >}}' on a line of its own;")
    assert message.endswith(f"found '{line}' at paper.qmd:1.")


def test_an_open_fence_is_refused_with_its_place(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, "paper.qmd", "Text.\n```{python}\n1\n"))
    assert message == "The fence opened at paper.qmd:2 must be closed; the file ends."


@pytest.mark.parametrize("fence", ["```{r}", "```{python, echo=FALSE}", "  ```{python}"])
def test_a_chunk_that_is_not_plain_python_is_refused(tmp_path: Path, fence: str) -> None:
    message = refusal(written(tmp_path, "paper.qmd", f"{fence}\n1\n```\n"))
    assert message.startswith("A chunk must open with '```{python}' in the first column;")
    assert f"found '{fence}' at paper.qmd:1." in message


def test_an_unknown_chunk_option_is_refused_with_chunk_and_line() -> None:
    with pytest.raises(ReportError) as caught:
        chunk_of(["#| label: a", "#| fig-caption: x", "1"], place="paper.qmd:7")
    assert "'a' at paper.qmd:7" in caught.value.problem
    assert "'fig-caption'" in caught.value.problem
    assert "fig-cap" in caught.value.hint


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("echo: maybe", "'echo' of the chunk at x.qmd:1 cannot be 'maybe'"),
        ("label: 1", "'label' of the chunk '1' at x.qmd:1 cannot be 1"),
        ("echo: [", "YAML of x.qmd:1 must be readable"),
        ("just text", "YAML of x.qmd:1 must be 'key: value' lines; found 'just text'"),
    ],
)
def test_a_chunk_option_of_the_wrong_kind_is_refused(option: str, wanted: str) -> None:
    with pytest.raises(ReportError) as caught:
        chunk_of([f"#| {option}", "1"], place="x.qmd:1")
    assert wanted in str(caught.value)


def test_the_chunk_outranks_the_document_and_the_document_the_default() -> None:
    chunk = chunk_of(["#| echo: true", "1"], place="x.qmd:1")
    document = {"code-fold": True, "execute": {"echo": False, "include": False, "freeze": False}}
    assert chunk.settled(document) == {"echo": True, "include": False, "code-fold": True}
    assert chunk_of(["1"], place="x.qmd:1").settled({})["include"]


def test_parameters_become_assignments_of_text() -> None:
    tagged = chunk_of(["#| tags: [parameters]", "a = '1'", "b = 'x'"], place="x.qmd:1")
    code = assignments([tagged], {"b": "../data/it's", "a": "3"})
    assert code == "b = \"../data/it's\"\na = '3'"


def test_an_unknown_parameter_is_refused_with_the_known_ones() -> None:
    tagged = chunk_of(["#| tags: [parameters]", "a = 1"], place="x.qmd:1")
    with pytest.raises(ReportError) as caught:
        assignments([tagged], {"c": "3"})
    assert caught.value.problem == (
        "A parameter must be assigned in the chunk at x.qmd:1; found: c."
    )
    assert caught.value.hint == "Its parameters are a."
    assert caught.value.exit_code == 2


def test_parameters_without_a_tagged_chunk_are_refused() -> None:
    with pytest.raises(ReportError, match="need a chunk tagged 'parameters'; there is none"):
        assignments([chunk_of(["a = 1"], place="x.qmd:1")], {"a": "3"})


def test_front_matter_outranks_the_project_and_html_options_outrank_both(tmp_path: Path) -> None:
    written(
        tmp_path,
        "_quarto.yml",
        "execute: {echo: true, warning: false}\nlang: de\n"
        "format: {html: {toc: true, code-fold: true, lang: en}}\n",
    )
    options = settings_of({"execute": {"echo": False}, "title": "T"}, tmp_path)
    assert options["execute"] == {"echo": False, "warning": False}
    assert (options["lang"], options["toc"], options["code-fold"]) == ("en", True, True)
    assert options["title"] == "T"


def test_a_page_of_today_says_the_day(tmp_path: Path) -> None:
    assert re.fullmatch(r"\d+ [A-Z]\w+ 20\d\d", settings_of({"date": "today"}, tmp_path)["date"])
    assert settings_of({}, tmp_path) == {"lang": "en"}

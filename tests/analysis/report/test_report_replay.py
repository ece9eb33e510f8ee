"""What a report's code said is told again only where the same code stands on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.report import kept, render
from analysis.report.reading.inline import Inline
from analysis.report.replay import Memory, NewCodeError, Replay, memory_of

PAGE = """---
title: "T"
---

```{python}
#| include: false
from pathlib import Path
with Path("runs.txt").open("a") as handle:
    handle.write("x")
x = 6
```

The number is `{python} str(x * 7)`.
"""


class Counting:
    """A kernel that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, code: str, *, name: str) -> list[dict[str, str]]:
        self.asked.append(code)
        return [{"type": "stream", "text": f"{code} in {name}"}]

    def evaluate(self, asked: Sequence[Inline]) -> list[dict[str, str]]:
        self.asked += [it.expression for it in asked]
        return [{"text/plain": it.name} for it in asked]


def test_known_code_is_answered_without_a_kernel():
    known: dict[str, object] = {}
    first = Replay(known, Counting())
    said = [first.run("a", name="one"), first.evaluate([Inline("b", "two"), Inline("c", "two")])]
    again = Replay(known)
    elsewhere = [Inline("b", "elsewhere"), Inline("c", "elsewhere")]
    assert [again.run("a", name="other"), again.evaluate(elsewhere)] == said


def test_code_after_a_changed_chunk_is_unknown():
    known: dict[str, object] = {}
    first = Replay(known, Counting())
    first.run("a", name="one")
    first.run("b", name="two")
    again = Replay(known)
    with pytest.raises(NewCodeError):
        again.run("b", name="two")
    with pytest.raises(NewCodeError):
        Replay(known).evaluate([Inline("a", "here")])


def test_what_is_done_with_an_answer_does_not_change_what_is_known():
    known: dict[str, object] = {}
    Replay(known, Counting()).run("a", name="one")[0]["text"] = "spoilt"
    assert Replay(known).run("a", name="one")[0]["text"] == "a in one"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "_quarto.yml").write_text("project:\n  type: default\n")
    path = tmp_path / "paper" / "page.qmd"
    path.write_text(PAGE)
    return path


def n_runs(source: Path) -> int:
    return len((source.parent / "runs.txt").read_text())


def test_a_change_of_words_runs_nothing_and_a_change_of_code_or_data_everything(source, tmp_path):
    out, data = tmp_path / "page.html", tmp_path / "data"
    data.mkdir()

    def rendered() -> str:
        memory = memory_of(tmp_path, {}, tmp_path / "kept")
        return render(source, out, engine="embedded", memory=memory).read_text()

    assert "The number is 42." in rendered()
    source.write_text(PAGE.replace("The number is", "It is"))
    assert "It is 42." in rendered()
    assert n_runs(source) == 1
    source.write_text(PAGE.replace("x * 7", "x * 8"))
    assert "The number is 48." in rendered()
    assert n_runs(source) == 2
    (data / "model.csv").write_text("model_id\n")
    assert "The number is 48." in rendered()
    assert n_runs(source) == 3


def test_what_is_being_computed_is_said_while_the_page_is_made(source, tmp_path, capfd):
    chunk = "import sys\nprint('computing: shares', file=sys.stderr, flush=True)\nx = 6"
    source.write_text(PAGE.replace("x = 6", chunk))
    render(source, tmp_path / "page.html", engine="embedded")
    assert "computing: shares\n" in capfd.readouterr().err


def test_answers_that_cannot_be_read_back_are_none(tmp_path):
    memory = Memory(kept.Results(b"key", tmp_path))
    assert memory.known() == {}
    memory.keep({"asked": "answer"})
    assert memory.known() == {"asked": "answer"}
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert memory.known() == {}

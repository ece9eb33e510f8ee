"""A small seeded share of the fuzzing, and that it tells a failure from a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.tidy.errors import AnalysisError
from tests.fuzz import trial
from tests.fuzz.__main__ import main, one
from tests.fuzz.subjects import SUBJECTS

#: Inputs of each subject; those that open a store take a quarter of a second each.
FEW = dict.fromkeys(SUBJECTS, 12) | {"stores": 3, "papers": 4, "lines": 4, "formulas": 8}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_wrong_input_is_answered_or_refused_in_a_sentence(subject: str) -> None:
    result = [one(0, subject, place) for place in range(FEW[subject])]
    assert [tried for tried in result if tried.failed] == []


def test_the_same_seed_draws_the_same_input() -> None:
    assert one(5, "prompts", 3).shown == one(5, "prompts", 3).shown
    assert one(5, "prompts", 3).shown != one(6, "prompts", 3).shown


def failing(name: str) -> trial.Subject:
    """Return a subject that fails in a way of its own."""

    def draw(_rng: np.random.Generator, folder: Path) -> trial.Case:
        (folder / "kept").write_text("kept")

        def act() -> tuple[int, str] | None:
            if name == "exception":
                raise KeyError("x")
            if name == "lines":
                raise AnalysisError("one\ntwo")
            if name == "refused":
                raise AnalysisError("A thing must hold; it does not.")
            if name == "lost":
                (folder / "kept").unlink()
            if name == "half":
                (folder / "new.tmp").write_text("half")
            ends = {"70": (70, "error: x"), "trace": (1, "Traceback (most recent call last)")}
            return {**ends, "none to check": (7, "note: no test was found")}.get(name)

        return trial.Case(name, act, writes=("new",))

    return draw


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("exception", trial.LAST_RESORT),
        ("70", trial.LAST_RESORT),
        ("trace", trial.TRACEBACK),
        ("lines", trial.UNCLEAR),
        ("lost", trial.DAMAGE),
        ("half", trial.DAMAGE),
        ("refused", trial.REFUSED),
        ("nothing", trial.ANSWERED),
        ("none to check", trial.ANSWERED),
    ],
)
def test_what_must_not_happen_is_told_apart(name: str, outcome: str) -> None:
    assert trial.tried(failing(name), np.random.default_rng(0)).outcome == outcome


def test_a_failure_is_printed_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SUBJECTS, "prompts", (failing("exception"), 1))
    assert main(["--n", "1", "--seed", "9", "--only", "prompts"]) == 1
    shown = capsys.readouterr().out
    assert "last resort: python -m tests.fuzz --seed 9 --again prompts:0\nexception\n" in shown
    assert main(["--seed", "9", "--again", "prompts:0"]) == 1

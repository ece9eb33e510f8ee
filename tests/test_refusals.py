"""Both packages refuse alike, though neither may import the errors of the other."""

from __future__ import annotations

import errno
import signal
import threading

import duckdb
import pytest

from analysis.commands import cli as cli_of_analysis
from analysis.tidy import errors as of_analysis
from collect import errors as of_collect
from collect.commands import cli as cli_of_collect

EXCEPTIONS = [
    MemoryError(),
    RuntimeError("can't start new thread"),
    ValueError("nothing of the kind"),
    *(OSError(number, "said by the system") for number in sorted(errno.errorcode)),
    *(RuntimeError(f"a library says: {words}.") for words in of_analysis.OUT_OF_MEMORY),
    *(RuntimeError(f"a library says: {words}.") for words in of_collect.OUT_OF_MEMORY),
]


def said(error: of_analysis.AnalysisError | of_collect.CollectError | None) -> object:
    return error and (error.problem, error.hint, error.exit_code, str(error))


def test_both_packages_see_the_same_scarcity() -> None:
    answers = [said(of_analysis.scarcity(error)) for error in EXCEPTIONS]
    assert answers == [said(of_collect.scarcity(error)) for error in EXCEPTIONS]
    lacking = {answer for answer in answers if answer}
    assert len(lacking) == 3  # memory, processes and threads, open files
    assert None in answers


@pytest.mark.parametrize("error", EXCEPTIONS[:3])
def test_both_packages_word_a_defect_alike(error: Exception) -> None:
    assert said(of_analysis.UnexpectedError(error)) == said(of_collect.UnexpectedError(error))


def test_an_error_of_one_name_has_one_exit_code() -> None:
    shared = {
        name: (getattr(of_analysis, name).exit_code, getattr(of_collect, name).exit_code)
        for name in set(vars(of_analysis)) & set(vars(of_collect))
        if name.endswith("Error")
    }
    assert set(shared) >= {"MissingExtraError", "ScarcityError", "UnexpectedError"}
    assert all(one == other for one, other in shared.values()), shared


def work_until_asked_to_end(_options: object) -> int:
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    # With more threads than this one the engine may not look for signals.
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SELECT sum(range) FROM range(10000000000)")
    return 0


def test_both_packages_end_an_interrupted_engine_alike(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        cli_of_analysis, "VERBS", {**cli_of_analysis.VERBS, "signs": work_until_asked_to_end}
    )
    monkeypatch.setitem(cli_of_collect.ACTS, "codebook", work_until_asked_to_end)
    assert cli_of_analysis.main(["signs"]) == cli_of_collect.main(["codebook"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "error: The command was interrupted.",
        "interrupted; the same command resumes",
    ]

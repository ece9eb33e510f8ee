"""The one command: both groups of verbs, help for every word, statements from anywhere."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from analysis.commands import cli, shell, thermoscope
from analysis.commands.options import parser as analysis_parser
from analysis.tidy.errors import QueryError
from collect.commands.options import parser as collect_parser
from collect.prompts.sets import names

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def every_argument() -> list[tuple[str, argparse.Action]]:
    """Return every argument of every verb of both packages, with the verb's name."""
    found = []
    for made in (analysis_parser(cli.VERBS), collect_parser()):
        (verbs,) = (action for action in made._actions if hasattr(action, "add_parser"))
        assert isinstance(verbs.choices, dict)
        for verb, of_verb in [(made.prog, made), *verbs.choices.items()]:
            found += [(verb, action) for action in of_verb._actions if action is not verbs]
    return found


def test_every_argument_says_what_it_is_for() -> None:
    arguments = every_argument()
    assert len(arguments) > 80
    silent = [f"{verb} {action.dest}" for verb, action in arguments if not action.help]
    assert silent == []


@pytest.mark.parametrize("command", [("--help",), ("collect", "--help"), ()])
def test_help_is_that_of_the_one_command(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        thermoscope.main(list(command))
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "usage: thermoscope" in out
    assert "python -m" not in out


def test_either_package_answers_and_its_exit_code_is_that_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert thermoscope.main(["sql", "SELECT 1 AS one", "--csv"]) == 0
    assert capsys.readouterr().out == "one\n1\n"
    assert thermoscope.main(["claim", "999"]) == 2
    assert thermoscope.main(["collect", "prompts", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in listed] == names()


def test_the_version_is_that_of_the_distribution() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-m", module, "--version"],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        for module in ("analysis", "collect")
    }
    (line,) = said
    assert line.startswith("thermoscope 0.")


def test_asking_for_help_loads_nothing_of_collection() -> None:
    program = (
        "import sys; from analysis.commands import thermoscope\n"
        "try: thermoscope.main(['--help'])\n"
        "except SystemExit: print([m for m in sys.modules if m.partition('.')[0] == 'collect'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip().endswith("[]")


def test_a_statement_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 2 AS two\n"))
        assert cli.main(["sql", *given, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == [{"two": 2}]
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    assert cli.main(["sql"]) == 2
    assert "it is empty" in capsys.readouterr().err


def test_without_a_statement_a_terminal_gets_duckdbs_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert shell.statement(None) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QueryError, match="no program duckdb is installed"):
        shell.open_shell([])
    program = tmp_path / "duckdb"
    program.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
    program.chmod(0o755)
    with pytest.raises(QueryError, match="nowhere is none"):
        shell.open_shell([Path("nowhere")])
    database = tmp_path / "some.duckdb"
    database.touch()
    assert cli.main(["--data", str(database), "sql"]) == 7
    assert capfd.readouterr().out == f"-readonly {database}\n"


def test_prompt_sets_and_their_prompts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert thermoscope.main(["collect", "prompts"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in names())
    assert thermoscope.main(["collect", "prompts", "A_grand_unified", "--json"]) == 0
    rows = pd.DataFrame(json.loads(capsys.readouterr().out))
    assert list(rows.columns) == ["prompt_id", "category", "text"]
    assert rows["prompt_id"].iloc[0].startswith("A_grand_unified:")
    assert thermoscope.main(["collect", "prompts", "no-such-set"]) == 2

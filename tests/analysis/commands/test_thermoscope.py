"""The one command: both groups of verbs, help for every word, statements from anywhere."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from analysis.commands import cli, shell, thermoscope
from analysis.commands.options import parser as analysis_parser
from analysis.heritage.transition import turning
from analysis.store import Store
from analysis.tidy import defaults
from analysis.tidy.errors import QueryError
from collect.commands.cli import main as main_of_collection
from collect.commands.options import parser as collect_parser
from collect.prompts.sets import names

ROOT = Path(__file__).parents[3]

#: How the help of either package as a whole begins.
FIRST = ("Judge claims", "Run decoders")


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def every_verb() -> list[argparse.ArgumentParser]:
    """Return the parser of every verb of both packages, after that of each package."""
    found = []
    for made in (
        analysis_parser(cli.VERBS, "thermoscope"),
        collect_parser("thermoscope collect"),
    ):
        (verbs,) = (action for action in made._actions if hasattr(action, "add_parser"))
        assert isinstance(verbs.choices, dict)
        found += [made, *(of for verb, of in verbs.choices.items() if verb != "collect")]
    return found


def every_argument() -> list[tuple[str, argparse.Action]]:
    """Return every argument of every verb of both packages, with the verb's name."""
    return [
        (made.prog, action)
        for made in every_verb()
        for action in made._actions
        if not hasattr(action, "add_parser")
    ]


def test_every_verb_says_what_it_does_with_an_example_that_it_accepts_and_its_exit_codes() -> None:
    verbs = every_verb()
    assert len(verbs) == 2 + 11 + 14
    of_analysis, of_collection = (made for made in verbs if made.description.startswith(FIRST))
    for made in verbs:
        told = made.epilog or ""
        assert (made.description or "").rstrip().endswith("."), made.prog
        assert "exit codes:" in told
        assert "130  interrupted" in told
        commands = re.findall(r"^  (thermoscope .*)$", told, flags=re.MULTILINE)
        assert commands, made.prog
        for command in commands:
            words = shlex.split(re.split(r" > |   ", command)[0])[1:]
            if words[0] == "collect":
                of_collection.parse_args(words[1:])
            else:
                of_analysis.parse_args(words)


def test_the_names_that_help_lists_are_those_that_the_shipped_data_hold(
    shipped_store: Store,
) -> None:
    assert list(defaults.PROFILES) == sorted(turning.metrics(shipped_store))
    gains = "SELECT DISTINCT metric FROM prompt_gain JOIN primary_run USING (run_id) ORDER BY 1"
    assert list(defaults.GAINS) == shipped_store.query(gains)["metric"].tolist()
    setup = (ROOT / "quarto/sections/_setup.qmd").read_text(encoding="utf-8")
    (assigned,) = re.findall(r"tags: \[parameters\]\n(?:#.*\n)*((?:\w+ = .*\n)+)", setup)
    told = re.findall(r"(\w+):DIR", defaults.PARAMETERS)
    assert told == [line.split()[0] for line in assigned.splitlines()]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["clam"], "hint: Did you mean: thermoscope claim\n"),
        (["--debug", "colect"], "hint: Did you mean: thermoscope collect\n"),
        (["run"], "hint: Did you mean: thermoscope collect run\n"),
        (["collect", "statsu"], "hint: Did you mean: thermoscope collect status\n"),
        (["--debug", "collect", "statsu"], "hint: Did you mean: thermoscope collect status\n"),
        (["zzzz"], "report, init, collect; zzzz is not.\nhint: List them with: thermoscope --help"),
        (
            ["--data", "x", "collect", "status"],
            "--help; --data is not.\nhint: The verbs of collect",
        ),
        (["--data", "nowhere", "sql"], "hint: Name a directory that `thermoscope collect` wrote"),
        (["collect", "database", "nowhere"], "directories that `thermoscope collect` wrote."),
    ],
)
def test_what_cannot_be_taken_is_said_with_the_command_that_can(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1"))
    assert thermoscope.main(typed) == 2
    assert said in capsys.readouterr().err


def test_who_typed_python_m_reads_python_m(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--data", "nowhere", "sql", "SELECT 1"]) == 2
    assert "directory that `python -m collect` wrote" in capsys.readouterr().err
    assert main_of_collection(["database", "nowhere"]) == 2
    assert "directories that `python -m collect` wrote" in capsys.readouterr().err
    assert cli.main(["clam"]) == main_of_collection(["statsu"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean: python -m analysis claim\n" in said
    assert "Did you mean: python -m collect status\n" in said
    for made in (analysis_parser(cli.VERBS), collect_parser()):
        text = made.format_help()
        assert "python -m" in text
        assert "  thermoscope " not in text


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


@pytest.mark.parametrize(
    ("arguments", "spared"), [(["--help"], "collect"), (["sql", "SELECT 1 AS one"], "pandas")]
)
def test_a_verb_loads_only_what_it_needs(arguments: list[str], spared: str) -> None:
    program = (
        "import sys; from analysis.commands import thermoscope\n"
        f"try: thermoscope.main({arguments})\n"
        f"finally: print([m for m in sys.modules if m.partition('.')[0] == '{spared}'])"
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
    with pytest.raises(QueryError, match="nowhere is not there"):
        shell.open_shell([Path("nowhere")])
    database = tmp_path / "some.duckdb"
    database.touch()
    assert cli.main(["--data", str(database), "sql"]) == 7
    assert capfd.readouterr().out == f"-readonly {database}\n"


def test_the_shell_gets_the_projects_data_even_where_no_database_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "duckdb"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("cp")} "$2" {tmp_path}/opened\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    fleet, built = ROOT / "data/fleet", tmp_path / "data/measurements.duckdb"
    assert shell.open_shell([fleet]) == 0
    assert "python -m collect database makes one that stays" in capfd.readouterr().err
    with duckdb.connect(tmp_path / "opened", read_only=True) as connection:
        assert connection.sql("SELECT count(*) > 300 FROM study_run").fetchall() == [(True,)]
    copy = Path(shutil.copytree(fleet, built.parent / "fleet"))
    built.write_text("later")
    os.utime(built, (2e9, 2e9))
    assert shell.open_shell([copy], are_shipped=True) == 0
    assert (tmp_path / "opened").read_text() == "later"
    assert shell.open_shell([fleet, tmp_path]) == 2
    assert "must hold at least one table" in capfd.readouterr().err


def test_prompt_sets_and_their_prompts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert thermoscope.main(["collect", "prompts"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in names())
    assert thermoscope.main(["collect", "prompts", "A_grand_unified", "--json"]) == 0
    rows = pd.DataFrame(json.loads(capsys.readouterr().out))
    assert list(rows.columns) == ["prompt_id", "category", "text"]
    assert rows["prompt_id"].iloc[0].startswith("A_grand_unified:")
    assert thermoscope.main(["collect", "prompts", "no-such-set"]) == 2

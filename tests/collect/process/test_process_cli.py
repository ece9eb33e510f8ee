"""The one command line: one tree of verbs, one table of exit codes, each end in a sentence."""

import argparse
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import duckdb
import pytest

from analysis.commands import cli
from analysis.store.sources import default_sources, shipped_sources
from collect import errors
from collect.commands.cli import main as main_of_collection
from collect.process import cli as thermoscope
from collect.process.parser import main_parser, parsed, verb_parser
from collect.process.verbs import EXIT_CODES, declared
from collect.prompts.sets import names
from collect.record.publication.database import default_directories

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def every_parser():
    """Return the parser of what stands before the verb, and that of every verb."""
    verbs = declared()
    return [main_parser(verbs), *(verb_parser(name, verb) for name, verb in verbs.items())]


def test_every_verb_says_what_it_does_with_an_example_that_it_accepts_and_its_exit_codes():
    parsers = every_parser()
    assert len(parsers) > 25
    for parser in parsers:
        shown = parser.epilog or ""
        assert (parser.description or "").rstrip().endswith("."), parser.prog
        assert "130  interrupted" in shown
        commands = re.findall(r"^  (thermoscope .*)$", shown, flags=re.MULTILINE)
        assert commands, parser.prog
        for command in commands:
            words = shlex.split(re.split(r" > |   ", command)[0])[1:]
            parsed(words, declared(), "thermoscope", argparse.Namespace())


def test_the_help_names_the_folders_that_each_verb_opens():
    verbs = declared()
    by_default = [f"data/{place.name}" for place in shipped_sources()]
    judged_by = [f"data/{place.name}" for place in default_sources()]
    first, second = (
        re.findall(r"data/\w+", sentence)
        for sentence in _help(main_parser(verbs)).split("Without it ")[1].split(". ")[:2]
    )
    assert sorted(first) == sorted(by_default)
    assert sorted(second) == sorted(judged_by)
    of_sql = re.findall(r"data/\w+", verbs["sql"].description.partition(", and not ")[0])
    assert sorted(of_sql) == sorted(by_default)
    named = _help(verb_parser("database", verbs["database"])).partition("Without it ")[2]
    named = re.findall(r"data/\w+", named.partition(" go in")[0])
    built = [f"data/{place.name}" for place in default_directories()]
    assert named == [name for name in built if name not in ("data/measurements", "data/imported")]


def _help(parser):
    """Return the help of a parser on one line."""
    return " ".join(parser.format_help().split())


def test_an_exit_code_of_an_error_is_in_the_table():
    classes = [it for it in vars(errors).values() if isinstance(it, type)]
    codes = {it.exit_code for it in classes if issubclass(it, errors.ThermoscopeError)}
    assert codes == {2, 3, 4, 5, 6, 70, 71}
    assert {*EXIT_CODES} == codes | {0, 1, 7, 130}


@pytest.mark.parametrize("module", ["analysis", "collect"])
def test_either_package_shows_and_runs_the_verbs_of_both(module):
    def printed(*words):
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        return done.stdout

    help_shown = printed("--help")
    assert [name for name in declared() if f"  {name} " not in help_shown] == []
    if module == "collect":
        assert printed("sql", "SELECT 1 AS one", "--csv") == "one\n1\n"
    else:
        assert [
            row["name"] for row in json.loads(printed("collect", "prompts", "--json"))
        ] == names()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["clam"], "Did you mean: thermoscope claim\n"),
        (["--debug", "colect"], "Did you mean: thermoscope collect\n"),
        (["run"], "Did you mean: thermoscope collect run\n"),
        (["collect", "statsu"], "Did you mean: thermoscope collect status\n"),
        (["--debug", "collect", "statsu"], "Did you mean: thermoscope collect status\n"),
        (["zzzz"], "verb zzzz.\nhint: List them with: thermoscope --help"),
        (["collect"], "A verb is missing"),
        (["--dat", "x", "--nope", "claims"], "--nope"),
        (["--data", "x", "collect", "status"], "--data is not an option of collect status"),
        (["--data", "nowhere", "sql"], "hint: Name a directory that `thermoscope collect` wrote"),
        (["collect", "database"], "Did you mean: thermoscope database\n"),
        (["database", "nowhere"], "directories that `thermoscope collect` wrote."),
    ],
)
def test_what_cannot_be_taken_is_said_with_the_command_that_can(typed, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1"))
    assert thermoscope.main(typed) == 2
    assert said in capsys.readouterr().err


def test_the_version_is_that_of_the_distribution(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared_version = project["version"]
    for main in (cli.main, main_of_collection):
        with pytest.raises(SystemExit):
            main(["--version"])
        assert capsys.readouterr().out == f"thermoscope {declared_version}\n"


HEAVY = {"numpy", "pandas", "duckdb", "pyarrow", "torch"}


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (["--help"], HEAVY),
        (["collect", "run", "--help"], {"torch", "transformers", "pandas"}),
        (["sql", "SELECT 1"], {"pandas"}),
    ],
)
def test_a_verb_loads_only_what_it_needs(arguments, spared):
    program = (
        "import sys; from collect.process import cli\n"
        f"try: cli.main({arguments})\n"
        "finally: print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not spared & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(13, "Permission denied", "/a/file"), 2, "/a/file"),
        (MemoryError(), 71, "Out of memory"),
        (OSError(24, "Too many open files", "/a/file"), 71, "open files"),
        (RuntimeError("can't start new thread"), 71, "processes and threads"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 71, "Out of memory"),
        (OSError(36, "File name too long", "a" * 300), 2, "too long"),
        (OSError(71, "Protocol error"), 70, "OSError"),
        (ZeroDivisionError("by \ud800 zero\nand more"), 70, "ZeroDivisionError (by "),
        (ModuleNotFoundError("no", name="ray.util"), 3, "thermoscope[fleet]"),
        (ModuleNotFoundError("no", name="collect.nothing"), 70, "ModuleNotFoundError"),
        (duckdb.Error("KeyboardInterrupt: <EMPTY MESSAGE>"), 130, "interrupted"),
    ],
)
def test_each_end_has_a_sentence_and_its_exit_code(error, code, said, capsys, monkeypatch):
    def fail(_options):
        raise error

    monkeypatch.setattr("analysis.commands.tables.stated", fail)
    monkeypatch.setattr("collect.commands.handlers.models", fail)
    for typed in (["stated"], ["collect", "models"]):
        assert thermoscope.main(typed) == code
        printed = capsys.readouterr()
        assert said in printed.err
        assert "Traceback" not in printed.err
        assert printed.out == ""
    assert ("The same command resumes" in printed.err) == (code == 130)
    thermoscope.main(["--debug", "stated"])
    assert ("Traceback" in capsys.readouterr().err) == (code == 70)


def work_until_asked_to_end(_options):
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    # With more threads than this one the engine may not look for signals.
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SELECT sum(range) FROM range(10000000000)")
    return 0


def test_an_engine_that_works_is_interrupted(monkeypatch):
    monkeypatch.setattr("analysis.commands.tables.signs", work_until_asked_to_end)
    assert thermoscope.main(["signs"]) == 130


def test_a_statement_may_come_from_standard_input(monkeypatch, capsys):
    for given in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 2 AS two\n"))
        assert cli.main(["sql", *given, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == [{"two": 2}]
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    assert cli.main(["sql"]) == 2
    assert "it is empty" in capsys.readouterr().err


def test_half_a_sign_is_blamed_on_what_was_read_and_no_encoding():
    for text, code in (("a\ud800", 2), ("a\u00e9", 5)):
        with pytest.raises(UnicodeEncodeError) as raised:
            text.encode("ascii" if code == 5 else "utf-8")
        problem, hint, ended = thermoscope.worded(raised.value)
        assert ended == code
        assert ("PYTHONIOENCODING" in hint) == (code == 5)
        assert ("half of a character" in problem) == (code == 2)


def test_libraries_of_others_that_python_cannot_use_are_blamed_on_the_variable(monkeypatch):
    for value, code in ((None, 70), ("/usr/lib/R/lib", 2)):
        monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
        if value:
            monkeypatch.setenv("LD_LIBRARY_PATH", value)
        problem, hint, ended = thermoscope.worded(ImportError("_ssl.so: undefined symbol: f"))
        assert ended == code
        assert ("LD_LIBRARY_PATH" in problem) == (code == 2)
        assert ("system2" in hint) == (code == 2)

"""Each verb ends with the exit codes that its help lists: every one is provoked, no other seen."""

import dataclasses
import re
import shutil
import sys

import pandas as pd
import pytest

from analysis.commands import study as registered
from analysis.commands.shell import PROGRAM as SHELL
from analysis.tidy.defaults import COMMITTED_STUDY
from collect.adapters import answers
from collect.adapters.register import ADAPTERS
from collect.process import cli
from collect.process.parser import verb_parser
from collect.process.verbs import ALWAYS, EXIT_CODES, declared
from collect.record.publication import codebook
from collect.training.study import again
from tests.exit_codes import commands
from tests.exit_codes.child import ROOT, codes

VERBS = declared()

#: No address and no hub answers there.
NOWHERE = "http://127.0.0.1:9"
UNREACHED = {"HF_ENDPOINT": NOWHERE, "https_proxy": NOWHERE, "HF_HUB_OFFLINE": "0"}


def is_of_extra(name):
    """Return whether a verb does nothing where no extra is installed."""
    return commands.MISSING.get(name) == commands.GOOD[name]


#: What is run in a process of its own, by its exit code.
IN_A_PROCESS = {
    0: {name: word for name, word in commands.GOOD.items() if is_of_extra(name)},
    2: commands.WRONG,
    4: commands.UNREACHED,
    5: commands.BELOW_A_FILE,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the commands are given."""
    directory = tmp_path_factory.mktemp("given") / "given"
    commands.prepare(directory)
    return directory


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def run(command, folder):
    return cli.main(commands.words(command, folder))


def test_the_help_of_a_verb_lists_its_exit_codes_and_no_other():
    for name, verb in VERBS.items():
        shown = (verb_parser(name, verb).epilog or "").partition("exit codes:\n")[2]
        listed = {int(code) for code in re.findall(r"^ *(\d+)  \S", shown, flags=re.MULTILINE)}
        assert listed == {*verb.exit_codes()}
        assert {*ALWAYS} <= listed <= {*EXIT_CODES}


def test_every_code_that_a_verb_declares_is_provoked_here():
    provoked = {(name, code) for code, of in IN_A_PROCESS.items() for name in of}
    provoked |= {(name, 3) for name in commands.MISSING}
    provoked |= {(name, 6) for name in commands.NONCONFORMING}
    provoked |= {(name, 1) for name in DIFFERING} | {("forensics", 7)}
    provoked |= {(name, code) for name in VERBS for code in (0, 5, 70, 71, 130)}
    assert provoked == {(name, code) for name, verb in VERBS.items() for code in verb.exit_codes()}


@pytest.mark.slow
def test_success_wrong_input_no_network_and_no_output_are_told_apart(folder, tmp_path):
    given = {
        f"{name}: {code}": word
        for code, of in IN_A_PROCESS.items()
        for name, word in commands.placed(of, folder).items()
    }
    ended = codes(given, tmp_path, environment=UNREACHED)
    assert ended == {name: int(name.partition(": ")[2]) for name in given}
    assert not (folder / "wrong").exists()


@pytest.mark.slow
def test_without_extras_a_verb_does_its_work_or_says_which_is_missing(folder, tmp_path):
    good = {name: word for name, word in commands.GOOD.items() if not is_of_extra(name)}
    ended = codes(commands.placed(good, folder), tmp_path, "bare")
    assert ended == dict.fromkeys(good, 0)
    missing = commands.placed(commands.MISSING, folder)
    assert codes(missing, tmp_path, "bare") == dict.fromkeys(missing, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full here")
def test_a_full_standard_output_is_told_by_every_verb(folder, tmp_path):
    given = commands.placed(commands.GOOD, folder)
    assert codes(given, tmp_path, "full") == dict.fromkeys(given, 5)


def test_a_codebook_that_cannot_be_written_is_told(folder, monkeypatch):
    monkeypatch.setattr(codebook, "PATH", folder / "own.txt" / "README.md")
    assert run("collect codebook", folder) == 5


@pytest.mark.parametrize("name", commands.NONCONFORMING)
def test_a_model_that_is_not_what_its_adapter_promises_is_told(folder, monkeypatch, name):
    for kind in ("gpt_neox", "llama"):
        wrong = dataclasses.replace(ADAPTERS[kind], blocks="nowhere", forms=())
        monkeypatch.setitem(ADAPTERS, kind, wrong)
    shutil.rmtree(folder / "new", ignore_errors=True)
    assert run(commands.NONCONFORMING[name], folder) == 6


@pytest.mark.parametrize("name", VERBS)
def test_a_defect_a_lack_and_an_interruption_end_every_verb_alike(folder, monkeypatch, name):
    for error, code in ((ZeroDivisionError(), 70), (MemoryError(), 71), (KeyboardInterrupt(), 130)):

        def fail(_options, error=error):
            raise error

        monkeypatch.setattr(VERBS[name].run.replace(":", "."), fail)
        assert run(commands.GOOD[name], folder) == code


def differing_claims(folder, monkeypatch):
    assert run("--paper @/paper claims --write", folder) == 0
    assert run("--paper @/paper claims --check", folder) == 0
    path = folder / "paper" / "verdicts.csv"
    path.write_text(path.read_text().replace("reproduced", "undecided"))
    return "--paper @/paper claims --check"


def differing_statements(folder, monkeypatch):
    rows = pd.read_csv(ROOT / COMMITTED_STUDY, dtype=str)
    rows.loc[0, "verdict"] = "another"
    rows.to_csv(folder / "study.csv", index=False)
    monkeypatch.setattr(registered, "COMMITTED_STUDY", str(folder / "study.csv"))
    return "study --check"


def failing_shell(folder, monkeypatch):
    program = folder / "bin" / SHELL
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert run("database @/measured --out @/shell.duckdb", folder) == 0
    return "--data @/shell.duckdb sql"


def contradicting_test(folder, monkeypatch):
    (folder / "wrong.md").write_text("They differ, t(10) = 2.23, p = .2.\n")
    return "forensics @/wrong.md"


def shifted_states(folder, monkeypatch):
    return commands.GOOD["collect states"].replace("block_output", "block_input")


def damaged_output(folder, monkeypatch):
    (path,) = (folder / "measured" / "attention").iterdir()
    shutil.copytree(folder / "measured", folder / "damaged")
    (folder / "damaged" / "attention" / path.name).write_bytes(b"nothing")
    return "collect check @/damaged"


def differing_run(folder, monkeypatch):
    run("collect study @/design.toml --out @/studied --quiet", folder)
    assert run("collect study @/design.toml --out @/studied --check 1", folder) == 0
    monkeypatch.setattr(again, "AT_THE_START", -1.0)
    return "collect study @/design.toml --out @/studied --check 1"


def stale_codebook(folder, monkeypatch):
    monkeypatch.setattr(codebook, "PATH", folder / "own.txt")
    return "collect codebook --check"


def unknown_type(folder, monkeypatch):
    monkeypatch.setattr(answers, "causal_types", lambda: ("nobody_s",))
    return "collect models"


DIFFERING = {
    "claims": differing_claims,
    "study": differing_statements,
    "sql": failing_shell,
    "forensics": contradicting_test,
    "collect states": shifted_states,
    "collect check": damaged_output,
    "collect study": differing_run,
    "collect codebook": stale_codebook,
    "collect models": unknown_type,
}


@pytest.mark.parametrize("name", DIFFERING)
def test_a_difference_that_is_found_ends_with_1(folder, monkeypatch, name):
    assert run(DIFFERING[name](folder, monkeypatch), folder) == 1


def test_a_text_without_a_test_that_can_be_recomputed_ends_with_7(folder):
    assert run("forensics @/own.txt", folder) == 7

"""The command line: exit codes, one sentence per refusal, never a traceback."""

from __future__ import annotations

import argparse
import gc
import os
import runpy
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import duckdb
import pytest
from huggingface_hub import constants

from collect.commands.cli import main
from collect.model.conformance.refusal import TOLERANCES
from collect.process.parser import parsed
from collect.process.starting import libraries_imported
from collect.process.verbs import declared
from collect.prompts.sets import names

ROOT = Path(__file__).parents[3]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def python_m_collect(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collect", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_verify_prints_its_table_before_it_refuses(save_tiny, monkeypatch, capsys):
    directory = str(save_tiny("llama"))
    assert main(["verify", directory]) == 0
    assert "yes  streamed block by block = loaded" in capsys.readouterr().out
    monkeypatch.setitem(TOLERANCES, "batch_equals_single", {"float32": -1.0})
    assert main(["verify", directory]) == 6
    printed = capsys.readouterr()
    assert "NO   a padded prompt = the same prompt alone" in printed.out
    assert printed.err.count("error:") == 1


def test_run_measures_and_says_what_it_did(save_tiny, load_tiny, prompt_file, out, capsys):
    directory = str(save_tiny("llama"))
    code = main(["run", directory, "--prompts", str(prompt_file), "--out", str(out)])
    assert code == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    size = sum(parameter.numel() for parameter in load_tiny("llama").model.parameters()) * 4 / 1000
    assert f"local/llama: loaded; {size:.3g} kB of weights in float32, " in printed.err
    # One row of model, 10 of conformance, 9 readings of 4 heads and 4 matrices in 3 layers.
    assert f"local/llama, weights: {1 + 11 + 3 * (9 * 4 + 4)} rows in" in printed.err
    assert "local/llama, own: " in printed.err
    assert (out / "run" / "local--llama@own.parquet").is_file()


def test_the_word_none_alone_plans_weights_only(save_tiny, out, capsys):
    directory = str(save_tiny("llama"))
    plans = []
    for words in ([], ["--prompts", "none"]):
        assert main(["plan", directory, *words, "--out", str(out)]) == 0
        plans.append(capsys.readouterr().out.partition("disk;")[0])  # then free memory
    assert plans[0] == plans[1]
    assert main(["plan", directory, "--prompts", "none", "x", "--out", str(out)]) == 2


def test_labels_and_overwrite_reach_the_model_table(save_tiny, out):
    arguments = ["run", str(save_tiny("gpt2")), "--out", str(out), "--quiet"]
    assert main([*arguments, "--lab", "ours", "--suite", "tiny", "--year", "2026"]) == 0
    assert main(arguments) == 2
    assert main([*arguments, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "/no/such/place", "--out", "OUT"], "nothing at '/no/such/place'"),
        (["run", "/no/such/model.gguf", "--out", "OUT"], "nothing at '/no/such/model.gguf'"),
        (["run", "GOOD", "--prompts", "nosuch", "--out", "OUT"], "'nosuch' is neither"),
        (["run", "~nobody-here/x", "--out", "OUT"], "'~nobody-here/x' is neither"),
        (["run", "GOOD", "--prompts", "~nobody-here/x", "--out", "OUT"], "here/x' is neither"),
        (["run", "GOOD", "--dtype", "int3", "--out", "OUT"], "found 'int3'"),
        (["run", "GOOD", "--revision", "x", "--out", "OUT"], "A revision of a directory"),
        (["run", "GOOD", "--batch-size", "0", "--out", "OUT"], "found 0"),
        (["run", "GOOD", "--device", "meta", "--out", "OUT"], "found 'meta'"),
        (["run", "GOOD", "--year", "0", "--out", "OUT"], "from 2017 to 2100; found 0"),
        (["run", "GOOD", "--lab", "", "--out", "OUT"], "text that is not empty; found ''"),
        (["database", "/no/such/place", "--out", "OUT"], "must be a directory of tables"),
    ],
)
def test_wrong_input_exits_2_with_a_sentence_and_no_output(
    save_tiny, out, capsys, arguments, sentence
):
    named = {"GOOD": str(save_tiny("gpt2")), "OUT": str(out)}
    code = main([named.get(argument, argument) for argument in arguments])
    assert code == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert sentence in printed
    assert not out.exists()


def test_a_directory_without_tables_exits_2(tmp_path, out, capsys):
    assert main(["database", str(tmp_path), "--out", str(out)]) == 2
    assert "must hold at least one table" in capsys.readouterr().err
    assert not out.exists()


def test_a_hub_that_cannot_be_reached_exits_4_without_a_traceback(
    tmp_path, out, monkeypatch, capsys
):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    prompts = ("--prompts", "E1_4model_and_mistral")
    assert main(["run", "someone/something", *prompts, "--out", str(out)]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: The hub did not give the model someone/something")
    assert lines[1].startswith("hint: Check the name, the connection")
    assert not out.exists()


def test_an_output_that_cannot_be_written_exits_5(save_tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["run", str(save_tiny("gpt2")), "--out", str(tmp_path / "file" / "out")]) == 5
    assert "no file can be made in" in capsys.readouterr().err


def test_a_database_that_cannot_be_written_exits_5(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    published = str(ROOT / "data" / "published")
    assert main(["database", published, "--out", str(tmp_path / "file" / "x.duckdb")]) == 5
    assert "must be writable" in capsys.readouterr().err


def test_a_model_that_does_not_conform_exits_6(save_tiny, prompt_file, out, capsys, monkeypatch):
    tolerances = TOLERANCES | {"attention_rows": {"float32": 0.0}}
    monkeypatch.setattr("collect.model.conformance.refusal.TOLERANCES", tolerances)
    directory = str(save_tiny("gpt2"))
    assert main(["run", directory, "--prompts", str(prompt_file), "--out", str(out)]) == 6
    printed = capsys.readouterr().err
    assert "error: local/gpt2: The model must do what its adapter promises" in printed
    assert f"add --allow-nonconforming {directory}" in printed
    assert not (out / "run").exists()
    allowed = ["--allow-nonconforming", directory, "--quantities", "weights,stream"]
    prompts = ["--prompts", str(prompt_file), "--out", str(out)]
    assert main(["run", directory, *prompts, *allowed]) == 0
    assert main(["status", str(out)]) == 0
    assert capsys.readouterr().out.count("nonconforming") == 2


@pytest.mark.parametrize("package", ["torch", "transformers"])
@pytest.mark.slow
def test_a_missing_extra_exits_3_with_the_command_that_installs_it(tmp_path, package):
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys; sys.modules[{package!r}] = None"  # makes the import fail as if missing
    )
    answer = python_m_collect(
        "run", "gpt2", "--out", str(tmp_path / "out"), PYTHONPATH=str(tmp_path)
    )
    assert answer.returncode == 3
    lines = answer.stderr.strip().splitlines()
    assert lines[0] == f"error: This command needs the package {package}, which is not installed."
    assert "pip install 'thermoscope[collect]'" in lines[1]


def test_an_interrupted_run_exits_130_in_one_line(save_tiny, out, capsys, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("collect.job.resolve.load_skeleton", interrupt)
    assert main(["run", str(save_tiny("gpt2")), "--out", str(out)]) == 130
    assert capsys.readouterr().err.startswith("error: interrupted\n")


def test_an_interrupt_that_duckdb_wraps_is_one_too(capsys, monkeypatch):
    def interrupt(_options: object) -> int:
        def called_back(_value: int) -> int:
            raise KeyboardInterrupt

        connection = duckdb.connect()
        connection.create_function("called_back", called_back, ["BIGINT"], "BIGINT")
        connection.execute("SELECT called_back(1)").fetchall()
        return 0

    monkeypatch.setattr("collect.commands.acts.codebook", interrupt)
    assert main(["codebook"]) == 130
    assert capsys.readouterr().err.startswith("error: interrupted\n")


def test_codebook_check_exits_1_when_the_file_is_out_of_date(tmp_path, capsys, monkeypatch):
    path = tmp_path / "README.md"
    monkeypatch.setattr("collect.record.publication.codebook.PATH", path)
    assert main(["codebook", "--check"]) == 1
    assert "is out of date; write it with: python -m collect codebook" in capsys.readouterr().err
    assert main(["codebook"]) == 0
    assert main(["codebook", "--check"]) == 0


def test_train_and_published_are_handed_on(tmp_path, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(
        "collect.training.train.train",
        lambda recipe, out, **options: calls.append((recipe, out, options)) or out / "it",
    )
    assert main(["train", "a.toml", "--out", str(tmp_path), "--quiet"]) == 0
    options = {"overwrite": False, "keep": False, "quiet": True}
    assert calls == [(Path("a.toml"), tmp_path, options)]
    monkeypatch.setattr("collect.published.import_results", lambda *_: {"published_value": 3})
    assert main(["published", "Results", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "published_value: 3 rows\n"


def python_m_collect_into(stdout: IO[str] | int, *arguments: str, unbuffered: str):
    return subprocess.run(
        [sys.executable, "-m", "collect", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_nobody_reads_does_not_stop_the_work(tmp_path, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    target = tmp_path / "x.duckdb"
    arguments = ("database", "data/published", "--out", str(target))
    try:
        answer = python_m_collect_into(writer, *arguments, unbuffered=unbuffered)
        asked = python_m_collect_into(writer, "--help", unbuffered=unbuffered)
    finally:
        os.close(writer)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert target.is_file()
    assert (asked.returncode, asked.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_exits_5_in_a_sentence(tmp_path, unbuffered):
    arguments = ("database", "data/published", "--out", str(tmp_path / "x.duckdb"))
    with Path("/dev/full").open("w") as full:
        answer = python_m_collect_into(full, *arguments, unbuffered=unbuffered)
    assert answer.returncode == 5
    assert "No space left on device" in answer.stderr


def test_published_needs_a_directory_or_fetch(out, capsys):
    assert main(["published", "--out", str(out)]) == 2
    assert "must be named; none was" in capsys.readouterr().err
    assert not out.exists()


def test_fetched_files_are_kept_beside_what_is_imported(out, monkeypatch):
    seen = {}
    monkeypatch.setattr("collect.published.fetch", lambda source: seen.update(fetched=source))
    monkeypatch.setattr(
        "collect.published.import_results", lambda source, _out: seen.update(s=source) or {}
    )
    assert main(["published", "--fetch", "--out", str(out)]) == 0
    assert seen == {"fetched": out / "raw", "s": out / "raw"}


def test_help_that_nobody_reads_is_no_defect(monkeypatch):
    def broken(*_):
        raise BrokenPipeError

    monkeypatch.setattr(argparse.ArgumentParser, "_print_message", broken)
    assert main(["--help"]) == 0


def readme_commands() -> list[str]:
    """Return every command of collection that README and guide show, comments left out."""
    places = (ROOT / "README.md", ROOT / "quarto/guides/_measure.qmd")
    text = "\n".join(place.read_text(encoding="utf-8") for place in places).replace("\\\n", " ")
    lines = [line.partition("   #")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line.startswith("thermoscope collect ")]


def test_the_readme_shows_the_verbs_that_measure():
    shown = {command.split()[2] for command in readme_commands()}
    assert shown >= {"plan", "run", "status", "check", "train"}


@pytest.mark.parametrize("command", readme_commands())
def test_a_command_of_the_readme_is_accepted(command):
    options = argparse.Namespace()
    parsed(shlex.split(command)[1:], declared(), "thermoscope", options)
    assert options.verb == " ".join(command.split()[1:3])
    for name in getattr(options, "prompts", None) or []:
        assert name in names() or name == "mine.jsonl"


@pytest.mark.parametrize("verb", ["plan", "status", "check", "database"])
def test_a_name_of_5000_characters_exits_2(verb, capsys):
    assert main([verb, "a" * 5000, *(["--out", "x"] if verb in ("plan", "database") else [])]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_files_that_are_nested_too_deeply_exit_2(tmp_path, capsys):
    recipe, config = tmp_path / "deep.toml", tmp_path / "model" / "config.json"
    config.parent.mkdir()
    recipe.write_text("a = " + "[" * 100_000)
    config.write_text("[" * 100_000)
    assert main(["train", str(recipe), "--out", str(tmp_path / "out")]) == 2
    assert main(["plan", str(config.parent), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("recursion") == 2


@pytest.fixture
def kept(monkeypatch):
    """What was told to keep memory, in place of the allocator of this process."""
    found = []
    monkeypatch.setattr("collect.process.cli.keep_memory", lambda: found.append("memory"))
    return found


def test_memory_is_kept_where_a_program_starts_and_by_no_verb_of_it(monkeypatch, capsys, kept):
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["collect", "prompts"])
    try:
        assert main(["prompts"]) == 0
        assert kept == []
        with pytest.raises(SystemExit) as end:
            runpy.run_module("collect", run_name="__main__")
        assert end.value.code == 0
        assert len(kept) == 1
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert capsys.readouterr().out.count("A_grand_unified") == 2


def test_garbage_is_left_alone_only_while_the_libraries_are_imported(monkeypatch, kept):
    with libraries_imported():
        assert gc.isenabled()  # torch is here already
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "torch")
        with libraries_imported():
            assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert kept == []
    gc.unfreeze()

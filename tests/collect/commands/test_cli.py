"""The command line: exit codes, one sentence per refusal, never a traceback."""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from collect.commands.cli import main
from collect.model.conformance.refusal import TOLERANCES
from collect.process.parser import parsed
from collect.process.verbs import declared
from collect.prompts.sets import names

ROOT = Path(__file__).parents[3]
STATES = ("--model", "GOOD", "--engine", "vllm")


def python_m_collect(*arguments, **how):
    command = [sys.executable, "-m", "collect", *arguments]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    how["env"] = os.environ | how["env"]
    return subprocess.run(command, cwd=ROOT, text=True, timeout=300, check=False, **how)


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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "/no/such/place", "--out", "OUT"], "nothing at '/no/such/place'"),
        (["run", "GOOD", "--dtype", "int3", "--out", "OUT"], "found 'int3'"),
        (["run", "GOOD", "--revision", "x", "--out", "OUT"], "A revision of a directory"),
        (["run", "GOOD", "--device", "meta", "--out", "OUT"], "found 'meta'"),
        (["run", "GOOD", "--year", "0", "--out", "OUT"], "from 2017 to 2100; found 0"),
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


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("/no/such/place", ["run", "/no/such/place"]),
        ("nowhere.txt", ["plan", "GOOD", "--prompts", "nowhere.txt"]),
        ("nowhere.txt", ["run", "GOOD", "--prompts", "nowhere.txt"]),
        ("nowhere.txt", ["gauge", "GOOD", "--prompts", "nowhere.txt"]),
        ("nowhere.txt", ["states", "a.npz", *STATES, "--prompts", "nowhere.txt"]),
    ],
)
def test_what_is_not_there_is_refused_before_torch_is_imported(save_tiny, out, missing, arguments):
    good = str(save_tiny("gpt2"))
    given = [good if each == "GOOD" else each for each in arguments] + ["--out", str(out)]
    code = (
        "import sys; from collect.commands.cli import main; "
        f"code = main({given!r}); sys.exit(100 if 'torch' in sys.modules else code)"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert missing in ended.stderr
    assert not out.exists()


def test_an_output_that_cannot_be_written_exits_5(save_tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["run", str(save_tiny("gpt2")), "--out", str(tmp_path / "file" / "out")]) == 5
    assert "no file can be made in" in capsys.readouterr().err


def test_a_model_that_does_not_conform_exits_6(save_tiny, prompt_file, out, capsys, monkeypatch):
    tolerances = TOLERANCES | {"attention_rows": {"float32": 0.0}}
    monkeypatch.setattr("collect.model.conformance.refusal.TOLERANCES", tolerances)
    directory = str(save_tiny("gpt2"))
    assert main(["run", directory, "--prompts", str(prompt_file), "--out", str(out)]) == 6
    printed = capsys.readouterr().err
    assert "error: local/gpt2: The model must do what its adapter promises" in printed
    assert f"add --allow-nonconforming {directory}" in printed
    assert not (out / "run").exists()


@pytest.mark.parametrize("package", ["torch", "transformers"])
@pytest.mark.slow
def test_a_missing_extra_exits_3_with_the_command_that_installs_it(tmp_path, package):
    missing = f"import sys; sys.modules[{package!r}] = None"  # its import fails as if missing
    (tmp_path / "sitecustomize.py").write_text(missing)
    environment = {"PYTHONPATH": str(tmp_path)}
    answer = python_m_collect("run", "gpt2", "--out", str(tmp_path / "out"), env=environment)
    assert answer.returncode == 3
    lines = answer.stderr.strip().splitlines()
    assert lines[0] == f"error: This command needs the package {package}, which is not installed."
    assert "pip install 'thermoscope[collect]'" in lines[1]


def test_codebook_check_exits_1_when_the_file_is_out_of_date(tmp_path, capsys, monkeypatch):
    path = tmp_path / "README.md"
    monkeypatch.setattr("collect.record.publication.codebook.PATH", path)
    assert main(["codebook", "--check"]) == 1
    assert "is out of date; write it with: python -m collect codebook" in capsys.readouterr().err
    assert main(["codebook"]) == 0
    assert main(["codebook", "--check"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_nobody_reads_does_not_stop_the_work(tmp_path, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    target, how = tmp_path / "x.duckdb", {"stdout": writer, "env": {"PYTHONUNBUFFERED": unbuffered}}
    try:
        answer = python_m_collect("database", "data/published", "--out", str(target), **how)
        asked = python_m_collect("--help", **how)
    finally:
        os.close(writer)
    assert answer.returncode == asked.returncode == 0
    assert asked.stderr == ""
    assert all(line.startswith("note: ") for line in answer.stderr.splitlines())
    assert target.is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_exits_5_in_a_sentence(tmp_path, unbuffered):
    arguments = ("database", "data/published", "--out", str(tmp_path / "x.duckdb"))
    with Path("/dev/full").open("w") as full:
        environment = {"PYTHONUNBUFFERED": unbuffered}
        answer = python_m_collect(*arguments, stdout=full, env=environment)
    assert answer.returncode == 5
    assert "No space left on device" in answer.stderr


def readme_commands():
    """Return every command of collection that README and guide show, comments left out."""
    places = (ROOT / "README.md", ROOT / "quarto/guides/_measure.qmd")
    text = "\n".join(place.read_text(encoding="utf-8") for place in places).replace("\\\n", " ")
    lines = [line.partition("   #")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line.startswith("thermoscope collect ")]


@pytest.mark.parametrize("command", readme_commands())
def test_a_command_of_the_readme_is_accepted(command):
    options = argparse.Namespace()
    parsed(shlex.split(command)[1:], declared(), "thermoscope", options)
    assert options.verb == " ".join(command.split()[1:3])
    for name in getattr(options, "prompts", None) or []:
        assert name in names() or name == "mine.jsonl"

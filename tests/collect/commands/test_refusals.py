"""Bad input: a clear sentence, the documented exit code, and no damage to what is there."""

import os
import re
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

from collect.commands.cli import main
from collect.record.integrity import faults
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.record.written import fill_disk


@pytest.fixture
def out(save_tiny, tmp_path):
    """An output that holds a complete unit of another model already."""
    directory = tmp_path / "out"
    other = str(save_tiny("llama", at="other"))
    assert main(["run", other, "--out", str(directory), "--quiet"]) == 0
    return directory


@pytest.fixture
def command(save_tiny, prompt_file, out):
    """The arguments that measure a good model beside it, the prompts last."""
    directory = str(save_tiny("gpt2"))
    return ["run", directory, "--out", str(out), "--quiet", "--prompts", str(prompt_file)]


def contents(out):
    return {str(path): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def with_nan(directory):
    def put(weights):
        weights["transformer.h.1.mlp.c_proj.bias"][0] = float("nan")

    edit_weights(directory, put)


def asking_for_its_own_code(directory):
    edit_config(directory, model_type="wobble", auto_map={"AutoModelForCausalLM": "evil.Model"})
    (directory / "evil.py").write_text("raise SystemExit('ran')")


def without_tokenizer(directory):
    for path in directory.glob("tokenizer*"):
        path.unlink()


#: One of each moment at which a checkpoint is judged.
DAMAGES = {
    "NaN": (with_nan, "must be a finite number"),
    "too many layers": (lambda d: edit_config(d, n_layer=4), "it lacks 12"),
    "another vocabulary": (lambda d: edit_config(d, vocab_size=99), "one of the model's 99"),
    "heads that do not divide": (lambda d: edit_config(d, n_head=5), "its config.json describes"),
    "code of its own": (asking_for_its_own_code, "which is never run"),
    "no tokenizer": (without_tokenizer, "must bring its tokenizer"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bad_checkpoint_is_refused_and_nothing_is_harmed(
    save_tiny, prompt_file, out, capsys, damage
):
    directory = save_tiny("gpt2")
    harm, sentence = DAMAGES[damage]
    harm(directory)
    before = contents(out)
    for stream in ([], ["--stream"]):
        where = ["--prompts", str(prompt_file), "--out", str(out)]
        assert main(["run", str(directory), *where, *stream]) == 2
        assert sentence in refusal(capsys)
        assert contents(out) == before


def refusal(capsys):
    """Return the problem of a refusal, after a look at how it is told."""
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    told = [line for line in lines if line.startswith("error: ")]
    assert len(told) == 1, lines
    assert not any("Traceback" in line for line in lines)
    assert all(line.startswith("hint: ") for line in lines[lines.index(told[0]) + 1 :])
    return told[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--quantities", "atention"], "A quantity must be one of weights, stream,"),
        (["--quantities", "weights"], "Prompts must be for a quantity that needs them"),
        (["--chat-template"], "that of local/gpt2 has none"),
        (["--special-tokens", "sometimes"], "one of default, never, always; found 'sometimes'"),
        (["--prompts", "LONG"], "context of 64 tokens; 1 of 1 does not: long:00 has 65"),
    ],
)
def test_options_that_make_no_sense_are_refused_and_nothing_is_harmed(
    command, out, capsys, options, sentence
):
    long = Path(command[-1]).with_name("long.txt")
    long.write_text("x" * 65)
    options = [str(long) if option == "LONG" else option for option in options]
    before = contents(out)
    prompts = [] if "--prompts" in options else ["--prompts", command[-1]]
    assert main([*command[:-2], *options, *prompts]) == 2
    assert sentence in refusal(capsys)
    assert contents(out) == before


@pytest.mark.parametrize(
    "words",
    [
        ("run", "nowhere", "--out"),
        ("plan", "nowhere", "--out"),
        ("train", "nowhere.toml", "--out"),
        ("database", "--out"),
        ("check",),
        ("compact",),
        ("publish", "--license", "CC0-1.0", "--creator", "us"),
    ],
)
def test_an_address_cannot_be_written_to(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    assert main([*words, "https://example.org/out"]) == 2
    assert "https://example.org/out is an address" in refusal(capsys)
    assert not list(tmp_path.iterdir())


@contextmanager
def no_file_beyond(n_bytes):
    """Let no file of this process grow beyond a size, as a quota would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_cannot_grow_exits_5_and_the_unit_is_resumed(command, out, capsys):
    with no_file_beyond(14_000):
        assert main(command) == 5
    assert re.search("must be writable; .*File too large", refusal(capsys))
    check_resumed(command, out)


@pytest.mark.parametrize("n_files", [0, 3, 12])
def test_a_full_disk_exits_5_and_the_unit_is_resumed(command, out, capsys, monkeypatch, n_files):
    fsync = os.fsync
    fill_disk(monkeypatch, n_files)
    assert main(command) == 5
    assert "must be writable; No space left on device" in refusal(capsys)
    monkeypatch.setattr("os.fsync", fsync)
    check_resumed(command, out)


def check_resumed(command, out):
    """Check that a failed command left nothing behind, and that it can be given again."""
    assert list(out.rglob(".*")) == []
    assert (out / "run" / "local--other.parquet").is_file()
    assert not (out / "run" / "local--gpt2@own.parquet").exists()
    assert main(command) == 0
    assert list(faults(out)) == []

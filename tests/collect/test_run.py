"""The loop: complete units, resumed after any interruption, never mixed, never half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file

from collect.errors import ConformanceError, InputError, OutputError
from collect.run import run
from collect.schema import incomplete_units, tables
from collect.settings import Settings

ROOT = Path(__file__).parents[2]
OF_WEIGHTS = {"model", "weight_norm", "matrix_norm", "run"}
OF_PROMPTS = {"prompt", "residual_norm", "attention", "next_token", "run"}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def frame(out: Path, table: str) -> pd.DataFrame:
    parts = sorted((out / table).glob("*.parquet"))
    return pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def contents(out: Path) -> dict[str, bytes]:
    """Return the bytes of every file but those of table ``run``, which hold the time."""
    return {name: (out / name).read_bytes() for name in files(out) if not name.startswith("run/")}


def timeless(out: Path) -> pd.DataFrame:
    return frame(out, "run").drop(columns=["started_at", "duration_s"])


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_shared_values"])
def test_a_run_fills_every_measured_table(save_tiny, prompt_file, out, name):
    run([str(save_tiny(name, adds_start=True))], [prompt_file], out, quiet=True)
    assert {path.name for path in out.iterdir()} == OF_WEIGHTS | OF_PROMPTS
    norms = frame(out, "residual_norm")
    n_tokens = frame(out, "next_token").set_index("prompt_id")["n_tokens"]
    assert n_tokens.to_dict() == {"own:00": 11, "own:01": 12, "own:02": 4, "own:03": 23}
    assert len(norms) == 5 * n_tokens.sum()
    assert (norms["is_special"] == (norms["position"] == 0)).all()
    assert set(frame(out, "next_token")["n_special"]) == {1}
    attention = frame(out, "attention")
    assert len(attention) == 4 * 3 * 4
    assert (attention["mass"] - attention["n_tokens"]).abs().max() < 1e-5
    assert len(frame(out, "weight_norm")) == 3 * 4 * 2
    assert len(frame(out, "matrix_norm")) == 3 * 2
    runs = frame(out, "run").set_index("kind")
    assert runs["adds_special_tokens"]["prompts"]
    assert runs["attention_implementation"].tolist() == ["eager", "eager"]
    assert pd.isna(runs["seed"]["prompts"])
    assert set(norms["run_id"]) == {runs["run_id"]["prompts"]}


def test_a_whole_matrix_is_at_least_as_large_as_its_heads(save_tiny, out):
    run([str(save_tiny("llama_shared_values"))], [], out, quiet=True)
    heads = frame(out, "weight_norm").groupby(["layer", "matrix"])
    whole = frame(out, "matrix_norm").set_index(["layer", "matrix"])
    assert (whole["sigma_max"] >= heads["sigma_max"].max()).all()
    values = frame(out, "weight_norm").query("matrix == 'V'")
    assert values["kv_head"].tolist() == [0, 0, 1, 1] * 3
    once = values.drop_duplicates(["layer", "kv_head"]).groupby("layer")["frobenius"]
    root_of_squares = once.apply(lambda norms: (norms**2).sum() ** 0.5)
    whole_values = whole.xs("V", level="matrix")["frobenius"]
    assert whole_values.to_numpy() == pytest.approx(root_of_squares.to_numpy(), rel=1e-12)


def test_without_prompt_sets_only_the_weights_are_measured(save_tiny, out):
    directory = save_tiny("gpt2")
    for path in directory.glob("tokenizer*"):
        path.unlink()
    run([str(directory)], [], out, quiet=True)
    assert {path.name for path in out.iterdir()} == OF_WEIGHTS


def test_what_is_complete_is_skipped_and_the_rest_is_done(save_tiny, prompt_file, out, capsys):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out)
    before = {name: (out / name).stat().st_mtime_ns for name in files(out)}
    run([directory], [prompt_file, "E1_4model_and_mistral"], out)
    said = capsys.readouterr().err
    assert "local/gpt2, weights: already complete, skipped" in said
    assert "local/gpt2, own: already complete, skipped" in said
    assert {name: (out / name).stat().st_mtime_ns for name in before} == before
    assert "residual_norm/local--gpt2@E1_4model_and_mistral.parquet" in files(out)


def test_a_quiet_run_says_nothing(save_tiny, out, capsys):
    run([str(save_tiny("gpt2"))], ["E1_4model_and_mistral"], out, quiet=True)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_rate_and_time_left_when_asked(save_tiny, prompt_file, out, capsys):
    run([str(save_tiny("gpt2"))], [prompt_file], out, progress=True)
    assert "4/4 [" in (said := capsys.readouterr().err)
    assert "prompt/s]" in said


def test_measuring_twice_gives_the_same_bytes(save_tiny, prompt_file, tmp_path):
    directory = str(save_tiny("gpt_neox"))
    for name in ("first", "second"):
        run([directory], [prompt_file], tmp_path / name, quiet=True)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    pd.testing.assert_frame_equal(timeless(tmp_path / "first"), timeless(tmp_path / "second"))


def test_the_batch_size_changes_neither_identity_nor_numbers(save_tiny, prompt_file, tmp_path):
    directory = str(save_tiny("gpt2"))
    for size in (1, 4):
        run([directory], [prompt_file], tmp_path / str(size), batch_size=size, quiet=True)
    one, four = (frame(tmp_path / size, "residual_norm") for size in ("1", "4"))
    assert (one["run_id"] == four["run_id"]).all()
    assert (one["norm"] - four["norm"]).abs().max() < 1e-4


def test_a_file_that_went_missing_is_measured_again(save_tiny, prompt_file, out):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out, quiet=True)
    before = contents(out)
    (out / "attention" / "local--gpt2@own.parquet").unlink()
    run([directory], [prompt_file], out, quiet=True)
    assert contents(out) == before


def test_an_unreadable_mark_does_not_count(save_tiny, out):
    directory = str(save_tiny("gpt2"))
    run([directory], [], out, quiet=True)
    mark = out / "run" / "local--gpt2.parquet"
    mark.write_bytes(mark.read_bytes()[:100])
    run([directory], [], out, quiet=True)
    assert len(pq.read_table(mark)) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dtype": "bfloat16"}, "dtype_compute is float32 there and bfloat16 here"),
        ({"lab": "another"}, "lab is None there and another here"),
    ],
)
def test_a_unit_measured_otherwise_is_refused(save_tiny, out, change, sentence):
    directory = str(save_tiny("gpt2"))
    run([directory], [], out, quiet=True)
    with pytest.raises(InputError, match=sentence) as refusal:
        run([directory], [], out, quiet=True, **change)
    assert "--overwrite" in refusal.value.hint


def test_other_weights_of_the_same_name_are_refused_or_replaced(save_tiny, prompt_file, out):
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    before = contents(out)
    directory = str(save_tiny("gpt2", seed=1))
    with pytest.raises(InputError, match=r"weights_sha256 is \w{8} there and \w{8} here"):
        run([directory], [prompt_file], out, quiet=True)
    assert contents(out) == before
    run([directory], [prompt_file], out, quiet=True, overwrite=True)
    assert contents(out) != before
    assert incomplete_units(out) == []


def test_overwriting_part_of_a_model_is_refused(save_tiny, prompt_file, out):
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    directory = str(save_tiny("gpt2", seed=1))
    with pytest.raises(InputError, match=r"local--gpt2@own\.parquet was measured otherwise"):
        run([directory], [], out, quiet=True, overwrite=True)


def test_other_prompts_of_the_same_name_are_refused(save_tiny, prompt_file, out):
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    prompt_file.write_text("Other prompts\n")
    with pytest.raises(InputError, match="prompt_set_sha256 is"):
        run([str(save_tiny("gpt_neox"))], [prompt_file], out, quiet=True)


def test_another_tokenizer_is_another_measurement(save_tiny, prompt_file, out):
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    with pytest.raises(InputError, match="tokens_sha256 is"):
        run([str(save_tiny("gpt2", adds_start=True))], [prompt_file], out, quiet=True)


def test_two_models_of_one_name_are_refused(save_tiny, out):
    first, second = save_tiny("gpt2", at="a/final"), save_tiny("gpt2", at="b/final")
    with pytest.raises(InputError, match="local/final comes up more than once") as refusal:
        run([str(first), str(second)], [], out, quiet=True)
    assert "thermoscope.json" in refusal.value.hint
    assert not out.exists()


def test_a_prompt_that_does_not_fit_leaves_nothing_behind(save_tiny, prompt_file, out):
    prompt_file.write_text("x" * 65)
    with pytest.raises(InputError, match="context of 64 tokens; own:00 has 65"):
        run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    assert not out.exists()


def corrupt(directory: Path, name: str, number: float) -> None:
    weights = load_file(directory / "model.safetensors")
    weights[name].view(-1)[0] = number
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_unit_with_a_number_that_is_not_finite_is_not_kept(save_tiny, prompt_file, out, number):
    directory = save_tiny("gpt2")
    corrupt(directory, "transformer.h.1.mlp.c_proj.bias", number)
    with pytest.raises(ConformanceError, match="prompt_id own:"):
        run([str(directory)], [prompt_file], out, quiet=True)
    assert files(out) == [f"{table}/local--gpt2.parquet" for table in sorted(OF_WEIGHTS)]


def test_a_map_that_looks_ahead_is_not_kept(save_tiny, prompt_file, out, monkeypatch):
    monkeypatch.setattr(
        "transformers.models.gpt2.modeling_gpt2.create_causal_mask", lambda **_: None
    )
    with pytest.raises(ConformanceError, match="must be zero above the diagonal"):
        run([str(save_tiny("gpt2"))], [prompt_file], out, batch_size=1, quiet=True)
    assert not (out / "attention").exists()


def test_a_batch_that_does_not_fit_the_device_is_told_in_a_sentence(save_tiny, out, monkeypatch):
    def exhaust(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr("collect.run.observe", exhaust)
    with pytest.raises(InputError, match="must fit the device's memory") as refusal:
        run([str(save_tiny("gpt2"))], ["E1_4model_and_mistral"], out, quiet=True)
    assert "--batch-size" in refusal.value.hint


@pytest.mark.parametrize("place", ["file/out", "file", "/proc/nowhere"])
def test_an_output_that_cannot_be_written_is_found_out_before_loading(
    save_tiny, tmp_path, monkeypatch, place
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("collect.run.load_model", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(OutputError, match=r"output directory .* must be writable"):
        run([str(save_tiny("gpt2"))], [], tmp_path / place, quiet=True)


def test_a_table_that_cannot_be_written_is_told_in_a_sentence(save_tiny, out):
    out.mkdir()
    (out / "weight_norm").write_text("in the way")
    with pytest.raises(OutputError, match=r"weight_norm.* must be writable"):
        run([str(save_tiny("gpt2"))], [], out, quiet=True)
    assert not (out / "run").exists()


def test_leftovers_of_dead_processes_are_removed_and_of_living_ones_kept(save_tiny, out):
    (out / "run").mkdir(parents=True)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    of_dead = out / "run" / f".x.parquet.{dead.pid}.tmp"
    of_living = out / "run" / f".x.parquet.{os.getppid()}.tmp"
    of_earlier_self = out / "run" / f".x.parquet.{os.getpid()}.tmp"
    of_another_kind = out / "run" / ".notes.tmp"
    for path in (of_dead, of_living, of_earlier_self, of_another_kind):
        path.write_text("")
    run([str(save_tiny("gpt2"))], [], out, quiet=True)
    assert not of_dead.exists()
    assert not of_earlier_self.exists()
    assert of_living.exists()
    assert of_another_kind.exists()


@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        ({"dtype": "int8"}, "one of float32, bfloat16, float16; found 'int8'", "--dtype float32"),
        ({"batch_size": 0}, "must be 1 or more; found 0", "--batch-size 1"),
        ({"device": "abacus"}, "must be cpu, or cuda .* found 'abacus'", "--device cpu"),
        ({"device": "meta"}, "must be cpu, or cuda .* found 'meta'", "--device cpu"),
        ({"device": "cuda:-1"}, "must be cpu, .* found 'cuda:-1'", "--device cpu"),
        ({"device": "cpu:1"}, "which has 1 cpu device; found 'cpu:1'", "--device cpu:0"),
        ({"device": "cuda:999"}, "cuda devices?; found 'cuda:999'", "--device cpu"),
    ],
)
def test_settings_that_make_no_sense_are_refused(out, options, sentence, hint):
    with pytest.raises(InputError, match=sentence) as refusal:
        run(["anything"], [], out, **options)
    assert hint in refusal.value.hint
    assert not out.exists()


def test_a_number_is_counted_among_the_devices_there_are(out, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(InputError, match="which has 2 cuda devices; found 'cuda:2'") as refusal:
        run(["anything"], [], out, device="cuda:2")
    assert refusal.value.hint == "Use --device cuda:0 or --device cpu."
    assert Settings(device="cuda:1").device == "cuda:1"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator here")
def test_a_device_that_is_not_there_is_refused(out):
    with pytest.raises(InputError, match="which has no cuda device; found 'cuda'"):
        run(["anything"], [], out, device="cuda")


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed_to_the_same_rows(save_tiny, prompt_file, tmp_path):
    events = [1, 4, 8, 9, 15, 20, 22, 31]
    script = Path(__file__).with_name("killed_runs.py")
    directory = tmp_path / "runs"
    arguments = [str(save_tiny("llama")), str(prompt_file), str(directory), *map(str, events)]
    subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    undisturbed = directory / "undisturbed"
    whole = contents(undisturbed)
    for event in events:
        left, resumed = (directory / str(event) / name for name in ("killed", "resumed"))
        assert contents(resumed) == whole, f"killed at event {event}"
        pd.testing.assert_frame_equal(timeless(resumed), timeless(undisturbed))
        for mark in (left / "run").glob("*.parquet"):
            rows = json.loads(pq.read_metadata(mark).metadata[b"rows"])
            assert all((left / name).read_bytes() == whole[name] for name in rows)


def test_every_measured_table_is_in_the_contract():
    assert set(tables()) >= OF_WEIGHTS | OF_PROMPTS

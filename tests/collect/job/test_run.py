"""The loop: complete units, resumed after any interruption, never mixed, never half-written."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from analysis.store import open_store
from collect.errors import InputError, OutputError
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.record.atomic import locks
from collect.record.integrity import faults
from collect.schema import incomplete_units
from tests.collect.record.written import close, contents, files, frame

OF_WEIGHTS = {"model", "weight_norm", "matrix_norm", "conformance", "run"}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def timeless(out: Path) -> pd.DataFrame:
    return frame(out, "run").drop(columns=["started_at", "duration_s"])


def test_a_quantity_asked_for_later_is_measured_alone(save_tiny, prompt_file, out, capsys):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out, quiet=True)
    before = {name: (out / name).stat().st_mtime_ns for name in files(out)}
    how = {"quantities": ["stream,predictions"]}
    run([directory], [prompt_file], out, **how)
    assert "local/gpt2, own, predictions:" in capsys.readouterr().err
    new = {name for name in files(out) if ",predictions" in name}
    assert {name.partition("/")[0] for name in new} == {"model", "run", "token_prediction"}
    assert set(files(out)) == before.keys() | new
    kept = {name for name in before if not name.startswith("prompt/")}
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == {n: before[n] for n in kept}
    assert list(faults(out)) == []
    store = open_store(out)
    assert len(store.query("FROM run")) == 2
    asked = "stream,attention,geometry,predictions"
    assert set(store.query("FROM run")["quantities"]) == {"weights", asked}
    joined = store.query("FROM token_prediction JOIN residual_norm USING (run_id, prompt_id)")
    assert len(joined) > 0
    run([directory], [prompt_file], out, **how)
    assert "local/gpt2, own: already complete, skipped" in capsys.readouterr().err


def test_overwriting_one_quantity_keeps_those_measured_with_it(save_tiny, prompt_file, out):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out, quiet=True)
    before = contents(out)
    run([directory], [prompt_file], out, quantities=["weights,stream"], quiet=True, overwrite=True)
    assert contents(out).keys() == before.keys()
    assert list(faults(out)) == []


def test_formats_and_policies_stand_side_by_side_and_one_is_primary(save_tiny, prompt_file, out):
    directory = str(save_tiny("gpt2"))
    how = {"quantities": ["stream"], "quiet": True}
    for change in ({"dtype": "bfloat16"}, {"special_tokens": "always"}, {}):
        run([directory], [prompt_file], out, **how, **change)
    stems = {path.stem.removeprefix("local--gpt2") for path in (out / "run").iterdir()}
    assert stems == {"@own", "@own+bfloat16", "@own+special-always"}
    assert list(faults(out)) == []
    primary = open_store(out).query("FROM run JOIN primary_run USING (run_id)")
    assert primary[["dtype_compute", "special_tokens"]].to_numpy().tolist() == [
        ["float32", "default"]
    ]


def test_a_revision_with_the_weights_of_another_is_said_to_be_that(
    save_tiny, prompt_file, out, tmp_path, capsys
):
    series = tmp_path / "series"
    for step in ("step1", "step2"):
        shutil.copytree(save_tiny("gpt2"), series / step)
    run([str(series)], [prompt_file], out, quantities=["stream"], revision=["step*"])
    said = capsys.readouterr().err
    assert said.count(": loaded;") == said.count("local/series at step1: loaded;") == 1
    twin = "local/series at step2, own: the same weights as local--series~step1@own, skipped"
    assert twin in said
    run([str(series)], [prompt_file], out, quantities=["stream"], revision=["step*"])
    said = capsys.readouterr().err
    assert "at step1, own: already complete, skipped" in said
    assert twin in said


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


def test_an_interruption_that_the_engine_tells_ends_the_run(save_tiny, out, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("collect.job.run.measure", interrupt)
    with pytest.raises(RuntimeError, match="Query interrupted"):
        run([str(save_tiny("gpt2")), str(save_tiny("llama"))], [], out, quiet=True)


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
        ({"lab": "another"}, "lab is None there and another here"),
    ],
)
def test_a_unit_measured_otherwise_is_refused(save_tiny, prompt_file, out, change, sentence):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out, quiet=True)
    with pytest.raises(InputError, match=sentence) as refusal:
        run([directory], [prompt_file], out, quiet=True, **change)
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
    assert list(faults(out)) == []


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


def interrupt_first_call(monkeypatch, name: str, act) -> None:
    """Let something happen before a function is called for the first time."""
    module, _, attribute = name.rpartition(".")
    original = getattr(importlib.import_module(module), attribute)
    acts = [act]

    def call(*args, **kwargs):
        if acts:
            acts.pop()()
        return original(*args, **kwargs)

    monkeypatch.setattr(name, call)


@pytest.mark.parametrize("moment", ["collect.job.run.measure", "collect.record.commit.write_table"])
def test_other_prompts_of_one_name_never_harm_a_unit_that_was_faster(
    save_tiny, tmp_path, out, monkeypatch, moment
):
    sets = []
    for directory, text in (("a", "The sky\n"), ("b", "The sea\n")):
        (tmp_path / directory).mkdir()
        sets.append(tmp_path / directory / "own.txt")
        sets[-1].write_text(text)
    how = {"quantities": ["stream"], "quiet": True}
    faster, slower = str(save_tiny("gpt2")), str(save_tiny("llama"))
    interrupt_first_call(monkeypatch, moment, lambda: run([faster], [sets[0]], out, **how))
    with pytest.raises(InputError, match="prompt_set_sha256 is"):
        run([slower], [sets[1]], out, **how)
    assert frame(out, "prompt")["text"].tolist() == ["The sky"]
    assert list(faults(out)) == []
    assert not [name for name in files(out) if "llama" in name]


def test_a_refused_replacement_leaves_the_unit_as_it_was(save_tiny, prompt_file, out, monkeypatch):
    run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    before = {name: (out / name).read_bytes() for name in files(out)}
    directory = str(save_tiny("gpt2", seed=1))
    monkeypatch.setattr("collect.job.pending.refuse_mixtures", lambda *_: None)
    with pytest.raises(InputError, match="was measured otherwise"):
        run([directory], [], out, quiet=True, overwrite=True)
    assert {name: (out / name).read_bytes() for name in files(out)} == before


def test_a_table_that_may_not_change_leaves_the_unit_as_it_was(save_tiny, out, monkeypatch):
    directory = str(save_tiny("gpt2"))
    run([directory], [], out, quiet=True)
    before = {name: (out / name).read_bytes() for name in files(out)}
    close(monkeypatch, out / "matrix_norm")
    with pytest.raises(OutputError, match="matrix_norm must be writable"):
        run([directory], [], out, quiet=True, overwrite=True)
    assert {name: (out / name).read_bytes() for name in files(out)} == before


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
    with pytest.raises(InputError, match="context of 64 tokens; 1 of 1 does not: own:00 has 65"):
        run([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    assert not out.exists()


@pytest.mark.parametrize("place", ["file/out", "file", "/proc/nowhere"])
def test_an_output_that_cannot_be_written_is_found_out_before_loading(
    save_tiny, tmp_path, monkeypatch, place
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("collect.job.resolve.load_skeleton", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(OutputError, match=r"output directory .* must be writable"):
        run([str(save_tiny("gpt2"))], [], tmp_path / place, quiet=True)


@pytest.mark.parametrize("place", ["run", "run/mine", "weight_norm/deeper/still"])
def test_an_output_within_a_table_of_other_measurements_is_refused(save_tiny, tmp_path, out, place):
    model = str(save_tiny("gpt2"))
    run([model], [], out, quiet=True)
    before = contents(out)
    (tmp_path / "link").symlink_to(out)
    for act in (run, plan):
        for given in (out, tmp_path / "link"):
            with pytest.raises(OutputError, match=r"must lie outside .* lies in the table \w+ of"):
                act([model], [], given / place)
    assert contents(out) == before
    run([model], [], out / "beside", quiet=True)


def test_an_output_called_as_a_table_with_files_of_ones_own_is_measured_into(save_tiny, out):
    model, mine = str(save_tiny("gpt2")), out / "run"
    run([model], [], mine, quiet=True)
    (mine / "prompts.parquet").write_bytes(b"")
    run([model], [], mine, quiet=True)
    run([model], [], out / "model", quiet=True)


def test_a_table_that_cannot_be_written_is_told_in_a_sentence(save_tiny, out):
    out.mkdir()
    (out / "weight_norm").write_text("in the way")
    with pytest.raises(OutputError, match=r"weight_norm.* must be writable"):
        run([str(save_tiny("gpt2"))], [], out, quiet=True)
    assert not (out / "run").exists()


def test_leftovers_are_removed_unless_their_unit_is_under_way(save_tiny, out):
    (out / "run").mkdir(parents=True)
    (out / "prompt").mkdir()
    abandoned = out / "run" / ".x.parquet.1.tmp"
    of_prompts = out / "prompt" / ".x.parquet.1.tmp"
    under_way = out / "run" / ".y.parquet.1.tmp"
    of_another_kind = out / "run" / ".notes.tmp"
    for path in (abandoned, of_prompts, under_way, of_another_kind):
        path.touch()
    with locks.held(out, "y"):
        run([str(save_tiny("gpt2"))], [], out, quiet=True)
    assert not abandoned.exists()
    assert not of_prompts.exists()
    assert under_way.exists()
    assert of_another_kind.exists()
    assert not (out / ".locks").exists()


def test_prompts_that_no_quantity_needs_are_refused(save_tiny, prompt_file, out):
    with pytest.raises(InputError, match="Prompts must be for a quantity that needs them"):
        run([str(save_tiny("gpt2"))], [prompt_file], out, quantities=["weights"])
    assert not out.exists()


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_resumed_to_the_same_files(save_tiny, prompt_file):
    script = Path(__file__).with_name("killed_runs.py")
    what = ["--checkpoint", str(save_tiny("llama")), "--prompts", str(prompt_file)]
    when = ["--runs", "1", "--events", "13", "30"]
    answer = subprocess.run(
        [sys.executable, str(script), *what, *when],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    report = json.loads(answer.stdout)
    assert report["runs"] == 3
    assert report["faults"] == []
    assert sum("complete" in state for state in report["found_when_killed"]) >= 1


def test_two_directories_of_one_name_in_one_output_are_told_how_to_keep_both(tmp_path):
    from tests.collect.conftest import tiny_model

    for n in (0, 1):
        tiny_model("gpt2", seed=n).save_pretrained(tmp_path / str(n) / "m")
    how = {"quantities": ["weights"], "quiet": True}
    run([str(tmp_path / "0/m")], [], tmp_path / "out", **how)
    with pytest.raises(InputError) as refused:
        run([str(tmp_path / "1/m")], [], tmp_path / "out", **how)
    assert "thermoscope.json" in refused.value.hint
    assert "--overwrite would remove" in refused.value.hint
    (tmp_path / "1/m/thermoscope.json").write_text('{"model_id": "local/other"}')
    done = run([str(tmp_path / "1/m")], [], tmp_path / "out", **how)
    assert [unit.state for unit in done.units] == ["measured"]

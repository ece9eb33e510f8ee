"""The loop: complete units, resumed after any interruption, never mixed, never half-written."""

import importlib
import shutil

import pandas as pd
import pytest

from analysis.store import open_store
from collect.errors import InputError
from collect.job.run import run
from collect.record.atomic import locks
from collect.record.integrity import faults
from collect.schema import incomplete_units
from tests.collect.record.written import contents, files, frame


def timeless(out):
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


def test_a_revision_with_the_weights_of_another_is_said_to_be_that(
    save_tiny, prompt_file, out, tmp_path, capsys
):
    series = tmp_path / "series"
    for step in ("step1", "step2"):
        shutil.copytree(save_tiny("gpt2"), series / step)
    run([str(series)], [prompt_file], out, quantities=["stream"], revision=["step*"])
    printed = capsys.readouterr().err
    assert printed.count(": loaded;") == printed.count("local/series at step1: loaded;") == 1
    twin = "local/series at step2, own: the same weights as local--series~step1@own, skipped"
    assert twin in printed
    run([str(series)], [prompt_file], out, quantities=["stream"], revision=["step*"])
    printed = capsys.readouterr().err
    assert "at step1, own: already complete, skipped" in printed
    assert twin in printed


def test_measuring_twice_gives_the_same_bytes_and_in_other_batches_the_same_numbers(
    save_tiny, prompt_file, tmp_path
):
    directory = str(save_tiny("gpt_neox"))
    outs = [tmp_path / name for name in ("first", "second", "others")]
    for out, size in zip(outs, (4, 4, 1), strict=True):
        run([directory], [prompt_file], out, batch_size=size, quiet=True)
    assert contents(outs[0]) == contents(outs[1])
    pd.testing.assert_frame_equal(timeless(outs[0]), timeless(outs[1]))
    one, other = (frame(out, "residual_norm") for out in outs[1:])
    assert (one["run_id"] == other["run_id"]).all()
    assert (one["norm"] - other["norm"]).abs().max() < 1e-4


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


def interrupt_first_call(monkeypatch, name, act):
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
    monkeypatch.setattr("collect.record.inventory.refuse_mixtures", lambda *_: None)
    with pytest.raises(InputError, match="was measured differently"):
        run([directory], [], out, quiet=True, overwrite=True)
    assert {name: (out / name).read_bytes() for name in files(out)} == before


def test_leftovers_are_removed_unless_their_unit_is_under_way(save_tiny, out):
    removed = ("run/.x.parquet.1.tmp", "prompt/.x.parquet.1.tmp")
    kept = ("run/.y.parquet.1.tmp", "run/.notes.tmp")
    for name in (*removed, *kept):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).touch()
    with locks.held(out, "y"):
        run([str(save_tiny("gpt2"))], [], out, quiet=True)
    assert [(out / name).exists() for name in (*removed, *kept)] == [False, False, True, True]
    assert not (out / ".locks").exists()

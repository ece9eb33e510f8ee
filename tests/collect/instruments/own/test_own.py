"""Quantities of one's own: from a function to rows that resume, are checked, are asked in SQL."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

import collect
from analysis.store import open_store
from collect.commands.cli import main
from collect.errors import InputError, ScarcityError
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.record.integrity import faults
from tests.collect.conftest import tiny_model, tiny_tokenizer
from tests.collect.instruments.own.conftest import TEXTS, measured, own


def test_a_function_that_is_the_norm_gives_the_norms_at_every_site(model):
    sites = ("embedding", "block_input", "block_mid", "block_output", "final_norm")
    frames = measured(model, own(sites=sites))
    values = frames["own_value"].rename(columns={"place": "position"})
    keys = ["prompt_id", "layer", "site", "position"]
    both = values.merge(frames["residual_norm"], on=keys)
    assert len(both) == len(frames["residual_norm"])
    assert (both["value"] - both["norm"]).abs().max() < 1e-4
    assert set(values[values["site"] == "block_input"]["layer"]) == {0, 1, 2}
    (definition,) = frames["own_quantity"].to_dict("records")
    assert definition["unit"] == "activation units"
    assert definition["source"].endswith("own.conftest:width")


def test_attention_comes_without_padding_and_a_number_per_head_or_prompt_is_kept(model):
    heads = own(
        name="sink",
        level="head",
        needs=("attention",),
        measure=lambda s, n, x, a: a[..., 0].sum(-1),
    )
    mean = own(name="mean", level="prompt", layers=(-1,), measure=lambda s, n, x, a: x.mean())
    frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=["attention", heads, mean])
    sinks = frames["own_value"].query("measure == 'sink'").rename(columns={"place": "head"})
    both = sinks.merge(frames["attention"], on=["prompt_id", "layer", "head"])
    assert len(both) == len(frames["attention"]) == 2 * 3 * 4
    assert (both["value"] - both["first_column"]).abs().max() < 1e-6
    means = frames["own_value"].query("measure == 'mean'")
    assert means[["layer", "place"]].to_numpy().tolist() == [[2, 0], [2, 0]]


def test_a_function_that_writes_into_what_it_is_given_changes_nothing_else(model):
    def centred(site, layer, states, attention, *, direction, places):
        states -= states.mean(-1, keepdim=True)
        attention.zero_()
        direction *= 2
        places["kept"][0] *= 3
        places["kept"].append(layer)
        return states @ direction

    sites = ("block_mid", "block_output")
    needs = ("attention",)
    direction = torch.ones(model.config.hidden_size)
    parameters = {"direction": direction.clone(), "places": {"kept": [direction.clone()]}}
    asked = own(measure=centred, sites=sites, needs=needs, parameters=parameters)
    definition = asked.sha256
    known = ["stream", "attention", "geometry", "predictions"]
    plain, beside = (
        collect.measure(model, tiny_tokenizer(), TEXTS, quantities=[*own_ones, *known])
        for own_ones in ([], [asked])
    )
    for name in (
        *("residual_norm", "residual_update", "attention", "token_geometry", "token_prediction"),
    ):
        pd.testing.assert_frame_equal(plain[name], beside[name])
    assert torch.equal(asked.parameters["direction"], direction)
    assert asked.sha256 == definition
    assert beside["own_quantity"]["definition_sha256"].tolist() == [definition]


def test_the_logit_lens_after_the_last_block_is_the_models_own_prediction(model):
    frames = collect.measure(
        model, tiny_tokenizer(), TEXTS, quantities=["predictions", "logit_lens_entropy"]
    )
    last = frames["own_value"].query("layer == 2").rename(columns={"place": "position"})
    both = last.merge(frames["token_prediction"], on=["prompt_id", "position"])
    assert len(both) == sum(map(len, TEXTS))
    assert (both["value"] - both["entropy"]).abs().max() < 1e-6
    first = frames["own_value"].query("layer == 0")["value"]
    assert first.between(0, np.log(257)).all()


def test_a_probe_is_projected_on_its_direction_of_length_one(model):
    direction = torch.zeros(32)
    direction[5] = -4.0
    frames = measured(model, collect.probe_projection(direction), collect.raw_vectors(layers=(1,)))
    vectors = frames["own_vector"]
    values = frames["own_value"].query("layer == 1").rename(columns={"place": "position"})
    both = vectors.merge(values, on=["prompt_id", "layer", "site", "position"])
    fifth = np.stack(both["vector"].to_numpy())[:, 5]
    np.testing.assert_allclose(both["value"], -fifth, rtol=1e-6)
    other = collect.probe_projection(2 * direction)
    assert other.sha256 != collect.probe_projection(direction).sha256


def test_vectors_lie_beside_their_rows_with_hash_and_size_in_the_plan(save_tiny, tmp_path):
    directory, out = str(save_tiny("gpt2")), tmp_path / "out"
    prompts = tmp_path / "own.txt"
    prompts.write_text("\n".join(TEXTS))
    vectors = collect.raw_vectors(layers=(0, -1), positions=(0, -1, 7), sites=("block_output",))
    how = {"quantities": ["stream", vectors, "logit_lens_entropy"], "quiet": True}
    (planned,) = plan([directory], [prompts], out, **how)
    run([directory], [prompts], out, **how)
    store = open_store(out, verify=True)
    rows = store.query("FROM own_vector")
    assert planned.n_rows["own_vector"] == len(rows) == 2 * (3 + 2)
    assert planned.n_rows["own_value"] == len(store.query("FROM own_value"))
    asked = store.query("SELECT quantities FROM run")["quantities"].item()
    assert asked == "stream,logit_lens_entropy,raw_vectors"
    (file,) = set(rows["file"])
    tensors = load_file(out / file)
    (beside,) = (out / "own_vector").glob("*.safetensors")
    assert beside.stat().st_mode == beside.with_suffix(".parquet").stat().st_mode
    without = plan([directory], [prompts], None, quantities=["stream,logit_lens_entropy"])
    assert planned.n_bytes - without[0].n_bytes >= 10 * 32 * 4
    norms = store.query("SELECT * FROM residual_norm WHERE site = 'block_output'")
    both = rows.merge(norms, on=["run_id", "prompt_id", "layer", "site", "position"])
    result = [float(tensors[r.tensor][r.tensor_row].norm()) for r in both.itertuples()]
    np.testing.assert_allclose(result, both["norm"], rtol=1e-6)
    assert list(faults(out)) == []
    before = beside.read_bytes()
    beside.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    assert any("own_vector" in fault for fault in faults(out))
    done = run([directory], [prompts], out, **how).units
    assert [unit.state for unit in done] == ["measured"]
    assert beside.read_bytes() == before
    assert list(faults(out)) == []


def test_another_definition_under_one_name_is_refused_and_overwriting_replaces_it(
    save_tiny, prompt_file, tmp_path
):
    directory, out = str(save_tiny("gpt2")), tmp_path / "out"
    how = {"quiet": True}
    run([directory], [prompt_file], out, quantities=["stream"], **how)
    later = run([directory], [prompt_file], out, quantities=[own()], **how).units
    assert [unit.unit for unit in later] == ["local--gpt2@own,width"]
    assert run([directory], [prompt_file], out, quantities=[own()], **how).units[0].state == (
        "complete"
    )
    changed = own(measure=lambda s, n, x, a: 2 * x.norm(dim=-1))
    with pytest.raises(InputError, match="width is defined otherwise") as refusal:
        run([directory], [prompt_file], out, quantities=["stream", changed], **how)
    assert "--overwrite" in refusal.value.hint
    run([directory], [prompt_file], out, quantities=[changed], overwrite=True, **how)
    store = open_store(out)
    joined = store.query(
        "SELECT max(abs(value / norm - 2)) AS off FROM own_value JOIN residual_norm"
        " USING (run_id, prompt_id, layer, site) WHERE place = position"
    )
    assert joined["off"].item() < 1e-6
    assert list(faults(out)) == []


def test_a_place_that_a_model_lacks_is_said_to_be_missing():
    quantity = own(sites=("block_mid", "block_output"), layers=(0, 7))
    frames = measured(tiny_model("gpt_neox"), quantity)
    assert set(frames["own_value"]["site"]) == {"block_output"}
    printed = frames["not_measured"].query("measured_table == 'own_value'")
    assert printed["quantity"].tolist() == ["width at block_mid", "width in layer 7"]


def test_the_command_line_knows_what_a_file_registers(save_tiny, prompt_file, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "import collect\n\n"
        "@collect.quantity('size', unit='activation units', description='Mean absolute feature')\n"
        "def size(site, layer, states, attention):\n"
        "    return states.abs().mean(-1)\n"
    )
    out = tmp_path / "out"
    what = [str(save_tiny("gpt2")), "--prompts", str(prompt_file), "--out", str(out)]
    asked = [*what, "--register", str(file), "--quantities", "size"]
    assert main(["plan", *asked]) == 0
    assert "size: Mean absolute feature [activation units]" in capsys.readouterr().out
    assert main(["plan", *asked, "--json"]) == 0
    (unit,) = json.loads(capsys.readouterr().out)
    lens = ["--register", str(file), "--quantities", "size", "logit_lens_entropy"]
    assert main(["run", *what, *lens, "--stream"]) == 0
    streamed = open_store(out).query("FROM own_value ORDER BY ALL")
    assert (streamed["measure"] == "size").sum() == unit["n_rows"]["own_value"]
    assert main(["run", *what, *lens, "--overwrite"]) == 0
    pd.testing.assert_frame_equal(
        open_store(out).query("FROM own_value ORDER BY ALL"), streamed, check_exact=True
    )
    assert main(["plan", *what, "--quantities", "sizes"]) == 2
    assert "logit_lens_entropy, last_states" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"measure": lambda s, n, x, a: x}, r"of the shape \(3,\), a number per token; it"),
        ({"measure": lambda s, n, x, a: 1 / 0}, "layer 0 at block_output it raised ZeroDivision"),
        ({"measure": lambda s, n, x, a: sys.exit(0)}, "it raised SystemExit: 0"),
        ({"measure": lambda s, n, x, a: x.to_sparse()}, r"of the shape \(3,\), a number per token"),
        ({"measure": lambda s, n, x, a: x[:, : len(x)], "level": "vector"}, "some have 3 numbers"),
        ({"measure": lambda s, n, x, a: a.sum()}, "AttributeError: 'NoneType'"),
    ],
)
def test_a_function_that_fails_is_refused_with_its_place(model, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        measured(model, own(**changes))


def test_a_function_that_ends_the_program_is_told_not_to(model):
    with pytest.raises(InputError, match="SystemExit: 3") as refused:
        measured(model, own(measure=lambda s, n, x, a: sys.exit(3)))
    assert "sys.exit" in refused.value.hint
    assert "attention" not in refused.value.hint


@pytest.mark.parametrize(
    "lack", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_a_function_that_lacks_memory_is_not_blamed_on_its_numbers(model, lack):
    def raising(*_given):
        raise lack

    with pytest.raises(ScarcityError, match="Out of memory") as scarce:
        measured(model, own(measure=raising, version="1"))
    assert scarce.value.exit_code == 71

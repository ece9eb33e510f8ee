"""Every type that is measured in part: its stream is the model's own, the rest is named."""

import re
from pathlib import Path

import pandas as pd
import pytest
import torch

from collect.adapters import ADAPTERS
from collect.adapters.capability import CAPABILITIES, GAIN, HEADS, MAPS, PARTS
from collect.adapters.register import LAYOUTS
from collect.commands.cli import main
from collect.errors import UnsupportedModelError
from collect.gauge import group
from collect.instruments.hooks import Recorder
from collect.instruments.own.definition import OwnQuantity
from collect.instruments.quantities import TABLES
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.model import description
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import decoder
from collect.model.conformance.refusal import TOLERANCES
from collect.model.forward.passes import inputs, whole
from collect.model.forward.replay import NotReplayableError
from collect.model.labels import Labels
from tests.collect.adapters.on_disk import are_equal, loaded_and_streamed
from tests.collect.conftest import tiny_tokenizer
from tests.collect.partial_families import CONFIGURATIONS, tiny_partial
from tests.collect.record.written import frame
from tests.collect.shown import LONG, SHORT, examined

#: What the examination leaves open where a layout lacks something.
OPEN = {
    HEADS: {"heads_rebuild_attention"},
    MAPS: {"attention_rows", "attention_causal", "heads_rebuild_attention"},
    PARTS: {"norm_gain"},
    GAIN: {"norm_gain"},
}


def test_every_type_measured_in_part_is_shown_here():
    in_part = [layout for layout in LAYOUTS if layout.lacks]
    types = [model_type for layout in in_part for model_type in layout.model_types]
    assert set(types) == set(CONFIGURATIONS)
    assert all(layout.lacks.keys() <= set(CAPABILITIES) for layout in in_part)


@pytest.mark.parametrize("model_type", CONFIGURATIONS)
def test_it_conforms_and_its_stream_is_measured(model_type):
    placed = decoder(tiny_partial(model_type), ADAPTERS[model_type])
    findings = examined(placed)
    assert list(findings) == list(TOLERANCES)
    is_open = set().union(*(OPEN[name] for name in placed.adapter.lacks))
    assert {name for name, result in findings.items() if not result.is_met} == is_open
    assert all(findings[name].reason.startswith("not defined: ") for name in is_open)
    assert all(findings[name].is_met is None for name in is_open)
    seen, own = measured(placed), own_states(placed)
    norms = seen["residual_norm"]
    places, of_long = norms.places, norms.norm[:, : len(LONG)]
    for place, states in zip([(0, "block_input"), (0, "block_output")], own, strict=True):
        assert torch.allclose(of_long[places.index(place)], states.norm(dim=-1), rtol=1e-4), place
    parts = {placed.adapter.mixing, "ffn"} if placed.adapter.has(PARTS) else set()
    assert {part for _, part in seen["residual_update"].places} == {*parts, "block"}
    assert ("attention" in seen) == placed.adapter.has(MAPS)
    assert description.model_row(checkpoint(placed), placed)["d_ffn"].item() in inner(placed)


def checkpoint(placed):
    labels = Labels()
    return Checkpoint("tiny", Path(), None, placed.adapter, {}, (), "float32", labels)


def inner(placed):
    """Return the widths that matrices of feed-forward layers have beside that of the stream.

    Where blocks have experts, stacked in one tensor, theirs alone.
    """
    width = placed.config.hidden_size
    weights = [
        weight
        for block in placed.blocks
        for name, weight in block.named_parameters()
        if re.search(r"mlp|ffn|feed_forward|experts", name) and "attention.experts" not in name
    ]
    stacked = {
        n for weight in weights if weight.ndim == 3 and len(weight) > 1 for n in weight.shape[1:]
    }
    plain = {
        n for weight in weights if weight.ndim == 2 and width in weight.shape for n in weight.shape
    }
    if placed.adapter.name == "dbrx":  # experts are rows of one matrix
        return {n // placed.config.ffn_config.moe_num_experts for n in plain}
    return ((stacked or plain) - {width}) or {None}


#: Types whose blocks have more in common than the stream, and what says so.
TOGETHER = {
    "glm_moe_dsa": "than its stream",
    "rwkv": "than its stream",
    "zamba": "has weights of block 1",
    "zamba2": "has weights of block 1",
    "zaya": "than its stream",
}


@pytest.mark.parametrize("model_type", CONFIGURATIONS)
def test_block_by_block_from_its_files_it_is_the_same_in_bfloat16(model_type, tmp_path):
    tiny_partial(model_type).save_pretrained(tmp_path)
    if model_type in TOGETHER:
        with pytest.raises(NotReplayableError, match=TOGETHER[model_type]):
            loaded_and_streamed(tmp_path)
        return
    _, loaded, streamed = loaded_and_streamed(tmp_path)
    assert are_equal(loaded, streamed)


def measured(placed):
    """Return what is seen of two prompts, of all that is defined."""
    recorder = Recorder([(LONG, SHORT)], placed.adapter.defined(tuple(TABLES)))
    for _ in whole(placed, recorder.batches, recorder):
        pass
    return recorder.observation(0)


@torch.no_grad()
def own_states(placed):
    """Return what block 0 gets and gives for a prompt alone, in float64.

    The library's ``hidden_states`` begin after block 0 in some of these types.
    """
    result = []
    block = placed.blocks[0]
    block.register_forward_pre_hook(
        lambda _module, args, kwargs: result.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    block.register_forward_hook(
        lambda _module, _args, output: result.append(
            output if isinstance(output, torch.Tensor) else output[0]
        )
    )
    placed.body(**inputs(placed, (LONG,)), use_cache=False)
    return [states[0].double() for states in result]


@pytest.fixture
def saved(tmp_path):
    def save(model_type):
        directory = tmp_path / model_type
        tiny_partial(model_type, vocab_size=300).save_pretrained(directory)
        tiny_tokenizer().save_pretrained(directory)
        return str(directory)

    return save


@pytest.mark.parametrize("model_type", ["mamba", "qwen3_next", "deepseek_v3"])
def test_what_is_defined_is_measured_and_the_rest_named(
    saved, prompt_file, tmp_path, model_type, capsys
):
    model, adapter = saved(model_type), ADAPTERS[model_type]
    sinks = OwnQuantity(
        "sinks", "1", "Sums", lambda s, n, x, a: a.sum(), level="prompt", needs=("attention",)
    )
    out, how = tmp_path / "out", {"quiet": True, "quantities": ["all", sinks]}
    (planned,) = plan([model], [prompt_file], None, **how)
    (done,) = run([model], [prompt_file], out, **how).units
    assert done.n_rows == sum(planned.n_rows.values())
    tables = {path.name: len(frame(out, path.name)) for path in out.iterdir()}
    assert tables.pop("run") == 1
    rows = frame(out, "not_measured")
    foreseen = {(gap.table, gap.quantity, gap.reason) for gap in planned.not_measured}
    assert {*zip(*(rows[name] for name in rows.columns[2:]), strict=True)} == foreseen
    assert main(["plan", model, "--prompts", str(prompt_file), "--quantities", "all"]) == 0
    printed = capsys.readouterr().out.partition("not measured\n")[2]
    assert f"  local--{model_type}: model " in printed
    assert "weight_norm every row, matrix_norm every row, " in printed
    gaps = rows.set_index("measured_table")["quantity"]
    assert tables == planned.n_rows
    assert {"weight_norm", "matrix_norm"} <= set(gaps.index[gaps == "every row"])
    assert ("attention" in tables) == adapter.has(MAPS) == ("attention" not in gaps.index)
    row = frame(out, "model").iloc[0]
    assert pd.isna(row["d_head"])
    assert pd.isna(row["n_heads"]) != adapter.has(MAPS)
    streamed = tmp_path / "streamed"
    run([model], [prompt_file], streamed, stream=True, **how)
    for table in ("residual_norm", "residual_update", "next_token"):
        columns = [name for name in frame(out, table).columns if name != "run_id"]
        pd.testing.assert_frame_equal(
            frame(streamed, table)[columns], frame(out, table)[columns], rtol=1e-6
        )


def test_blocks_that_cannot_be_run_one_by_one_are_loaded(saved, prompt_file, tmp_path, monkeypatch):
    """Even where a model of that size would be streamed for its size alone."""
    model, out = saved("rwkv"), tmp_path / "out"
    monkeypatch.setattr("collect.job.subject.LARGE_BYTES", 1)
    with pytest.raises(NotReplayableError, match="more of a block than its stream"):
        run([model], [prompt_file], out, stream=True, quiet=True)
    run([model], [prompt_file], out, quantities=["stream"], quiet=True)
    assert frame(out, "run")["execution"].tolist() == ["loaded"]
    conformance = frame(out, "conformance").set_index("property")["is_met"]
    of_attention = {"attention_causal", "attention_rows", "heads_rebuild_attention", "norm_gain"}
    assert set(conformance.index[conformance.isna()]) == of_attention
    assert conformance.dropna().all()


def test_nothing_defined_of_what_is_asked_for_is_refused_with_the_reason(saved, tmp_path):
    with pytest.raises(UnsupportedModelError, match="compressed vector") as refusal:
        run([saved("deepseek_v3")], [], tmp_path / "out", quantities=["weights"], quiet=True)
    assert "stream" in refusal.value.hint
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_no_transformation_is_known_of_a_layout_that_lacks_something():
    with pytest.raises(UnsupportedModelError, match="mamba"):
        group.refusals(decoder(tiny_partial("mamba"), ADAPTERS["mamba"]))


def test_a_stream_that_is_changed_between_blocks_is_found():
    model = tiny_partial("mamba")
    model.backbone.layers[1].register_forward_pre_hook(
        lambda _module, args: (args[0] * 2, *args[1:])
    )
    placed = decoder(model, ADAPTERS["mamba"])
    findings = examined(placed)
    failed = {name for name, finding in findings.items() if finding.is_met is False}
    assert failed == {"block_adds_up"}
    assert findings["block_adds_up"].layer == 1

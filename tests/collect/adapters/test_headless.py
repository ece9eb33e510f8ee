"""Models without an output embedding: their stream is measured, and the head's part is named."""

import json
from copy import deepcopy
from dataclasses import replace
from itertools import cycle

import pandas as pd
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import collect
from collect.adapters import ADAPTERS
from collect.adapters.capability import HEAD
from collect.errors import InputError, UnsupportedModelError
from collect.gauge.transformations.wiring import wiring
from collect.job.planning.plan import plan
from collect.model.checkpoint.decoder import decoder
from collect.model.checkpoint.load import load_skeleton
from collect.model.checkpoint.location import locate
from collect.schema import tables
from tests.collect.conftest import edit_config
from tests.collect.families import randomise, tiny_family
from tests.collect.record.written import frame
from tests.collect.shown import examined

PROMPTS = [[3, 4, 5, 6, 7, 8, 9], [12, 13, 14]]
QUANTITIES = ["weights", "stream", "attention", "geometry"]

#: Tables of `QUANTITIES` that need no head.
SHARED = (
    *("residual_norm", "residual_update", "attention", "attention_mean"),
    *("token_geometry", "prompt_geometry", "weight_norm", "matrix_norm"),
)

#: Tied and untied, with the norm's gain as it is and as 1 + weight, one within another part.
NAMES = ("llama", "gpt2", "gemma", "qwen3", "opt", "gpt_neox", "mixtral")
CLASSIFIER = "AutoModelForSequenceClassification"
KINDS = ("AutoModel", CLASSIFIER, "AutoModelForTokenClassification")


def headless(name, kind="AutoModel"):
    """Return a tiny model of a kind of class whose body has the weights of the causal one."""
    causal = tiny_family(name)
    config = deepcopy(causal.config)
    attention = causal.config._attn_implementation
    model = getattr(transformers, kind).from_config(
        config, attn_implementation=attention, dtype=torch.float32
    )
    randomise(model, seed=1)
    model.base_model.load_state_dict(causal.base_model.state_dict())
    return model.eval()


@pytest.fixture
def prompt_file(tmp_path):
    path = tmp_path / "ids.jsonl"
    path.write_text("\n".join(json.dumps({"token_ids": ids}) for ids in PROMPTS))
    return path


def save(model, directory, **entries):
    model.save_pretrained(directory)
    edit_config(directory, **entries)
    return directory


def rename(directory, renamed):
    """Change the names, or the tensors, that a checkpoint holds."""
    path = directory / "model.safetensors"
    save_file(renamed(load_file(path)), path, metadata={"format": "pt"})
    return directory


def assert_alike(ours, theirs, table):
    """Compare rows of a table bit for bit, whatever their order, identifiers left out."""
    left_out = {"run_id", "model_id", "prompt_id"}
    columns = [c.name for c in tables()[table].columns if c.name not in left_out]
    numbers = (rows[columns].sort_values(columns).reset_index(drop=True) for rows in (ours, theirs))
    pd.testing.assert_frame_equal(*numbers, check_exact=True, check_dtype=False, obj=table)


@pytest.mark.parametrize(
    ("name", "kind"), [*zip(NAMES, cycle(KINDS)), *(("llama", kind) for kind in KINDS[1:])]
)
def test_what_needs_no_head_is_that_of_the_causal_model(name, kind):
    ours = collect.measure(headless(name, kind), None, PROMPTS, quantities=QUANTITIES)
    theirs = collect.measure(tiny_family(name), None, PROMPTS, quantities=QUANTITIES)
    assert theirs.keys() - ours.keys() == {"next_token"}
    for table in SHARED:
        assert_alike(ours[table], theirs[table], table)


@pytest.mark.parametrize(
    ("name", "kind", "is_streamed"),
    [
        ("llama", "AutoModel", False),
        ("llama", "AutoModelForQuestionAnswering", False),  # its body has another name
        ("gpt2", CLASSIFIER, True),
        ("gemma", "AutoModelForTokenClassification", False),
        ("qwen3", "AutoModel", True),
    ],
)
def test_a_saved_one_gives_the_numbers_of_the_object(
    name, kind, is_streamed, prompt_file, tmp_path
):
    model, out = headless(name, kind), tmp_path / "out"
    ours = collect.measure(model, None, PROMPTS, quantities=QUANTITIES)
    how = {"quantities": QUANTITIES, "stream": is_streamed}
    done = collect.run(save(model, tmp_path / "m"), prompt_file, out, **how)
    assert [unit.state for unit in done.units] == ["measured", "measured"]
    for table in SHARED:
        assert_alike(ours[table], frame(out, table), table)
    assert not (out / "next_token").exists()
    assert set(frame(out, "run")["adapter"]) == {f"{ADAPTERS[name].name}_headless"}


def test_what_the_head_would_give_is_named(prompt_file, tmp_path):
    out, asked = tmp_path / "out", [*QUANTITIES, "predictions", "logit_lens_entropy"]
    collect.run(save(headless("gpt2"), tmp_path / "m"), prompt_file, out, quantities=asked)
    gaps = frame(out, "not_measured")
    named = gaps[gaps["reason"].str.contains("GPT2Model has no output embedding")]
    assert set(zip(named["measured_table"], named["quantity"], strict=True)) == {
        ("next_token", "every row"),
        ("token_prediction", "every row"),
        ("model", "is_tied"),
        ("own_value", "logit_lens_entropy"),
    }
    result = frame(out, "conformance").set_index("property")["is_met"]
    assert set(result[result.isna()].index) == {"logits"}
    assert result.dropna().all()
    assert frame(out, "model")["is_tied"].isna().all()


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_names_of_a_base_model_may_have_the_prefix_or_not(name, prompt_file, tmp_path):
    model, out = headless(name), tmp_path / "out"
    directory = rename(
        save(model, tmp_path / "whole"),
        lambda stored: {f"{model.base_model_prefix}.{key}": each for key, each in stored.items()},
    )
    collect.run(directory, prompt_file, out, quantities=QUANTITIES)
    ours = collect.measure(model, None, PROMPTS, quantities=QUANTITIES)
    for table in SHARED:
        assert_alike(ours[table], frame(out, table), table)


def test_of_a_reward_model_the_layers_after_the_body_are_named(prompt_file, tmp_path, out):
    directory = save(headless("qwen2"), tmp_path / "m", architectures=["Qwen2ForRewardModel"])
    rename(
        directory,
        lambda stored: (
            {f"model.{key}": tensor for key, tensor in stored.items()}
            | {"score.0.weight": torch.ones(8, 64), "score.2.weight": torch.ones(1, 8)}
        ),
    )
    collect.run(directory, prompt_file, out, quantities=QUANTITIES)
    gaps = set(frame(out, "not_measured")["quantity"])
    assert {"tensor score.N.weight", "is_tied"} <= gaps
    ours = collect.measure(tiny_family("qwen2"), None, PROMPTS, quantities=QUANTITIES)
    assert_alike(ours["residual_norm"], frame(out, "residual_norm"), "residual_norm")


def test_files_say_whether_they_hold_a_head_before_and_after_they_are_fetched(
    prompt_file, tmp_path
):
    causal = save(tiny_family("llama"), tmp_path / "m", architectures=["LlamaModel"])
    out = tmp_path / "out"
    collect.run(causal, prompt_file, out, quantities=["stream"])
    assert len(frame(out, "next_token")) == len(PROMPTS)
    for directory, has_head in ((causal, True), (save(headless("llama"), tmp_path / "b"), False)):
        checkpoint = locate(str(directory))
        listed = replace(checkpoint, weight_files=(), weight_names=("model.safetensors",))
        assert load_skeleton(listed).adapter.has(HEAD) is has_head


@pytest.mark.parametrize("architectures", [["LlamaForCausalLM"], None, [], "LlamaModel", [3]])
def test_a_causal_model_whose_head_was_lost_is_refused(architectures, prompt_file, tmp_path):
    directory = save(headless("llama"), tmp_path / "m", architectures=architectures)
    with pytest.raises(InputError, match=r"lacks 1, for example lm_head\.weight"):
        collect.run(directory, prompt_file, tmp_path / "out", quantities=["stream"])


def test_predictions_alone_and_a_gauge_are_refused():
    with pytest.raises(UnsupportedModelError, match="LlamaModel has no output embedding"):
        collect.measure(headless("llama"), None, PROMPTS, quantities=["predictions"])
    with pytest.raises(UnsupportedModelError, match="GPT2Model has no output embedding"):
        wiring(decoder(headless("gpt2"), ADAPTERS["gpt2"]))


def test_the_final_norm_is_examined_all_the_same():
    model, adapter = headless("llama"), ADAPTERS["llama"]
    other = replace(adapter, final_norm="model.layers.2.post_attention_layernorm")
    of_norm = []
    for each in (adapter, other):
        placed = decoder(model, each)
        assert HEAD in placed.adapter.lacks
        of_norm.append(examined(placed)["logits"].is_met)
    assert of_norm == [None, False]


def test_the_plan_counts_the_rows_that_there_are(prompt_file, tmp_path):
    directory, out = save(headless("llama", CLASSIFIER), tmp_path / "m"), tmp_path / "out"
    units = plan([str(directory)], [prompt_file], out, quantities=tuple(QUANTITIES))
    collect.run(directory, prompt_file, out, quantities=QUANTITIES)
    for table in SHARED:
        assert sum(unit.n_rows.get(table, 0) for unit in units) == len(frame(out, table)), table
    assert not any(unit.n_rows.get("next_token") for unit in units)

"""Every causal type of the installed transformers has an answer, and a refusal shows its reason."""

from __future__ import annotations

import json

import pytest
import torch
import transformers
from transformers.models.auto import modeling_auto

from collect.adapters import ADAPTERS, answers, refused
from collect.adapters.register import adapter_for
from collect.commands.cli import main
from collect.errors import UnsupportedModelError
from tests.collect.families import randomise

REFUSED = [entry for entry in answers.answers() if entry.answer == answers.NOT]


def test_every_causal_type_has_an_answer():
    unknown = [entry.model_type for entry in answers.answers() if entry.answer == answers.UNKNOWN]
    assert unknown == [], "add each to an adapter or to collect/adapters/refused.py"


def test_the_committed_page_is_current():
    assert answers.is_current(answers.PATH), "write it with: python -m collect models --write"


def test_a_stream_is_measured_of_120_types_and_more():
    kinds = [entry.answer for entry in answers.answers()]
    assert kinds.count(answers.WHOLE) + kinds.count(answers.IN_PART) >= 120
    assert kinds.count(answers.TEXT) >= 10
    assert {entry.layout for entry in answers.answers()} - {""} <= {
        adapter.name for adapter in ADAPTERS.values()
    }


def test_the_readme_counts_the_types_as_the_code_does():
    readme = " ".join((answers.PATH.parents[2] / "README.md").read_text("utf-8").split())
    kinds = [entry.answer for entry in answers.answers()]
    n_measured = len(kinds) - kinds.count(answers.NOT)
    assert f"of the {len(kinds)} types of decoder that it knows {n_measured} are measured" in readme


def test_a_type_that_a_new_release_brings_is_named(monkeypatch, capsys):
    known = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    monkeypatch.setattr(
        modeling_auto, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", {**known, "wobble": "Wobble"}
    )
    assert main(["models", "--json"]) == 1
    (new,) = [e for e in json.loads(capsys.readouterr().out) if e["answer"] == answers.UNKNOWN]
    assert new["model_type"] == "wobble"


def test_the_list_of_types_ends_with_its_counts(capsys):
    assert main(["models"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last.startswith(f"{len(lines)} types: ")


SMALL = {
    "default_language": "en_XX",
    "emb_dim": 48,
    "embedding_size": 48,
    "hc_count": 4,
    "hc_lowrank": 16,
    "head_dim": 12,
    "heads_per_ngram": 2,
    "hidden_size": 48,
    "hidden_size_per_layer_input": 8,
    "intermediate_size": 64,
    "is_decoder": False,
    "max_position_embeddings": 64,
    "moe_intermediate_size": 16,
    "n_head": 4,
    "n_heads": 4,
    "n_layer": 2,
    "n_layers": 2,
    "n_routed_experts": 4,
    "num_attention_heads": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "num_kv_shared_layers": 0,
    "num_layers_per_stack": 2,
    "pad_token_id": 0,
    "vocab_size": 97,
    "vocab_size_per_layer_input": 97,
}


def small(model_type, **more):
    """Return a small random model of a type, whatever its entries are called."""
    named = transformers.AutoConfig.for_model(model_type).to_dict()
    entries = {name: value for name, value in SMALL.items() if name in named}
    config = transformers.AutoConfig.for_model(model_type, **{**entries, **more})
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    randomise(model.eval(), seed=0)
    return model


IDS = torch.arange(3, 15).view(1, 12)


def entering(model, blocks):
    """Return the first argument of every call of some blocks in one pass."""
    seen = []
    for block in blocks:
        block.register_forward_pre_hook(
            lambda _module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]),
            with_kwargs=True,
        )
    with torch.no_grad():
        model(IDS, use_cache=False)
    return seen


#: Types that hold another of the list as their text.
LARGER = ("gemma3n", "qwen4_exp")


def types_of(refusal):
    return [e.model_type for e in REFUSED if e.model_type in refusal.model_types]


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.model_type)
def test_a_refused_type_says_which_quantity_is_undefined_and_why(entry):
    with pytest.raises(UnsupportedModelError, match="is refused") as error:
        adapter_for(entry.model_type)
    assert entry.reason in error.value.problem
    assert entry.without
    assert entry.model_type not in ADAPTERS


@pytest.mark.parametrize("model_type", types_of(refused.SEES_LATER))
@torch.no_grad()
def test_in_an_encoder_a_token_sees_those_after_it(model_type):
    model = small(model_type)
    changed = IDS.clone()
    changed[0, -1] = 40
    assert not torch.allclose(model(IDS).logits[0, 0], model(changed).logits[0, 0], atol=1e-4)


@pytest.mark.parametrize(
    "model_type", [name for name in types_of(refused.SEVERAL_STREAMS) if name not in LARGER]
)
def test_a_token_has_several_vectors_between_blocks(model_type):
    model = small(model_type)
    blocks = model.model.layers
    numbers = {states.numel() / IDS.numel() for states in entering(model, blocks)}
    assert min(numbers) > model.config.hidden_size


@pytest.mark.parametrize("model_type", types_of(refused.READS_ENCODER))
def test_blocks_of_a_decoder_with_an_encoder_have_a_part_that_reads_it(model_type):
    config = transformers.AutoConfig.for_model(model_type)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    assert names & {"encoder_attn", "cross_attn"}


@pytest.mark.parametrize("model_type", types_of(refused.OF_SOUND))
def test_a_position_holds_codes_of_several_codebooks(model_type):
    assert transformers.AutoConfig.for_model(model_type).decoder.num_codebooks > 1


def test_the_same_blocks_run_several_times_in_a_pass():
    model = small("hrm_text", num_layers_per_stack=2, num_hidden_layers=16)
    blocks = model.model.L_module.layers
    assert len(entering(model, blocks)) > len(blocks)

"""Checkpoints that read images or sound too: the text within is measured as the text alone."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import transformers
from duckdb import read_parquet

from collect.adapters import ADAPTERS, adapter_for
from collect.adapters.within import ALIKE, PLACES
from collect.job.run import run
from collect.model.checkpoint.decoder import decoder
from collect.model.conformance.refusal import examine
from collect.model.forward.passes import whole
from tests.collect.conftest import tiny_tokenizer
from tests.collect.families import randomise

TEXT = {
    "vocab_size": 300,
    "pad_token_id": 0,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": 64,
    "head_dim": 12,
}
SIGHT = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "depth": 1,
    "num_heads": 2,
    "embed_dim": 16,
    "out_hidden_size": 48,
}
WINDOWED = {**TEXT, "sliding_window": 5}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
TURNS = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
SEEING = {**TEXT, "rope_parameters": TURNS}
CONFIGURATIONS = {
    "gemma3": WINDOWED,
    "llama4": {**TEXT, "num_local_experts": 4, "intermediate_size_mlp": 80},
    "mistral3": {**WINDOWED, "model_type": "mistral"},
    "qwen2_vl": SEEING,
    "qwen2_5_vl": SEEING,
    "qwen3_vl": SEEING,
    "qwen3_vl_moe": {**SEEING, **EXPERTS},
}


def small(model_type):
    """Return a small random model that reads images beside text."""
    config = transformers.AutoConfig.for_model(
        model_type, text_config=CONFIGURATIONS[model_type], vision_config=SIGHT
    )
    factory = transformers.AutoModelForCausalLM
    if type(config) not in factory._model_mapping:
        factory = transformers.AutoModelForImageTextToText
    model = factory.from_config(config, attn_implementation="eager", dtype=torch.float32)
    randomise(model.eval(), seed=3)
    return model


@pytest.mark.parametrize("model_type", CONFIGURATIONS)
def test_the_text_within_conforms(model_type):
    model = small(model_type)
    named = getattr(model.config.get_text_config(), "model_type", None)
    placed = decoder(model, adapter_for(model_type, named))
    findings = examine(placed, partial(whole, placed))
    assert {finding.property for finding in findings if not finding.is_met} == set()


def frame(out, table):
    rows = read_parquet(str(out / table / "*.parquet")).df()
    return rows.drop(columns=["run_id", "model_id"], errors="ignore")


def test_the_numbers_are_those_of_the_text_alone(tmp_path, prompt_file):
    model = small("gemma3")
    config = model.config.text_config
    alone = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    alone.model.load_state_dict(model.model.language_model.state_dict())
    alone.tie_weights()
    for name, each in {"within": model, "alone": alone}.items():
        each.save_pretrained(tmp_path / name)
        tiny_tokenizer().save_pretrained(tmp_path / name)
        run([str(tmp_path / name)], [prompt_file], tmp_path / "out" / name, quiet=True)
    within, only = tmp_path / "out" / "within", tmp_path / "out" / "alone"
    for table in ("residual_norm", "residual_update", "attention", "weight_norm", "next_token"):
        assert frame(within, table).equals(frame(only, table)), table
    ours, theirs = frame(within, "model").iloc[0], frame(only, "model").iloc[0]
    assert (ours["family"], theirs["family"]) == ("gemma3", "gemma3_text")
    assert ours["n_parameters"] == theirs["n_parameters"]


def test_every_place_leads_to_an_adapter():
    for model_type, (_, text_type) in PLACES.items():
        assert text_type in ADAPTERS
        assert adapter_for(model_type).name == ADAPTERS[text_type].name
    assert set(ALIKE.values()) <= set(ADAPTERS)
    assert not set(ALIKE) & set(ADAPTERS)
    assert not set(PLACES) & set(ADAPTERS)

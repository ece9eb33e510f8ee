"""Prompts beyond the context: read whole where positions are computed, refused where tabled."""

from copy import deepcopy

import numpy as np
import pytest
import torch
import transformers

import collect
from collect.errors import InputError
from collect.library import in_memory
from collect.model.forward.positions import position_table
from tests.collect.conftest import tiny_model
from tests.collect.families import tiny_family

LENGTHS = (10, 70, 90, 75)


SHAPE = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SHAPE |= {"max_position_embeddings": 64}


def llama(**rotation):
    torch.manual_seed(0)
    more = {"intermediate_size": 80, "rope_parameters": {"rope_theta": 100.0, **rotation}}
    config = transformers.LlamaConfig(**SHAPE, **more, initializer_range=0.3)
    return transformers.LlamaForCausalLM(config).eval()


def falcon():
    torch.manual_seed(0)
    return transformers.FalconForCausalLM(transformers.FalconConfig(**SHAPE, alibi=True)).eval()


MODELS = {
    "plain": lambda: llama(rope_type="default"),
    "dynamic": lambda: llama(rope_type="dynamic", factor=2.0),
    "yarn": lambda: llama(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
    "alibi": falcon,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_long_prompt_gives_what_it_gives_alone_in_a_fresh_model(name):
    generator = torch.Generator().manual_seed(1)
    tokens = [torch.randint(3, 97, (n,), generator=generator).tolist() for n in LENGTHS]
    records = [{"id": str(n), "token_ids": ids} for n, ids in zip(LENGTHS, tokens, strict=True)]
    model = MODELS[name]()
    fresh = deepcopy(model)
    with torch.no_grad():
        model(input_ids=torch.arange(3, 97)[None])  # what ran before must not count
    result = collect.measure(model, None, records, quantities="stream", too_long="extend")
    norms = (
        result["residual_norm"].query("layer == 1 and site == 'block_output'").groupby("prompt_id")
    )
    for n, ids in zip(LENGTHS, tokens, strict=True):
        alone = deepcopy(fresh)
        states = []
        block = (alone.model.layers if hasattr(alone, "model") else alone.transformer.h)[-1]
        block.register_forward_hook(lambda _m, _a, out, kept=states: kept.append(out))
        with torch.no_grad():
            alone(input_ids=torch.tensor([ids]))
        right = (states[0][0] if isinstance(states[0], tuple) else states[0])[0].norm(dim=-1)
        measured = norms.get_group(f"prompts:{n}").sort_values("position")["norm"]
        np.testing.assert_allclose(measured.to_numpy(), right.double().numpy(), rtol=2e-5)
    told = result["not_measured"]
    assert told["reason"].str.contains("read whole").sum() == 3


def test_a_prompt_beyond_a_table_of_positions_is_refused_with_its_name():
    long = [{"token_ids": [5] * 400}]
    model = tiny_model("gpt2")
    with pytest.raises(InputError, match="wpe"):
        collect.measure(model, None, long, quantities="stream", too_long="extend")


@pytest.mark.parametrize(
    "name", ["gpt_neo", "gptj", "codegen", "opt", "mpt", "gpt_bigcode", "biogpt", "ctrl"]
)
def test_where_a_table_is_seen_the_model_cannot_go_on(name):
    model = tiny_family(name)
    with in_memory.lent(model) as decoder:
        n_context = decoder.adapter.n_context(decoder.config)
        assert position_table(decoder) is not None
    with pytest.raises((IndexError, RuntimeError)), torch.no_grad():
        model(input_ids=torch.full((1, n_context + 9), 5))


@pytest.mark.parametrize("name", MODELS)
def test_where_no_table_is_seen_the_model_goes_on(name):
    model = MODELS[name]()
    with in_memory.lent(model) as decoder:
        assert position_table(decoder) is None
    with torch.no_grad():
        assert model(input_ids=torch.full((1, 99), 5)).logits.isfinite().all()

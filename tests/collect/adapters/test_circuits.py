"""A circuit with the gain folded in is the same where the model is, in every family."""

import pytest
import torch

from tests.collect.families import OF_EACH_ADAPTER
from tests.collect.shown import LONG, loaded_family, rows_by_head


def last_weights(placed):
    """Return Q, K, V and O of the last block; block 0 of ModernBERT has no norm in front."""
    return placed.head_weights(len(placed.blocks) - 1)


def circuits(placed):
    """Return the folded circuit W_O W_V diag(gain) of every head of the last block."""
    weights, heads = last_weights(placed), placed.heads
    values = weights.value * (1 if weights.gain is None else weights.gain)
    return weights.output @ values.repeat_interleave(heads.n_heads // heads.n_kv_heads, dim=0)


def scale_values(placed):
    """Multiply values by 8 and divide the output projection by 8, which changes no logit."""
    block, adapter = placed.blocks[-1], placed.adapter
    ((path, rows),) = rows_by_head(placed).items()
    values = block.get_submodule(path)
    (values.weight.T if adapter.is_conv1d else values.weight)[rows] *= 8
    if values.bias is not None:
        values.bias[rows] *= 8
    block.get_submodule(adapter.output).weight /= 8


def scale_gain(placed):
    """Multiply the norm by 4 and divide what reads it by 4, which changes no logit."""
    block, adapter = placed.blocks[-1], placed.adapter
    norm = block.get_submodule(adapter.attention_norm)
    norm.weight.copy_((norm.weight + adapter.gain_offset) * 4 - adapter.gain_offset)
    if getattr(norm, "bias", None) is not None:
        norm.bias *= 4
    for path in adapter.projections:
        block.get_submodule(path).weight /= 4


#: Where a change of scale is not undone: values are clipped, there is no gain in front of
#: attention, or that norm is read by others too.
CLIPPED = {"olmo"}
NO_GAIN = {
    "exaone4",
    "flex_olmo",
    "nanochat",
    "olmo",
    "olmo2",
    "olmo3",
    "openai_gpt",
    "opt_post_norm",
}
SHARED_NORM = {
    "codegen",
    "cohere",
    "cohere2",
    "cohere2_moe",
    "cohere_compass_text",
    "falcon_11b",
    "falcon_40b",
    "falcon_7b",
    "gpt_neox",
    "gptj",
    "phi",
    "stablelm_parallel",
}
CHANGES = [(scale_values, name) for name in OF_EACH_ADAPTER if name not in CLIPPED] + [
    (scale_gain, name)
    for name in OF_EACH_ADAPTER
    if name not in NO_GAIN | SHARED_NORM | {"bloom_adds_to_norm"}
]


@pytest.mark.parametrize(("change", "name"), CHANGES)
@torch.no_grad()
def test_the_folded_circuit_is_the_same_where_the_model_is(change, name):
    placed = loaded_family(name)
    ids = torch.tensor([LONG.token_ids])
    folded, value, logits = circuits(placed), last_weights(placed).value.norm(), placed.model(ids)
    change(placed)
    assert torch.allclose(placed.model(ids).logits, logits.logits, atol=1e-4)
    assert not torch.isclose(last_weights(placed).value.norm(), value, rtol=0.5)
    assert torch.allclose(circuits(placed), folded, rtol=1e-4, atol=1e-6)

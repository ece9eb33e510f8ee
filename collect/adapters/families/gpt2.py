"""GPT-2 and what shares its names: learned positions, LayerNorm, one fused projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collect.adapters.adapter import Adapter, AttentionCall
from collect.adapters.configuration import always, own_or_four_widths
from collect.adapters.layouts import contiguous, shared_or_interleaved
from collect.adapters.scores import scores

if TYPE_CHECKING:
    from torch import Tensor

#: What the first GPT puts in place of the score of a later token.
_LATER = -1e4


def _maps(call: AttentionCall) -> Tensor:
    """Return the maps in float32, which the module keeps to itself."""
    logits = scores(call).float()
    later = logits.new_ones(logits.shape[-2:]).triu(1).bool()
    logits = logits.masked_fill(later, _LATER)
    padding = call.kwargs.get("attention_mask")
    return (logits if padding is None else logits + padding.float()).softmax(-1)


GPT2 = Adapter(
    name="gpt2",
    model_types=("gpt-sw3", "gpt2"),
    body="transformer",
    blocks="transformer.h",
    final_norm="transformer.ln_f",
    attention="attn",
    ffn_input="mlp",
    mid="ln_2",
    projections=("attn.c_attn",),
    layout=contiguous,
    output="attn.c_proj",
    is_conv1d=True,
    attention_norm="ln_1",
    d_ffn=own_or_four_widths,
    norm_kind="LayerNorm",
    positional_scheme=always("learned"),
)

#: SantaCoder and StarCoder: one key and value head for all, or the heads of GPT-2 interleaved.
GPT_BIGCODE = GPT2.variant("gpt_bigcode", layout=shared_or_interleaved, is_conv1d=False)

GPT_NEO = GPT2.variant(
    "gpt_neo",
    attention="attn.attention",
    projections=("attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"),
    layout=None,
    output="attn.attention.out_proj",
    is_conv1d=False,
)

#: The first GPT: both sums go through a norm, and that is the stream; none follows the last block.
GPT1 = GPT2.variant(
    "openai_gpt",
    "openai-gpt",
    final_norm=None,
    mid="mlp",
    norms_after=("ln_1", "ln_2"),
    attention_norm=None,
    d_head=None,
    norm_position="post",
    maps=_maps,
)

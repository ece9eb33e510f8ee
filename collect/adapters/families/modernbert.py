"""ModernBERT as a decoder: the parts of Llama under other names, and a head of several layers."""

from __future__ import annotations

from collect.adapters.families.llama import LLAMA

#: Block 0 has no norm in front of attention: one stands between the embedding and the block.
MODERNBERT = LLAMA.variant(
    "modernbert",
    "modernbert-decoder",
    final_norm="model.final_norm",
    before_head="lm_head",
    head="decoder",
    attention="attn",
    mid="mlp_norm",
    projections=("attn.q_proj", "attn.k_proj", "attn.v_proj"),
    output="attn.Wo",
    attention_norm="attn_norm",
    norm_kind="LayerNorm",
)

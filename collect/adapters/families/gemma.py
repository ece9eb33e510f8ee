"""Gemma, GLM-4, OLMo 2 and 3, EXAONE 4: Llama's shape with other norms."""

from __future__ import annotations

from collect.adapters.configuration import entry
from collect.adapters.families.llama import LLAMA
from collect.adapters.logits import soft_capped

#: The norm multiplies by 1 + weight.
GEMMA = LLAMA.variant("gemma", "gemma", "minimax_m3_vl_text", gain_offset=1.0)

#: A norm on both sides of each sub-layer.
GEMMA2 = GEMMA.variant(
    "gemma2",
    "gemma2",
    "gemma3_text",
    mid="pre_feedforward_layernorm",
    attention_update="post_attention_layernorm",
    ffn_update="post_feedforward_layernorm",
    norm_position="sandwich",
    logits=soft_capped,
)

VAULTGEMMA = GEMMA.variant("vaultgemma", mid="pre_feedforward_layernorm", logits=soft_capped)

GLM4 = LLAMA.variant(
    "glm4",
    attention_update="post_self_attn_layernorm",
    ffn_update="post_mlp_layernorm",
    norm_position="sandwich",
)

#: The same with experts.
KOLIBRI = GLM4.variant("kolibri", "kolibri1", d_ffn=entry("moe_intermediate_size"))

#: A norm on the output of each sub-layer, none in front of it.
OLMO2 = LLAMA.variant(
    "olmo2",
    "exaone4",
    "flex_olmo",
    "olmo2",
    "olmo3",
    mid="mlp",
    attention_update="post_attention_layernorm",
    ffn_update="post_feedforward_layernorm",
    attention_norm=None,
    norm_position="output",
)

"""Llama and the many models of its shape: rotary positions, a norm in front of each sub-layer."""

from __future__ import annotations

from dataclasses import replace

from collect.adapters.adapter import Adapter, Form
from collect.adapters.configuration import always, entry
from collect.adapters.layouts import contiguous
from collect.adapters.logits import divided, multiplied

LLAMA = Adapter(
    name="llama",
    model_types=(
        "arcee",
        "cwm",
        "ernie4_5",
        "glm",
        "helium",
        "hunyuan_v1_dense",
        "llama",
        "ministral",
        "ministral3",
        "mistral",
        "mixtral",
        "olmoe",
        "qwen2",
        "qwen3",
        "seed_oss",
        "smollm3",
    ),
    body="model",
    blocks="model.layers",
    final_norm="model.norm",
    attention="self_attn",
    ffn_input="mlp",
    mid="post_attention_layernorm",
    attention_update="self_attn",
    ffn_update="mlp",
    projections=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    output="self_attn.o_proj",
    attention_norm="input_layernorm",
    norm_kind="RMSNorm",
    positional_scheme=always("rotary"),
)

#: Part of the attention goes to a learned sink.
GPT_OSS = replace(LLAMA, name="gpt_oss", model_types=("gpt_oss",), has_sinks=True)

#: The width named by ``intermediate_size`` is not that of an expert.
EXPERTS = replace(
    LLAMA,
    name="llama_experts",
    model_types=("qwen2_moe", "qwen3_moe"),
    d_ffn=entry("moe_intermediate_size"),
)

LAYER_NORM = replace(
    LLAMA,
    name="llama_layer_norm",
    model_types=("jais2", "olmo", "phimoe", "starcoder2"),
    norm_kind="LayerNorm",
)

STABLELM = replace(
    LAYER_NORM,
    name="stablelm",
    model_types=("stablelm",),
    forms=(
        Form(
            lambda config: config.use_parallel_residual,
            replace(LAYER_NORM, name="stablelm", model_types=("stablelm",), mid=None),
        ),
    ),
)

#: The norm multiplies by 1 + weight.
NEMOTRON = replace(LAYER_NORM, name="nemotron", model_types=("nemotron",), gain_offset=1.0)

COHERE = replace(
    LAYER_NORM, name="cohere", model_types=("cohere", "cohere2"), mid=None, logits=multiplied
)

PHI = replace(
    LAYER_NORM,
    name="phi",
    model_types=("phi",),
    final_norm="model.final_layernorm",
    mid=None,
    output="self_attn.dense",
)

PHI3 = replace(
    LLAMA,
    name="phi3",
    model_types=("phi3",),
    projections=("self_attn.qkv_proj",),
    layout=contiguous,
)

GRANITE = replace(
    LLAMA,
    name="granite",
    model_types=("granite",),
    update_scale=entry("residual_multiplier"),
    logits=divided,
)

APERTUS = replace(
    LLAMA,
    name="apertus",
    model_types=("apertus",),
    mid="feedforward_layernorm",
    attention_norm="attention_layernorm",
)

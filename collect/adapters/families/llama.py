"""Llama and the many models of its shape: rotary positions, a norm in front of each sub-layer."""

from __future__ import annotations

from dataclasses import replace

from collect.adapters.adapter import Adapter, Form
from collect.adapters.configuration import always, entry
from collect.adapters.layouts import contiguous
from collect.adapters.logits import divided, multiplied, multiplied_by_scaling, soft_capped

LLAMA = Adapter(
    name="llama",
    model_types=(
        "arcee",
        "cwm",
        "ernie4_5",
        "glm",
        "helium",
        "hunyuan_v1_dense",
        "internlm3",
        "iquestcoder",
        "llama",
        "ministral",
        "ministral3",
        "minimax_m2",
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
    model_types=(
        "dots1",
        "exaone_moe",
        "glm4_moe",
        "hy_v3",
        "mellum",
        "qwen2_moe",
        "qwen3_moe",
        "solar_open",
    ),
    d_ffn=entry("moe_intermediate_size"),
)

#: Experts, some of them with a sink for every head.
FLINT = replace(EXPERTS, name="flint", model_types=("flint",), has_sinks=True)

ERNIE_EXPERTS = replace(
    EXPERTS,
    name="ernie_experts",
    model_types=("ernie4_5_moe",),
    experts_per_token=entry("moe_k"),
)

#: The width named by ``intermediate_size`` is that of an expert; how many a token gets is
#: named otherwise.
TOP_EXPERTS = replace(
    LLAMA,
    name="llama_top_experts",
    model_types=("aria_text", "hunyuan_v1_moe"),
    experts_per_token=entry("moe_topk"),
)

LLAMA4 = replace(
    LLAMA,
    name="llama4",
    model_types=("llama4_text",),
    prefix="language_model",
    ffn_input="feed_forward",
    ffn_update="feed_forward",
)

#: Its maps are wrapped one by one, and its feed-forward width counts gate and value together.
MOSHI = replace(
    LLAMA,
    name="moshi",
    model_types=("moshi",),
    projections=("self_attn.q_proj.linear", "self_attn.k_proj.linear", "self_attn.v_proj.linear"),
    output="self_attn.o_proj.linear",
    d_ffn=lambda config: config.ffn_dim // 2,
)

NANOCHAT = replace(LLAMA, name="nanochat", model_types=("nanochat",), logits=soft_capped)

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
    LAYER_NORM,
    name="cohere",
    model_types=("cohere", "cohere2", "cohere2_moe", "cohere_compass_text"),
    mid=None,
    logits=multiplied,
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

#: Experts in place of the feed-forward layer.
GRANITE_EXPERTS = replace(
    GRANITE,
    name="granite_experts",
    model_types=("granitemoe",),
    ffn_input="block_sparse_moe",
    ffn_update="block_sparse_moe",
)

#: Both updates go through a norm of their own and are scaled; so are the logits.
HYPERCLOVAX = replace(
    GRANITE,
    name="hyperclovax",
    model_types=("hyperclovax",),
    attention_update="post_norm1",
    ffn_update="post_norm2",
    norm_position="sandwich",
    logits=multiplied_by_scaling,
)

APERTUS = replace(
    LLAMA,
    name="apertus",
    model_types=("apertus",),
    mid="feedforward_layernorm",
    attention_norm="attention_layernorm",
)

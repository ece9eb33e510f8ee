"""Llama and the many models of its shape: rotary positions, a norm in front of each sub-layer."""

from __future__ import annotations

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
    projections=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    output="self_attn.o_proj",
    attention_norm="input_layernorm",
    norm_kind="RMSNorm",
    positional_scheme=always("rotary"),
)

#: Part of the attention goes to a learned sink.
GPT_OSS = LLAMA.variant("gpt_oss", has_sinks=True)

#: The width named by ``intermediate_size`` is not that of an expert.
EXPERTS = LLAMA.variant(
    "llama_experts",
    "dots1",
    "exaone_moe",
    "glm4_moe",
    "hy_v3",
    "mellum",
    "qwen2_moe",
    "qwen3_moe",
    "solar_open",
    d_ffn=entry("moe_intermediate_size"),
)

#: Experts, some of them with a sink for every head.
FLINT = EXPERTS.variant("flint", has_sinks=True)

ERNIE_EXPERTS = EXPERTS.variant("ernie_experts", "ernie4_5_moe", experts_per_token=entry("moe_k"))

#: The width named by ``intermediate_size`` is that of an expert; how many a token gets is
#: named otherwise.
TOP_EXPERTS = LLAMA.variant(
    "llama_top_experts", "aria_text", "hunyuan_v1_moe", experts_per_token=entry("moe_topk")
)

LLAMA4 = LLAMA.variant(
    "llama4",
    "llama4_text",
    prefix="language_model",
    ffn_input="feed_forward",
)

#: Its maps are wrapped one by one, and its feed-forward width counts gate and value together.
MOSHI = LLAMA.variant(
    "moshi",
    projections=("self_attn.q_proj.linear", "self_attn.k_proj.linear", "self_attn.v_proj.linear"),
    output="self_attn.o_proj.linear",
    d_ffn=lambda config: config.ffn_dim // 2,
)

NANOCHAT = LLAMA.variant("nanochat", logits=soft_capped)

LAYER_NORM = LLAMA.variant(
    "llama_layer_norm", "jais2", "olmo", "phimoe", "starcoder2", norm_kind="LayerNorm"
)

STABLELM = LAYER_NORM.variant(
    "stablelm",
    forms=(
        Form(
            lambda config: config.use_parallel_residual,
            LAYER_NORM.variant("stablelm", mid=None),
        ),
    ),
)

#: The norm multiplies by 1 + weight.
NEMOTRON = LAYER_NORM.variant("nemotron", gain_offset=1.0)

COHERE = LAYER_NORM.variant(
    "cohere", "cohere", "cohere2", "cohere2_moe", "cohere_compass_text", mid=None, logits=multiplied
)

PHI = LAYER_NORM.variant(
    "phi", final_norm="model.final_layernorm", mid=None, output="self_attn.dense"
)

PHI3 = LLAMA.variant("phi3", projections=("self_attn.qkv_proj",), layout=contiguous)

GRANITE = LLAMA.variant("granite", update_scale=entry("residual_multiplier"), logits=divided)

#: Experts in place of the feed-forward layer.
GRANITE_EXPERTS = GRANITE.variant("granite_experts", "granitemoe", ffn_input="block_sparse_moe")

#: Both updates go through a norm of their own and are scaled; so are the logits.
HYPERCLOVAX = GRANITE.variant(
    "hyperclovax",
    attention_update="post_norm1",
    ffn_update="post_norm2",
    norm_position="sandwich",
    logits=multiplied_by_scaling,
)

APERTUS = LLAMA.variant(
    "apertus", mid="feedforward_layernorm", attention_norm="attention_layernorm"
)

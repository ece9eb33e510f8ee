"""Tiny random models of every model type with an adapter, in each form, gains and biases random."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers

from collect.adapters import ADAPTERS

transformers.logging.set_verbosity_error()

_TOKENS = {"vocab_size": 97, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_GPT = {"n_embd": 64, "n_head": 8, "n_layer": 3, "n_positions": 64}
_WIDTH = {"hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 3}
_LLAMA = {**_WIDTH, "intermediate_size": 160, "max_position_embeddings": 64}
_OPT = {**_WIDTH, "ffn_dim": 160, "max_position_embeddings": 64}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
_SHARES = {"num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1}
_WINDOWED = {"use_sliding_window": True, "max_window_layers": 1, "sliding_window": 5}
_MODERNBERT = {**_LLAMA, "num_attention_heads": 4, "local_attention": 10}
_FALCON = {**_WIDTH, "alibi": False, "bias": False}
_NEW_FALCON = {**_FALCON, "num_kv_heads": 2, "new_decoder_architecture": True}
_BLOOM = {"hidden_size": 64, "n_head": 8, "n_layer": 3}
_GEMMA = {"head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 16}
_CAPPED = {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
_SCALED = {"residual_multiplier": 0.22, "attention_multiplier": 0.1, "logits_scaling": 8.0}
_FOUR = {"num_local_experts": 4}
_TWO_OF_FOUR = {**_FOUR, "num_experts_per_tok": 2}
_ROTATION = {"rope_type": "default", "rope_theta": 1e4}
_ROTATIONS = {"full_attention": _ROTATION, "sliding_attention": _ROTATION}
_KINDS = ["sliding_attention", "full_attention", "sliding_attention"]


def _shared(n: int, **more: Any) -> dict[str, Any]:
    """Return a Llama-like configuration whose heads share n key and value heads."""
    return {**_LLAMA, "num_key_value_heads": n, **more}


#: Blocks with four experts and one that all tokens share.
_SHARED_MOE = _shared(2, head_dim=12, sliding_window=5, num_experts=4, **_SHARES)

CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", _GPT),
    "gpt_neo": (
        "gpt_neo",
        {
            **{"hidden_size": 64, "num_heads": 8, "num_layers": 4},
            "attention_types": [[["global", "local"], 2]],
            **{"window_size": 5, "max_position_embeddings": 64},
        },
    ),
    "gptj": ("gptj", {**_GPT, "rotary_dim": 4}),
    "codegen": ("codegen", {**_GPT, "n_ctx": 64, "rotary_dim": 4}),
    "gpt_neox": ("gpt_neox", {**_LLAMA, "use_parallel_residual": True}),
    "gpt_neox_sequential": ("gpt_neox", {**_LLAMA, "use_parallel_residual": False}),
    "opt": ("opt", {**_OPT, "word_embed_proj_dim": 64}),
    "opt_post_norm": ("opt", {**_OPT, "word_embed_proj_dim": 32, "do_layer_norm_before": False}),
    "bloom": ("bloom", _BLOOM),
    "bloom_adds_to_norm": (
        "bloom",
        {**_BLOOM, "apply_residual_connection_post_layernorm": True},
    ),
    "falcon_7b": (
        "falcon",
        {**_FALCON, "multi_query": True, "parallel_attn": True, "new_decoder_architecture": False},
    ),
    "falcon_40b": ("falcon", _NEW_FALCON),
    "falcon_11b": ("falcon", {**_NEW_FALCON, "num_ln_in_parallel_attn": 1}),
    "falcon_rw": (
        "falcon",
        {
            **_WIDTH,
            **{"multi_query": False, "parallel_attn": False, "new_decoder_architecture": False},
            **{"alibi": True, "bias": True},
        },
    ),
    "mpt": ("mpt", {"d_model": 64, "n_heads": 8, "n_layers": 3, "max_seq_len": 64}),
    "gpt_bigcode_shared": ("gpt_bigcode", {**_GPT, "multi_query": True}),
    "gpt_bigcode": ("gpt_bigcode", {**_GPT, "multi_query": False}),
    "llama": ("llama", _LLAMA),
    "llama_shared": ("llama", _shared(2, head_dim=10, attention_bias=True)),
    "mistral": ("mistral", _shared(2, head_dim=10, sliding_window=5)),
    "mixtral": ("mixtral", _shared(2, head_dim=10, sliding_window=5, **_FOUR)),
    "gemma": ("gemma", _shared(1, head_dim=16)),
    "gemma2": ("gemma2", _shared(4, **_GEMMA, **_CAPPED)),
    "gemma3_text": ("gemma3_text", _shared(4, **_GEMMA)),
    "stablelm": ("stablelm", _shared(4, use_parallel_residual=False, use_qkv_bias=True)),
    "stablelm_parallel": ("stablelm", _shared(8, use_parallel_residual=True, qk_layernorm=True)),
    "qwen2": ("qwen2", _shared(2, **_WINDOWED)),
    "qwen3": ("qwen3", _shared(2, head_dim=16, **_WINDOWED)),
    "qwen3_moe": (
        "qwen3_moe",
        _shared(2, head_dim=16, moe_intermediate_size=32, **_EXPERTS, **_WINDOWED),
    ),
    "phi": ("phi", _shared(2)),
    "phi3": ("phi3", _shared(2, sliding_window=5)),
    "olmo": ("olmo", _shared(2, clip_qkv=0.5)),
    "olmo2": ("olmo2", _shared(2)),
    "olmo3": ("olmo3", _shared(2, sliding_window=5)),
    "olmoe": ("olmoe", _shared(2, **_EXPERTS)),
    "cohere": ("cohere", _shared(4)),
    "cohere2": ("cohere2", _shared(4, head_dim=12, sliding_window=5)),
    "cohere_compass_text": (
        "cohere_compass_text",
        _shared(4, head_dim=12, sliding_window=5, layer_types=_KINDS, rope_parameters=_ROTATIONS),
    ),
    "granite": ("granite", _shared(4, embedding_multiplier=12.0, **_SCALED)),
    "smollm3": ("smollm3", _shared(2, **_WINDOWED)),
    "ministral": ("ministral", _shared(2, head_dim=12, sliding_window=5)),
    "starcoder2": ("starcoder2", _shared(2, sliding_window=5)),
    "nemotron": ("nemotron", _shared(2, head_dim=12)),
    "exaone4": ("exaone4", _shared(2, sliding_window=5)),
    "glm4": ("glm4", _shared(2, head_dim=12)),
    "helium": ("helium", _shared(4, head_dim=8)),
    "gpt_oss": ("gpt_oss", _shared(2, head_dim=16, sliding_window=5, **_TWO_OF_FOUR)),
    "persimmon": ("persimmon", _LLAMA),
    "xglm": (
        "xglm",
        {
            **{"d_model": 64, "attention_heads": 8, "num_layers": 3, "ffn_dim": 160},
            "max_position_embeddings": 64,
        },
    ),
    "biogpt": ("biogpt", _LLAMA),
    "apertus": ("apertus", _shared(2)),
    "arcee": ("arcee", _shared(2, head_dim=16)),
    "cwm": ("cwm", _shared(2, head_dim=16, sliding_window=5)),
    "ernie4_5": ("ernie4_5", _shared(2, head_dim=16, use_bias=True)),
    "flex_olmo": ("flex_olmo", _shared(2, **_EXPERTS)),
    "glm": ("glm", _shared(2, head_dim=16, attention_bias=True)),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", _shared(2, head_dim=16)),
    "jais2": ("jais2", _shared(2, head_dim=16)),
    "ministral3": ("ministral3", _shared(2, head_dim=16, sliding_window=5)),
    "phimoe": ("phimoe", _shared(2, sliding_window=5, **_TWO_OF_FOUR)),
    "qwen2_moe": (
        "qwen2_moe",
        _shared(
            2, moe_intermediate_size=32, shared_expert_intermediate_size=48, **_EXPERTS, **_WINDOWED
        ),
    ),
    "seed_oss": ("seed_oss", _shared(2, head_dim=16)),
    "aria_text": ("aria_text", _shared(2, head_dim=12, moe_num_experts=4)),
    "cohere2_moe": ("cohere2_moe", _shared(4, head_dim=12, sliding_window=5, **_EXPERTS)),
    "dots1": ("dots1", _shared(2, head_dim=12, n_routed_experts=4, sliding_window=5, **_SHARES)),
    "ernie4_5_moe": (
        "ernie4_5_moe",
        _shared(2, head_dim=12, moe_num_experts=4, moe_k=2, moe_intermediate_size=32),
    ),
    "exaone_moe": (
        "exaone_moe",
        _shared(2, head_dim=12, sliding_window=5, num_experts=4, **_SHARES),
    ),
    "flint": ("flint", _SHARED_MOE),
    "glm4_moe": ("glm4_moe", _shared(2, head_dim=12, n_routed_experts=4, **_SHARES)),
    "gpt_sw3": ("gpt-sw3", _GPT),
    "granitemoe": ("granitemoe", _shared(2, **_SCALED, **_FOUR)),
    "hunyuan_v1_moe": ("hunyuan_v1_moe", _shared(2, head_dim=12, num_experts=4, moe_topk=2)),
    "hy_v3": ("hy_v3", _shared(2, head_dim=12, num_experts=4, **_SHARES)),
    "hyperclovax": (
        "hyperclovax",
        _shared(2, head_dim=12, use_post_norm=True, residual_multiplier=0.3, logits_scaling=0.25),
    ),
    "internlm3": ("internlm3", _shared(2, head_dim=12)),
    "iquestcoder": ("iquestcoder", _shared(2, head_dim=12)),
    "kolibri1": ("kolibri1", _shared(2, head_dim=12, sliding_window=5, **_FOUR, **_SHARES)),
    "llama4_text": ("llama4_text", _shared(2, head_dim=12, no_rope_layer_interval=2, **_FOUR)),
    "mellum": ("mellum", _shared(2, head_dim=12, sliding_window=5, **_FOUR, **_SHARES)),
    "minimax_m2": ("minimax_m2", _shared(2, head_dim=12, **_FOUR, **_SHARES)),
    "minimax_m3_vl_text": (
        "minimax_m3_vl_text",
        _shared(2, head_dim=12, num_local_experts=4, index_n_heads=2, index_head_dim=12, **_SHARES),
    ),
    "moshi": ("moshi", _shared(2, head_dim=12, sliding_window=5, ffn_dim=160)),
    "nanochat": ("nanochat", _shared(2)),
    "solar_open": ("solar_open", _shared(2, head_dim=12, n_routed_experts=4, **_SHARES)),
    "vaultgemma": ("vaultgemma", _shared(2, head_dim=16, sliding_window=5)),
    "ctrl": ("ctrl", {**_GPT, "dff": 160}),
    "openai_gpt": ("openai-gpt", _GPT),
    "modernbert": ("modernbert-decoder", {**_MODERNBERT, "classifier_activation": "silu"}),
    "modernbert_biases": (
        "modernbert-decoder",
        {
            **_MODERNBERT,
            "tie_word_embeddings": False,
            "global_attn_every_n_layers": 2,
            **dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), True),
        },
    ),
}

#: Those of a type with an adapter; one without fails a test of its own, in test_families.py.
FAMILIES = tuple(name for name, (kind, _) in CONFIGURATIONS.items() if kind in ADAPTERS)

#: The first family of every adapter: for what an adapter decides, not a type's code.
OF_EACH_ADAPTER = tuple(
    {ADAPTERS[CONFIGURATIONS[name][0]].name: name for name in reversed(FAMILIES)}.values()
)

#: The first family of every way in which the weights of heads are stored and scaled.
OF_EACH_CUT = tuple(
    {
        (adapter.layout, adapter.is_conv1d, adapter.norm_kind, adapter.gain_offset): name
        for name in reversed(FAMILIES)
        for adapter in [ADAPTERS[CONFIGURATIONS[name][0]]]
    }.values()
)


def tiny_family(name: str) -> Any:
    """Return the tiny random model of a name, a copy of its own."""
    return deepcopy(_built(name))


def save_family(name: str, directory: Path) -> Path:
    """Save the tiny model of a name as a checkpoint without tokenizer; return its directory."""
    _built(name).save_pretrained(directory)
    return directory


@cache
def _built(name: str) -> Any:
    return tiny_form(name)


def tiny_form(name: str, **switches: Any) -> Any:
    """Return the tiny random model of a name, with other entries in its configuration."""
    model_type, entries = CONFIGURATIONS[name]
    given = {**_TOKENS, **deepcopy(entries), **switches}
    config = transformers.AutoConfig.for_model(model_type, **given)
    model = transformers.AutoModelForCausalLM.from_config(
        config,
        attn_implementation=ADAPTERS[model_type].attention_implementation(config),
        dtype=torch.float32,
    ).eval()
    randomise(model, seed=[*CONFIGURATIONS].index(name))
    return model


@torch.no_grad()
def randomise(model: Any, *, seed: int) -> None:
    """Draw every parameter: gains around 1, biases and sinks around 0, matrices by their width."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim > 1:
            parameter.copy_(draw * 1.5 / parameter.shape[-1] ** 0.5)
        else:
            is_gain = name.endswith("weight")
            parameter.copy_(0.3 * draw + is_gain)

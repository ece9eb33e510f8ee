"""Tiny random models of every type of which only a part is defined, one form each."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from tests.collect.families import randomise

_TOKENS = {"vocab_size": 97, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_WIDTH = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 3}
_PLAIN = {**_WIDTH, "intermediate_size": 80, "max_position_embeddings": 64}
_SHARED = {**_PLAIN, "num_key_value_heads": 2, "head_dim": 16}
_EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
_ROUTED = {
    **{"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1},
    **{"topk_group": 1, "first_k_dense_replace": 1},
}
_LATENT = {
    **_PLAIN,
    **{"num_key_value_heads": 4, "head_dim": 6, "q_lora_rank": 20, "kv_lora_rank": 14},
    **{"qk_rope_head_dim": 6, "qk_nope_head_dim": 10, "v_head_dim": 9},
}
_SPARSE = {**_LATENT, **_ROUTED, "index_n_heads": 16, "index_head_dim": 12, "index_topk": 4}
_MAMBA = {"hidden_size": 48, "num_hidden_layers": 3, "state_size": 4}
_MAMBA2 = {"mamba_n_heads": 6, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 2}
_DELTA = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 6,
    "linear_value_head_dim": 10,
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
}

_KDA = {
    **{"num_experts": 4, "num_experts_per_token": 2, "num_expert_group": 1, "topk_group": 1},
    **{"moe_intermediate_size": 16, "linear_num_heads": 4, "linear_head_dim": 6},
}

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "afmoe": {**_SHARED, **_EXPERTS, "sliding_window": 5},
    "axk1": {**_LATENT, **_ROUTED},
    "axk2": {**_LATENT, **_ROUTED},
    "bailing_hybrid": {**_LATENT, **_KDA, "layer_group_size": 2},
    "bamba": {**_SHARED, **_MAMBA2, "attn_layer_indices": [1]},
    "beam": {**_SHARED, **_EXPERTS, "sliding_window": 5},
    "bitnet": {**_SHARED, "head_dim": 12},
    "deepseek_v2": {**_LATENT, **_ROUTED},
    "deepseek_v3": {**_LATENT, **_ROUTED},
    "dbrx": {
        **{"d_model": 48, "n_heads": 4, "n_layers": 3, "max_seq_len": 64},
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 4.0, "rope_theta": 1e4},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deepseek_v32": _SPARSE,
    "dots3_note_text": {
        **_SPARSE,
        **{"head_dim": 16, "sliding_window": 5, "swa_num_attention_heads": 2},
        **{"swa_num_key_value_heads": 2, "swa_q_lora_rank": 12, "swa_kv_lora_rank": 10},
        **{"swa_head_dim": 12, "swa_qk_nope_head_dim": 8, "swa_v_head_dim": 9},
        **{"n_shared_experts": 1, "shared_experts_intermediate_size": 16},
    },
    "diffllama": _SHARED,
    "doge": {**_SHARED, "sliding_window": 5},
    "falcon_h1": {**_SHARED, **_MAMBA2, "mamba_d_ssm": 96},
    "falcon_mamba": _MAMBA,
    "gemma4_text": {
        **_SHARED,
        **{"global_head_dim": 16, "sliding_window": 5, "hidden_size_per_layer_input": 8},
        **{"vocab_size_per_layer_input": 97, "num_kv_shared_layers": 0},
    },
    "gemma4_unified_text": {
        **_SHARED,
        "global_head_dim": 16,
        "sliding_window": 5,
        "num_kv_shared_layers": 0,
    },
    "glm4_moe_lite": {**_LATENT, **_ROUTED},
    "glm_moe_dsa": _SPARSE,
    "gpt_neox_japanese": {**_WIDTH, "intermediate_multiple_size": 2, "hidden_act": "gelu"},
    "granite_swa": {**_SHARED, "sliding_window": 5, "residual_multiplier": 0.3},
    "granitemoe_swa": {
        **_SHARED,
        "sliding_window": 5,
        "num_local_experts": 4,
        "residual_multiplier": 0.3,
    },
    "granitemoehybrid": {
        **_PLAIN,
        **_MAMBA2,
        **{"num_key_value_heads": 2, "num_local_experts": 4, "shared_intermediate_size": 32},
        **{"residual_multiplier": 0.3, "logits_scaling": 4.0},
        "layer_types": ["mamba", "attention", "mamba"],
    },
    "granitemoeshared": {**_SHARED, "num_local_experts": 4, "shared_intermediate_size": 32},
    "inkling_text": {**_SHARED, **_ROUTED, "n_shared_experts": 1},
    "jamba": {**_PLAIN, "num_key_value_heads": 2, "attn_layer_period": 2, "attn_layer_offset": 1},
    "jetmoe": {**_PLAIN, "num_key_value_heads": 2, "kv_channels": 12, "num_local_experts": 4},
    "kimi_linear": {**_LATENT, **_KDA, "layer_types": _DELTA["layer_types"]},
    "laguna": {**_SHARED, **_EXPERTS, "sliding_window": 5},
    "lfm2": {**_SHARED, "layer_types": ["conv", "full_attention", "conv"]},
    "lfm2_moe": {**_SHARED, **_EXPERTS, "layer_types": ["conv", "full_attention", "conv"]},
    "lfm3": {**_SHARED, "sliding_window": 5, "layer_types": ["conv", "full_attention", "conv"]},
    "longcat_flash": {
        **_LATENT,
        **{"num_layers": 3, "ffn_hidden_size": 80, "expert_ffn_hidden_size": 16},
        **{"n_routed_experts": 4, "zero_expert_num": 2, "moe_topk": 2},
    },
    "mamba": _MAMBA,
    "mamba2": {**_MAMBA, "num_heads": 6, "head_dim": 16, "n_groups": 2, "chunk_size": 8},
    "mimo_v2_flash": {**_SHARED, **_ROUTED, "v_head_dim": 9, "sliding_window": 5},
    "minicpm3": {**_LATENT, "scale_depth": 1.4, "dim_model_base": 16},
    "minimax": {**_SHARED, "sliding_window": 5, "num_local_experts": 4, "block_size": 8},
    "nemotron_h": {
        **_PLAIN,
        **{"num_key_value_heads": 2, "head_dim": 16, "sliding_window": 5, "mamba_num_heads": 6},
        **{"mamba_head_dim": 16, "ssm_state_size": 8, "n_routed_experts": 4},
        **{"moe_intermediate_size": 16, "moe_shared_expert_intermediate_size": 16, "n_groups": 2},
    },
    "olmo_hybrid": {**_PLAIN, "num_key_value_heads": 2, **_DELTA, "linear_num_key_heads": 4},
    "qwen3_5_moe_text": {**_SHARED, **_EXPERTS, **_DELTA},
    "qwen3_5_text": {**_SHARED, **_DELTA},
    "qwen3_next": {**_SHARED, **_EXPERTS, **_DELTA},
    "recurrent_gemma": {**_PLAIN, "num_key_value_heads": 1, "head_dim": 16, "lru_width": 48},
    "rwkv": {"hidden_size": 48, "num_hidden_layers": 3, "attention_hidden_size": 48},
    "xlstm": {"hidden_size": 48, "num_hidden_layers": 3, "num_blocks": 3, "num_heads": 2},
    "youtu": _LATENT,
    "zamba": {
        **_PLAIN,
        **{"num_key_value_heads": 4, "n_mamba_heads": 2, "mamba_d_state": 8},
        **{"num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"]},
    },
    "zamba2": {
        **_PLAIN,
        "num_hidden_layers": 4,
        "n_mamba_heads": 6,
        "mamba_d_state": 8,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
    },
    "zaya": {**_SHARED, **_EXPERTS, "sliding_window": 5, "num_experts_per_tok": 1},
}


def tiny_partial(model_type: str, *, vocab_size: int = 97, **switches: Any) -> Any:
    """Return a tiny random model of a type, with some entries of its configuration as given."""
    entries = {**_TOKENS, **CONFIGURATIONS[model_type], "vocab_size": vocab_size, **switches}
    config = transformers.AutoConfig.for_model(model_type, **entries)
    model = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", dtype=torch.float32
    ).eval()
    randomise(model, seed=len(model_type))
    return model

"""What is read of each architecture: keys of the header and tensors, with transformers' names.

A key that is not named here, and a tensor that is not, must not be in a file: `config` refuses
both, since a key that is passed over can change every number. The meaning of a key is llama.cpp's,
as its converter writes it and its ``load_hparams`` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: By key, without the architecture's name: the field of the configuration that it is. `None`
#: for keys that a rule of `config` reads.
_SIZES: Mapping[str, str | None] = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
}
_ROTARY: Mapping[str, str | None] = {
    **_SIZES,
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.value_length": None,
    "rope.dimension_count": None,
    "rope.freq_base": None,
    "rope.scaling.type": None,
    "rope.scaling.factor": None,
    "rope.scale_linear": None,
    "rope.scaling.original_context_length": None,
    "rope.scaling.attn_factor": None,
    "rope.scaling.yarn_beta_fast": None,
    "rope.scaling.yarn_beta_slow": None,
}
_RMS: Mapping[str, str | None] = {
    **_ROTARY,
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}
_EXPERTS: Mapping[str, str | None] = {
    **_RMS,
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
}
_GEMMA: Mapping[str, str | None] = {**_RMS, "attention.sliding_window": "sliding_window"}

#: Keys that change nothing at these values, in every architecture.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "attention.causal": (True,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.scale": (0.0,),
    "attention.sliding_window": (0,),
    "attn_logit_softcapping": (0.0,),
    "embedding_scale": (0.0, 1.0),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "final_logit_softcapping": (0.0,),
    "leading_dense_block_count": (0,),
    "logit_scale": (0.0, 1.0),
    "nextn_predict_layers": (0,),
    "pooling_type": (0,),
    "residual_scale": (0.0, 1.0),
    "rope.scaling.finetuned": (True, False),
    "rope.scaling.yarn_attn_factor": (1.0,),
    "rope.scaling.yarn_ext_factor": (-1.0, 1.0),
    "rope.scaling.yarn_log_multiplier": (0.0,),
}

#: By kind of tensor within a block: the module of transformers within its block.
_LLAMA = {
    **{"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj"},
    **{"attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj"},
    **{"ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj"},
    **{"ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"},
}
_HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_MOE = {
    **{kind: module for kind, module in _LLAMA.items() if kind[:4] != "ffn_" or kind == "ffn_norm"},
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_exps": "mlp.experts.gate_up_proj",
    "ffn_up_exps": "mlp.experts.gate_up_proj",
    "ffn_down_exps": "mlp.experts.down_proj",
}
_SHARED_EXPERT = {
    "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
    "ffn_gate_shexp": "mlp.shared_expert.gate_proj",
    "ffn_up_shexp": "mlp.shared_expert.up_proj",
    "ffn_down_shexp": "mlp.shared_expert.down_proj",
}
_SANDWICH = {
    **_LLAMA,
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_PHI3 = {
    **{"attn_norm": "input_layernorm", "attn_qkv": "self_attn.qkv_proj"},
    **{"attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm"},
    **{"ffn_up": "mlp.gate_up_proj", "ffn_down": "mlp.down_proj"},
}
_GPT2 = {
    **{"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj"},
    **{"ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
}
_STARCODER = {
    **{kind: module for kind, module in _LLAMA.items() if kind[:4] != "ffn_" or kind == "ffn_norm"},
    **{"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
}
_ENDS = {"token_embd": "embed_tokens", "output_norm": "norm"}
_GPT2_ENDS = {"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f"}

#: The table of rotary frequencies that llama.cpp divides by, and its forms for two lengths.
ROPE_FACTORS = "rope_freqs.weight"
SHORT_FACTORS, LONG_FACTORS = "rope_factors_short.weight", "rope_factors_long.weight"


@dataclass(frozen=True)
class Architecture:
    """How files of one architecture are read.

    Attributes
    ----------
    model_type
        Of transformers.
    keys
        By key, without the architecture's name: the field of the configuration, or None where a
        rule of its own reads it.
    modules
        By kind of tensor within a block: the module within transformers' block.
    fixed
        Fields that the architecture determines and no key states.
    neutral
        Keys that change nothing at these values, beside `NEUTRAL`.
    factors
        Tensors that hold rotary frequencies and no weights.
    base, blocks, ends
        Names of transformers' stack, of its list of blocks, and of its modules outside blocks.
    """

    model_type: str
    keys: Mapping[str, str | None]
    modules: Mapping[str, str]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    base: str = "model"
    blocks: str = "layers"
    ends: Mapping[str, str] = field(default_factory=lambda: _ENDS)


#: By the name that llama.cpp gives the architecture. Each key is tested.
ARCHITECTURES: Mapping[str, Architecture] = {
    "gemma2": Architecture(
        "gemma2",
        {**_GEMMA, "attn_logit_softcapping": None, "final_logit_softcapping": None},
        _SANDWICH,
    ),
    "gemma3": Architecture(
        "gemma3_text",
        {**_GEMMA, "rope.freq_base_swa": None, "attention.sliding_window_pattern": None},
        {**_SANDWICH, **_HEAD_NORMS},
    ),
    "gpt2": Architecture(
        "gpt2",
        {
            "context_length": "n_positions",
            "embedding_length": "n_embd",
            "block_count": "n_layer",
            "feed_forward_length": "n_inner",
            "attention.head_count": "n_head",
            "attention.layer_norm_epsilon": "layer_norm_epsilon",
            "attention.head_count_kv": None,
        },
        _GPT2,
        base="transformer",
        blocks="h",
        ends=_GPT2_ENDS,
    ),
    "llama": Architecture(
        "llama",
        _RMS,
        _LLAMA,
        neutral={"tensor_data_layout": ("Meta AI original pth",)},
        factors=(ROPE_FACTORS,),
    ),
    "phi3": Architecture(
        "phi3",
        {**_RMS, "attention.sliding_window": None},
        _PHI3,
        factors=(SHORT_FACTORS, LONG_FACTORS),
    ),
    "qwen2": Architecture("qwen2", _RMS, _LLAMA),
    "qwen2moe": Architecture(
        "qwen2_moe",
        {**_EXPERTS, "expert_shared_feed_forward_length": "shared_expert_intermediate_size"},
        {**_MOE, **_SHARED_EXPERT},
        fixed={"norm_topk_prob": False, "decoder_sparse_step": 1, "mlp_only_layers": []},
    ),
    "qwen3": Architecture("qwen3", _RMS, {**_LLAMA, **_HEAD_NORMS}),
    "qwen3moe": Architecture(
        "qwen3_moe",
        _EXPERTS,
        {**_MOE, **_HEAD_NORMS},
        fixed={"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []},
    ),
    "starcoder2": Architecture(
        "starcoder2", {**_ROTARY, "attention.layer_norm_epsilon": "norm_epsilon"}, _STARCODER
    ),
}

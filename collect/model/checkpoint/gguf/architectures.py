"""The architectures whose GGUF files are read, one entry each.

Every key of a header that is not in an entry is refused, unless it says what is stated here. So is
every tensor that is not in ``tensors``, and every architecture that is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from collect.errors import UnsupportedModelError
from collect.model.checkpoint.gguf import rules
from collect.model.checkpoint.gguf.architecture import Architecture, Number, Whole
from collect.model.checkpoint.gguf.header import Header


def _without(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table without one of its keys."""
    return {other: value for other, value in table.items() if other != key}


_SIZES = {
    "context_length": Whole("max_position_embeddings", least=2),
    "block_count": Whole("num_hidden_layers"),
    "embedding_length": Whole("hidden_size"),
    "feed_forward_length": Whole("intermediate_size"),
    "attention.head_count": Whole("num_attention_heads"),
    "attention.head_count_kv": Whole("num_key_value_heads", "num_attention_heads"),
}
_USUAL: dict[str, Whole | Number] = {
    **_SIZES,
    "attention.layer_norm_rms_epsilon": Number("rms_norm_eps"),
}
#: Sizes where a rule reads the heads of keys, or there are none of their own.
_SIZES_BUT_KEY_HEADS = _without(_SIZES, "attention.head_count_kv")

#: What a header may say of what most models do not have, as llama.cpp itself writes it out.
_NOTHING = {
    **{"attention.causal": True, "attention.sliding_window": 0, "nextn_predict_layers": 0},
    **{"attn_logit_softcapping": 0.0, "final_logit_softcapping": 0.0},
    **{"attention.max_alibi_bias": 0.0, "attention.clamp_kqv": 0.0},
    **{"logit_scale": (0.0, 1.0), "residual_scale": (0.0, 1.0), "embedding_scale": (0.0, 1.0)},
    **{"expert_count": 0, "expert_used_count": 0, "expert_shared_count": 0},
    **{"expert_weights_scale": (0.0, 1.0), "expert_weights_norm": False},
    **{"expert_gating_func": 0, "leading_dense_block_count": 0, "use_parallel_residual": False},
    **{
        "attention.layer_norm_epsilon": 0.0,
        "rope.scale_linear": 0.0,
        "pooling_type": (0, 1, 2, 3, 4),
    },
}
_NOTHING_BUT_LAYER_NORMS = {
    **_without(_NOTHING, "attention.layer_norm_epsilon"),
    "attention.layer_norm_rms_epsilon": 0.0,
}
#: Of experts, where a softmax chooses them.
_SOFTMAX = {"expert_gating_func": (0, 1), "expert_shared_count": (0, 1)}

_ENDS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_ATTENTION = {
    **{"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj"},
    "attn_output": "self_attn.o_proj",
}
_HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_GATED = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
_LLAMA = {**_ENDS, **_NORMS, **_ATTENTION, **_GATED}
_GEMMA = {
    **_LLAMA,
    **{"post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm"},
    "post_ffw_norm": "post_feedforward_layernorm",
}
_ROUTED = {**_ENDS, **_NORMS, **_ATTENTION, "ffn_gate_inp": "mlp.gate"}
_SHARED_EXPERT = {
    "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
    "ffn_gate_shexp": "mlp.shared_expert.gate_proj",
    "ffn_up_shexp": "mlp.shared_expert.up_proj",
    "ffn_down_shexp": "mlp.shared_expert.down_proj",
}
_OF_OLD = {
    **{"token_embd": "transformer.word_embeddings", "output_norm": "transformer.ln_f"},
    **{"output": "lm_head", "attn_norm": "input_layernorm"},
    "attn_qkv": "self_attention.query_key_value",
    "attn_output": "self_attention.dense",
    **{"ffn_up": "mlp.dense_h_to_4h", "ffn_down": "mlp.dense_4h_to_h"},
}
#: Of a Falcon that has two norms side by side: which feeds what.
_TWO_NORMS = {"attn_norm": "ln_mlp", "attn_norm_2": "ln_attn"}
_IN_PAIRS = {"attn_q": "pairs", "attn_k": "pairs of keys"}

_DECODER = (rules.own_width, rules.rotated, rules.usual_scale)

ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture(
        model_type="llama",
        entries=_USUAL,
        stated={**_NOTHING, "tensor_data_layout": "Meta AI original pth"},
        rules=(*_DECODER, rules.biases("attention_bias", "mlp_bias")),
        tensors=_LLAMA,
        layouts=_IN_PAIRS,
    ),
    "granite": Architecture(
        model_type="granite",
        entries=_USUAL,
        stated=_NOTHING,
        rules=(
            *(rules.own_width, rules.rotated, rules.multipliers),
            rules.biases("attention_bias", "mlp_bias"),
        ),
        tensors=_LLAMA,
        layouts=_IN_PAIRS,
    ),
    "qwen2": Architecture(
        model_type="qwen2",
        entries=_USUAL,
        stated=_NOTHING,
        rules=_DECODER,
        fixed={"use_sliding_window": False},
        tensors=_LLAMA,
    ),
    "qwen3": Architecture(
        model_type="qwen3",
        entries=_USUAL,
        stated=_NOTHING,
        rules=(*_DECODER, rules.biases("attention_bias")),
        fixed={"use_sliding_window": False},
        tensors={**_LLAMA, **_HEAD_NORMS},
    ),
    "qwen2moe": Architecture(
        model_type="qwen2_moe",
        entries=_USUAL,
        stated={**_NOTHING, **_SOFTMAX},
        rules=(*_DECODER, rules.experts, rules.shared_expert),
        fixed={"use_sliding_window": False, "decoder_sparse_step": 1, "norm_topk_prob": False},
        tensors={**_ROUTED, **_SHARED_EXPERT},
        layouts={"ffn_gate_inp_shexp": "row"},
        has_experts=True,
    ),
    "qwen3moe": Architecture(
        model_type="qwen3_moe",
        entries=_USUAL,
        stated={**_NOTHING, **_SOFTMAX, "expert_shared_count": 0, "expert_weights_norm": True},
        rules=(*_DECODER, rules.experts, rules.biases("attention_bias")),
        fixed={"use_sliding_window": False, "decoder_sparse_step": 1, "norm_topk_prob": True},
        tensors={**_ROUTED, **_HEAD_NORMS},
        has_experts=True,
    ),
    "gemma": Architecture(
        model_type="gemma",
        entries=_USUAL,
        stated=_NOTHING,
        rules=_DECODER,
        tensors=_LLAMA,
        has_shifted_norms=True,
    ),
    "gemma2": Architecture(
        model_type="gemma2",
        entries=_USUAL,
        stated=_NOTHING,
        rules=(
            *(rules.own_width, rules.rotated, rules.queries_scaled(46), rules.capped),
            *(rules.sliding(2, default=4096), rules.one_base),
        ),
        tensors=_GEMMA,
        has_shifted_norms=True,
    ),
    "gemma3": Architecture(
        model_type="gemma3_text",
        entries=_USUAL,
        stated=_NOTHING,
        rules=(
            *(rules.own_width, rules.rotated_by_kind, rules.queries_scaled(62)),
            rules.sliding(6),
        ),
        tensors={**_GEMMA, **_HEAD_NORMS},
        has_shifted_norms=True,
    ),
    "phi3": Architecture(
        model_type="phi3",
        entries=_USUAL,
        stated=_NOTHING,
        rules=(
            *(rules.shared_width, rules.rotated_in_phi, rules.usual_scale),
            rules.optional_window,
        ),
        tensors={
            **{**_ENDS, **_NORMS, "attn_qkv": "self_attn.qkv_proj"},
            **{"attn_output": "self_attn.o_proj", "ffn_up": "mlp.gate_up_proj"},
            "ffn_down": "mlp.down_proj",
        },
    ),
    "stablelm": Architecture(
        model_type="stablelm",
        entries={**_SIZES, "attention.layer_norm_epsilon": Number("layer_norm_eps")},
        stated=_without(_NOTHING_BUT_LAYER_NORMS, "use_parallel_residual"),
        rules=(
            *(rules.shared_width, rules.partly_rotated, rules.usual_scale, rules.parallel),
            rules.biases("use_qkv_bias"),
        ),
        tensors=_LLAMA,
    ),
    "starcoder2": Architecture(
        model_type="starcoder2",
        entries={**_SIZES, "attention.layer_norm_epsilon": Number("norm_epsilon")},
        stated=_NOTHING_BUT_LAYER_NORMS,
        rules=(
            *(rules.shared_width, rules.rotated, rules.usual_scale, rules.optional_window),
            rules.biases("use_bias"),
        ),
        tensors={
            **{**_ENDS, **_NORMS, **_ATTENTION},
            **{"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
        },
    ),
    "nemotron": Architecture(
        model_type="nemotron",
        entries={**_SIZES, "attention.layer_norm_epsilon": Number("norm_eps")},
        stated=_NOTHING_BUT_LAYER_NORMS,
        rules=(
            *(rules.own_width, rules.partly_rotated, rules.usual_scale),
            rules.biases("attention_bias", "mlp_bias"),
        ),
        tensors={
            **{**_ENDS, **_NORMS, **_ATTENTION},
            **{"ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"},
        },
        has_shifted_norms=True,
    ),
    "gpt2": Architecture(
        model_type="gpt2",
        entries={
            **_SIZES_BUT_KEY_HEADS,
            "attention.layer_norm_epsilon": Number("layer_norm_epsilon"),
        },
        stated=_NOTHING_BUT_LAYER_NORMS,
        rules=(
            *(rules.shared_width, rules.usual_scale, rules.no_key_heads),
            rules.renamed(
                **{"max_position_embeddings": "n_positions", "num_hidden_layers": "n_layer"},
                **{"hidden_size": "n_embd", "intermediate_size": "n_inner"},
                num_attention_heads="n_head",
            ),
        ),
        tensors={
            **{"token_embd": "transformer.wte", "position_embd": "transformer.wpe"},
            **{"output_norm": "transformer.ln_f", "output": "lm_head"},
            **{"attn_norm": "ln_1", "ffn_norm": "ln_2", "attn_qkv": "attn.c_attn"},
            **{"attn_output": "attn.c_proj", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
        },
        blocks="transformer.h",
        layouts=dict.fromkeys(("attn_qkv", "attn_output", "ffn_up", "ffn_down"), "transposed"),
    ),
    "falcon": Architecture(
        model_type="falcon",
        entries={
            **_SIZES_BUT_KEY_HEADS,
            "attention.layer_norm_epsilon": Number("layer_norm_epsilon"),
        },
        stated={**_NOTHING_BUT_LAYER_NORMS, "use_parallel_residual": True},
        rules=(
            *(rules.shared_width, rules.rotated, rules.usual_scale, rules.falcon),
            rules.renamed(intermediate_size="ffn_hidden_size"),
        ),
        fixed={"alibi": False, "bias": False, "parallel_attn": True},
        tensors=_OF_OLD,
        blocks="transformer.h",
        layouts={"attn_qkv": "by group"},
    ),
    "lfm2": Architecture(
        model_type="lfm2",
        entries={
            **_SIZES_BUT_KEY_HEADS,
            "attention.layer_norm_rms_epsilon": Number("norm_eps"),
            "shortconv.l_cache": Whole("conv_L_cache"),
        },
        stated=_NOTHING,
        rules=(rules.convolutions, rules.shared_width, rules.rotated, rules.usual_scale),
        fixed={"block_auto_adjust_ff_dim": False},
        tensors={
            **{**_without(_ENDS, "output_norm"), "token_embd_norm": "model.embedding_norm"},
            **{**_ATTENTION, "attn_output": "self_attn.out_proj", "attn_norm": "operator_norm"},
            **{"attn_q_norm": "self_attn.q_layernorm", "attn_k_norm": "self_attn.k_layernorm"},
            **{"ffn_norm": "ffn_norm", "ffn_gate": "feed_forward.w1"},
            **{"ffn_up": "feed_forward.w3", "ffn_down": "feed_forward.w2"},
            "shortconv.conv": "conv.conv",
            **{"shortconv.in_proj": "conv.in_proj", "shortconv.out_proj": "conv.out_proj"},
        },
        layouts={"shortconv.conv": "one channel"},
    ),
    "bloom": Architecture(
        model_type="bloom",
        entries={
            "context_length": Whole("seq_length"),
            "block_count": Whole("num_hidden_layers"),
            "embedding_length": Whole("hidden_size"),
            "attention.head_count": Whole("num_attention_heads"),
            "attention.layer_norm_epsilon": Number("layer_norm_epsilon"),
        },
        stated={**_NOTHING_BUT_LAYER_NORMS, "attention.max_alibi_bias": (0.0, 8.0)},
        rules=(
            *(rules.shared_width, rules.usual_scale, rules.no_key_heads, rules.four_widths),
            rules.renamed(num_hidden_layers="n_layer", num_attention_heads="n_head"),
        ),
        tensors={
            **{**_OF_OLD, "token_embd_norm": "transformer.word_embeddings_layernorm"},
            "ffn_norm": "post_attention_layernorm",
        },
        blocks="transformer.h",
        layouts={"attn_qkv": "by head"},
    ),
}


def architecture_of(header: Header) -> Architecture:
    """Return how a file is carried into a model.

    Raises
    ------
    UnsupportedModelError
        If files of its architecture are not read.
    """
    name = header.architecture
    if name not in ARCHITECTURES:
        raise UnsupportedModelError(
            f"GGUF files of the architecture {name!r} are not read; {header.path} is one.",
            f"Those of {', '.join(sorted(ARCHITECTURES))} are. Take the safetensors files of the "
            "model, if its type is measured: thermoscope collect models lists them.",
        )
    found = ARCHITECTURES[name]
    if name == "falcon" and header.tensor("blk.0.attn_norm_2.weight") is not None:
        return replace(found, tensors={**found.tensors, **_TWO_NORMS})
    return found

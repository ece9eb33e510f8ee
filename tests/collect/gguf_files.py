"""Tiny models written as GGUF files, as llama.cpp's converter names and lays them out.

Written down from its source: rows of Q and K of a llama in pairs, norms of a Gemma as 1 + w,
matrices of a GPT-2 transposed, what a Falcon or Bloom holds by heads one kind after another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from transformers.convert_slow_tokenizer import bytes_to_unicode

#: Sizes of every model here: rows are multiples of the 32 numbers of a block.
SIZES = {
    **{"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 259},
    **{"max_position_embeddings": 128, "pad_token_id": None},
}
_OWN_WIDTH = {**SIZES, "head_dim": 16, "rms_norm_eps": 1e-6}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
_TIED = {"tie_word_embeddings": True}

#: By architecture in GGUF: type in transformers, and entries of its configuration.
TINY: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {**_OWN_WIDTH, **_TIED}),
    "granite": (
        "granite",
        {
            **{**_OWN_WIDTH, **_TIED, "attention_multiplier": 0.25, "embedding_multiplier": 12.0},
            **{"residual_multiplier": 0.22, "logits_scaling": 8.0},
        },
    ),
    "qwen2": ("qwen2", {**_OWN_WIDTH, "tie_word_embeddings": False}),
    "qwen3": ("qwen3", {**_OWN_WIDTH, **_TIED}),
    "qwen2moe": ("qwen2_moe", {**_OWN_WIDTH, **_EXPERTS, "shared_expert_intermediate_size": 128}),
    "qwen3moe": ("qwen3_moe", {**_OWN_WIDTH, **_EXPERTS, **_TIED, "norm_topk_prob": True}),
    "gemma": ("gemma", {**_OWN_WIDTH, **_TIED}),
    "gemma2": ("gemma2", {**_OWN_WIDTH, **_TIED, "query_pre_attn_scalar": 16}),
    "gemma3": ("gemma3_text", {**_OWN_WIDTH, **_TIED, "query_pre_attn_scalar": 16}),
    "phi3": ("phi3", {**SIZES, "tie_word_embeddings": False}),
    "stablelm": ("stablelm", {**SIZES, "tie_word_embeddings": False}),
    "starcoder2": ("starcoder2", {**SIZES, **_TIED}),
    "nemotron": ("nemotron", {**SIZES, "head_dim": 16, "tie_word_embeddings": False}),
    "gpt2": ("gpt2", {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 259}),
    "falcon": (
        "falcon",
        {
            **{"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4},
            **{"vocab_size": 259, "pad_token_id": None, "max_position_embeddings": 128},
        },
    ),
    "lfm2": (
        "lfm2",
        {
            **{**SIZES, **_TIED, "layer_types": ["conv", "full_attention", "conv"]},
            "block_auto_adjust_ff_dim": False,
        },
    ),
    "bloom": ("bloom", {"hidden_size": 64, "n_layer": 3, "n_head": 4, "vocab_size": 259}),
}

#: Whose norms are stored as 1 + w.
SHIFTED = ("gemma", "gemma2", "gemma3", "nemotron")

TEMPLATE = "{% for m in messages %}<s>{{ m['content'] }}{% endfor %}"

_IN_BLOCK = {
    **{"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k"},
    **{"self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output"},
    **{"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"},
    **{"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"},
    **{"mlp.gate": "ffn_gate_inp", "post_attention_layernorm": "ffn_norm"},
    **{"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
    **{"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
    **{
        "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
        "mlp.shared_expert.up_proj": "ffn_up_shexp",
    },
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
}
_IN_GEMMA = {
    **_IN_BLOCK,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_IN_GPT2 = {
    **{"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv"},
    **{"attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
}
_IN_OLD = {
    **{"input_layernorm": "attn_norm", "self_attention.query_key_value": "attn_qkv"},
    **{"self_attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up"},
    **{"mlp.dense_4h_to_h": "ffn_down", "post_attention_layernorm": "ffn_norm"},
    **{"ln_attn": "attn_norm_2", "ln_mlp": "attn_norm"},
}
_IN_LFM2 = {
    **_IN_BLOCK,
    **{"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "feed_forward.w1": "ffn_gate"},
    **{"feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up"},
    **{"self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm"},
    **{"self_attn.k_layernorm": "attn_k_norm", "conv.conv": "shortconv.conv"},
    **{"conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj"},
}
_OF_BLOCK = {
    **{"lfm2": _IN_LFM2, "gemma2": _IN_GEMMA, "gemma3": _IN_GEMMA, "gpt2": _IN_GPT2},
    **{"falcon": _IN_OLD, "bloom": _IN_OLD},
}
_ENDS = {
    **{"model.embed_tokens": "token_embd", "transformer.wte": "token_embd"},
    **{"transformer.word_embeddings": "token_embd", "transformer.wpe": "position_embd"},
    **{"model.embedding_norm": "token_embd_norm", "model.norm": "output_norm"},
    **{"transformer.ln_f": "output_norm", "lm_head": "output"},
    "transformer.word_embeddings_layernorm": "token_embd_norm",
}


def tiny(name: str, **changes: Any) -> Any:
    """Return a model of transformers by the name of its architecture in GGUF.

    Parameters
    ----------
    name
        One of `TINY`.
    changes
        Entries of its configuration that are others.
    """
    torch.manual_seed(7)
    model_type, entries = TINY[name]
    config = transformers.AutoConfig.for_model(model_type, **{**entries, **changes})
    config._attn_implementation = "eager"
    return _spread(transformers.AutoModelForCausalLM.from_config(config))


def _spread(model: Any) -> Any:
    """Return a model whose norms and biases are no ones and zeros, and whose scores differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            elif parameter.ndim == 2:
                parameter.mul_(4)
            assert parameter.isfinite().all(), name
    return model.eval()


def write(
    name: str,
    model: Any,
    path: Path,
    *,
    number_format: str = "Q8_0",
    edit: Callable[[GGUFWriter], None] | None = None,
    keys: Mapping[str, Any] | None = None,
    more: Mapping[str, np.ndarray] | None = None,
    pre: str = "gpt-2",
) -> Path:
    """Write a tiny model as a GGUF file, its matrices in some number format.

    Parameters
    ----------
    name, model, path
        As for `tiny`, what it returned, and where to.
    number_format
        Of the matrices.
    edit
        Given the writer before anything is written.
    keys
        Keys after the architecture's name that are others than `header` says; None leaves one out.
    more
        Tensors beside the model's.
    pre
        The name of how text is split.
    """
    writer = GGUFWriter(path, name)
    writer.add_name("Tiny One")
    writer.add_organization("Lab")
    writer.add_license("apache-2.0")
    writer.add_base_model_count(1)
    writer.add_base_model_repo_url(0, "https://huggingface.co/lab/tiny-base")
    for key, value in {**header(name, model), **(keys or {})}.items():
        if value is not None:
            add(writer, f"{name}.{key}", value)
    _add_tokenizer(writer, pre)
    if edit is not None:
        edit(writer)
    kind = GGMLQuantizationType[number_format]
    for key, numbers in {**tensors(name, model), **(more or {})}.items():
        is_matrix = numbers.ndim > 1
        stored = quantize(numbers, kind) if is_matrix else numbers
        writer.add_tensor(key, stored, raw_dtype=kind if is_matrix else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(writer: GGUFWriter, key: str, value: Any) -> None:
    """Add an entry to a header in the type that llama.cpp gives it."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        (writer.add_uint32 if value >= 0 else writer.add_int32)(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def header(name: str, model: Any) -> dict[str, Any]:
    """Return what the converter writes of a model's configuration, by key."""
    config = model.config
    width = config.hidden_size
    n_heads = config.num_attention_heads
    n_inner = getattr(config, "ffn_hidden_size", None) or getattr(config, "n_inner", None)
    result = {
        "block_count": config.num_hidden_layers,
        "context_length": getattr(config, "max_position_embeddings", 2048),
        "embedding_length": width,
        "feed_forward_length": getattr(config, "intermediate_size", None) or n_inner or 4 * width,
        "attention.head_count": n_heads,
        "vocab_size": config.vocab_size,
    }
    rms = getattr(config, "rms_norm_eps", None)
    of_layer_norm = ("layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps")
    named = (getattr(config, each) for each in of_layer_norm if hasattr(config, each))
    kind = "layer_norm_rms_epsilon" if rms or name == "lfm2" else "layer_norm_epsilon"
    result[f"attention.{kind}"] = rms or next(named)
    if name not in ("gpt2", "bloom"):
        shared = getattr(config, "num_key_value_heads", None) or config.num_kv_heads
        is_one = name == "falcon" and not config.new_decoder_architecture
        result["attention.head_count_kv"] = 1 if is_one else shared
        d_head = getattr(config, "head_dim", None) or width // n_heads
        if name != "falcon" and getattr(config, "head_dim", None):
            result |= {"attention.key_length": d_head, "attention.value_length": d_head}
        result |= _rotation(name, config, d_head)
    return result | _own(name, config)


def _rotation(name: str, config: Any, d_head: int) -> dict[str, Any]:
    stated = config.rope_parameters
    if name == "gemma3":
        result = {"rope.freq_base_swa": stated["sliding_attention"]["rope_theta"]}
        stated = stated["full_attention"]
    else:
        share = stated.get("partial_rotary_factor", 1.0)
        result = {"rope.dimension_count": int(d_head * share)}
    result["rope.freq_base"] = float(stated["rope_theta"])
    kind = stated.get("rope_type", "default")
    if kind in ("linear", "yarn"):
        result |= {"rope.scaling.type": kind, "rope.scaling.factor": float(stated["factor"])}
    if kind in ("yarn", "longrope"):
        n_original = stated["original_max_position_embeddings"]
        result["rope.scaling.original_context_length"] = n_original
    if kind == "yarn":
        for end in ("fast", "slow"):
            if f"beta_{end}" in stated:
                result[f"rope.scaling.yarn_beta_{end}"] = float(stated[f"beta_{end}"])
    if kind == "longrope":
        ratio = config.max_position_embeddings / n_original
        usual = math.sqrt(1 + math.log(ratio) / math.log(n_original)) if ratio > 1 else 1.0
        result["rope.scaling.attn_factor"] = stated.get("attention_factor", usual)
    return result


def _own(name: str, config: Any) -> dict[str, Any]:
    """Return what only the converter of one architecture writes."""
    if name == "granite":
        return {
            "attention.scale": config.attention_multiplier,
            "embedding_scale": config.embedding_multiplier,
            "residual_scale": config.residual_multiplier,
            "logit_scale": config.logits_scaling,
        }
    if name in ("qwen2moe", "qwen3moe"):
        shared = getattr(config, "shared_expert_intermediate_size", None)
        return {
            "expert_count": config.num_experts,
            "expert_used_count": config.num_experts_per_tok,
            "expert_feed_forward_length": config.moe_intermediate_size,
            **({} if shared is None else {"expert_shared_feed_forward_length": shared}),
        }
    if name in ("gemma2", "gemma3", "starcoder2", "phi3"):
        window = config.sliding_window
        result = {} if window is None else {"attention.sliding_window": window}
        if name == "gemma2":
            result["attn_logit_softcapping"] = config.attn_logit_softcapping
            result["final_logit_softcapping"] = config.final_logit_softcapping
        return result
    if name == "lfm2":
        shared = config.num_key_value_heads
        by_block = [shared if kind == "full_attention" else 0 for kind in config.layer_types]
        return {"attention.head_count_kv": by_block, "shortconv.l_cache": config.conv_L_cache}
    if name == "stablelm":
        return {"use_parallel_residual": config.use_parallel_residual}
    return {}


def tensors(name: str, model: Any) -> dict[str, np.ndarray]:
    """Return the tensors that the file of a model holds, as floats."""
    result = dict(factors(model.config))
    for key, tensor in model.state_dict().items():
        if key == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        result |= _stored(name, key, tensor.float().numpy(), model.config)
    return result


def factors(config: Any) -> dict[str, np.ndarray]:
    """Return the tensors that hold a rotation's factors: of Llama 3.1, or of Phi-3's long texts."""
    stated = getattr(config, "rope_parameters", None) or {}
    if stated.get("rope_type") == "longrope":
        return {
            f"rope_factors_{end}.weight": np.array(stated[f"{end}_factor"], np.float32)
            for end in ("long", "short")
        }
    if stated.get("rope_type") != "llama3":
        return {}
    width = config.head_dim
    n_old, least, most = (
        stated[name]
        for name in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    )
    result = []
    for place in range(0, width, 2):
        length = 2 * math.pi * stated["rope_theta"] ** (place / width)
        smooth = min(max((n_old / length - least) / (most - least), 0.0), 1.0)
        result.append(1 / ((1 - smooth) / stated["factor"] + smooth))
    return {"rope_freqs.weight": np.array(result, np.float32)}


def _stored(name: str, key: str, numbers: np.ndarray, config: Any) -> dict[str, np.ndarray]:
    path, _, ending = key.rpartition(".")
    if name in SHIFTED and key.endswith("norm.weight"):
        numbers = numbers + np.float32(1)
    if path in _ENDS:
        return {f"{_ENDS[path]}.{ending}": numbers}
    match = re.fullmatch(r"(?:model\.layers|transformer\.h)\.(\d+)\.(.+)", key)
    assert match is not None, key
    block, within = f"blk.{match[1]}", match[2]
    if within == "mlp.experts.gate_up_proj":
        gate, up = np.split(numbers, 2, axis=1)
        return {f"{block}.ffn_gate_exps.weight": gate, f"{block}.ffn_up_exps.weight": up}
    if within == "mlp.experts.down_proj":
        return {f"{block}.ffn_down_exps.weight": numbers}
    place = _OF_BLOCK.get(name, _IN_BLOCK)[within.rpartition(".")[0]]
    return {f"{block}.{place}.{ending}": _laid_out(name, place, numbers, config)}


def _laid_out(name: str, place: str, numbers: np.ndarray, config: Any) -> np.ndarray:
    rest = numbers.shape[1:]
    if name == "gpt2" and numbers.ndim > 1:
        numbers = numbers.T
    if place == "shortconv.conv" and numbers.ndim > 1:
        numbers = numbers[:, 0]
    if place == "ffn_gate_inp_shexp":
        numbers = numbers.reshape(-1)
    if name in ("llama", "granite") and place in ("attn_q", "attn_k"):
        shared = config.num_key_value_heads
        heads = config.num_attention_heads if place == "attn_q" else shared
        pairs = numbers.reshape(heads, 2, len(numbers) // heads // 2, *rest)
        numbers = pairs.swapaxes(1, 2).reshape(numbers.shape)
    if name == "bloom" and place == "attn_qkv":
        by_head = numbers.reshape(config.n_head, 3, -1, *rest)
        numbers = np.concatenate([by_head[:, kind].reshape(-1, *rest) for kind in range(3)])
    if name == "falcon" and place == "attn_qkv":
        n_groups = config.num_kv_heads if config.new_decoder_architecture else 1
        n_queries = config.num_attention_heads // n_groups
        by_group = numbers.reshape(n_groups, n_queries + 2, -1, *rest)
        parts = (by_group[:, :-2], by_group[:, -2], by_group[:, -1])
        numbers = np.concatenate([part.reshape(-1, *rest) for part in parts])
    return np.ascontiguousarray(numbers)


def _add_tokenizer(writer: GGUFWriter, pre: str) -> None:
    letters = list(bytes_to_unicode().values())
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([*letters, "<s>", "</s>", "th"])
    writer.add_token_types([1] * 256 + [3, 3, 1])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

"""Tiny models written as GGUF files, as llama.cpp's converter names and lays them out.

Written down from its source: rows of Q and K of a llama in pairs, norms of a Gemma as 1 + w,
matrices of a GPT-2 transposed.
"""

from __future__ import annotations

from collections.abc import Callable
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
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 259},
    "max_position_embeddings": 128,
}

TEMPLATE = "{% for m in messages %}<s>{{ m['content'] }}{% endfor %}"

_IN_BLOCK = {
    **{"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k"},
    **{"self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output"},
    **{"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"},
    **{"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
    **{"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"},
    **{"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
    **{"mlp.gate": "ffn_gate_inp", "post_attention_layernorm": "ffn_norm"},
    **{"mlp.shared_expert_gate": "ffn_gate_inp_shexp"},
    **{"mlp.shared_expert.gate_proj": "ffn_gate_shexp"},
    **{"mlp.shared_expert.up_proj": "ffn_up_shexp"},
    **{"mlp.shared_expert.down_proj": "ffn_down_shexp"},
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
GEMMAS = ("gemma2", "gemma3")

#: Classes of transformers by the name of an architecture in GGUF.
KINDS = {
    "gemma2": transformers.Gemma2Config,
    "gemma3": transformers.Gemma3TextConfig,
    "gpt2": transformers.GPT2Config,
    "llama": transformers.LlamaConfig,
    "phi3": transformers.Phi3Config,
    "qwen2": transformers.Qwen2Config,
    "qwen2moe": transformers.Qwen2MoeConfig,
    "qwen3": transformers.Qwen3Config,
    "qwen3moe": transformers.Qwen3MoeConfig,
    "starcoder2": transformers.Starcoder2Config,
}

#: What the tiny model of an architecture has beside `SIZES`.
_MORE: dict[str, dict[str, Any]] = {
    "gemma2": {"query_pre_attn_scalar": 16, "sliding_window": 4096},
    "gemma3": {"query_pre_attn_scalar": 16, "sliding_window": 4096},
    "phi3": {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    "qwen2": {"tie_word_embeddings": False},
    "qwen2moe": {
        **{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
        **{"shared_expert_intermediate_size": 64, "norm_topk_prob": False},
    },
    "qwen3moe": {
        **{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 768},
        "norm_topk_prob": True,
    },
}


def tiny(name: str, **entries: Any) -> Any:
    """Return a model of transformers by the name of its architecture in GGUF.

    ``entries`` are those of its configuration that differ from the usual tiny model's.
    """
    torch.manual_seed(7)
    if name == "gpt2":
        sizes = {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 259}
        config = transformers.GPT2Config(**{**sizes, **entries})
        return _spread(transformers.GPT2LMHeadModel(config))
    usual = {**SIZES, "tie_word_embeddings": True, **_MORE.get(name, {})}
    if name == "gemma3":
        usual["rope_parameters"] = {
            kind: {"rope_type": "default", "rope_theta": 10_000.0}
            for kind in ("full_attention", "sliding_attention")
        }
    else:
        usual["rope_parameters"] = {"rope_type": "default", "rope_theta": 10_000.0}
    epsilon = "norm_epsilon" if name == "starcoder2" else "rms_norm_eps"
    config = KINDS[name](**{**usual, epsilon: 1e-6, **entries})
    config._attn_implementation = "eager"
    return _spread(transformers.AutoModelForCausalLM.from_config(config))


def _spread(model: Any) -> Any:
    """Return a model whose norms and biases are no ones and zeros."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            assert parameter.isfinite().all(), name
    return model.eval()


def write(
    name: str,
    model: Any,
    path: Path,
    *,
    number_format: str = "Q8_0",
    edit: Callable[[GGUFWriter], None] | None = None,
    keys: dict[str, Any] | None = None,
    more: dict[str, np.ndarray] | None = None,
    pre: str = "gpt-2",
) -> Path:
    """Write a tiny model as a GGUF file, its matrices in some number format.

    ``keys`` are those of the architecture that differ from the usual ones, None for one that is
    left out; ``more`` are tensors beside the model's own.
    """
    writer = GGUFWriter(path, name)
    writer.add_name("Tiny One")
    writer.add_organization("Lab")
    writer.add_license("apache-2.0")
    writer.add_base_model_count(1)
    writer.add_base_model_repo_url(0, "https://huggingface.co/lab/tiny-base")
    for key, value in {**header_of(name, model.config), **(keys or {})}.items():
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


def tensors(name: str, model: Any) -> dict[str, np.ndarray]:
    """Return the tensors that the file of a model holds, as floats."""
    result = {}
    for key, tensor in model.state_dict().items():
        if key == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        result |= _stored(name, key, tensor.float().numpy(), model.config)
    return result


def _stored(name: str, key: str, numbers: np.ndarray, config: Any) -> dict[str, np.ndarray]:
    ends = {
        **{"model.embed_tokens": "token_embd", "transformer.wte": "token_embd"},
        **{"transformer.wpe": "position_embd", "model.norm": "output_norm"},
        **{"transformer.ln_f": "output_norm", "lm_head": "output"},
    }
    module, _, kind = key.rpartition(".")
    if name in GEMMAS and module.endswith("norm"):
        numbers = numbers + 1
    if module in ends:
        return {f"{ends[module]}.{kind}": numbers}
    _, _, layer, within = key.split(".", 3)
    block = f"blk.{layer}"
    if within == "mlp.experts.gate_up_proj":
        gate, up = np.split(numbers, 2, axis=1)
        return {f"{block}.ffn_gate_exps.weight": gate, f"{block}.ffn_up_exps.weight": up}
    if within == "mlp.experts.down_proj":
        return {f"{block}.ffn_down_exps.weight": numbers}
    names = _IN_GEMMA if name in GEMMAS else _IN_GPT2 if name == "gpt2" else _IN_BLOCK
    place = names[within.rpartition(".")[0]]
    if place == "ffn_gate_inp_shexp":
        numbers = numbers[0]
    if name == "gpt2" and numbers.ndim > 1:
        numbers = numbers.T
    if name == "llama" and place in ("attn_q", "attn_k"):
        heads = config.num_attention_heads if place == "attn_q" else config.num_key_value_heads
        pairs = numbers.reshape(heads, 2, len(numbers) // heads // 2, *numbers.shape[1:])
        numbers = pairs.swapaxes(1, 2).reshape(numbers.shape)
    return {f"{block}.{place}.{kind}": np.ascontiguousarray(numbers)}


def header_of(name: str, config: Any) -> dict[str, Any]:
    """Return the keys that llama.cpp's converter writes of a configuration, but for rotation."""
    if name == "gpt2":
        return {
            **{"context_length": config.n_positions, "embedding_length": config.n_embd},
            **{"block_count": config.n_layer, "attention.head_count": config.n_head},
            "feed_forward_length": config.n_inner or 4 * config.n_embd,
            "attention.layer_norm_epsilon": config.layer_norm_epsilon,
        }
    width = config.head_dim if hasattr(config, "head_dim") else config.hidden_size // 4
    keys = {
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": width,
        "attention.value_length": width,
        "rope.freq_base": 10_000.0,
    }
    if name == "starcoder2":
        keys["attention.layer_norm_epsilon"] = config.norm_epsilon
    else:
        keys["attention.layer_norm_rms_epsilon"] = config.rms_norm_eps
    if name == "llama":
        keys["rope.dimension_count"] = width
    if name in GEMMAS:
        keys["attention.sliding_window"] = config.sliding_window
    if name == "gemma2":
        keys["attn_logit_softcapping"] = config.attn_logit_softcapping
        keys["final_logit_softcapping"] = config.final_logit_softcapping
    if name.endswith("moe"):
        keys["expert_count"] = config.num_experts
        keys["expert_used_count"] = config.num_experts_per_tok
        keys["expert_feed_forward_length"] = config.moe_intermediate_size
    if name == "qwen2moe":
        keys["expert_shared_feed_forward_length"] = config.shared_expert_intermediate_size
    return keys


def add(writer: GGUFWriter, key: str, value: Any) -> None:
    """Write one key of the header, of the type of its value."""
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}
    getattr(writer, f"add_{kinds[type(value)]}")(key, value)


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

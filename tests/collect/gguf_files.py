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
    **{"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"},
    **{"mlp.gate": "ffn_gate_inp", "post_attention_layernorm": "ffn_norm"},
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


def tiny(name: str) -> Any:
    """Return a model of transformers by the name of its architecture in GGUF."""
    torch.manual_seed(7)
    if name == "gpt2":
        config = transformers.GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=259)
        return _spread(transformers.GPT2LMHeadModel(config))
    kinds = {
        "llama": transformers.LlamaConfig,
        "qwen2": transformers.Qwen2Config,
        "qwen3moe": transformers.Qwen3MoeConfig,
        "gemma3": transformers.Gemma3TextConfig,
    }
    more: dict[str, Any] = {"tie_word_embeddings": name != "qwen2"}
    if name == "qwen3moe":
        more |= {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
    config = kinds[name](**SIZES, **more, rope_theta=10_000.0, rms_norm_eps=1e-6)
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
) -> Path:
    """Write a tiny model as a GGUF file, its matrices in some number format."""
    writer = GGUFWriter(path, name)
    writer.add_name("Tiny One")
    writer.add_organization("Lab")
    writer.add_license("apache-2.0")
    writer.add_base_model_count(1)
    writer.add_base_model_repo_url(0, "https://huggingface.co/lab/tiny-base")
    _add_sizes(writer, name)
    _add_tokenizer(writer)
    if edit is not None:
        edit(writer)
    kind = GGMLQuantizationType[number_format]
    for key, numbers in tensors(name, model).items():
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
        result |= _stored(name, key, tensor.float().numpy())
    return result


def _stored(name: str, key: str, numbers: np.ndarray) -> dict[str, np.ndarray]:
    ends = {
        **{"model.embed_tokens": "token_embd", "transformer.wte": "token_embd"},
        **{"transformer.wpe": "position_embd", "model.norm": "output_norm"},
        **{"transformer.ln_f": "output_norm", "lm_head": "output"},
    }
    module, _, kind = key.rpartition(".")
    if name == "gemma3" and module.endswith("norm"):
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
    names = {"gemma3": _IN_GEMMA, "gpt2": _IN_GPT2}.get(name, _IN_BLOCK)
    place = names[within.rpartition(".")[0]]
    if name == "gpt2" and numbers.ndim > 1:
        numbers = numbers.T
    if name == "llama" and place in ("attn_q", "attn_k"):
        heads = 4 if place == "attn_q" else 2
        pairs = numbers.reshape(heads, 2, len(numbers) // heads // 2, *numbers.shape[1:])
        numbers = pairs.swapaxes(1, 2).reshape(numbers.shape)
    return {f"{block}.{place}.{kind}": np.ascontiguousarray(numbers)}


def _add_sizes(writer: GGUFWriter, name: str) -> None:
    writer.add_block_count(3)
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    if name == "gpt2":
        writer.add_layer_norm_eps(1e-5)
        return
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_key_length(16)
    writer.add_value_length(16)
    if name == "llama":
        writer.add_rope_dimension_count(16)
    if name == "gemma3":
        writer.add_sliding_window(4096)
    if name == "qwen3moe":
        writer.add_expert_count(4)
        writer.add_expert_used_count(2)
        writer.add_expert_feed_forward_length(768)


def _add_tokenizer(writer: GGUFWriter) -> None:
    letters = list(bytes_to_unicode().values())
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*letters, "<s>", "</s>", "th"])
    writer.add_token_types([1] * 256 + [3, 3, 1])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

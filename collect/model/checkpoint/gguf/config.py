"""The configuration of a GGUF file's model: what its header says, in the words of ``config.json``.

Every key of the architecture is read, or is known to change nothing at its value, or the file is
refused by name; so is every tensor. See `architectures`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf import architectures
from collect.model.checkpoint.gguf.architectures import ARCHITECTURES, NEUTRAL, Architecture
from collect.model.checkpoint.gguf.header import TOKENS, Header
from collect.model.checkpoint.gguf.numbers import dequantised

#: Depth of the largest Gemma 2 and 3, whose attention llama.cpp scales by the width per head.
_DEEPEST = {"gemma2": 46, "gemma3": 62}

_REQUIRED: Any = object()


def configuration(header: Header) -> dict[str, Any]:
    """Return the configuration of a file's model, as entries of ``config.json``.

    Parameters
    ----------
    header
        The file's header.

    Raises
    ------
    UnsupportedModelError
        If the architecture is not read, or a key or a tensor of it is not.
    InputError
        If the header lacks a key that the architecture needs, or contradicts itself.
    """
    known = ARCHITECTURES.get(header.architecture)
    if known is None:
        raise UnsupportedModelError(
            f"GGUF files of the architecture {header.architecture!r} are not measured "
            f"({header.path}).",
            f"Those of {', '.join(sorted(ARCHITECTURES))} are. Of others take the safetensors "
            "files.",
        )
    keys = _Keys(header, known)
    config = _stated(header, known, keys)
    _refuse_unread(header, known, keys)
    _refuse_unknown_tensors(header, known, config)
    return config


class _Keys:
    """The keys of a header that belong to its architecture, and which of them were read."""

    def __init__(self, header: Header, known: Architecture) -> None:
        self._header, self._known = header, known
        prefix = f"{header.architecture}."
        self._values = {
            key.removeprefix(prefix): value
            for key, value in header.metadata.items()
            if key.startswith(prefix)
        }
        self._read: set[str] = set()

    def get(self, key: str, kind: type[Any], default: Any = _REQUIRED) -> Any:
        """Return a value of a type; a whole number stands for a number with a fraction."""
        self._read.add(key)
        if key not in self._values:
            if default is _REQUIRED:
                raise self.error(key, "must be in the header and is not")
            return default
        value: Any = self._values[key]
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind or (kind is float and not math.isfinite(value)):
            raise self.error(key, f"must be of type {kind.__name__}; it is {value!r}")
        return value

    def unread(self) -> dict[str, Any]:
        """Return the keys that nothing read and that may change the computation."""
        neutral = {**NEUTRAL, **self._known.neutral}
        return {
            key: value
            for key, value in self._values.items()
            if key not in self._read and value not in neutral.get(key, ())
        }

    def error(self, key: str, what: str) -> InputError:
        """Return the error that a key is not as it must be."""
        return InputError(
            f"{self._header.architecture}.{key} {what} ({self._header.path}).",
            "Copy or download it again, or take another conversion of the model.",
        )

    def refusal(self, key: str, what: str) -> UnsupportedModelError:
        """Return the error that the value of a key is not one that can be measured."""
        return UnsupportedModelError(
            f"{self._header.architecture}.{key} {what} ({self._header.path}): a model with it "
            "would be measured wrongly.",
            "Take the safetensors files of the model.",
        )


def _stated(header: Header, known: Architecture, keys: _Keys) -> dict[str, Any]:
    """Return the fields of the configuration that keys and tensors state."""
    config: dict[str, Any] = {"model_type": known.model_type, **known.fixed}
    for key, name in known.keys.items():
        if name is not None and key not in _OPTIONAL:
            config[name] = keys.get(key, float if "epsilon" in key else int)
    config["vocab_size"] = _vocabulary(header, keys)
    config["tie_word_embeddings"] = header.tensor("output.weight") is None
    for token, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        config[f"{token}_token_id"] = _token(header, key)
    if "rope.freq_base" in known.keys:
        config |= _heads(keys, config)
        config |= _RULES.get(header.architecture, _plain_rotation)(header, keys, config)
    elif keys.get("attention.head_count_kv", int, config["n_head"]) != config["n_head"]:
        raise keys.refusal("attention.head_count_kv", "differs from attention.head_count")
    return config | _biases(header, known)


#: Keys with a rule where they are absent.
_OPTIONAL = {"attention.head_count_kv", "attention.key_length"}


def _heads(keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return number and width of heads; a head is as wide for keys as for values."""
    n_heads = config["num_attention_heads"]
    if not n_heads:
        raise keys.error("attention.head_count", "must be 1 or more; it is 0")
    width = keys.get("attention.key_length", int, config["hidden_size"] // n_heads)
    if keys.get("attention.value_length", int, width) != width:
        raise keys.refusal("attention.value_length", f"differs from the width of a key, {width}")
    return {
        "head_dim": width,
        "num_key_value_heads": keys.get("attention.head_count_kv", int, n_heads),
    }


def _plain_rotation(header: Header, keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rotation where every block has the same, of all of a head."""
    _require_whole_rotation(keys, config)
    return {"rope_parameters": _rotation(header, keys, config)}


def _require_whole_rotation(keys: _Keys, config: Mapping[str, Any]) -> None:
    width = config["head_dim"]
    if keys.get("rope.dimension_count", int, width) != width:
        raise keys.refusal("rope.dimension_count", f"differs from the width of a head, {width}")


def _rotation(header: Header, keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how positions are rotated: not scaled, linearly, by YaRN, or by a table.

    llama.cpp divides the angle of pair i by entry i of a table (``rope_freqs.weight``, which holds
    the scaling of Llama 3.1), as transformers' longrope does.
    """
    theta = keys.get("rope.freq_base", float, 10_000.0)
    linear = keys.get("rope.scale_linear", float, 0.0)
    factor = keys.get("rope.scaling.factor", float, linear) or 1.0
    kind = keys.get("rope.scaling.type", str, "linear")
    attention = keys.get("rope.scaling.attn_factor", float, 1.0)
    whole = config["max_position_embeddings"]
    length = keys.get("rope.scaling.original_context_length", int, whole)
    fast = keys.get("rope.scaling.yarn_beta_fast", float, 32.0)
    slow = keys.get("rope.scaling.yarn_beta_slow", float, 1.0)
    is_scaled = kind != "none" and (kind == "yarn" or factor != 1.0)
    has_table = architectures.ROPE_FACTORS in ARCHITECTURES[header.architecture].factors
    table = header.tensor(architectures.ROPE_FACTORS) if has_table else None
    if kind not in ("none", "linear", "yarn"):
        raise keys.refusal("rope.scaling.type", f"is {kind!r}, which is not read")
    if attention != 1.0 and kind != "yarn":
        raise keys.refusal("rope.scaling.attn_factor", f"is {attention} beside scaling by {kind!r}")
    if not is_scaled and table is None:
        return {"rope_type": "default", "rope_theta": theta}
    if table is not None:
        if is_scaled:
            raise keys.refusal("rope.scaling.type", "stands beside a table of rotary frequencies")
        factors = _factors(header, architectures.ROPE_FACTORS, config["head_dim"] // 2)
        return {
            "rope_type": "longrope",
            "rope_theta": theta,
            "factor": 1.0,
            "attention_factor": 1.0,
            "short_factor": factors,
            "long_factor": factors,
            "original_max_position_embeddings": whole,
        }
    if kind == "linear":
        return {"rope_type": "linear", "rope_theta": theta, "factor": factor}
    return {
        "rope_type": "yarn",
        "rope_theta": theta,
        "factor": factor,
        "attention_factor": attention * (1.0 + 0.1 * math.log(factor)),
        "beta_fast": fast,
        "beta_slow": slow,
        "original_max_position_embeddings": length,
    }


def _factors(header: Header, name: str, n: int) -> list[float]:
    """Return a table of rotary frequencies; of a file still on the hub, ones that stand for it."""
    tensor = header.tensor(name)
    if tensor is None or tensor.shape != (n,):
        shape = "absent" if tensor is None else f"of shape {tensor.shape}"
        raise InputError(
            f"The tensor {name} of {header.path} must hold {n} numbers; it is {shape}.",
            "Copy or download it again, or take another conversion of the model.",
        )
    if not header.has_numbers:
        return [1.0] * n
    factors = dequantised(header.path, tensor, ...).astype(np.float64)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise InputError(
            f"The tensor {name} of {header.path} must hold finite numbers above 0.",
            "Copy or download it again, or take another conversion of the model.",
        )
    return [float(each) for each in factors]


def _gemma2(header: Header, keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is Gemma 2's own: softcapping, and the scale of attention."""
    caps = {
        "attn_logit_softcapping": keys.get("attn_logit_softcapping", float, 50.0) or None,
        "final_logit_softcapping": keys.get("final_logit_softcapping", float, 30.0) or None,
    }
    return {
        **caps,
        **_plain_rotation(header, keys, config),
        "query_pre_attn_scalar": _scalar(header, keys, config),
    }


def _gemma3(header: Header, keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is Gemma 3's own: two rotations, of which one is scaled, and its pattern."""
    _require_whole_rotation(keys, config)
    every = keys.get("attention.sliding_window_pattern", int, 6)
    local = keys.get("rope.freq_base_swa", float, 10_000.0)
    if every < 1:
        raise keys.error("attention.sliding_window_pattern", f"must be 1 or more; it is {every}")
    whole, part = "full_attention", "sliding_attention"
    n = config["num_hidden_layers"]
    theta = {"rope.freq_base": keys.get("rope.freq_base", float, 1_000_000.0)}
    return {
        "layer_types": [part if (block + 1) % every else whole for block in range(n)],
        "query_pre_attn_scalar": _scalar(header, keys, config),
        "rope_parameters": {
            whole: {**_rotation(header, keys, config), "rope_theta": theta["rope.freq_base"]},
            part: {"rope_type": "default", "rope_theta": local},
        },
    }


def _scalar(header: Header, keys: _Keys, config: Mapping[str, Any]) -> int:
    """Return what queries are divided by the root of: of the deepest, the width per head."""
    is_deepest = config["num_hidden_layers"] == _DEEPEST[header.architecture]
    width, rest = divmod(config["hidden_size"], config["num_attention_heads"])
    if is_deepest and rest:
        raise keys.error("embedding_length", "must be a multiple of attention.head_count")
    return int(width if is_deepest else config["head_dim"])


def _phi3(header: Header, keys: _Keys, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is Phi 3's own: a window, rotation of a part of each head, and two tables."""
    turned = keys.get("rope.dimension_count", int, config["head_dim"])
    share = {"partial_rotary_factor": turned / config["head_dim"]}
    window = keys.get("attention.sliding_window", int, 0) or None
    names = (architectures.SHORT_FACTORS, architectures.LONG_FACTORS)
    if all(header.tensor(name) is None for name in names):
        rotation = _rotation(header, keys, config)
        if rotation["rope_type"] != "default":
            raise keys.refusal("rope.scaling.type", f"is {rotation['rope_type']!r}")
        return {"sliding_window": window, "rope_parameters": {**rotation, **share}}
    kind = keys.get("rope.scaling.type", str, "longrope")
    if kind not in ("none", "longrope") or keys.get("rope.scaling.factor", float, 0.0):
        raise keys.refusal("rope.scaling.type", "stands beside tables of rotary frequencies")
    length = keys.get("rope.scaling.original_context_length", int)
    rotation = {
        "rope_type": "longrope",
        "rope_theta": keys.get("rope.freq_base", float, 10_000.0),
        "attention_factor": keys.get("rope.scaling.attn_factor", float),
        "short_factor": _factors(header, names[0], turned // 2),
        "long_factor": _factors(header, names[1], turned // 2),
    }
    return {
        "sliding_window": window,
        "original_max_position_embeddings": length,
        "rope_parameters": {**rotation, **share},
    }


#: Rules of single architectures; others have `_plain_rotation`.
_RULES = {"gemma2": _gemma2, "gemma3": _gemma3, "phi3": _phi3}


def _vocabulary(header: Header, keys: _Keys) -> int:
    """Return the size of the vocabulary: rows of the embedding, which a key must not contradict."""
    embedding = header.tensor("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise InputError(
            f"A GGUF file must hold the matrix token_embd.weight; {header.path} does not.",
            "Copy or download it again.",
        )
    n = embedding.shape[0]
    if keys.get("vocab_size", int, n) != n:
        raise keys.error("vocab_size", f"must be {n}, the rows of token_embd.weight")
    n_tokens = header.metadata.get(TOKENS, 0)
    if isinstance(n_tokens, int) and n_tokens > n:
        raise keys.error("vocab_size", f"is {n}, and the file lists {n_tokens} tokens")
    return n


def _token(header: Header, name: str) -> int | None:
    value = header.metadata.get(f"tokenizer.ggml.{name}_token_id")
    return value if type(value) is int else None


def _biases(header: Header, known: Architecture) -> dict[str, bool]:
    """Return the fields that say whether there are biases, by the tensors of the first block."""
    if known.model_type == "llama":
        return {
            "attention_bias": header.tensor("blk.0.attn_q.bias") is not None,
            "mlp_bias": header.tensor("blk.0.ffn_up.bias") is not None,
        }
    if known.model_type in ("qwen3", "qwen3_moe", "gemma2", "gemma3_text"):
        return {"attention_bias": header.tensor("blk.0.attn_q.bias") is not None}
    if known.model_type == "starcoder2":
        return {"use_bias": header.tensor("blk.0.attn_q.bias") is not None}
    return {}


def _refuse_unread(header: Header, known: Architecture, keys: _Keys) -> None:
    """Refuse a key that nothing read and that may change the computation."""
    for key, value in sorted(keys.unread().items()):
        raise keys.refusal(key, f"is {value!r}, which is not read")


def _refuse_unknown_tensors(header: Header, known: Architecture, config: Mapping[str, Any]) -> None:
    """Refuse a tensor that no parameter is made of, and that is no part of the configuration."""
    n_blocks = config.get("num_hidden_layers", config.get("n_layer"))
    ends = {*known.ends, "output"}
    for tensor in header.tensors:
        kind, _, leaf = tensor.name.rpartition(".")
        match = re.fullmatch(r"blk\.(\d+)\.(\w+)", kind)
        is_known = (
            kind in ends
            if match is None
            else match[2] in known.modules and int(match[1]) < n_blocks
        )
        if not (is_known and leaf in ("weight", "bias")) and tensor.name not in known.factors:
            raise UnsupportedModelError(
                f"The tensor {tensor.name} of {header.path} is not read: a model with it would be "
                "measured wrongly.",
                "Take the safetensors files of the model.",
            )

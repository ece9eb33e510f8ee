"""Entries of GGUF headers that say something only together, put into a configuration.

Where llama.cpp takes a number from the architecture itself its rule is written here, by the number
of blocks for the largest Gemma of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any

from collect.model.checkpoint.gguf.architecture import Rule
from collect.model.checkpoint.gguf.keys import Keys
from collect.model.checkpoint.gguf.rotation import rotation, scaling_alone

_ORIGINAL = "original_max_position_embeddings"

#: Kinds of attention layers, as transformers names them.
_FULL, _SLIDING = "full_attention", "sliding_attention"


def own_width(keys: Keys, config: dict[str, Any]) -> None:
    """Take the width of a head, which need not be the width of the stream over the heads."""
    config["head_dim"] = _width(keys, config)


def shared_width(keys: Keys, config: dict[str, Any]) -> None:
    """Take the width of a head, which must be the width of the stream over the heads."""
    width = _width(keys, config)
    if width * config["num_attention_heads"] != config["hidden_size"]:
        raise keys.uncarried(**{"attention.key_length": width})


def _width(keys: Keys, config: dict[str, Any]) -> int:
    n_shared = config.get("num_key_value_heads", 1)
    if config["num_attention_heads"] % n_shared:
        raise keys.wrong("attention.head_count_kv", n_shared, "a share of attention.head_count")
    shared, rest = divmod(config["hidden_size"], config["num_attention_heads"])
    width = keys.whole("attention.key_length", None if rest else shared)
    of_values = keys.whole("attention.value_length", None if rest else shared)
    if of_values != width:
        raise keys.uncarried(**{"attention.value_length": of_values})
    return width


def rotated(keys: Keys, config: dict[str, Any]) -> None:
    """Take rotary positions of whole heads."""
    config["rope_parameters"] = rotation(keys, _d_head(config), config["max_position_embeddings"])
    share = config["rope_parameters"].pop("partial_rotary_factor", 1.0)
    if share != 1:
        raise keys.uncarried(**{"rope.dimension_count": round(share * _d_head(config))})


def partly_rotated(keys: Keys, config: dict[str, Any]) -> None:
    """Take rotary positions of heads of which a part may be rotated."""
    found = rotation(keys, _d_head(config), config["max_position_embeddings"])
    config["rope_parameters"] = {"partial_rotary_factor": 1.0} | found


def rotated_in_phi(keys: Keys, config: dict[str, Any]) -> None:
    """Take rotary positions of a Phi-3: plain, or by factors; its class knows no other."""
    partly_rotated(keys, config)
    found = config["rope_parameters"]
    if found["rope_type"] not in ("default", "longrope"):
        raise keys.uncarried(**{"rope.scaling.type": found["rope_type"]})
    n_context = config["max_position_embeddings"]
    # The class prefers an entry of its own to the one among the parameters.
    config[_ORIGINAL] = found.get(_ORIGINAL, n_context)


def _d_head(config: dict[str, Any]) -> int:
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return int(width)


def usual_scale(keys: Keys, config: dict[str, Any]) -> None:
    """Take the scale of scores where it must be one over the root of a head's width."""
    _refuse_other_scale(keys, float(_d_head(config)))


def _refuse_other_scale(keys: Keys, width: float) -> None:
    scale = keys.number("attention.scale", 0.0)
    if scale and not isclose(scale, width**-0.5, rel_tol=1e-6):
        raise keys.uncarried(**{"attention.scale": scale})


def queries_scaled(n_blocks_of_largest: int) -> Rule:
    """Return the rule of Gemma: by a head's width, in the largest by width over heads."""

    def rule(keys: Keys, config: dict[str, Any]) -> None:
        is_largest = config["num_hidden_layers"] == n_blocks_of_largest
        shared = config["hidden_size"] // config["num_attention_heads"]
        config["query_pre_attn_scalar"] = shared if is_largest else config["head_dim"]
        _refuse_other_scale(keys, config["query_pre_attn_scalar"])

    return rule


def sliding(period: int, *, default: int | None = None) -> Rule:
    """Return the rule of layers of which all but each last of some see a window.

    Parameters
    ----------
    period
        How many layers follow each other until one sees all, unless the header says otherwise.
    default
        Window where the header names none; None where it must.
    """

    def rule(keys: Keys, config: dict[str, Any]) -> None:
        config["sliding_window"] = keys.whole("attention.sliding_window", default)
        pattern = keys.any("attention.sliding_window_pattern")
        is_sliding = _sliding_layers(keys, period if pattern is None else pattern, config)
        config["layer_types"] = [_SLIDING if slides else _FULL for slides in is_sliding]

    return rule


def _sliding_layers(keys: Keys, pattern: Any, config: dict[str, Any]) -> Sequence[bool]:
    n_layers = config["num_hidden_layers"]
    if isinstance(pattern, tuple):
        if len(pattern) != n_layers or not all(isinstance(each, bool) for each in pattern):
            raise keys.wrong("attention.sliding_window_pattern", pattern, "true or false a block")
        return pattern
    if isinstance(pattern, bool) or not isinstance(pattern, int) or pattern < 1:
        raise keys.wrong("attention.sliding_window_pattern", pattern, "a whole number or a list")
    return [layer % pattern < pattern - 1 for layer in range(n_layers)]


def capped(keys: Keys, config: dict[str, Any]) -> None:
    """Take what scores and logits are capped at; 0 for no cap."""
    for name, usual in (("attn_logit_softcapping", 50.0), ("final_logit_softcapping", 30.0)):
        cap = keys.number(name, usual)
        if cap < 0:
            raise keys.wrong(name, cap, "at least 0")
        config[name] = cap or None


def one_base(keys: Keys, config: dict[str, Any]) -> None:
    """Take the base of sliding layers, where they must have that of the others."""
    base = config["rope_parameters"]["rope_theta"]
    of_sliding = keys.number("rope.freq_base_swa", base)
    if of_sliding != base:
        raise keys.uncarried(**{"rope.freq_base_swa": of_sliding})


def rotated_by_kind(keys: Keys, config: dict[str, Any]) -> None:
    """Take rotary positions of Gemma 3: scaled in layers that see all, never in the others."""
    base = keys.positive("rope.freq_base", 10_000.0)
    of_sliding = keys.positive("rope.freq_base_swa", 10_000.0)
    keys.stated({"rope.dimension_count": config["head_dim"]})
    config["rope_parameters"] = {
        _SLIDING: {"rope_type": "default", "rope_theta": of_sliding},
        _FULL: {"rope_theta": base, **scaling_alone(keys, config["max_position_embeddings"])},
    }


def optional_window(keys: Keys, config: dict[str, Any]) -> None:
    """Take a window that all layers see, or none."""
    config["sliding_window"] = keys.whole("attention.sliding_window", 0, least=0) or None


def biases(attention: str, feed_forward: str = "", *, of: str = "attn_q") -> Rule:
    """Return the rule of switches that tensors of biases turn on.

    Parameters
    ----------
    attention, feed_forward
        Entries of the configuration; none where empty.
    of
        Tensor whose bias is looked for in the first block, for attention.
    """

    def rule(keys: Keys, config: dict[str, Any]) -> None:
        config[attention] = has_tensor(keys, f"{of}.bias")
        if feed_forward:
            config[feed_forward] = has_tensor(keys, "ffn_up.bias")

    return rule


def has_tensor(keys: Keys, name: str) -> bool:
    """Return whether the first block has a tensor."""
    return keys.header.tensor(f"blk.0.{name}") is not None


def parallel(keys: Keys, config: dict[str, Any]) -> None:
    """Take whether attention and feed-forward read the same, which a second norm denies."""
    is_parallel = not has_tensor(keys, "ffn_norm.weight")
    keys.stated({"use_parallel_residual": is_parallel})
    config["use_parallel_residual"] = is_parallel


def experts(keys: Keys, config: dict[str, Any]) -> None:
    """Take how many experts there are, how many read a token, and how wide each is."""
    config["num_experts"] = keys.whole("expert_count")
    config["num_experts_per_tok"] = keys.whole("expert_used_count")
    if config["num_experts_per_tok"] > config["num_experts"]:
        raise keys.wrong("expert_used_count", config["num_experts_per_tok"], "at most expert_count")
    width = config["intermediate_size"] // config["num_experts_per_tok"]
    config["moe_intermediate_size"] = keys.whole("expert_feed_forward_length", width or None)


def shared_expert(keys: Keys, config: dict[str, Any]) -> None:
    """Take how wide the expert is that reads every token."""
    width = keys.whole("expert_shared_feed_forward_length", config["intermediate_size"])
    config["shared_expert_intermediate_size"] = width


def no_key_heads(keys: Keys, config: dict[str, Any]) -> None:
    """Take the number of heads of keys, where each query has its own."""
    keys.stated({"attention.head_count_kv": config["num_attention_heads"]})


def four_widths(keys: Keys, config: dict[str, Any]) -> None:
    """Take the width of feed-forward, where it must be four times that of the stream."""
    keys.stated({"feed_forward_length": 4 * config["hidden_size"]})


def falcon(keys: Keys, config: dict[str, Any]) -> None:
    """Take which of the two Falcons it is, by the heads of keys and the norms."""
    n_shared = keys.whole("attention.head_count_kv")
    if config["num_attention_heads"] % n_shared:
        raise keys.wrong("attention.head_count_kv", n_shared, "a share of attention.head_count")
    two_norms = has_tensor(keys, "attn_norm_2.weight")
    keys.any("tensor_data_layout")  # of whom the names are, which changes nothing
    keys.stated({"use_parallel_residual": True})
    is_new = two_norms or n_shared > 1
    config |= {"new_decoder_architecture": is_new, "multi_query": not is_new}
    config |= {"num_kv_heads": n_shared, "num_ln_in_parallel_attn": 2 if two_norms else 1}


def renamed(**names: str) -> Rule:
    """Return the rule that gives entries the names that a class of old has for them."""

    def rule(_keys: Keys, config: dict[str, Any]) -> None:
        for name, old in names.items():
            config[old] = config.pop(name)

    return rule


def convolutions(keys: Keys, config: dict[str, Any]) -> None:
    """Take which blocks hold attention: those that have heads of keys; the others convolve."""
    n_layers, name = config["num_hidden_layers"], "attention.head_count_kv"
    by_block = keys.any(name)
    if isinstance(by_block, int):
        by_block = (by_block,) * n_layers
    is_list = isinstance(by_block, tuple) and len(by_block) == n_layers
    if not is_list or not all(isinstance(n, int) and n >= 0 for n in by_block) or not any(by_block):
        raise keys.wrong(name, by_block, "a whole number a block")
    if len({*by_block} - {0}) > 1:
        raise keys.uncarried(**{name: by_block})
    config["num_key_value_heads"] = max(by_block)
    config["layer_types"] = [_FULL if n else "conv" for n in by_block]
    names = {tensor.name.rpartition(".shortconv.")[2] for tensor in keys.header.tensors}
    config["conv_bias"] = "in_proj.bias" in names


def multipliers(keys: Keys, config: dict[str, Any]) -> None:
    """Take the four multipliers of Granite."""
    usual = _d_head(config) ** -0.5
    config["attention_multiplier"] = keys.number("attention.scale", 0.0) or usual
    for key, name in (
        ("embedding_scale", "embedding_multiplier"),
        ("residual_scale", "residual_multiplier"),
        ("logit_scale", "logits_scaling"),
    ):
        config[name] = keys.number(key, 0.0) or 1.0

"""What an adapter reads off a transformers configuration: functions of it, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def always(value: T) -> Callable[[Any], T]:
    """Return the function of a configuration that ignores it."""
    return lambda _config: value


def entry(name: str) -> Callable[[Any], Any]:
    """Return the function that reads one entry of a configuration, None when it has none."""
    return lambda config: getattr(config, name, None)


def own_or_shared_heads(config: Any) -> int:
    """Return the number of key and value heads, which is that of query heads by default."""
    return int(getattr(config, "num_key_value_heads", None) or config.num_attention_heads)


def own_or_four_widths(config: Any) -> int:
    """Return the inner width of the feed-forward layer, four times the stream's by default."""
    named = getattr(config, "n_inner", None) or getattr(config, "intermediate_size", None)
    return int(named or 4 * config.hidden_size)


def expert_or_ffn_width(config: Any) -> int | None:
    """Return the inner width of an expert where one is named, else of the feed-forward layer."""
    named = getattr(config, "moe_intermediate_size", None)
    width = named or getattr(config, "intermediate_size", None)
    return width if isinstance(width, int) else None


def rotation_limits(config: Any, longest: int = 0) -> tuple[int, ...]:
    """Return the lengths beyond which rotary positions turn all tokens of a batch by other angles.

    They go by the longest prompt of a batch, so that a short one must not share a batch with it.

    Parameters
    ----------
    config
        The configuration of the text.
    longest
        Tokens of the longest prompt; dynamic positions differ for every length up to it.
    """
    rotation = getattr(config, "rope_parameters", None) or {}
    each = [rotation] if "rope_type" in rotation else [*rotation.values()]
    limits = set()
    for one in each:
        kind = str(one.get("rope_type")) if isinstance(one, Mapping) else ""
        if kind == "longrope" or (kind and "long_mscale" in one):
            limits.add(int(one["original_max_position_embeddings"]))
        elif "dynamic" in kind:
            n_context = int(config.max_position_embeddings)
            limits |= {n_context, *range(n_context, longest)}
    return tuple(sorted(limits))


def of_text(config: Any) -> Any:
    """Return the configuration of the text, which some models hold within a larger one."""
    return getattr(config, "text_config", None) or config

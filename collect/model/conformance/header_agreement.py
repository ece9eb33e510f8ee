"""Whether a model computes by what the header of its GGUF file says.

The configuration was built from the header by `collect.model.checkpoint.gguf.config`. This module
takes nothing from there: it reads the header again, by llama.cpp's meaning of its keys, and looks
at what the modules of the model hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collect.model.checkpoint.gguf.header import Header
from collect.model.checkpoint.gguf.layout import dequantised

#: Relative difference that rounding to float32 explains.
_ROUNDING = 1e-5

#: Depth at which llama.cpp scales Gemma's queries by the width per head.
_DEEP = {"gemma2": 46, "gemma3": 62}

#: Architectures whose positions are not rotated.
_UNROTATED = ("gpt2", "bloom")

Floats = NDArray[np.float64]


def contradictions(model: Any, header: Header | None) -> list[str]:
    """Return what a model computes by that is not what its file's header says.

    Parameters
    ----------
    model
        Of transformers; its weights are not looked at.
    header
        Of the file; None of a model from elsewhere, which nothing contradicts.

    Returns
    -------
    One sentence per contradiction: the key, what it says, what the model holds.
    """
    if header is None:
        return []
    prefix = f"{header.architecture}."
    keys = {
        key.removeprefix(prefix): value
        for key, value in header.metadata.items()
        if key.startswith(prefix)
    }
    pairs = [*_sizes(model, keys), *_scales(model, header, keys), *_windows(model, header, keys)]
    if header.architecture == "granite":
        pairs += _multipliers(model, keys)
    if header.architecture not in _UNROTATED:
        pairs += _rotations(model, header, keys)
    return [
        f"{key} says {_display(says)}, the model holds {_display(has)}"
        for key, says, has in pairs
        if not _is_same(says, has)
    ]


#: A key, what the header says by it, and what the model holds.
_Pair = tuple[str, Any, Any]


def _blocks(model: Any) -> Any:
    base = model.transformer if hasattr(model, "transformer") else model.model
    return base.h if hasattr(base, "h") else base.layers


def _sizes(model: Any, keys: Mapping[str, Any]) -> Iterator[_Pair]:
    blocks = _blocks(model)
    yield "block_count", keys.get("block_count"), len(blocks)
    yield (
        "embedding_length",
        keys.get("embedding_length"),
        model.get_input_embeddings().weight.shape[1],
    )
    epsilon = keys.get("attention.layer_norm_rms_epsilon", keys.get("attention.layer_norm_epsilon"))
    norms = [
        (path, module)
        for path, module in model.named_modules()
        if type(module).__name__.endswith("Norm")
    ]
    for path, norm in norms:
        yield (
            f"the epsilon of {path}",
            epsilon,
            getattr(norm, "variance_epsilon", getattr(norm, "eps", None)),
        )
    gates = [m for m in model.modules() if hasattr(m, "top_k")]
    for gate in gates:
        yield "expert_used_count", keys.get("expert_used_count"), gate.top_k
        yield "expert_count", keys.get("expert_count"), gate.weight.shape[0]


def _scales(model: Any, header: Header, keys: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield what scores and logits are multiplied and capped by."""
    n_heads, width = keys["attention.head_count"], keys["embedding_length"]
    of_head = keys.get("attention.key_length", width // n_heads)
    if keys["block_count"] == _DEEP.get(header.architecture):
        of_head = width // n_heads
    caps = {"gemma2": 50.0}.get(header.architecture)
    scale = keys.get("attention.scale") or of_head**-0.5
    for block in _blocks(model):
        named = (getattr(block, name, None) for name in ("attn", "self_attn", "self_attention"))
        attention = next((module for module in named if module is not None), None)
        if attention is None:  # a convolution stands in its place
            continue
        held = getattr(attention, "scaling", getattr(attention, "inv_norm_factor", None))
        yield "the scale of attention", scale, held
        cap = keys.get("attn_logit_softcapping", caps) or None
        yield "attn_logit_softcapping", cap, getattr(attention, "attn_logit_softcapping", None)
    caps = {"gemma2": 30.0}.get(header.architecture)
    cap = keys.get("final_logit_softcapping", caps) or None
    yield "final_logit_softcapping", cap, getattr(model.config, "final_logit_softcapping", None)


def _multipliers(model: Any, keys: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield the factors of Granite, each 1 where the header names none."""
    holders = [(model.model, "embedding_scale", "embedding_multiplier")]
    holders += [(block, "residual_scale", "residual_multiplier") for block in _blocks(model)]
    holders += [(model.config, "logit_scale", "logits_scaling")]
    for holder, key, name in holders:
        yield key, keys.get(key) or 1.0, getattr(holder, name, None)


def _windows(model: Any, header: Header, keys: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield the window of every block; None for a block that sees all before it."""
    window = keys.get("attention.sliding_window") or None
    if header.architecture == "gemma2":
        window = keys.get("attention.sliding_window", 4096)
    every = {"gemma2": 2, "gemma3": 6}.get(header.architecture)
    period = keys.get("attention.sliding_window_pattern", every)
    kinds = getattr(model.config, "layer_types", None)
    for place in range(len(_blocks(model))):
        is_whole = (
            not period[place]
            if isinstance(period, tuple)
            else period is not None and (place + 1) % period == 0
        )
        says = None if is_whole else window
        has = getattr(model.config, "sliding_window", None) or None
        if (kinds is not None and kinds[place] != "sliding_attention") or (
            kinds is None and not getattr(model.config, "use_sliding_window", True)
        ):
            has = None
        yield "attention.sliding_window", says, has


def _rotations(model: Any, header: Header, keys: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield the angle of every pair of features, and what cosines are multiplied by."""
    base_model = model.transformer if hasattr(model, "transformer") else model.model
    rotary = base_model.rotary_emb
    width = keys.get(
        "attention.key_length", keys["embedding_length"] // keys["attention.head_count"]
    )
    n = keys.get("rope.dimension_count", width)
    base = keys.get("rope.freq_base", 1e4)
    angles, size = _angles(header, keys, n, base)
    if header.architecture != "gemma3":
        yield "rope", angles, rotary.inv_freq
        yield "rope.scaling.attn_factor", size, rotary.attention_scaling
        table = header.tensor("rope_factors_long.weight")
        if table is not None and header.has_numbers:
            held = model.config.rope_parameters.get("long_factor")
            yield table.name, dequantised(header.path, table, ...), held
        return
    local = _plain(n, keys.get("rope.freq_base_swa", 1e4))
    for kind, says in (("full_attention", angles), ("sliding_attention", local)):
        if kind in model.config.layer_types:
            yield f"rope of {kind}", says, getattr(rotary, f"{kind}_inv_freq")


def _plain(n: int, base: float) -> Floats:
    return np.float64(base) ** (-np.arange(0, n, 2) / n)


def _angles(header: Header, keys: Mapping[str, Any], n: int, base: float) -> tuple[Floats, float]:
    """Return the angles of ggml's ``rope`` at position 1, and its factor of magnitude."""
    plain = _plain(n, base)
    scale = keys.get("rope.scaling.factor", keys.get("rope.scale_linear", 1.0)) or 1.0
    size = keys.get("rope.scaling.attn_factor", 1.0)
    kind = keys.get("rope.scaling.type", "linear")
    for name in ("rope_freqs.weight", "rope_factors_short.weight"):
        table = header.tensor(name)
        if table is not None and header.has_numbers:
            scale = 1.0 if kind == "none" else scale
            return plain / scale / dequantised(header.path, table, ...).astype(np.float64), size
    if kind == "none":
        return plain, size
    if kind != "yarn":
        return plain / scale, size
    length = keys.get("rope.scaling.original_context_length", keys["context_length"])
    ends = [
        n * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
        for turns in (
            keys.get("rope.scaling.yarn_beta_fast", 32.0),
            keys.get("rope.scaling.yarn_beta_slow", 1.0),
        )
    ]
    low, high = max(0, math.floor(ends[0])), min(n - 1, math.ceil(ends[1]))
    ramp = np.clip((np.arange(n // 2) - low) / max(0.001, high - low), 0, 1)
    return plain / scale * ramp + plain * (1 - ramp), size * (1 + 0.1 * math.log(scale))


def _is_same(says: Any, has: Any) -> bool:
    if says is None or has is None:
        return says is has
    first, second = np.asarray(says, np.float64), np.asarray(has, np.float64)
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=_ROUNDING, atol=0))


def _display(value: Any) -> str:
    if value is None:
        return "nothing"
    numbers = np.asarray(value, np.float64).reshape(-1)
    return ", ".join(f"{number:.6g}" for number in numbers[:4]) + (
        ", ..." if len(numbers) > 4 else ""
    )

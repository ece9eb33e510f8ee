"""Rotary positions as a GGUF header and its tensors of factors state them, for transformers.

llama.cpp divides the frequencies by a factor of all (linear), by the ramp of YaRN, or by one number
each from a tensor: ``rope_freqs.weight``, in which files of Llama 3.1 to 3.3 carry their scaling,
or ``rope_factors_long.weight`` and ``rope_factors_short.weight``. One number each is what
transformers calls ``longrope``, so all that the tensors say is carried over as it is.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from collect.errors import InputError
from collect.model.checkpoint.gguf.header import Header, Tensor
from collect.model.checkpoint.gguf.keys import Keys
from collect.model.checkpoint.gguf.layout import dequantised

#: Tensors of factors: for every length, and beyond or up to the original context.
ALWAYS = "rope_freqs.weight"
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"
FACTORS = (ALWAYS, LONG, SHORT)

#: Base of the frequencies where the header names none, as in llama.cpp.
_BASE = 10_000.0


def rotation(keys: Keys, d_head: int, n_context: int) -> dict[str, Any]:
    """Take what a header says of rotary positions; return ``rope_parameters`` of transformers.

    Parameters
    ----------
    keys
        Of the header.
    d_head
        Width of a head.
    n_context
        The context, from which factors for longer texts count where no other is stated [tokens].

    Raises
    ------
    UnsupportedModelError
        If it says what transformers has no name for.
    InputError
        If an entry or a tensor is not what it must be.
    """
    base = keys.positive("rope.freq_base", _BASE)
    n_rotated = keys.whole("rope.dimension_count", d_head)
    if n_rotated > d_head or n_rotated % 2:
        raise keys.wrong("rope.dimension_count", n_rotated, f"an even number up to {d_head}")
    rotated = {"rope_theta": base}
    if n_rotated != d_head:
        share = n_rotated / d_head  # what transformers multiplies by the width, and cuts
        rotated["partial_rotary_factor"] = (
            share if int(d_head * share) == n_rotated else float(np.nextafter(share, 1.0))
        )
    return rotated | _scaling(keys, n_rotated // 2, n_context)


def scaling_alone(keys: Keys, n_context: int) -> dict[str, Any]:
    """Return what is left of `rotation` without base and width: linear or none."""
    scaled = _scaling(keys, None, n_context)
    if scaled["rope_type"] not in ("default", "linear"):
        raise keys.uncarried(**{"rope.scaling.type": scaled["rope_type"]})
    return scaled


def _scaling(keys: Keys, n_frequencies: int | None, n_context: int) -> dict[str, Any]:
    """Take how frequencies are scaled; None frequencies where no tensor of factors may be."""
    stated = _Stated(keys, n_context)
    tensors = {name: keys.header.tensor(name) for name in FACTORS}
    named = [name for name, tensor in tensors.items() if tensor is not None]
    if named and n_frequencies is not None:
        return _by_tensor(keys, stated, n_frequencies)
    if stated.kind == "yarn" and stated.factor != 1:
        if stated.factor < 1:
            raise keys.uncarried(**{"rope.scaling.factor": stated.factor})
        result = {
            **{"rope_type": "yarn", "factor": stated.factor},
            "original_max_position_embeddings": stated.n_original,
            "beta_fast": keys.positive("rope.scaling.yarn_beta_fast", 32.0),
            "beta_slow": keys.positive("rope.scaling.yarn_beta_slow", 1.0),
        }
        attention = keys.positive("rope.scaling.attn_factor", 1.0)
        if attention != 1:  # beside what YaRN itself multiplies by
            result["attention_factor"] = attention * (1 + 0.1 * log(stated.factor))
        _take_ramp(keys, of_yarn=1.0)
        return result
    keys.stated({"rope.scaling.attn_factor": 1.0})
    _take_ramp(keys)
    if stated.kind == "longrope":
        raise keys.uncarried(**{"rope.scaling.type": "longrope"})
    if stated.factor == 1 or stated.kind == "none":
        return {"rope_type": "default"}
    return {"rope_type": "linear", "factor": stated.factor}


class _Stated:
    """The kind of scaling, its factor, and the context that it starts from."""

    def __init__(self, keys: Keys, n_context: int) -> None:
        self.kind = keys.text("rope.scaling.type", "linear")  # llama.cpp's default
        if self.kind not in ("none", "linear", "yarn", "longrope"):
            raise keys.uncarried(**{"rope.scaling.type": self.kind})
        of_old = keys.number("rope.scale_linear", 0.0)  # the key's name in files of 2023
        factor = keys.number("rope.scaling.factor", of_old)
        if factor < 0:
            raise keys.wrong("rope.scaling.factor", factor, "positive")
        self.factor = factor or 1.0
        self.n_original = keys.whole("rope.scaling.original_context_length", n_context)
        keys.any("rope.scaling.finetuned")  # whether it was trained so, which changes nothing


def _take_ramp(keys: Keys, of_yarn: float = 0.0) -> None:
    """Take the entries of YaRN that may stand in a header and say nothing of their own."""
    keys.stated(
        {
            "rope.scaling.yarn_ext_factor": (of_yarn, -1.0),
            "rope.scaling.yarn_attn_factor": (1.0, -1.0),
            "rope.scaling.yarn_beta_fast": (32.0, -1.0),
            "rope.scaling.yarn_beta_slow": (1.0, -1.0),
            "rope.scaling.yarn_log_multiplier": 0.0,
        }
    )


def _by_tensor(keys: Keys, stated: _Stated, n_frequencies: int) -> dict[str, Any]:
    """Return the scaling by one factor per frequency."""
    header = keys.header
    always, long, short = (header.tensor(name) for name in FACTORS)
    if always is not None and (long is not None or short is not None):
        raise keys.wrong("rope.scaling.type", stated.kind, f"carried by {ALWAYS} or by {LONG}")
    if stated.kind == "yarn":
        raise keys.uncarried(**{"rope.scaling.type": "yarn"})
    if always is None and (long is None or short is None):
        lacking = LONG if long is None else SHORT
        raise InputError(
            f"The file {header.path} must hold {LONG} and {SHORT}, or neither; it lacks {lacking}.",
            "Copy or download it again, or take another conversion of the model.",
        )
    common = 1.0 if stated.kind in ("none", "longrope") else stated.factor
    if stated.kind == "longrope" and stated.factor != 1:
        raise keys.uncarried(**{"rope.scaling.factor": stated.factor})
    attention = keys.positive("rope.scaling.attn_factor", 1.0)
    _take_ramp(keys)
    return {
        "rope_type": "longrope",
        "long_factor": _factors(header, always or long, n_frequencies, common),
        "short_factor": _factors(header, always or short, n_frequencies, common),
        "attention_factor": attention,
        "factor": 1.0,  # of no account beside the attention's
        "original_max_position_embeddings": stated.n_original,
    }


def _factors(header: Header, tensor: Tensor | None, n: int, common: float) -> list[float]:
    """Return the factors of a tensor, times one of all."""
    assert tensor is not None
    if not header.has_numbers and tensor.shape == (n,):
        return [1.0] * n  # a file still on the hub: they are read once it is fetched
    numbers = dequantised(header.path, tensor, ...).reshape(-1)
    if (
        tensor.shape != (n,)
        or len(numbers) != n
        or not (np.isfinite(numbers) & (numbers > 0)).all()
    ):
        raise InputError(
            f"The tensor {tensor.name} of {header.path} must hold {n} positive numbers, one a "
            f"frequency; it holds {len(numbers)} numbers, the least {numbers.min():g}.",
            "Copy or download it again, or take another conversion of the model.",
        )
    return [float(number) * common for number in numbers]

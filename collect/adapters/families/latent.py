"""Multi-head latent attention: keys and values of all heads come out of one short vector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from collect.adapters.capability import GAIN, HEADS, MAPS
from collect.adapters.configuration import expert_or_ffn_width
from collect.adapters.families.llama import LLAMA
from collect.adapters.families.state import OF_BLOCKS

_COMPRESSED = (
    "its keys and values come out of one compressed vector, through a norm (multi-head latent "
    "attention), so no head has a value matrix on the stream"
)
_UNEVEN = "its blocks have different numbers of heads"
_TWICE = "a block holds two attentions and three feed-forward parts"


def _depth_scale(config: Any) -> float:
    """Return the factor on updates, ``scale_depth`` over the root of the number of blocks."""
    return float(config.scale_depth / config.num_hidden_layers**0.5)


def _over_width(logits: Any, config: Any) -> Any:
    """Return logits times ``dim_model_base`` over the width of the stream."""
    return logits * (config.dim_model_base / config.hidden_size)


LATENT = replace(
    LLAMA,
    name="latent",
    model_types=(
        "axk1",
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "glm4_moe_lite",
        "glm_moe_dsa",
        "youtu",
    ),
    lacks={HEADS: _COMPRESSED},
    d_ffn=expert_or_ffn_width,
)

#: What the norms return is multiplied by a gate of its own input.
LATENT_GATED = replace(
    LATENT,
    name="latent_gated",
    model_types=("axk2",),
    lacks={HEADS: _COMPRESSED, GAIN: "its norms multiply by a gate computed from their input"},
)

#: Blocks with a window have other numbers of heads than those without.
LATENT_UNEVEN = replace(
    LATENT,
    name="latent_uneven",
    model_types=("dots3_note_text",),
    lacks={HEADS: _COMPRESSED, MAPS: _UNEVEN},
)

LATENT_SCALED = replace(
    LATENT,
    name="latent_scaled",
    model_types=("minicpm3",),
    update_scale=_depth_scale,
    logits=_over_width,
)

LATENT_TWICE = replace(
    OF_BLOCKS,
    name="latent_twice",
    model_types=("longcat_flash",),
    lacks=dict.fromkeys(OF_BLOCKS.lacks, _TWICE),
    d_ffn=expert_or_ffn_width,
)

"""Multi-head latent attention: keys and values of all heads come out of one short vector."""

from __future__ import annotations

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


LATENT = LLAMA.variant(
    "latent",
    "axk1",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "youtu",
    lacks={HEADS: _COMPRESSED},
    d_ffn=expert_or_ffn_width,
)

#: What the norms return is multiplied by a gate of its own input.
LATENT_GATED = LATENT.variant(
    "latent_gated",
    "axk2",
    lacks={HEADS: _COMPRESSED, GAIN: "its norms multiply by a gate computed from their input"},
)

#: Blocks with a window have other numbers of heads than those without.
LATENT_UNEVEN = LATENT.variant(
    "latent_uneven", "dots3_note_text", lacks={HEADS: _COMPRESSED, MAPS: _UNEVEN}
)

LATENT_SCALED = LATENT.variant(
    "latent_scaled",
    "minicpm3",
    update_scale=lambda config: float(config.scale_depth / config.num_hidden_layers**0.5),
    logits=lambda logits, config: logits * (config.dim_model_base / config.hidden_size),
)

LATENT_TWICE = OF_BLOCKS.variant(
    "latent_twice",
    "longcat_flash",
    lacks=dict.fromkeys(OF_BLOCKS.lacks, _TWICE),
    d_ffn=expert_or_ffn_width,
)

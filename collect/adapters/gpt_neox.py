"""GPT-NeoX, the family of Pythia: rotary positions, LayerNorm, both sub-layers in parallel."""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.layouts import interleaved

GPT_NEOX = Adapter(
    model_type="gpt_neox",
    body="gpt_neox",
    blocks="gpt_neox.layers",
    attention="attention",
    final_norm="gpt_neox.final_layer_norm",
    value="query_key_value",
    value_rows=interleaved,
    output="dense",
    d_head="head_size",
    d_ffn=lambda config: config.intermediate_size,
    norm_kind="LayerNorm",
    positional_scheme="rotary",
    is_parallel=lambda config: bool(config.use_parallel_residual),
)

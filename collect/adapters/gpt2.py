"""GPT-2: learned positions, LayerNorm, attention and feed-forward in sequence."""

from __future__ import annotations

from collect.adapters.adapter import Adapter
from collect.adapters.layouts import thirds

GPT2 = Adapter(
    model_type="gpt2",
    body="transformer",
    blocks="transformer.h",
    attention="attn",
    final_norm="transformer.ln_f",
    value="c_attn",
    value_rows=thirds,
    output="c_proj",
    is_conv1d=True,
    d_ffn=lambda config: config.n_inner or 4 * config.hidden_size,
    norm_kind="LayerNorm",
    positional_scheme="learned",
    is_parallel=lambda config: False,
)

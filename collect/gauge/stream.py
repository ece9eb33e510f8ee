"""The stream of one prompt as every block leaves it, all blocks at once: for small networks."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import torch
from torch import Tensor

from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.hooked import after
from collect.model.forward.passes import inputs
from collect.prompts.tokens import Encoded


@torch.no_grad()
def block_outputs(decoder: Decoder, prompt: Encoded) -> dict[int, Tensor]:
    """Return by block what it returns for a prompt, (n_tokens, d)."""
    seen: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for layer, block in enumerate(decoder.blocks):
            hooks.callback(after(block, partial(seen.__setitem__, layer)).remove)
        decoder.body(**inputs(decoder, (prompt,)), use_cache=False)
    return {layer: states[0] for layer, states in seen.items()}

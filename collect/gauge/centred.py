"""How the stream's vectors lie to each other once the mean over features is taken out.

A LayerNorm removes that mean before anything reads the stream, so angles without it are a
property of what the network computes; see ingredient ``centred_angles`` of table ``gauge_lemma``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import pandas as pd
import torch
from torch import Tensor

from collect.measures.geometry import Geometry, geometry
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.hooked import after
from collect.model.forward.passes import inputs
from collect.prompts.tokens import Encoded

_COLUMNS = ("mean_cosine", "mean_cosine_body", "uniformity", "effective_rank")


def centred_geometries(decoder: Decoder, prompts: Sequence[Encoded]) -> dict[str, pd.DataFrame]:
    """Return tables ``centred_geometry`` and ``centred_prompt_geometry`` of one network.

    Parameters
    ----------
    decoder
        In the number format in which the angles are wanted.
    prompts
        Prompts as token ids.

    Returns
    -------
    ``centred_geometry``, one row per (prompt_id, layer): `mean_cosine`, `mean_cosine_body`,
    `uniformity` and `effective_rank` of the prompt's tokens after the block.
    ``centred_prompt_geometry``, one row per layer: the same of the prompts' last tokens.
    """
    rows, last = [], dict[int, list[Tensor]]()
    for prompt in prompts:
        for layer, stream in block_outputs(decoder, prompt).items():
            states = stream - stream.mean(-1, keepdim=True)
            rows.append({"prompt_id": prompt.prompt_id, "layer": layer, **_numbers(states)})
            last.setdefault(layer, []).append(states[-1])
    across = [{"layer": layer, **_numbers(torch.stack(of))} for layer, of in last.items()]
    return {
        "centred_geometry": _frame(rows),
        "centred_prompt_geometry": _frame(across),
    }


def _numbers(vectors: Tensor) -> dict[str, float | None]:
    shape: Geometry = geometry(vectors)
    return {name: getattr(shape, name) for name in _COLUMNS}


def _frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype(dict.fromkeys(_COLUMNS, float))


@torch.no_grad()
def block_outputs(decoder: Decoder, prompt: Encoded) -> dict[int, Tensor]:
    """Return by block what it returns for a prompt, (n_tokens, d)."""
    seen: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for layer, block in enumerate(decoder.blocks):
            hooks.callback(after(block, partial(seen.__setitem__, layer)).remove)
        decoder.body(**inputs(decoder, (prompt,)), use_cache=False)
    return {layer: states[0] for layer, states in seen.items()}

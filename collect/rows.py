"""Measurements to frames: one function per table of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from collect.hooks import Observation
from collect.load import Decoder
from collect.measures import AttentionStatistics, frobenius_norms, next_token, spectral_norms
from collect.tokens import Encoded


def residual_norms(prompts: Sequence[Encoded], observation: Observation) -> pd.DataFrame:
    """Return one row per (prompt_id, layer, site, position) of a batch; padding left out.

    Columns as in table ``residual_norm``, without ``run_id`` and ``model_id``.
    """
    sites = list(observation.norms)
    norms, centred = (
        torch.stack([observation.norms[site][which] for site in sites]).cpu().numpy()
        for which in (0, 1)
    )
    lengths = np.array([len(prompt) for prompt in prompts])
    is_token = np.arange(norms.shape[-1]) < lengths[:, np.newaxis]
    of_site, of_prompt, position = np.nonzero(np.broadcast_to(is_token, norms.shape))
    is_special = np.zeros(is_token.shape, dtype=bool)
    is_special[is_token] = [flag for prompt in prompts for flag in prompt.is_special]
    return pd.DataFrame(
        {
            "prompt_id": _taken([prompt.prompt_id for prompt in prompts], of_prompt),
            "layer": _taken([layer for layer, _ in sites], of_site),
            "site": _taken([name for _, name in sites], of_site),
            "position": position,
            "is_special": is_special[of_prompt, position],
            "norm": norms[of_site, of_prompt, position],
            "norm_centred": centred[of_site, of_prompt, position],
        }
    )


def attention(prompts: Sequence[Encoded], observation: Observation) -> pd.DataFrame:
    """Return one row per (prompt_id, layer, head) of a batch.

    Columns as in table ``attention``, without ``run_id`` and ``model_id``, and ``row_error``
    for the conformance check.
    """
    layers = list(observation.attention)
    names = [quantity.name for quantity in fields(AttentionStatistics)]
    statistics = {name: _stacked(observation, name) for name in names}
    of_layer, of_prompt, head = np.indices(statistics["mass"].shape).reshape(3, -1)
    return pd.DataFrame(
        {
            "prompt_id": _taken([prompt.prompt_id for prompt in prompts], of_prompt),
            "layer": _taken(layers, of_layer),
            "head": head,
            "n_tokens": _taken([len(prompt) for prompt in prompts], of_prompt),
            **{name: numbers.ravel() for name, numbers in statistics.items()},
        }
    )


def _stacked(observation: Observation, name: str) -> NDArray[np.float64]:
    """Return one attention statistic as (n_layers, n_prompts, n_heads)."""
    of_layers = [
        torch.stack([getattr(statistics, name) for statistics in of_prompts])
        for of_prompts in observation.attention.values()
    ]
    stacked: NDArray[np.float64] = torch.stack(of_layers).cpu().numpy()
    return stacked


def _taken(values: Sequence[object], places: NDArray[np.intp]) -> NDArray[Any]:
    """Return ``values`` at ``places``, one per row of a frame."""
    return np.array(values)[places]


def next_tokens(
    prompts: Sequence[Encoded], observation: Observation, tokenizer: Any
) -> pd.DataFrame:
    """Return one row per prompt_id of a batch.

    Columns as in table ``next_token``, without ``run_id`` and ``model_id``.
    """
    distribution = next_token(observation.logits)
    top_token_ids = distribution.top_token_id.tolist()
    return pd.DataFrame(
        {
            "prompt_id": [prompt.prompt_id for prompt in prompts],
            "n_tokens": [len(prompt) for prompt in prompts],
            "n_special": [sum(prompt.is_special) for prompt in prompts],
            "entropy": distribution.entropy.tolist(),
            "top_token_id": top_token_ids,
            "top_token": [tokenizer.decode([token_id]) for token_id in top_token_ids],
            "top_probability": distribution.top_probability.tolist(),
        }
    )


@torch.inference_mode()
def weight_norms(decoder: Decoder, layer: int) -> pd.DataFrame:
    """Return one row per (head, matrix) of a layer.

    Columns as in table ``weight_norm``, without ``run_id`` and ``model_id``. Query heads
    that share a value matrix repeat its norms.
    """
    heads = np.arange(decoder.heads.n_heads)
    kv_heads = np.array([decoder.heads.kv_head(head) for head in range(len(heads))])
    weights = decoder.head_weights(layer)
    frames = [
        pd.DataFrame(
            {
                "layer": layer,
                "head": heads,
                "matrix": matrix,
                "kv_head": kv_heads,
                "sigma_max": spectral_norms(of_heads).cpu().numpy()[place],
                "frobenius": frobenius_norms(of_heads).cpu().numpy()[place],
            }
        )
        for matrix, of_heads, place in (
            ("V", weights.value, kv_heads),
            ("O", weights.output, heads),
        )
    ]
    return pd.concat(frames, ignore_index=True)


@torch.inference_mode()
def matrix_norms(decoder: Decoder, layer: int) -> pd.DataFrame:
    """Return one row per matrix of a layer, each taken whole, shared value heads once.

    Columns as in table ``matrix_norm``, without ``run_id`` and ``model_id``.
    """
    weights = decoder.head_weights(layer)
    whole = {
        "V": weights.value.flatten(0, 1),
        "O": weights.output.transpose(0, 1).flatten(1, 2),
    }
    return pd.DataFrame(
        {
            "layer": layer,
            "matrix": list(whole),
            "sigma_max": [spectral_norms(entries).item() for entries in whole.values()],
            "frobenius": [frobenius_norms(entries).item() for entries in whole.values()],
        }
    )

"""How far what a block shows is from what it must be: numbers of tensors, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from collect.adapters import Heads, HeadWeights
from collect.model.checkpoint.decoder import Sites

#: Stands for a scale of zero, where all that is compared is zero.
_TINY = torch.finfo(torch.float32).tiny


def sums(sites: Sites, seen: dict[str, Tensor]) -> list[tuple[list[Tensor], Tensor]]:
    """Return what must add up in a block: terms, and the vectors they must make.

    In parallel x + a + f = y; in sequence x + a = mid and mid + f = y, where the sums may go
    through norms before they are mid and y (post-norm), and may start from what the parts read
    instead of the stream.

    Parameters
    ----------
    sites
        The block's.
    seen
        (n_tokens, d_model) by name: stream, output, attention_update, ffn_update and, where the
        block has them, mid, attention_sum, ffn_sum, attention_input, ffn_input.
    """
    updates = (
        seen["attention_update"] * sites.attention_update.scale,
        seen["ffn_update"] * sites.ffn_update.scale,
    )
    if sites.mid is None:
        return [([seen["stream"], *updates], seen["output"])]
    starts = ("attention_input", "ffn_input") if sites.adds_to_norm else ("stream", "mid")
    totals = ("mid", "output") if sites.norms_after is None else ("attention_sum", "ffn_sum")
    return [
        ([seen[start], update], seen[total])
        for start, update, total in zip(starts, updates, totals, strict=True)
    ]


def sum_deviation(terms: Sequence[Tensor], total: Tensor) -> float:
    """Return the largest difference of a row from the sum of terms, over the row's largest entry.

    Parameters
    ----------
    terms, total
        (n_rows, n_features) each. Every row has its own scale, the largest absolute entry of
        total and terms, so that a token with a massive activation does not hide the others.
    """
    scale = torch.stack([*terms, total]).abs().amax(dim=(0, -1)).clamp_min(_TINY)
    difference = torch.stack([*terms, -total]).sum(0).abs().amax(-1)
    return float((difference / scale).max())


def normalised(
    vectors: Tensor, gain: Tensor, bias: Tensor | None, *, eps: float, is_centred: bool
) -> Tensor:
    """Return what a norm makes of vectors, in float32.

    (x - c) / sqrt(mean((x - c)^2) + eps) * gain + bias, where c is the mean over the features for
    LayerNorm (``is_centred``) and zero for RMSNorm.

    Parameters
    ----------
    vectors
        (n_tokens, d_model) in float32.
    gain, bias
        (d_model,) each; no bias, nothing added.
    eps
        What the norm adds to the variance.
    is_centred
        Whether the mean is taken off.

    Returns
    -------
    (n_tokens, d_model).
    """
    centred = vectors - vectors.mean(-1, keepdim=True) if is_centred else vectors
    scaled = centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt() * gain
    return scaled if bias is None else scaled + bias.float()


def place_deviation(actual: Tensor, expected: Tensor, scale: Tensor | None = None) -> float:
    """Return `sum_deviation` of vectors from what they must be; 1 if they are of another width.

    Parameters
    ----------
    found, expected
        (n_tokens, n_features) each.
    scale
        (n_tokens,): size of what was rounded on the way, where that may be larger than both.
    """
    if actual.shape != expected.shape:
        return 1.0
    if scale is None:
        return sum_deviation([expected], actual)
    sizes = torch.stack([expected, actual]).abs().amax(dim=(0, -1))
    return float(((actual - expected).abs().amax(-1) / sizes.maximum(scale).clamp_min(_TINY)).max())


def rounded_size(vectors: Tensor, gain: Tensor, *, eps: float) -> Tensor:
    """Return the size of what a LayerNorm rounds before it takes the mean off.

    max |x gain| / sqrt(mean((x - c)^2) + eps). Where all features share a large constant it is far
    larger than what the norm returns, and rounding of it is all that is left of small digits.

    Parameters
    ----------
    vectors, gain, eps
        As in `normalised`.

    Returns
    -------
    (n_tokens,).
    """
    centred = vectors - vectors.mean(-1, keepdim=True)
    return (vectors * gain).abs().amax(-1) * (centred.square().mean(-1) + eps).rsqrt()


def whole_deviation(actual: Tensor, expected: Tensor) -> float:
    """Return the largest difference of two tensors over the largest absolute entry of both."""
    return sum_deviation([actual.reshape(1, -1)], expected.reshape(1, -1))


def row_deviation(maps: Tensor, lengths: Sequence[int], *, has_sinks: bool) -> float:
    """Return how far a row of attention is from summing to 1 at most.

    Parameters
    ----------
    maps
        (n_prompts, n_heads, n_tokens, n_tokens), padding included.
    lengths
        Tokens of each prompt; a row of padding does not count, attention to padding does.
    has_sinks
        Whether part of a row may go to a sink, so that it sums to less than 1, not below 0.
    """
    rows = torch.cat(
        [of_prompt[:, :n, :n].sum(-1).flatten() for of_prompt, n in _each(maps, lengths)]
    )
    error = torch.maximum(rows - 1, -rows) if has_sinks else (rows - 1).abs()
    return float(error.max().clamp_min(0))


def above_diagonal(maps: Tensor, lengths: Sequence[int]) -> float:
    """Return the largest entry of attention to a later token; shapes as in `row_deviation`."""
    return max(float(real[:, :n, :n].abs().triu(1).max()) for real, n in _each(maps, lengths))


def rebuilt_attention(
    weights: HeadWeights, heads: Heads, states: Tensor, maps: Tensor, clip: float | None
) -> Tensor:
    """Return sum_h A_h (x W_V^h + b_V^h) W_O^h + b_O in float32, head by head.

    Parameters
    ----------
    weights, heads
        Of one block; see ``collect.adapters.cut``.
    states
        (n_prompts, n_tokens, d_model): what attention reads.
    maps
        (n_prompts, n_heads, n_tokens, n_tokens).
    clip
        Bound on the entries of the values, or None.

    Returns
    -------
    (n_prompts, n_tokens, d_model).
    """
    total = torch.zeros_like(states, dtype=torch.float32)
    for head in range(heads.n_heads):
        kv_head = heads.kv_head(head)
        values = states.float() @ weights.value[kv_head].float().T
        if weights.value_bias is not None:
            values = values + weights.value_bias[kv_head].float()
        if clip is not None:
            values = values.clamp(-clip, clip)
        total += maps[:, head].float() @ values @ weights.output[head].float().T
    return total if weights.output_bias is None else total + weights.output_bias.float()


def _each(maps: Tensor, lengths: Sequence[int]) -> Iterator[tuple[Tensor, int]]:
    return zip(maps, lengths, strict=True)

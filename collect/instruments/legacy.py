"""Published variants that no other table gives, computed as the notebooks do, defects included.

They exist to reproduce published numbers and to show what a defect does to them, never to
measure a model by. Which variant comes from where: ``data/published/VARIANTS.md``; formulas:
``data/published/metric.csv``. Caveats B1 to B16 are in table ``caveat``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from collect.adapters import HeadWeights
from collect.measures.device import on_processor

#: Tokens and rows of W_V that the notebooks keep: script 19, then notebook 15.
CORNERS = ((6, 16), (8, 32))


def norm_variants(vectors: Tensor) -> dict[str, Tensor]:
    """Return norms at the last token taken in short number formats (caveat B3).

    Parameters
    ----------
    vectors
        (n_prompts, d_model) in the number format of the forward pass [activation units].

    Returns
    -------
    By metric: one number per prompt. ``legacy_norm_own_format`` is torch's norm in the format
    of the pass, ``legacy_norm_float32`` the same after conversion to float32.
    """
    return {
        "legacy_norm_own_format": torch.linalg.vector_norm(vectors, dim=-1),
        "legacy_norm_float32": torch.linalg.vector_norm(vectors.float(), dim=-1),
    }


def map_variants(maps: Tensor, n_tokens: Sequence[int], weights: HeadWeights) -> dict[str, Tensor]:
    """Return what the notebooks make of the attention maps of a layer.

    Parameters
    ----------
    maps
        (n_prompts, n_heads, n, n), padding included.
    n_tokens
        Length of each prompt.
    weights
        The layer's attention weights; V is cut as the notebooks cut it (caveat B2).

    Returns
    -------
    By metric: one number per prompt.
    """
    value = weights.value if weights.value_contiguous is None else weights.value_contiguous
    unpadded = [of_prompt[:, :n, :n].double() for of_prompt, n in zip(maps, n_tokens, strict=True)]
    by_metric = {
        "legacy_contraction_ratio": [contraction_ratio(of_prompt[0]) for of_prompt in unpadded],
        "legacy_graph_lambda_2": [graph_lambda_2(of_prompt.mean(0)) for of_prompt in unpadded],
    }
    for tokens, rows in CORNERS:
        by_metric[f"legacy_trace_corner_{rows}"] = [
            corner_trace(of_prompt[0], value.flatten(0, 1), tokens, rows) for of_prompt in unpadded
        ]
    return {metric: torch.stack(of_prompts) for metric, of_prompts in by_metric.items()}


def entropy_variant(logits: Tensor) -> dict[str, Tensor]:
    """Return the entropy of the next token as the notebooks compute it [nat].

    Parameters
    ----------
    logits
        (n_prompts, n_vocabulary) in float32.

    Returns
    -------
    By metric: one number per prompt. Softmax in float16 or bfloat16, probabilities clipped
    to at least 1e-10 and made to sum to 1 again, or 1e-10 added inside the logarithm.
    """
    probabilities = logits.double().softmax(-1)
    clipped = probabilities.clamp_min(1e-10)
    return {
        "legacy_output_entropy_float16": _entropy(logits.half().softmax(-1)),
        "legacy_output_entropy_bfloat16": _entropy(logits.bfloat16().softmax(-1)),
        "legacy_output_entropy_clipped": _entropy(clipped),
        "legacy_output_entropy_offset": (-(probabilities * (probabilities + 1e-10).log()).sum(-1)),
    }


def _entropy(probabilities: Tensor) -> Tensor:
    """Return -sum p ln p after making the probabilities sum to 1, as scipy.stats.entropy does."""
    x64 = probabilities.double()
    x64 = x64 / x64.sum(-1, keepdim=True)
    of_prompts: Tensor = torch.special.entr(x64).sum(-1)
    return of_prompts


def contraction_ratio(weights: Tensor) -> Tensor:
    """Return the mean of sqrt(A_ij + 1e-10) over A_ij > 1e-8 [1].

    Notebook 15 divides the norm of a restriction map sqrt(A_ij + 1e-10) W_V by that of W_V,
    which leaves this: at most 1 whatever the model does.

    Parameters
    ----------
    weights
        (n, n): the map of head 0.
    """
    is_meant = weights > 1e-8
    if on_processor(weights):
        return (weights[is_meant] + 1e-10).sqrt().mean()
    # On a device, to find which are meant would wait for it.
    roots = torch.where(is_meant, weights + 1e-10, 0).sqrt()
    return roots.sum() / is_meant.sum()


def graph_lambda_2(weights: Tensor) -> Tensor:
    """Return the second smallest eigenvalue of the lower triangle of D - A, mirrored [1].

    D holds the row sums. Script 20 hands D - A, which is not symmetric, to a solver that reads
    the lower triangle alone, so this is no eigenvalue of a Laplacian and may be negative
    (caveat B7).

    Parameters
    ----------
    weights
        (n, n): the map averaged over heads.

    Returns
    -------
    NaN for a single token, and where the map holds a NaN.
    """
    if len(weights) < 2:
        return weights.new_tensor(torch.nan)
    # The solver would refuse what is not finite, and to look would wait for a device.
    is_finite = weights.isfinite().all()
    known = torch.where(is_finite, weights, 0)
    laplacian = known.sum(-1).diag() - known
    return torch.where(is_finite, torch.linalg.eigvalsh(laplacian, UPLO="L")[1], torch.nan)


def corner_trace(weights: Tensor, value: Tensor, n_tokens: int, n_rows: int) -> Tensor:
    """Return sum_{i != j} A_ij over a few tokens times |W_V corner|_F^2 [weight units squared].

    Script 19 and notebook 15 keep a few tokens, evenly spaced, and a corner of W_V; the trace
    of their sheaf Laplacian is this.

    Parameters
    ----------
    weights
        (n, n): the map of head 0.
    value
        (n_heads * d_head, d_model): W_V [weight units].
    n_tokens, n_rows
        Tokens to keep at most; rows and columns of W_V to keep.
    """
    n = len(weights)
    places = np.linspace(0, n - 1, min(n, n_tokens), dtype=int).tolist()
    few = weights[places][:, places]
    corner = value[:n_rows, :n_rows].double()
    return (few.sum() - few.trace()) * corner.square().sum()

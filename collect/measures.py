"""Tensors to numbers, one pure function per measured quantity, every sum in float64."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def token_norms(states: Tensor) -> Tensor:
    """Return the Euclidean norm of each token's vector, |x|.

    Parameters
    ----------
    states
        (..., d_model), any floating type [activation units].

    Returns
    -------
    (...) in float64. Squares are accumulated in float64: a norm taken in bfloat16 is off
    by up to 4e-3, and torch's own float32 norm loses digits on long vectors.
    """
    norms: Tensor = torch.linalg.vector_norm(states, dim=-1, dtype=torch.float64)
    return norms


def centred_norms(states: Tensor) -> Tensor:
    """Return the norm after removing the mean over the features, |x - mean(x)|.

    Parameters
    ----------
    states
        (..., d_model) [activation units].

    Returns
    -------
    (...) in float64. LayerNorm sees only this part of the stream.
    """
    wide = states.double()
    return token_norms(wide - wide.mean(dim=-1, keepdim=True))


@dataclass(frozen=True, slots=True)
class AttentionStatistics:
    """Sufficient statistics of one attention map per head, each (n_heads,) in float64.

    Attributes are the columns of table ``attention``; ``row_error`` is the largest
    departure of a row sum from 1, which conformance looks at and no table keeps.
    """

    mass: Tensor
    diagonal: Tensor
    first_column: Tensor
    above_diagonal: Tensor
    entropy: Tensor
    sum_squares: Tensor
    row_error: Tensor


def attention_statistics(weights: Tensor) -> AttentionStatistics:
    """Return the sufficient statistics of the attention maps A of one prompt.

    mass = sum_ij A_ij, diagonal = sum_i A_ii, first_column = sum_i A_i0,
    above_diagonal = sum_{j>i} A_ij, entropy = -sum_ij A_ij ln A_ij with 0 ln 0 = 0 [nat],
    sum_squares = sum_ij A_ij^2, row_error = max_i |sum_j A_ij - 1|.

    Parameters
    ----------
    weights
        (n_heads, n, n) over the unpadded tokens: row i is what token i attends to.
    """
    maps = weights.double()
    return AttentionStatistics(
        mass=maps.sum((-1, -2)),
        diagonal=maps.diagonal(dim1=-2, dim2=-1).sum(-1),
        first_column=maps[..., 0].sum(-1),
        above_diagonal=maps.triu(1).sum((-1, -2)),
        entropy=torch.special.entr(maps).sum((-1, -2)),
        sum_squares=maps.square().sum((-1, -2)),
        row_error=(maps.sum(-1) - 1).abs().amax(-1),
    )


@dataclass(frozen=True, slots=True)
class NextToken:
    """Next-token distribution of some prompts: entropy [nat], most probable token, its share."""

    entropy: Tensor
    top_token_id: Tensor
    top_probability: Tensor


def next_token(logits: Tensor) -> NextToken:
    """Return entropy and mode of softmax(logits), the softmax taken in float64.

    entropy = -sum_v p_v ln p_v [nat], without clipping, 0 ln 0 = 0.

    Parameters
    ----------
    logits
        (n_prompts, n_vocabulary).
    """
    log_probabilities = torch.log_softmax(logits.double(), dim=-1)
    probabilities = log_probabilities.exp()
    top_probability, top_token_id = probabilities.max(dim=-1)
    return NextToken(torch.special.entr(probabilities).sum(-1), top_token_id, top_probability)


def next_token_logits(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the logits W h + b in float32, whatever the model computes in.

    Parameters
    ----------
    states
        (n_prompts, d_model), output of the final norm at the last token.
    weight, bias
        Output embedding (n_vocabulary, d_model) and its bias, if it has one. Converted
        a slice at a time, so no float32 copy of the whole embedding is made.
    """
    wide = states.float()
    logits = torch.cat([wide @ rows.float().T for rows in torch.split(weight, 8192)], dim=-1)
    return logits if bias is None else logits + bias.float()


def spectral_norms(matrices: Tensor) -> Tensor:
    """Return the largest singular value of each matrix, sigma_max = sqrt(lambda_max(W W^T)).

    Parameters
    ----------
    matrices
        (..., rows, columns) [weight units]. The Gram matrix is formed on the shorter side.

    Returns
    -------
    (...) in float64. Gram matrix and eigenvalues are both float64: exact to about 1e-14,
    and no accelerator's reduced-precision product can enter.
    """
    wide = matrices.double()
    tall = wide if wide.shape[-2] <= wide.shape[-1] else wide.transpose(-1, -2)
    eigenvalues: Tensor = torch.linalg.eigvalsh(tall @ tall.transpose(-1, -2))
    return eigenvalues[..., -1].clamp_min(0).sqrt()


def frobenius_norms(matrices: Tensor) -> Tensor:
    """Return the Frobenius norm of each matrix, sqrt(sum_ij W_ij^2), in float64.

    Parameters
    ----------
    matrices
        (..., rows, columns) [weight units].
    """
    norms: Tensor = torch.linalg.vector_norm(matrices, dim=(-2, -1), dtype=torch.float64)
    return norms

"""Logits to the distribution of the token that comes next, softmax and sums in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

#: Tokens whose logits are held at a time.
TOKENS_AT_A_TIME = 64


@dataclass(frozen=True, slots=True)
class Predictions:
    """Distributions of the token after each of some tokens; every attribute is (n_tokens,).

    Attributes
    ----------
    entropy
        -sum_v p_v ln p_v [nat].
    top_token_id, top_probability
        The most probable token and its probability.
    surprisal
        -ln p of the token that does come [nat]; NaN where none is known.
    """

    entropy: Tensor
    top_token_id: Tensor
    top_probability: Tensor
    surprisal: Tensor


def predictions(states: Tensor, logits: Callable[[Tensor], Tensor], coming: Tensor) -> Predictions:
    """Return what is predicted after each token, holding the logits of 64 tokens at a time.

    Parameters
    ----------
    states
        (n_tokens, d): rows of the body's ``last_hidden_state``.
    logits
        Turns such rows into logits (n, n_vocabulary).
    coming
        (n_tokens,) token id that comes next, -1 where none does.
    """
    parts = [
        _of_logits(logits(few), next_ids)
        for few, next_ids in zip(
            states.split(TOKENS_AT_A_TIME), coming.split(TOKENS_AT_A_TIME), strict=True
        )
    ]
    names = Predictions.__slots__
    return Predictions(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def _of_logits(logits: Tensor, coming: Tensor) -> Predictions:
    coming = coming.to(logits.device)
    log_probabilities = torch.log_softmax(logits.double(), dim=-1)
    log_of_next = log_probabilities.gather(-1, coming.clamp_min(0)[:, None])[:, 0]
    top_log_probability, top_token_id = log_probabilities.max(dim=-1)
    return Predictions(
        entropy=_entropy(log_probabilities),
        top_token_id=top_token_id,
        top_probability=top_log_probability.exp(),
        surprisal=torch.where(coming >= 0, -log_of_next, torch.nan),
    )


def _entropy(log_probabilities: Tensor) -> Tensor:
    """Return -sum_v p_v ln p_v, with 0 for an impossible token; uses up its argument."""
    probabilities = log_probabilities.exp()
    finite = log_probabilities.clamp_min_(torch.finfo(log_probabilities.dtype).min)
    return -probabilities.mul_(finite).sum(-1)

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
    """Return what logits (n, n_vocabulary) say, by one exponential for each."""
    coming = coming.to(logits.device)
    top_token_id = logits.argmax(-1)
    below = logits.to(torch.float64, copy=True)
    below -= below.gather(-1, top_token_id[:, None])
    below_of_next = below.gather(-1, coming.clamp_min(0)[:, None])[:, 0]
    weights = below.exp()
    total = weights.sum(-1)
    finite = below.clamp_min_(torch.finfo(below.dtype).min)
    log_total = total.log()
    return Predictions(
        entropy=log_total - weights.mul_(finite).sum(-1) / total,
        top_token_id=top_token_id,
        top_probability=1 / total,
        surprisal=torch.where(coming >= 0, log_total - below_of_next, torch.nan),
    )

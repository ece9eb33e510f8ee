"""Logits to the distribution of the token that comes next, softmax and sums in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collect.measures.declaration import (
    HEAD,
    POSITION,
    PROMPT,
    RUN,
    Column,
    MeasuredTable,
    Quantity,
    count,
)
from collect.measures.device import on_processor

if TYPE_CHECKING:
    from torch import Tensor

#: Tokens whose logits are held at a time.
TOKENS_AT_A_TIME = 64

#: Tokens of which a processor turns logits into probabilities at a time, so that its cache holds
#: them in float64.
_TOKENS_IN_CACHE = 2


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
    import torch

    parts = []
    for few, next_ids in _chunks(TOKENS_AT_A_TIME, states, coming):
        of_few = logits(few)
        at_a_time = _TOKENS_IN_CACHE if on_processor(of_few) else TOKENS_AT_A_TIME
        parts += [_predict(*fewer) for fewer in _chunks(at_a_time, of_few, next_ids)]
    names = Predictions.__slots__
    return Predictions(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def _chunks(at_a_time: int, rows: Tensor, numbers: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Return at most so many rows at a time, with the number of each."""
    return zip(rows.split(at_a_time), numbers.split(at_a_time), strict=True)


def _predict(logits: Tensor, coming: Tensor) -> Predictions:
    """Return what logits (n, n_vocabulary) say, by one exponential for each."""
    import torch

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


_AFTER_TOKENS = MeasuredTable(
    "token_prediction",
    "One row per model, prompt and token: the distribution of the token that comes after it. Only "
    "runs whose run.quantities have predictions are here; a join leaves out the other models. "
    "Table next_token holds the last position in full precision, of every run over prompts.",
    key=(RUN, PROMPT, POSITION),
    columns=(
        Column("entropy", "Entropy of the distribution", "nat", "FLOAT NOT NULL"),
        count("top_token_id", "Most probable token", "-"),
        Column("top_probability", "Its probability", "1", "FLOAT NOT NULL"),
        Column(
            "surprisal",
            "-ln of the probability of the token that does come; NULL at the last position",
            "nat",
            "FLOAT",
        ),
    ),
    n_rows=lambda e: e.n_tokens,
    row_bytes=11.0,
)

QUANTITY = Quantity(
    "predictions",
    "distribution of the next token, after every token",
    (_AFTER_TOKENS,),
    source="entropy and surprisal: Shannon 1948",
    needs=(HEAD,),
)

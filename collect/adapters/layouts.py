"""How the rows of W_V lie in a projection, and the columns of W_O in another.

Every function takes rows in the (out, in) order of ``torch.nn.Linear`` - or a bias, which
has the same rows and no columns - and returns the part of each key and value head. Nothing is
copied: writing to the result writes to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Heads:
    """Number of query heads, number of key and value heads, and width of a head."""

    n_heads: int
    n_kv_heads: int
    d_head: int

    def kv_head(self, head: int) -> int:
        """Return the key and value head that a query head reads: neighbours share."""
        return head // (self.n_heads // self.n_kv_heads)


def split(rows: Tensor, heads: Heads) -> Tensor:
    """Return V from a projection of its own: (n_kv_heads, d_head, ...)."""
    return rows.view(heads.n_kv_heads, heads.d_head, *rows.shape[1:])


def thirds(rows: Tensor, heads: Heads) -> Tensor:
    """Return V from [Q; K; V], all heads of Q first: (n_heads, d_head, ...)."""
    return rows.view(3, heads.n_heads, heads.d_head, *rows.shape[1:])[2]


def interleaved(rows: Tensor, heads: Heads) -> Tensor:
    """Return V from [q; k; v] of head 0, then of head 1, ...: (n_heads, d_head, ...)."""
    return rows.view(heads.n_heads, 3, heads.d_head, *rows.shape[1:])[:, 2]


def output_columns(weight: Tensor, heads: Heads) -> Tensor:
    """Return the columns of W_O that each query head feeds: (n_heads, d_model, d_head)."""
    return weight.view(-1, heads.n_heads, heads.d_head).transpose(0, 1)

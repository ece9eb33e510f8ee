"""How the rows of Q, K and V lie in a fused projection.

Every layout takes rows in the (out, in) order of ``torch.nn.Linear`` - or a bias, which has
the same rows and no columns - and returns (n_heads, d_head, ...) for Q and (n_kv_heads, d_head,
...) for K and for V. K and V are views, so writing to them writes to the model; so is Q, except
where several query heads share a key head and lie between the shared ones. Of CodeGen, whose
parts lie apart, all three are copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: Model-parallel parts that CodeGen's fused projection was written in.
_CODEGEN_PARTS = 4


@dataclass(frozen=True, slots=True)
class Heads:
    """Number of query heads, number of key and value heads, and width of a head."""

    n_heads: int
    n_kv_heads: int
    d_head: int

    def kv_head(self, head: int) -> int:
        """Return the key and value head that a query head reads: neighbours share."""
        return head // (self.n_heads // self.n_kv_heads)


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """Q, K, V and O of one block, head by head: key and value are views of what was given.

    Attributes
    ----------
    query, key, value
        (n_heads, d_head, d_model), (n_kv_heads, d_head, d_model) twice.
    query_bias, key_bias, value_bias
        The same without d_model, or None.
    output
        (n_heads, d_model, d_head).
    output_bias
        (d_model,), or None.
    gain
        (d_model,) in float32: what the norm in front of attention multiplies by, one where that
        norm has no weight; None when attention reads the stream without a norm.
    value_contiguous
        (n_heads, d_head, d_model): the last third of a fused matrix read as V (caveat B2);
        None where that is V, or where a third is not n_heads heads.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    query_bias: Tensor | None
    key_bias: Tensor | None
    value_bias: Tensor | None
    output_bias: Tensor | None
    gain: Tensor | None
    value_contiguous: Tensor | None


def head_rows(rows: Tensor, heads: Heads) -> Tensor:
    """Return a projection of its own, cut into heads of d_head rows: (-1, d_head, ...)."""
    return rows.view(-1, heads.d_head, *rows.shape[1:])


def contiguous(rows: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
    """Cut [Q; K; V]: all query heads, then all key heads, then all value heads."""
    parts = head_rows(rows, heads)
    query, key, value = parts.split([heads.n_heads, heads.n_kv_heads, heads.n_kv_heads])
    return query, key, value


def interleaved(rows: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
    """Cut [q ... q; k; v] of key head 0, then of key head 1, ...: query heads with their own k, v.

    With as many key heads as query heads this is [q; k; v] of head 0, of head 1, ...; with a
    single one it is all of Q, then k, then v.
    """
    shared = heads.n_heads // heads.n_kv_heads
    groups = rows.view(heads.n_kv_heads, shared + 2, heads.d_head, *rows.shape[1:])
    return groups[:, :-2].flatten(0, 1), groups[:, -2], groups[:, -1]


def shared_or_interleaved(rows: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
    """Cut [Q; k; v] when all heads share one key head, else [q; k; v] of each head in turn."""
    return (contiguous if heads.n_kv_heads == 1 else interleaved)(rows, heads)


def codegen(rows: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
    """Cut four parts, each [Q; V; K] - in this order - of a quarter of the heads.

    The parts lie apart, so all three are copies: (n_heads, d_head, ...).
    """
    quarter = heads.n_heads // _CODEGEN_PARTS
    parts = rows.view(_CODEGEN_PARTS, 3, quarter, heads.d_head, *rows.shape[1:])
    query, value, key = (parts[:, place].flatten(0, 1) for place in range(3))
    return query, key, value


def last_third(rows: Tensor, heads: Heads) -> Tensor:
    """Return the last n_heads x d_head rows of a fused matrix, which only [Q; K; V] keeps for V.

    The published notebooks read V so whatever the layout (caveat B2).
    """
    return head_rows(rows[-heads.n_heads * heads.d_head :], heads)


def output_columns(weight: Tensor, heads: Heads) -> Tensor:
    """Return the columns of W_O that each query head feeds: (n_heads, d_model, d_head)."""
    return weight.view(-1, heads.n_heads, heads.d_head).transpose(0, 1)

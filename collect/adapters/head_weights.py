"""The attention weights of one block, head by head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


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

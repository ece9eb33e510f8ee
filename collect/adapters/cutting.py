"""The attention weights of one block, cut into heads as the adapter says they lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from collect.adapters.adapter import Adapter
from collect.adapters.layouts import (
    Heads,
    HeadWeights,
    contiguous,
    head_rows,
    last_third,
    output_columns,
)

if TYPE_CHECKING:
    from torch import Tensor


def weight_names(adapter: Adapter) -> tuple[str, ...]:
    """Return the parameters of a block that ``cut`` may ask for, named from the block.

    Biases and the gain need not exist; the other weights must.
    """
    modules = (*adapter.projections, adapter.output)
    names = [f"{module}.{kind}" for kind in ("weight", "bias") for module in modules]
    if adapter.attention_norm is not None:
        names.append(f"{adapter.attention_norm}.weight")
    return tuple(names)


def cut(adapter: Adapter, heads: Heads, tensors: Mapping[str, Tensor]) -> HeadWeights:
    """Cut the attention weights of a block into heads.

    Parameters
    ----------
    adapter
        In the form of the model's configuration.
    heads
        Number and width of heads.
    tensors
        The parameters that ``weight_names`` names, as far as the model has them.

    Raises
    ------
    KeyError
        If a weight is missing.
    RuntimeError
        If a tensor has not the size that the heads ask for.
    """
    query, key, value = _project(adapter, heads, tensors, "weight")
    query_bias, key_bias, value_bias = (
        _project(adapter, heads, tensors, "bias")
        if f"{adapter.projections[0]}.bias" in tensors
        else (None, None, None)
    )
    return HeadWeights(
        query=query,
        key=key,
        value=value,
        output=output_columns(_rows(adapter, tensors[f"{adapter.output}.weight"]), heads),
        query_bias=query_bias,
        key_bias=key_bias,
        value_bias=value_bias,
        output_bias=tensors.get(f"{adapter.output}.bias"),
        gain=_gain(adapter, tensors, query),
        value_contiguous=_misread(adapter, heads, tensors),
    )


def _project(
    adapter: Adapter, heads: Heads, tensors: Mapping[str, Tensor], kind: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows (weight) or entries (bias) of Q, K and V by head."""
    parts = [_rows(adapter, tensors[f"{module}.{kind}"]) for module in adapter.projections]
    if adapter.layout is not None:
        return adapter.layout(parts[0], heads)
    query, key, value = (head_rows(rows, heads) for rows in parts)
    return query, key, value


def _rows(adapter: Adapter, tensor: Tensor) -> Tensor:
    """Return a weight in (out, in) order; a bias as it is."""
    return tensor.T if adapter.is_conv1d and tensor.ndim > 1 else tensor


def _gain(adapter: Adapter, tensors: Mapping[str, Tensor], like: Tensor) -> Tensor | None:
    if adapter.attention_norm is None:
        return None
    weight = tensors.get(f"{adapter.attention_norm}.weight")
    if weight is None:
        return like.new_ones(like.shape[-1]).float()
    return weight.float() + adapter.gain_offset


def _misread(adapter: Adapter, heads: Heads, tensors: Mapping[str, Tensor]) -> Tensor | None:
    """Return the last third of a fused matrix where it is a slice of its own."""
    if adapter.layout in (None, contiguous) or heads.n_kv_heads != heads.n_heads:
        return None
    return last_third(_rows(adapter, tensors[f"{adapter.projections[0]}.weight"]), heads)

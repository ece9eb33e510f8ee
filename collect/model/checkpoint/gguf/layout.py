"""How llama.cpp lays tensors out otherwise than transformers, undone.

Written from what llama.cpp's converter does. All work on rows of numpy arrays in torch's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from collect.adapters.configuration import own_or_shared_heads
from collect.errors import UnsupportedModelError, first_line
from collect.model.checkpoint.gguf import steps
from collect.model.checkpoint.gguf.header import Tensor
from collect.model.checkpoint.safetensors.header import FLOATS

#: Undoes a layout, given the configuration of transformers.
Undoing: TypeAlias = Callable[[NDArray[Any], Any], NDArray[Any]]


def transposed(numbers: NDArray[Any], _config: Any) -> NDArray[Any]:
    """Undo a matrix that is stored for a product from the right; a bias is as it is."""
    return numbers.T


def row(numbers: NDArray[Any], _config: Any) -> NDArray[Any]:
    """Undo a matrix of one row that is stored without its first dimension."""
    return numbers.reshape(1, -1)


def one_channel(numbers: NDArray[Any], _config: Any) -> NDArray[Any]:
    """Undo a convolution of single channels stored without a dimension; a bias is as it is."""
    return numbers[:, None] if numbers.ndim > 1 else numbers


def pairs(numbers: NDArray[Any], config: Any) -> NDArray[Any]:
    """Undo the rows of queries: halves of a head, whose numbers are stored in turn."""
    return _halves(numbers, config.num_attention_heads)


def pairs_of_keys(numbers: NDArray[Any], config: Any) -> NDArray[Any]:
    """Undo the rows of keys; see `pairs`."""
    return _halves(numbers, own_or_shared_heads(config))


def _halves(numbers: NDArray[Any], n_heads: int) -> NDArray[Any]:
    by_head = numbers.reshape(n_heads, -1, 2, *numbers.shape[1:])
    return by_head.swapaxes(1, 2).reshape(numbers.shape)


def by_head(numbers: NDArray[Any], config: Any) -> NDArray[Any]:
    """Undo queries, keys and values that stand head by head and are stored one after another."""
    n_heads = config.num_attention_heads
    by_kind = numbers.reshape(3, n_heads, -1, *numbers.shape[1:])
    return by_kind.swapaxes(0, 1).reshape(numbers.shape)


def by_group(numbers: NDArray[Any], config: Any) -> NDArray[Any]:
    """Undo queries that stand before the key and value they share, stored all before all."""
    n_groups, d_head = config.num_kv_heads, config.head_dim
    rest = numbers.shape[1:]
    n_queries = config.num_attention_heads * d_head
    queries, keys, values = np.split(numbers, (n_queries, n_queries + n_groups * d_head))
    parts = [part.reshape(n_groups, -1, *rest) for part in (queries, keys, values)]
    return np.concatenate(parts, axis=1).reshape(numbers.shape)


#: By name of a layout, as `architectures` has it.
LAYOUTS: Mapping[str, Undoing] = {
    "transposed": transposed,
    "row": row,
    "one channel": one_channel,
    "pairs": pairs,
    "pairs of keys": pairs_of_keys,
    "by head": by_head,
    "by group": by_group,
}


def dequantised(path: Path, tensor: Tensor, places: Any, seed: int | None = None) -> Any:
    """Return a tensor of a file as floats, or some of its rows; only these are read.

    With a seed, simulated quantisation noise is added to those that are quantised.

    Raises
    ------
    UnsupportedModelError
        If the package cannot read the number format.
    """
    from gguf import GGMLQuantizationType, dequantize

    kind = GGMLQuantizationType(tensor.number_format)
    stored = np.memmap(path, np.uint8, "r", tensor.offset, (tensor.n_bytes,))
    rows = stored.reshape(*tensor.shape[:-1], -1)[places]
    try:
        numbers = np.array(dequantize(rows, kind))
    except NotImplementedError as error:
        raise UnsupportedModelError(
            f"The number format {kind.name} of {tensor.name} in {path} cannot be dequantised: "
            f"{first_line(error)}.",
            "Take a file in another format, such as Q8_0 or Q4_K_M.",
        ) from error
    if seed is not None and kind.name not in FLOATS:
        numbers += steps.error(tensor, rows, kind, places, seed)
    return numbers

"""The rounding error of a quantised tensor once more: uniform within half a step of its blocks.

A format of llama.cpp with an even grid keeps, for each block, whole numbers and a step that they
are multiplied by. The step is read off with the package's own reader: where every whole number of
a block is 1 the dequantised numbers are a step above those where every one is 0.
"""

from __future__ import annotations

import zlib
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from collect.errors import UnsupportedModelError

if TYPE_CHECKING:
    from collect.model.checkpoint.gguf.header import Tensor

#: By format with an even grid: where, among the bytes of a block, the low bits of its whole
#: numbers begin and end, and the byte in which each of them is 1; the other bits are cleared, from
#: and to the places that follow. Layouts as ``gguf.quants`` reads them.
_LOW_BITS: dict[str, tuple[slice, int, slice | None]] = {
    "Q4_0": (slice(2, 18), 0x11, None),
    "Q4_1": (slice(4, 20), 0x11, None),
    "Q5_0": (slice(6, 22), 0x11, slice(2, 6)),
    "Q5_1": (slice(8, 24), 0x11, slice(4, 8)),
    "Q8_0": (slice(2, 34), 0x01, None),
    "Q2_K": (slice(16, 80), 0x55, None),
    "Q3_K": (slice(32, 96), 0x55, slice(0, 32)),
    "Q4_K": (slice(16, 144), 0x11, None),
    "Q5_K": (slice(48, 176), 0x11, slice(16, 48)),
    "Q6_K": (slice(0, 128), 0x11, slice(128, 192)),
}

#: Rows whose steps are held at a time.
_ROWS = 1 << 12

#: Numbers of 32 bits that the generator makes in one step of its counter.
_PER_COUNT = 8


def has_step(format_name: str) -> bool:
    """Return whether a format has blocks with an even grid."""
    return format_name in _LOW_BITS


def steps(rows: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return the step of the grid that each number of some rows lies on.

    Parameters
    ----------
    rows
        (..., bytes of a row), as stored.
    kind
        Its format, a ``GGMLQuantizationType``.

    Returns
    -------
    (..., numbers of a row) in float32 [weight units].

    Raises
    ------
    UnsupportedModelError
        If the grid of the format is not even.
    """
    from gguf import GGML_QUANT_SIZES, dequantize

    if not has_step(kind.name):
        raise UnsupportedModelError(
            f"A format must have an even grid for a step of it; {kind.name} has none.",
            f"Take a file in one of {', '.join(_LOW_BITS)}.",
        )
    low, one, high = _LOW_BITS[kind.name]
    _, n_bytes = GGML_QUANT_SIZES[kind]
    made = []
    for value in (0, one):
        blocks = np.array(rows).reshape(-1, n_bytes)
        blocks[:, low] = value
        if high is not None:
            blocks[:, high] = 0
        made.append(np.array(dequantize(blocks.reshape(rows.shape), kind)))
    size: NDArray[Any] = np.abs(made[1] - made[0])
    return size


def error(tensor: Tensor, rows: NDArray[Any], kind: Any, places: Any, seed: int) -> NDArray[Any]:
    """Return simulated quantisation noise, one more rounding error, of some rows of a tensor.

    Each number's is the same in whatever pieces the tensor is read.

    Parameters
    ----------
    tensor
        As the header has it; its name is part of the seed.
    rows, kind
        As for `steps`: the rows that are read.
    places
        Which rows these are, as they index the tensor.
    seed
        Of the error [1].

    Returns
    -------
    As `steps`, uniform within half a step either way [weight units].
    """
    width = prod(tensor.shape[1:])
    chosen = np.arange(tensor.shape[0])[places]
    numbers = np.empty((len(chosen), width), np.float32)
    key = np.array([seed, zlib.crc32(tensor.name.encode())], np.uint64)
    starts = np.flatnonzero(np.diff(chosen, prepend=-2) != 1)
    for start, stop in zip(starts, [*starts[1:], len(chosen)], strict=True):
        bits = np.random.Philox(key=key)
        bits.advance(int(chosen[start]) * width // _PER_COUNT)
        rng = np.random.Generator(bits)
        rng.random(out=numbers[start:stop], dtype=np.float32)
    numbers -= np.float32(0.5)
    for first in range(0, len(chosen), _ROWS):  # a step of every number at once is as large again
        few = slice(first, first + _ROWS)
        numbers[few] *= steps(rows[few], kind).reshape(-1, width)
    return numbers.reshape(*rows.shape[:-1], -1)

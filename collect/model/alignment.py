"""Weights put where their place in a file cannot decide the last bits of what is computed."""

from __future__ import annotations

from torch import Tensor

#: What torch aligns memory of its own to [bytes]: the width of a processor's cache line.
ALIGNMENT = 64


def aligned(tensor: Tensor) -> Tensor:
    """Return a tensor that begins at a multiple of `ALIGNMENT` bytes, copied if it does not.

    A tensor of a safetensors file begins where the header ends, at a multiple of eight bytes.
    On some processors the kernels for products add up in another order from there, so the same
    weights under a longer name would give other last bits. Tensors that are not on the CPU are
    returned as they are.
    """
    is_placed = tensor.device.type != "cpu" or tensor.data_ptr() % ALIGNMENT == 0
    return tensor if is_placed else tensor.clone()

"""Where numbers lie: on the processor, or on a device that has to be waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def on_processor(tensor: Tensor) -> bool:
    """Return whether numbers lie where Python can read them without waiting for a device."""
    return tensor.is_cpu

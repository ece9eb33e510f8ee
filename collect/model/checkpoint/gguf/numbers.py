"""The numbers of one tensor of a GGUF file, by the package ``gguf``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from collect.errors import UnsupportedModelError, first_line
from collect.model.checkpoint.gguf import steps
from collect.model.checkpoint.gguf.header import Tensor
from collect.model.checkpoint.safetensors.header import FLOATS


def dequantised(path: Path, tensor: Tensor, places: Any, seed: int | None = None) -> Any:
    """Return a tensor of a file as floats, or some of its rows; only these are read.

    With a seed, one more rounding error is added to those that are quantised.

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

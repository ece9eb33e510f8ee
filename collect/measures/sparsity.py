"""How evenly the features of a token share its length: sparsity of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from collect.measures.declaration import Column, StreamQuantity

if TYPE_CHECKING:
    from torch import Tensor


def sparsity(states: Tensor) -> Mapping[str, Tensor]:
    """Return the mean over tokens of (sqrt(d) - |x|_1 / |x|_2) / (sqrt(d) - 1).

    Parameters
    ----------
    states
        (n_tokens, d) in float64 [activation units].
    """
    root = states.shape[-1] ** 0.5
    ratio = states.abs().sum(-1) / states.square().sum(-1).sqrt()
    return {"sparsity": ((root - ratio) / (root - 1)).mean()}


QUANTITY = StreamQuantity(
    name="sparsity",
    description="how unevenly features share the length of the residual stream",
    table="stream_sparsity",
    columns=(
        Column(
            "sparsity",
            "Mean over tokens of (sqrt(d) - |x|_1 / |x|_2) / (sqrt(d) - 1): 0 where all features "
            "are equally large, 1 where one is alone",
        ),
    ),
    measure=sparsity,
    source="Hoyer 2004, J. Mach. Learn. Res. 5, equation 3.1",
)

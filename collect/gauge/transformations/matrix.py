"""A matrix of a network as output by input, however its file stores it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Matrix:
    """A linear map y = W x + b of a network; what is written to it is written to the model.

    Attributes
    ----------
    name
        Of the weight, from the model.
    weight
        As stored: (out, in), or (in, out) where ``is_transposed``; experts come first.
    bias
        (out,) or (n_experts, out), or None.
    """

    name: str
    weight: Tensor
    bias: Tensor | None
    is_transposed: bool = False

    @property
    def entries(self) -> Tensor:
        """The matrix as (..., out, in), a view of what is stored."""
        return self.weight.mT if self.is_transposed else self.weight

    def turn(self, rows: Tensor, basis: Tensor) -> None:
        """Write what some rows return in another basis, (n_rows, n_rows)."""
        self.entries[rows] = basis @ self.entries[rows]
        if self.bias is not None:
            self.bias[rows] = basis @ self.bias[rows]


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm y = (gain + offset) * n(x) + bias over the features of the stream.

    Attributes
    ----------
    gain, bias
        (d_model,) each, or None.
    offset
        1 where the norm multiplies by 1 + weight.
    readers
        The matrices that read y; empty where y is added to the stream.
    module
        The norm itself, for its epsilon.
    """

    name: str
    gain: Tensor | None
    bias: Tensor | None
    offset: float
    readers: tuple[Matrix, ...]
    module: object

    def multiplier(self) -> Tensor | None:
        """Return what n(x) is multiplied by, a copy; None where there is no gain."""
        return None if self.gain is None else self.gain + self.offset

    def multiply(self, multiplier: Tensor) -> None:
        """Let the norm multiply by other numbers."""
        if self.gain is not None:
            self.gain.copy_(multiplier - self.offset)

    def scale(self, factor: Tensor | float) -> None:
        """Let the norm return what it did times a factor, one or one a feature."""
        multiplier = self.multiplier()
        if multiplier is not None:
            self.multiply(multiplier * factor)
        if self.bias is not None:
            self.bias.mul_(factor)

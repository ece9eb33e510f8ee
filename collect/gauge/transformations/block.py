"""One block of a network as matrices: what attention and feed-forward read and write with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Neurons:
    """The hidden units between matrices: h = f(reads x), written by W.

    ``reads`` holds one matrix, or gate and up; ``is_fused`` is true when one matrix holds both,
    gate above up, ``is_paired`` when their rows alternate.
    """

    reads: tuple[Matrix, ...]
    writes: Matrix
    is_gated: bool
    is_fused: bool
    is_paired: bool

    @property
    def n(self) -> int:
        """Number of hidden units."""
        return int(self.writes.entries.shape[-1])


@dataclass(frozen=True, slots=True)
class Block:
    """The parts of one block.

    Attributes
    ----------
    projections
        Matrices of Q, K and V, one three times where they are fused; rows of each head in
        ``rows``: (n_heads, d_head) and (n_kv_heads, d_head) twice.
    output
        W_O: head h feeds columns h d_head to (h + 1) d_head.
    query_norms, key_norms
        Parameters of norms between projection and score.
    attention_norm, ffn_norm
        In front of the sub-layers, or None; one and the same where both share it.
    outer_norms
        On what sub-layers return, or on the sums (post-norm).
    routers
        What else reads what feed-forward reads.
    """

    projections: tuple[Matrix, Matrix, Matrix]
    rows: tuple[Tensor, Tensor, Tensor]
    output: Matrix
    query_norms: tuple[Tensor, ...]
    key_norms: tuple[Tensor, ...]
    attention_norm: Norm | None
    ffn_norm: Norm | None
    outer_norms: tuple[Norm, ...]
    neurons: tuple[Neurons, ...]
    routers: tuple[Matrix, ...]

    @property
    def attention_readers(self) -> tuple[Matrix, ...]:
        """The projections, each once."""
        return once(self.projections)

    @property
    def ffn_readers(self) -> tuple[Matrix, ...]:
        """What reads the stream in feed-forward."""
        return (*(matrix for layer in self.neurons for matrix in layer.reads), *self.routers)

    @property
    def ffn_writers(self) -> tuple[Matrix, ...]:
        """What feed-forward writes with."""
        return tuple(layer.writes for layer in self.neurons)

    @property
    def writers(self) -> tuple[Matrix, ...]:
        """What the block writes with."""
        return (self.output, *self.ffn_writers)

    @property
    def inner_norms(self) -> tuple[Norm, ...]:
        """The norms in front of the sub-layers, each once."""
        norms = [norm for norm in (self.attention_norm, self.ffn_norm) if norm is not None]
        return tuple({norm.name: norm for norm in norms}.values())


def once(matrices: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
    """Return matrices in their order, each once."""
    return tuple({matrix.name: matrix for matrix in matrices}.values())


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

"""The shape of a network and the switches of its layout, as a recipe spells them out."""

from __future__ import annotations

from dataclasses import dataclass

from collect.process.sections import require, require_positive


@dataclass(frozen=True, slots=True)
class Geometry:
    """Shape of the network; ``context`` is its longest input [tokens]."""

    n_layers: int
    d_model: int
    n_heads: int
    context: int
    n_kv_heads: int | None = None

    def __post_init__(self) -> None:
        for key in ("n_layers", "d_model", "n_heads", "context"):
            require_positive(key, getattr(self, key))
        require(
            self.d_model % self.n_heads == 0,
            f"d_model must be a multiple of n_heads; found {self.d_model} and {self.n_heads}",
        )
        if self.n_kv_heads is not None:
            require_positive("n_kv_heads", self.n_kv_heads)
            require(
                self.n_heads % self.n_kv_heads == 0,
                f"n_heads must be a multiple of n_kv_heads; "
                f"found {self.n_heads} and {self.n_kv_heads}",
            )


@dataclass(frozen=True, slots=True)
class Architecture:
    """Switches of the family's layout; None stands for what the family does by itself.

    Attributes
    ----------
    tied
        Whether input and output table are one matrix.
    parallel
        Whether attention and feed-forward read the same stream.
    norm_position
        pre, post, sandwich or output; as in table ``model``.
    embedding_scale
        Factor on the embedding before it enters the stream [1].
    embedding_norm
        Whether a LayerNorm with gain and bias follows the embedding.
    dropout
        Share of entries dropped from what each sub-layer writes, while training [1].
    """

    tied: bool | None = None
    parallel: bool | None = None
    norm_position: str | None = None
    embedding_scale: float | None = None
    embedding_norm: bool | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.embedding_scale is not None:
            require_positive("embedding_scale", self.embedding_scale)
        require(0 <= self.dropout < 1, f"dropout must be in 0 to 1; found {self.dropout}")

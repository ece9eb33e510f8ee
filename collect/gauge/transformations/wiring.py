"""Which matrices of a network read the stream, through which norm, and which write to it.

A model with a parameter that no rule claims is refused, so that none is overlooked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from collect.adapters import Adapter, Heads
from collect.adapters.capability import HEAD
from collect.errors import UnsupportedModelError
from collect.gauge.transformations.block import Block, Matrix, Norm, once
from collect.gauge.transformations.naming import Parameters, block
from collect.model.checkpoint.decoder import Decoder

#: Types that an adapter describes and these rules do not: experts beside experts, routers with
#: parameters of their own, a norm between embedding and block 0, a head of several layers, names
#: of their own.
UNWIRED = frozenset(
    (
        "aria_text",
        "cohere2_moe",
        "dots1",
        "ernie4_5_moe",
        "exaone_moe",
        "flint",
        "glm4_moe",
        "granitemoe",
        "hunyuan_v1_moe",
        "hy_v3",
        "kolibri1",
        "llama4_text",
        "minimax_m3_vl_text",
        "modernbert-decoder",
        "moshi",
        "nanochat",
        "solar_open",
    )
)
#: Tables of positions, and what else stands between tokens and block 0, named from the body.
_POSITIONS = ("wpe", "positions_embed", "embed_positions", "decoder.embed_positions")
_ENTRY_MATRICES = ("decoder.project_in",)
_ENTRY_NORMS = ("word_embeddings_layernorm",)
_EXIT_MATRICES = ("decoder.project_out",)

_DESCRIBE = "Describe it in collect/gauge/transformations/naming.py."


@dataclass(frozen=True, slots=True)
class Wiring:
    """A network as matrices that read and write the stream.

    Attributes
    ----------
    tokens
        The token embedding, (n_vocabulary, width).
    positions
        The table of positions, or None.
    entry_matrix, entry_norm
        What stands between the token embedding and the stream, or None.
    exit_matrix
        What stands between the stream and the head, or None.
    final_norm
        After the last block, or None.
    """

    decoder: Decoder
    tokens: Tensor
    positions: Tensor | None
    entry_matrix: Matrix | None
    entry_norm: Norm | None
    exit_matrix: Matrix | None
    blocks: tuple[Block, ...]
    final_norm: Norm | None
    head: Matrix

    @property
    def adapter(self) -> Adapter:
        """The adapter, in the form of the configuration."""
        return self.decoder.adapter

    @property
    def config(self) -> Any:
        """The configuration."""
        return self.decoder.model.config

    @property
    def heads(self) -> Heads:
        """Number and width of heads."""
        return self.decoder.heads

    @property
    def d_model(self) -> int:
        """Width of the stream."""
        return int(self.config.hidden_size)

    @property
    def is_tied(self) -> bool:
        """Whether the head is the token embedding."""
        return self.head.weight.data_ptr() == self.tokens.data_ptr()

    @property
    def is_post_norm(self) -> bool:
        """Whether the stream is what a norm returns."""
        return self.adapter.norm_position == "post"

    @property
    def has_fixed_positions(self) -> bool:
        """Whether positions are added from a table that the checkpoint does not hold."""
        return self.adapter.positional_scheme(self.config) == "sinusoidal"

    @property
    def leaves_through(self) -> Matrix:
        """The matrix that reads the stream after the last block, or what the final norm returns."""
        return self.head if self.exit_matrix is None else self.exit_matrix

    @property
    def norms_of_stream(self) -> tuple[Norm, ...]:
        """Norms in front of sub-layers and of the head."""
        inner = tuple(norm for block in self.blocks for norm in block.inner_norms)
        return inner if self.final_norm is None else (*inner, self.final_norm)

    @property
    def all_norms(self) -> tuple[Norm, ...]:
        """Every norm over the features of the stream."""
        outer = tuple(norm for block in self.blocks for norm in block.outer_norms)
        entry = () if self.entry_norm is None else (self.entry_norm,)
        return (*entry, *self.norms_of_stream, *outer)

    @property
    def readers(self) -> tuple[Matrix, ...]:
        """Every matrix whose input has the features of the stream."""
        matrices = [
            m for block in self.blocks for m in (*block.attention_readers, *block.ffn_readers)
        ]
        return once((*matrices, self.leaves_through))

    @property
    def writers(self) -> tuple[Matrix, ...]:
        """Every matrix whose output has the features of the stream."""
        matrices = tuple(matrix for block in self.blocks for matrix in block.writers)
        return matrices if self.entry_matrix is None else (self.entry_matrix, *matrices)

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """Tables whose rows have the features of the stream; the head is not among them."""
        tokens = () if self.entry_matrix is not None else (self.tokens,)
        return tokens if self.positions is None else (*tokens, self.positions)


def wiring(decoder: Decoder) -> Wiring:
    """Return how a network is wired; what is written to it is written to the model.

    Raises
    ------
    UnsupportedModelError
        If the rules do not cover the model's type, a parameter has no place in it, or there are
        no logits to be kept.
    """
    model_type = decoder.model.config.model_type
    if HEAD in decoder.adapter.lacks:
        raise UnsupportedModelError(
            f"There are no logits that a transformation could keep: {decoder.adapter.lacks[HEAD]}.",
            "Give a causal model.",
        )
    if model_type in UNWIRED or decoder.adapter.lacks:
        raise UnsupportedModelError(
            f"Every parameter must have a known place in the network; in {model_type!r} models "
            "some have none.",
            _DESCRIBE,
        )
    adapter, parameters = decoder.adapter, Parameters(decoder.model)
    body = f"{adapter.body}."
    blocks = tuple(block(decoder, parameters, layer) for layer in range(len(decoder.blocks)))
    head = parameters.matrix(adapter.head)
    tokens_name = next(
        name
        for name, parameter in decoder.model.named_parameters()
        if parameter is decoder.embedding.weight
    )
    tokens = parameters.take(tokens_name)
    if head is None:
        weight: Any = decoder.head.weight
        head = Matrix(adapter.head, weight.data, parameters.take(f"{adapter.head}.bias"))
    exit_matrix = _first(lambda name: parameters.matrix(body + name), _EXIT_MATRICES)
    leaves = head if exit_matrix is None else exit_matrix
    whole = Wiring(
        decoder=decoder,
        tokens=tokens,  # type: ignore[arg-type]
        positions=_first(lambda name: parameters.take(f"{body}{name}.weight"), _POSITIONS),
        entry_matrix=_first(lambda name: parameters.matrix(body + name), _ENTRY_MATRICES),
        entry_norm=_first(lambda name: parameters.norm(body + name, 0.0, ()), _ENTRY_NORMS),
        exit_matrix=exit_matrix,
        blocks=blocks,
        final_norm=parameters.norm(adapter.final_norm, adapter.gain_offset, (leaves,)),
        head=head,
    )
    left = parameters.unclaimed()
    if left:
        raise UnsupportedModelError(
            f"Every parameter must have a known place in the network; {left[0]} has none.",
            _DESCRIBE,
        )
    return whole


def _first(get: Callable[[str], Any], names: tuple[str, ...]) -> Any:
    return next((part for name in names if (part := get(name)) is not None), None)

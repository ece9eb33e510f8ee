"""Which matrices of a network read the stream, through which norm, and which write to it.

The adapter says where attention lies. The names of feed-forward parts are listed here; a model
with a parameter that no rule claims is refused, so that none is overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from collect.adapters import Adapter, Heads
from collect.errors import UnsupportedModelError
from collect.gauge.transformations.matrix import Matrix, Norm
from collect.gauge.transformations.parameters import Parameters, module_at
from collect.model.checkpoint.decoder import Decoder

#: Feed-forward parts as (what reads the stream, what writes to it); gates come before what they
#: multiply. The first whose modules a block has is its own.
_LAYERS = (
    (("mlp.c_fc",), "mlp.c_proj"),
    (("mlp.fc_in",), "mlp.fc_out"),
    (("mlp.dense_h_to_4h",), "mlp.dense_4h_to_h"),
    (("mlp.fc1",), "mlp.fc2"),
    (("fc1",), "fc2"),
    (("ffn.up_proj",), "ffn.down_proj"),
    (("mlp.gate_proj", "mlp.up_proj"), "mlp.down_proj"),
    (("mlp.up_proj",), "mlp.down_proj"),
    (("mlp.gate_up_proj",), "mlp.down_proj"),
    (("mlp.experts.gate_up_proj",), "mlp.experts.down_proj"),
)

#: Types that an adapter describes and these rules do not: experts beside experts, routers with
#: parameters of their own, a norm between embedding and block 0, names of their own.
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
        "moshi",
        "nanochat",
        "solar_open",
    )
)

#: A second feed-forward part, beside the experts.
_SHARED = (
    ("mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj"),
    "mlp.shared_expert.down_proj",
)

#: What else reads the stream in feed-forward: routers and gates of experts.
_ROUTERS = ("mlp.gate", "mlp.router", "mlp.shared_expert_gate")

#: Norms in front of feed-forward where attention works in parallel; without, both share one.
_PARALLEL_NORMS = ("post_attention_layernorm", "ln_mlp")

#: Tables of positions, and what else stands between tokens and block 0, named from the body.
_POSITIONS = ("wpe", "embed_positions", "decoder.embed_positions")
_ENTRY_MATRICES = ("decoder.project_in",)
_ENTRY_NORMS = ("word_embeddings_layernorm",)
_EXIT_MATRICES = ("decoder.project_out",)

_DESCRIBE = "Describe it in collect/gauge/transformations/wiring.py."

_QUERY_NORMS = ("q_norm.", "q_layernorm.", "query_layernorm.")
_KEY_NORMS = ("k_norm.", "k_layernorm.", "key_layernorm.")


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
        return _once(self.projections)

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
        found = [norm for norm in (self.attention_norm, self.ffn_norm) if norm is not None]
        return tuple({norm.name: norm for norm in found}.values())


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
        found = [m for block in self.blocks for m in (*block.attention_readers, *block.ffn_readers)]
        return _once((*found, self.leaves_through))

    @property
    def writers(self) -> tuple[Matrix, ...]:
        """Every matrix whose output has the features of the stream."""
        found = tuple(matrix for block in self.blocks for matrix in block.writers)
        return found if self.entry_matrix is None else (self.entry_matrix, *found)

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """Tables whose rows have the features of the stream; the head is not among them."""
        tokens = () if self.entry_matrix is not None else (self.tokens,)
        return tokens if self.positions is None else (*tokens, self.positions)


def _once(matrices: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
    return tuple({matrix.name: matrix for matrix in matrices}.values())


def wiring(decoder: Decoder) -> Wiring:
    """Return how a network is wired; what is written to it is written to the model.

    Raises
    ------
    UnsupportedModelError
        If the rules do not cover the model's type, or a parameter has no place in it.
    """
    model_type = decoder.model.config.model_type
    if model_type in UNWIRED or decoder.adapter.lacks:
        raise UnsupportedModelError(
            f"Every parameter must have a known place in the network; of {model_type!r} models "
            "not every one has.",
            _DESCRIBE,
        )
    adapter, found = decoder.adapter, Parameters(decoder.model)
    body = f"{adapter.body}."
    blocks = tuple(_block(decoder, found, layer) for layer in range(len(decoder.blocks)))
    head = found.matrix(adapter.head)
    tokens_name = next(
        name
        for name, parameter in decoder.model.named_parameters()
        if parameter is decoder.embedding.weight
    )
    tokens = found.take(tokens_name)
    if head is None:
        weight: Any = decoder.head.weight
        head = Matrix(adapter.head, weight.data, found.take(f"{adapter.head}.bias"))
    exit_matrix = _first(lambda name: found.matrix(body + name), _EXIT_MATRICES)
    leaves = head if exit_matrix is None else exit_matrix
    whole = Wiring(
        decoder=decoder,
        tokens=tokens,  # type: ignore[arg-type]
        positions=_first(lambda name: found.take(f"{body}{name}.weight"), _POSITIONS),
        entry_matrix=_first(lambda name: found.matrix(body + name), _ENTRY_MATRICES),
        entry_norm=_first(lambda name: found.norm(body + name, 0.0, ()), _ENTRY_NORMS),
        exit_matrix=exit_matrix,
        blocks=blocks,
        final_norm=found.norm(adapter.final_norm, adapter.gain_offset, (leaves,)),
        head=head,
    )
    left = found.unclaimed()
    if left:
        raise UnsupportedModelError(
            f"Every parameter must have a known place in the network; {left[0]} has none.",
            _DESCRIBE,
        )
    return whole


def _first(get: Callable[[str], Any], names: tuple[str, ...]) -> Any:
    return next((found for name in names if (found := get(name)) is not None), None)


def _block(decoder: Decoder, found: Parameters, layer: int) -> Block:
    adapter = decoder.adapter
    block = f"{adapter.blocks}.{layer}."
    projections = tuple(
        found.matrix(block + name, is_transposed=adapter.is_conv1d) for name in adapter.projections
    )
    three: Any = projections if len(projections) == 3 else projections * 3
    output: Any = found.matrix(block + adapter.output, is_transposed=adapter.is_conv1d)
    neurons = tuple(_neurons(found, block, adapter))
    routers = tuple(m for name in _ROUTERS if (m := found.matrix(block + name)) is not None)
    attention_readers = _once(three)
    ffn_readers = (*(matrix for part in neurons for matrix in part.reads), *routers)
    inner = _inner_norms(decoder, found, block, attention_readers, ffn_readers)
    return Block(
        projections=three,
        rows=_rows(adapter, decoder.heads, three),
        output=output,
        query_norms=_between(found, block + adapter.attention, _QUERY_NORMS),
        key_norms=_between(found, block + adapter.attention, _KEY_NORMS),
        attention_norm=inner[0],
        ffn_norm=inner[1],
        outer_norms=_outer_norms(found, adapter, block),
        neurons=neurons,
        routers=routers,
    )


def _inner_norms(
    decoder: Decoder,
    found: Parameters,
    block: str,
    attention: tuple[Matrix, ...],
    ffn: tuple[Matrix, ...],
) -> tuple[Norm | None, Norm | None]:
    """Return the norms in front of attention and of feed-forward."""
    adapter, offset = decoder.adapter, decoder.adapter.gain_offset
    if adapter.attention_norm is None:
        return None, None
    first = block + adapter.attention_norm
    names = _PARALLEL_NORMS if adapter.mid is None else (adapter.mid,)
    second = next(
        (block + n for n in names if module_at(decoder.model, block + n) is not None), None
    )
    if second is None:
        both = found.norm(first, offset, (*attention, *ffn))
        return both, both
    return found.norm(first, offset, attention), found.norm(second, offset, ffn)


def _outer_norms(found: Parameters, adapter: Adapter, block: str) -> tuple[Norm, ...]:
    """Return the norms on what sub-layers return, or on the sums, that are added to nothing."""
    if adapter.norm_position in ("sandwich", "output"):
        names: tuple[str, ...] = (adapter.attention_update, adapter.ffn_update)
    else:
        names = adapter.norms_after
    norms = (found.norm(block + name, adapter.gain_offset, ()) for name in names)
    return tuple(norm for norm in norms if norm is not None)


def _neurons(found: Parameters, block: str, adapter: Adapter) -> Iterator[Neurons]:
    for reads, writes in (next(_known(found, block, _LAYERS)), *_known(found, block, (_SHARED,))):
        is_paired = adapter.has_sinks  # GPT-OSS alone keeps experts as (in, out) with rows in turn
        kept = is_paired or (adapter.is_conv1d and reads[0].startswith("mlp.c_"))
        matrices: Any = [found.matrix(block + name, is_transposed=kept) for name in reads]
        written: Any = found.matrix(block + writes, is_transposed=kept)
        is_fused = reads[0].endswith("gate_up_proj")
        yield Neurons(tuple(matrices), written, is_fused or len(reads) == 2, is_fused, is_paired)


def _known(found: Parameters, block: str, layers: Any) -> Iterator[Any]:
    for reads, writes in layers:
        paths = [block + name for name in (*reads, writes)]
        if all(found.has(path) or found.has(f"{path}.weight") for path in paths):
            yield reads, writes


def _between(found: Parameters, attention: str, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Return the parameters of the norms between projections and scores."""
    paths = [n for n in found.known if any(n.startswith(f"{attention}.{name}") for name in names)]
    return tuple(found.take(path) for path in paths)  # type: ignore[misc]


def _rows(
    adapter: Adapter, heads: Heads, projections: tuple[Matrix, Matrix, Matrix]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of every head in the matrices of Q, K and V."""
    if adapter.layout is not None:
        return adapter.layout(torch.arange(projections[0].entries.shape[0]), heads)
    query, key, value = (
        torch.arange(matrix.entries.shape[0]).view(-1, heads.d_head) for matrix in projections
    )
    return query, key, value

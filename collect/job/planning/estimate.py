"""What measuring a unit will take: rows exactly; bytes, memory and time roughly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from collect.adapters.capability import HEAD, HEADS, PARTS
from collect.instruments import quantities
from collect.instruments.own.definition import OwnQuantity
from collect.measures.declaration import Extent
from collect.measures.predictions import TOKENS_AT_A_TIME
from collect.measures.register import FILLED
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import DTYPES
from collect.model.conformance.refusal import PROPERTIES
from collect.schema import tables

MIB = 2**20

#: Main memory of the interpreter with torch and transformers imported [bytes].
INTERPRETER_BYTES = 520 * MIB

#: Copies of a batch's stream, and of its attention map, that exist at the same time.
_STREAM_COPIES, _MAP_COPIES = 12, 6

#: Rate at which weights come from a disk; nothing here measures it [bytes per second].
READ_RATE = 0.5e9

#: Bytes that a column takes in a file besides its rows, most of them its comment; that the run
#: file's mark takes; and that a row takes, compressed. Measured on the models of data/sample.
COLUMN_BYTES, MARK_BYTES = 560, 8_000
ROW_BYTES = {
    **{table: filled.row_bytes for table, filled in FILLED.items()},
    "prompt": 63.0,
    "own_value": 11.0,
    "own_vector": 12.0,
}

#: Tokens of the synthetic prompts that a model is examined on.
_EXAMINED_TOKENS = 60

#: Time a batch takes in a block whatever its size, and a row until it is on disk [s].
_BLOCK_S, _ROW_S = 4e-3, 1.5e-5

#: Products of matrices that are timed at least, and for how long [s].
_PRODUCTS, _TIMED_S = 5, 0.03

#: Time a logit takes once it is there (its exponential in float64, the sums over all), and a number
#: of a quantised file until it is a float [s]; measured on one thread of a processor of 2023.
_LOGIT_S, _DEQUANTISED_S = 1.5e-8, 8e-9

#: Time that an entry of the head takes whenever a few states are put through it, besides that of
#: its products: it is fetched and packed anew [s]. 25 prompts of 11 tokens through the lens of a
#: model of 18 blocks and 262,144 tokens take 87 s of a processor: 42 s are planned without it.
_READ_S = 5e-10

#: Times as long that a quantised number takes if it is perturbed: it is read, then its step by two
#: more readings, then its error is drawn. 3.23 of SmolLM2-135M in Q4_1, 3.23 of Gemma 3 270M in
#: Q4_K_M.
PERTURBED = 3.2

#: Time a command takes before it measures anything [s].
START_S = 2.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cost of measuring a model depends on.

    Attributes
    ----------
    n_layers, n_heads, d_model, d_head, n_vocabulary
        As in table ``model``.
    n_parameters
        All parameters, tied ones once.
    largest_block
        Parameters of the largest block.
    has_heads, has_parts, has_mid, has_final_norm, has_gain, has_contiguous
        Whether the model has matrices of heads, parts of blocks, a stream between attention and
        feed-forward, a norm after the last block, a norm in front of attention, and a fused matrix
        whose last third is not V.
    """

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    n_vocabulary: int
    n_parameters: int
    largest_block: int
    has_heads: bool
    has_head: bool
    has_parts: bool
    has_mid: bool
    has_final_norm: bool
    has_gain: bool
    has_contiguous: bool


def shape_of(skeleton: Decoder) -> Shape:
    """Return the shape of a model, loaded or not."""
    embedding: Any = skeleton.embedding
    weights = skeleton.head_weights(0) if skeleton.adapter.has(HEADS) else None
    has_parts = skeleton.adapter.has(PARTS)
    blocks = [sum(p.numel() for p in block.parameters()) for block in skeleton.blocks]
    sizes = [parameter.numel() for parameter in skeleton.model.parameters()]
    return Shape(
        n_layers=len(skeleton.blocks),
        n_heads=skeleton.heads.n_heads,
        d_model=int(skeleton.config.hidden_size),
        d_head=skeleton.heads.d_head,
        n_vocabulary=int(embedding.weight.shape[0]),
        n_parameters=sum(sizes),
        largest_block=max(blocks),
        has_heads=weights is not None,
        has_head=skeleton.adapter.has(HEAD),
        has_parts=has_parts,
        has_mid=has_parts and skeleton.sites(0).mid is not None,
        has_final_norm=skeleton.final_norm is not None,
        has_gain=weights is not None and weights.gain is not None,
        has_contiguous=weights is not None and weights.value_contiguous is not None,
    )


def n_rows(
    shape: Shape,
    lengths: Sequence[int],
    asked: Sequence[str],
    *,
    n_prompts: int | None = None,
    is_first: bool = True,
) -> dict[str, int]:
    """Return the rows that a unit puts into each table, but for ``run`` and ``not_measured``.

    Parameters
    ----------
    shape
        The model.
    lengths
        Tokens of each prompt that is read; none for a unit of weights.
    asked
        Quantities, names of `quantities.TABLES`.
    n_prompts
        Prompts of the set, where some of them are not read.
    is_first
        False when an earlier unit of the same run keeps the examination of the model.
    """
    extent = Extent(
        shape.n_layers,
        shape.n_heads,
        len(lengths),
        sum(lengths),
        **{name: getattr(shape, name) for name in Extent.__slots__ if name.startswith("has_")},
    )
    defined = quantities.own_among(asked)
    known = {
        **{table: filled.n_rows(extent) for table, filled in FILLED.items()},
        "own_quantity": len(defined),
        "own_value": sum(_n_own(shape, lengths, q) for q in defined if not q.is_vector),
        "own_vector": sum(_n_own(shape, lengths, q) for q in defined if q.is_vector),
    }
    asked_tables = [table for name in asked for table in quantities.TABLES.get(name, ())]
    asked_tables += [table for table in known if table.startswith("own_") and known[table]]
    shared = {
        "model": 1,
        **({"conformance": len(PROPERTIES)} if is_first else {}),
        **({"prompt": n_prompts or len(lengths)} if lengths else {}),
    }
    return {**shared, **{table: known[table] for table in asked_tables}}


def _n_own(shape: Shape, lengths: Sequence[int], quantity: OwnQuantity) -> int:
    """Return how many numbers, or vectors, a quantity of one's own has."""
    of_prompts = {
        "token": sum(lengths),
        "prompt": len(lengths),
        "head": len(lengths) * shape.n_heads,
        "vector": sum(len(quantity.positions_of(n)) for n in lengths),
    }
    return of_prompts[quantity.level] * _n_places(shape, quantity)


def _n_places(shape: Shape, quantity: OwnQuantity) -> int:
    """Return at how many places of the stream a quantity of one's own is taken."""
    given = {"attention": shape.has_heads, "logits": shape.has_head}
    if not all(given[need] for need in quantity.needs):
        return 0
    blocks = len(quantity.layers_of(shape.n_layers))
    n_places = {
        "embedding": 1,
        "block_input": blocks,
        "block_mid": blocks * shape.has_mid,
        "block_output": blocks,
        "final_norm": int(shape.has_final_norm),
    }
    return sum(n_places[site] for site in quantity.sites)


def n_logits(shape: Shape, lengths: Sequence[int], asked: Sequence[str]) -> int:
    """Return how many logits a unit computes: the head is read once for each of some states.

    A quantity of one's own that asks for logits is taken to compute them of every token at
    every place.
    """
    if not shape.has_head:
        return 0
    n_tokens, n_prompts = sum(lengths), len(lengths)
    states = {"stream": n_prompts, "legacy": n_prompts, "predictions": n_tokens}
    n_states = sum(states.get(name, 0) for name in asked)
    return (n_states + n_tokens * _n_lenses(shape, asked)) * shape.n_vocabulary


def n_readings(shape: Shape, lengths: Sequence[int], asked: Sequence[str]) -> int:
    """Return how often a unit reads the head from its first row to its last, at most."""
    if not shape.has_head:
        return 0
    of_prompts = sum(-(-length // TOKENS_AT_A_TIME) for length in lengths)
    of_all = -(-sum(lengths) // TOKENS_AT_A_TIME)
    readings = {"stream": 1, "legacy": len(lengths), "predictions": of_all}
    of_names = sum(readings.get(name, 0) for name in asked)
    return of_names + of_prompts * _n_lenses(shape, asked)


def _n_lenses(shape: Shape, asked: Sequence[str]) -> int:
    """Return at how many places logits are computed of every token for quantities of one's own."""
    custom = quantities.own_among(asked)
    return sum(_n_places(shape, quantity) for quantity in custom if "logits" in quantity.needs)


def n_bytes(rows: dict[str, int], vector_bytes: int = 0) -> int:
    """Return about how much disk the files of a unit take [bytes]."""
    of_rows = sum(n * ROW_BYTES.get(table, 250.0) for table, n in rows.items())
    n_columns = sum(len(tables()[table].columns) for table in {**rows, "run": 1})
    of_vectors = rows.get("own_vector", 0) * vector_bytes
    return int(of_rows + COLUMN_BYTES * n_columns + MARK_BYTES + of_vectors)


def peak_bytes(
    shape: Shape,
    lengths: Sequence[int],
    *,
    dtype: str,
    batch_size: int,
    streamed: bool,
    is_quantised: bool = False,
) -> int:
    """Return about how much memory a unit takes at most, the interpreter included [bytes].

    Parameters
    ----------
    shape, lengths
        As in `n_rows`.
    dtype, batch_size, streamed
        As in `settings.Settings`; a unit of weights is read tensor by tensor either way, after
        the model was examined.
    is_quantised
        Whether the table of the embedding is dequantised whole, of which else some rows are read.
    """
    width = DTYPES[dtype].itemsize
    table = shape.n_vocabulary * shape.d_model if is_quantised else 0
    weights = 2 * shape.largest_block + table if streamed else shape.n_parameters
    if not lengths:
        # One matrix at a time as double precision, besides the model that is examined.
        return INTERPRETER_BYTES + width * weights + 8 * shape.largest_block // 4
    longest, n_prompts = max(lengths), min(batch_size, len(lengths))
    stream = n_prompts * longest * shape.d_model * _STREAM_COPIES
    maps = n_prompts * shape.n_heads * longest**2 * _MAP_COPIES
    logits = 3 * n_prompts * shape.n_vocabulary
    if streamed:
        stream += sum(lengths) * shape.d_model
    return INTERPRETER_BYTES + width * weights + 4 * (stream + maps + logits)


def flops(shape: Shape, lengths: Sequence[int], asked: Sequence[str] = ()) -> float:
    """Return about how many operations a unit takes [1].

    A forward pass takes 2 for each parameter and token, and 4 for each pair of tokens, layer
    and feature; a logit takes 2 for each feature; the weights take 2 d_head for each of their
    entries in the Gram products.
    """
    if not lengths:
        entries = shape.n_layers * shape.n_heads * shape.d_head * shape.d_model
        return 20.0 * shape.d_head * entries
    body = shape.n_parameters - 2 * shape.n_vocabulary * shape.d_model
    per_token = 2.0 * max(body, shape.n_layers * shape.largest_block)
    pairs = sum(length**2 for length in lengths)
    return (
        per_token * (sum(lengths) + _EXAMINED_TOKENS)
        + 4.0 * pairs * shape.n_layers * shape.d_model
        + 2.0 * n_logits(shape, lengths, asked) * shape.d_model
    )


def duration_s(
    shape: Shape,
    lengths: Sequence[int],
    rows: dict[str, int],
    *,
    asked: Sequence[str],
    dtype: str,
    batch_size: int,
    throughput: float,
    n_dequantised: float = 0,
) -> float:
    """Return about how long a unit takes [s]; a factor of 3 either way is no surprise.

    Parameters
    ----------
    rows, asked, dtype, batch_size
        As in `n_rows` and `settings.Settings`; ``rows`` is what `n_rows` returned.
    n_dequantised
        Numbers of the files that are not stored as plain floats, those that are perturbed
        `PERTURBED` times [1].
    throughput
        What `calibrate` returned [1/s].
    """
    n_batches = -(-len(lengths) // batch_size) + 4
    reading = shape.n_parameters * DTYPES[dtype].itemsize / READ_RATE
    return (
        reading
        + 1.5 * flops(shape, lengths, asked) / throughput
        + n_logits(shape, lengths, asked) * _LOGIT_S
        + n_readings(shape, lengths, asked) * shape.n_vocabulary * shape.d_model * _READ_S
        + n_dequantised * _DEQUANTISED_S
        + n_batches * shape.n_layers * _BLOCK_S
        + sum(rows.values()) * _ROW_S
        + len(rows) * 0.02
    )


def calibrate(dtype: str, device: str) -> float:
    """Return the operations a device does per second in products of matrices [1/s].

    The best of a few products of 512 x 512 matrices is taken, which the first one warms up. On a
    processor the time is that of the calling thread, so that other programs do not slow it: a
    plan is for a machine that has nothing else to do.
    """
    place = torch.device("cuda" if device == "auto" and torch.cuda.is_available() else "cpu")
    place = place if device == "auto" else torch.device(device)
    matrix = torch.ones(512, 512, dtype=DTYPES[dtype], device=place)
    clock = time.thread_time if place.type == "cpu" else time.perf_counter
    best, n_done = float("inf"), 0
    end = time.perf_counter() + _TIMED_S
    while n_done < _PRODUCTS or time.perf_counter() < end:
        start = clock()
        (matrix @ matrix)[0, 0].item()
        best = min(best, clock() - start)
        n_done += 1
    return float(2.0 * 512**3 / best)

"""The weights of a checkpoint to rows of ``weight_norm`` and ``matrix_norm``, without a model.

The attention weights of one block are read from the files, measured and dropped. Which tensors
they are follows from ``config.json`` and the adapter; the library's code of the model is never
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from collect.adapters import Adapter, Heads, HeadWeights, cut, weight_names
from collect.adapters.configuration import of_text as text_configuration
from collect.instruments.weights.singular import (
    Norms,
    grams,
    head_norms,
    product_norms,
    whole_norms,
)
from collect.model.checkpoint import blueprint
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.configuration import configuration
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.shards import Shards


def rows(
    checkpoint: Checkpoint, *, on_layer: Callable[[], object] | None = None
) -> dict[str, list[NamedTuple]]:
    """Return the norms of the attention weights of a checkpoint, as they are stored.

    Returns
    -------
    Tables ``weight_norm``, one row per (layer, head, matrix, is_folded, slicing), and
    ``matrix_norm``, one row per (layer, matrix, slicing), both without ``run_id`` and
    ``model_id``. Where attention reads the stream without a norm there is no gain to fold, and
    there are no rows with ``is_folded``; ``Decoder.missing`` says so.
    """
    config = configuration(checkpoint)
    of_text = text_configuration(config)
    adapter = checkpoint.adapter.of(of_text)
    heads = blueprint.heads_of(adapter, of_text)
    shards = Shards(checkpoint, blueprint.attention_blueprint(adapter, config))
    layers = (
        head_weights(shards, adapter, heads, layer) for layer in range(of_text.num_hidden_layers)
    )
    return _rows(heads, layers, on_layer)


def rows_of_model(
    decoder: Decoder, *, on_layer: Callable[[], object] | None = None
) -> dict[str, list[NamedTuple]]:
    """Return the norms of the attention weights of a model in memory; see `rows`."""
    layers = (_own_weights(decoder, layer) for layer in range(len(decoder.blocks)))
    return _rows(decoder.heads, layers, on_layer)


def _own_weights(decoder: Decoder, layer: int) -> HeadWeights:
    """Return the head weights of a block on the processor, as files of them would give them."""
    parameters = dict(decoder.blocks[layer].named_parameters())
    names = [name for name in weight_names(decoder.adapter) if name in parameters]
    return _widen(decoder.adapter, decoder.heads, {n: parameters[n].detach().cpu() for n in names})


def _rows(
    heads: Heads, layers: Iterable[HeadWeights], on_layer: Callable[[], object] | None
) -> dict[str, list[NamedTuple]]:
    tables: dict[str, list[NamedTuple]] = {"weight_norm": [], "matrix_norm": []}
    for layer, weights in enumerate(layers):
        for table, of_layer in layer_rows(heads, layer, weights).items():
            tables[table] += of_layer
        if on_layer is not None:
            on_layer()
    return tables


def layer_rows(heads: Heads, layer: int, weights: HeadWeights) -> dict[str, list[NamedTuple]]:
    """Return the rows of both tables of one layer."""
    return {
        "weight_norm": [*_head_rows(heads, layer, weights)],
        "matrix_norm": [*_whole_rows(layer, weights)],
    }


class _HeadRow(NamedTuple):
    """A row of ``weight_norm``."""

    layer: int
    head: int
    matrix: str
    is_folded: bool
    slicing: str
    kv_head: int
    sigma_max: float
    frobenius: float


class _WholeRow(NamedTuple):
    """A row of ``matrix_norm``."""

    layer: int
    matrix: str
    slicing: str
    sigma_max: float
    frobenius: float


def head_weights(shards: Shards, adapter: Adapter, heads: Heads, layer: int) -> HeadWeights:
    """Return Q, K, V and O of a layer, head by head, read from the files as they are stored.

    Only the gain is widened, to float64, before anything is added to it.
    """
    block = f"{adapter.blocks}.{layer}."
    stored_names = shards.parameters
    names = [name for name in weight_names(adapter) if block + name in stored_names]
    stored = shards.read(block + name for name in names)
    return _widen(adapter, heads, {name: stored[block + name] for name in names})


def _widen(adapter: Adapter, heads: Heads, tensors: dict[str, Tensor]) -> HeadWeights:
    """Return tensors head by head, vectors widened to float64."""
    vectors = {name: tensor.double() for name, tensor in tensors.items() if tensor.ndim == 1}
    return cut(adapter, heads, tensors | vectors)


@dataclass(frozen=True, slots=True)
class _Variant:
    """One matrix of a layer in one reading, its norms by query head."""

    matrix: str
    norms: Norms
    is_folded: bool = False
    slicing: str = "correct"


def _head_rows(heads: Heads, layer: int, weights: HeadWeights) -> Iterator[_HeadRow]:
    kv_heads = [heads.kv_head(head) for head in range(heads.n_heads)]
    for variant in _variants(weights, torch.tensor(kv_heads)):
        numbers = zip(
            variant.norms.sigma_max.tolist(), variant.norms.frobenius.tolist(), strict=True
        )
        for head, (sigma_max, frobenius) in enumerate(numbers):
            yield _HeadRow(
                layer,
                head,
                variant.matrix,
                variant.is_folded,
                variant.slicing,
                kv_heads[head],
                sigma_max,
                frobenius,
            )


def _variants(weights: HeadWeights, kv_head: Tensor) -> Iterator[_Variant]:
    """Yield every matrix of a layer in every reading; heads that share a matrix repeat it."""
    output = grams(weights.output.mT)
    yield _Variant("O", output.norms())
    for gain in (None,) if weights.gain is None else (None, weights.gain):
        is_folded = gain is not None
        yield _Variant("Q", head_norms(weights.query, gain), is_folded)
        yield _Variant("K", head_norms(weights.key, gain).at(kv_head), is_folded)
        value = grams(weights.value, gain)
        yield _Variant("V", value.norms().at(kv_head), is_folded)
        yield _Variant("OV", product_norms(output, value.at(kv_head)), is_folded)
    if weights.value_contiguous is not None:
        yield _Variant("V", head_norms(weights.value_contiguous), slicing="contiguous")


def _whole_rows(layer: int, weights: HeadWeights) -> Iterator[_WholeRow]:
    """Yield the norms of the matrices over all heads, those of shared heads counted once."""
    whole = {
        ("Q", "correct"): weights.query.flatten(0, 1),
        ("K", "correct"): weights.key.flatten(0, 1),
        ("V", "correct"): weights.value.flatten(0, 1),
        ("O", "correct"): weights.output.transpose(0, 1).flatten(1, 2),
    }
    if weights.value_contiguous is not None:
        whole["V", "contiguous"] = weights.value_contiguous.flatten(0, 1)
    for (matrix, slicing), entries in whole.items():
        norms = whole_norms(entries)
        yield _WholeRow(layer, matrix, slicing, norms.sigma_max.item(), norms.frobenius.item())

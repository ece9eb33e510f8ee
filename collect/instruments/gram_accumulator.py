"""Inner products along the stream of one batch, kept until they are turned into numbers at once.

Nine numbers per token and part of a block are kept, never a vector. They become lengths, ratios
and cosines of all blocks together, which takes a few operations instead of some for each block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

from collect.instruments.grams import (
    Largest,
    difference,
    lengths,
    ratios,
    stacked,
    stacked_products,
)


@dataclass(slots=True)
class GramAccumulator:
    """What was seen of the stream of one batch, by layer and site or part."""

    _norms: dict[tuple[int, str], tuple[Tensor, Largest]] = field(default_factory=dict)
    _readings: dict[tuple[int, str], Tensor] = field(default_factory=dict)
    _updates: dict[tuple[int, str], Tensor] = field(default_factory=dict)
    _blocks: dict[int, Tensor] = field(default_factory=dict)
    _scales: dict[int, Tensor] = field(default_factory=dict)

    def add_norm(self, layer: int, site: str, products: Tensor, row: int, largest: Largest) -> None:
        """Keep what the norms at a site are made of: one row of `grams`."""
        with_ones = slice(0, row + 1, row)
        self._norms[layer, site] = products[:, with_ones, with_ones], largest

    def add_reading(self, layer: int, part: str, norm: Tensor) -> None:
        """Keep the norm of what a part of a block reads."""
        self._readings[layer, part] = norm

    def add_update(self, layer: int, part: str, products: Tensor) -> None:
        """Keep the products of a stream with what is added to it."""
        self._updates[layer, part] = products

    def add_block(self, layer: int, products: Tensor, scale: Tensor | None = None) -> None:
        """Keep the products of the streams that enter and leave a block, and its scale, if any."""
        self._blocks[layer] = products
        if scale is not None:
            self._scales[layer] = scale

    def parts(self, layer: int) -> set[str]:
        """Return the parts of a block that were seen."""
        return {part for of_layer, part in self._updates if of_layer == layer}

    def norms(self) -> Norms:
        """Return the norms at all sites."""
        products = stacked_products([of_site for of_site, _ in self._norms.values()])
        norm, norm_centred = lengths(products, 1)
        largest = stacked([largest for _, (largest, _) in self._norms.values()])
        share = torch.where(norm > 0, (largest / norm).square(), 0.0)
        feature = stacked([feature for _, (_, feature) in self._norms.values()])
        return Norms(tuple(self._norms), norm, norm_centred, share, feature)

    def updates(self) -> Updates:
        """Return what attention, feed-forward and each block as a whole add."""
        blocks = difference(stacked_products([*self._blocks.values()]), 2, 1)
        lengths_of_blocks = (*lengths(blocks, 3), *ratios(blocks, 3, 1))
        nothing_read = torch.full_like(lengths_of_blocks[0], torch.nan)
        of_blocks = (*lengths_of_blocks, nothing_read)
        places = tuple((layer, "block") for layer in self._blocks)
        if not self._updates:
            return Updates(places, *of_blocks, self._scales_like(nothing_read))
        parts = stacked_products([*self._updates.values()])
        input_norms = stacked([self._readings[place] for place in self._updates])
        of_parts = (*lengths(parts, 2), *ratios(parts, 2, 1), input_norms)
        joined = zip(of_parts, of_blocks, strict=True)
        return Updates((*self._updates, *places), *(torch.cat(both) for both in joined))

    def _scales_like(self, numbers: Tensor) -> Tensor | None:
        """Return the scales of all blocks as rows of (n_blocks, n_tokens), None where none has."""
        if not self._scales:
            return None
        scales = torch.cat([self._scales[layer].to(numbers) for layer in self._blocks])
        return scales[:, None].expand_as(numbers)


@dataclass(frozen=True, slots=True)
class Norms:
    """Lengths of vectors, each (n_places, n_tokens), the tokens prompt after prompt.

    ``places`` are pairs (layer, site).
    """

    places: tuple[tuple[int, str], ...]
    norm: Tensor
    norm_centred: Tensor
    top_share: Tensor
    top_feature: Tensor


@dataclass(frozen=True, slots=True)
class Updates:
    """What parts of blocks add to the stream, each (n_places, n_tokens), prompt after prompt.

    ``places`` are pairs (layer, part); NaN stands for what is not defined. ``layer_scale`` is
    None where blocks have no such number.
    """

    places: tuple[tuple[int, str], ...]
    norm: Tensor
    norm_centred: Tensor
    ratio: Tensor
    cosine: Tensor
    input_norm: Tensor
    layer_scale: Tensor | None = None


#: What the pass of one batch leaves behind, prompts in the order of the batch, by the table whose
#: rows are made of it; see `collect.instruments.rows`.
Observation: TypeAlias = "dict[str, Any]"

"""The sums that measuring takes and nothing else: what of its cost is arithmetic.

They are those of ``collect run``, in float64, of the same tensors in hooks, as plain loops of numpy
and torch; nothing is kept, checked or named. ``collection.py`` has them as two approaches:
``python tests/benchmarks/collection.py --model "GPT-2 124M" --times-only --only "sums alone"
"ours: and geometry" "sums alone, and geometry"``.

On a quiet machine, 2026-11-28, AMD EPYC; ratios to a bare body, medians of five rounds with their
quartiles. GPT-2 124M: stream and attention 1.075 [1.071, 1.084], their sums alone 1.058 [1.051,
1.063]; with the geometry 1.143 [1.138, 1.148], sums alone 1.105 [1.099, 1.105]. SmolLM2 135M, while
other processes shared the two cores: 1.140, 1.091; 1.240, 1.167. A quarter of what measuring adds
is hooks, checks and rows; the sums by themselves are above 1.05 and 1.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.hooked import Hooked, after, before
from collect.model.forward.passes import Batch

#: Tokens whose numbers are worked on at a time.
TILE = 128

SMALL = 0.01


class Sums(Hooked):
    """Computes what quantities are made of and forgets it; of no quantity, nothing."""

    def __init__(self, batches: Sequence[Batch], quantities: Sequence[str]) -> None:
        self.batches, self.quantities = batches, quantities
        self.kept: dict[str, Tensor] = {}
        self.last: dict[int, list[Tensor]] = {}

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        if not self.quantities:
            return
        width = decoder.config.hidden_size
        self.x64, self.ones = np.empty((TILE, 2, width)), np.ones(width)
        self.sizes = np.empty((TILE, width), np.float32)
        yield after(decoder.embedding, lambda states: self.products(None, states, largest=1))
        if decoder.final_norm is not None:
            yield after(decoder.final_norm, lambda states: self.leave(-1, None, states))
        for layer, block in enumerate(decoder.blocks):
            yield from self.of_block(decoder, layer, block)

    def of_block(self, decoder: Decoder, layer: int, block: Any) -> Iterator[Any]:
        """Put hooks on a block and its parts."""
        sites, kept = decoder.sites(layer), self.kept
        yield before(block, lambda states: self.enter(layer, states))
        for reader in (sites.attention, sites.ffn_input):
            yield before(reader, lambda states: self.products(None, states, sums=False))
        yield after(
            sites.attention_update.module,
            lambda update: self.products(kept["input"], update, known=1),
        )
        if sites.mid is not None:
            yield before(sites.mid, lambda states: kept.update(mid=states))
        yield after(
            sites.ffn_update.module,
            lambda update: self.products(kept["mid"], update, largest=0),
        )
        yield after(block, lambda states: self.leave(layer, kept["input"], states))
        yield decoder.attentions[layer].register_forward_hook(
            lambda _module, _args, output: self.maps(output[1])
        )

    def watch(self, index: int) -> None:
        """Lay the tokens of a batch out in tiles."""
        super().watch(index)
        self.n = [len(prompt) for prompt in self.batches[index]]
        self.tiles: list[list[tuple[int, slice]]] = []
        end = TILE
        for prompt, n in enumerate(self.n):
            if end + n > TILE:
                self.tiles.append([])
                end = 0
            self.tiles[-1].append((prompt, slice(end, end + n)))
            end += n

    def enter(self, layer: int, states: Tensor) -> None:
        """Measure what enters block 0."""
        self.kept |= {"input": states, "mid": states}
        if layer == 0:
            self.kept["first"] = states.clone()
            self.leave(-2, None, states)

    def leave(self, layer: int, entered: Tensor | None, states: Tensor) -> None:
        """Measure a stream, and how its vectors lie to each other."""
        known = int(entered is not None)
        self.products(entered, states, known=known, largest=1)
        if "geometry" not in self.quantities:
            return
        self.products(self.kept["first"], states, known=1)
        for prompt, n in enumerate(self.n):
            _geometry(states[prompt, :n])
        of_batches = self.last.setdefault(layer, [])
        of_batches.append(self.last_vectors(states))
        if len(of_batches) == len(self.batches):
            _geometry(torch.cat(self.last.pop(layer)))

    def products(
        self,
        one: Tensor | None,
        other: Tensor,
        *,
        known: int = 0,
        largest: int | None = None,
        sums: bool = True,
    ) -> None:
        """Multiply vectors with ones and each other, and find the largest feature of one."""
        given = [states for states in (one, other) if states is not None]
        read = [states.numpy().reshape(len(self.n), -1, states.shape[-1]) for states in given]
        for tile in self.tiles:
            x64 = self.x64[: tile[-1][1].stop, 2 - len(read) :]
            for row, array in enumerate(read):
                for prompt, place in tile:
                    x64[place, row] = array[prompt, : place.stop - place.start]
            if sums:
                np.vecdot(x64[:, known:], self.ones)
            if len(read) == 2 and not known:
                np.vecdot(x64[:, 0], x64[:, 0])
            np.vecdot(x64, x64[:, -1, None])
            if largest is not None:
                for prompt, place in tile:
                    n = place.stop - place.start
                    np.abs(read[min(largest, len(read) - 1)][prompt, :n], out=self.sizes[place])
                self.sizes[: len(x64)].argmax(-1)

    def maps(self, maps: Tensor) -> None:
        """Add up attention maps: five linear sums, entropy and squares, by head and of the mean."""
        width = maps.shape[-1]
        places, weights = triangle(width)
        for of_prompt, n in zip(maps.flatten(-2), self.n, strict=True):
            own = slice(n * (n + 1) // 2)
            entries = of_prompt.index_select(1, places[own]).double().numpy()
            mean = entries.sum(0) / len(entries)
            np.vecdot(entries, weights[:, None, own])
            np.count_nonzero(mean >= SMALL)
            for array in (entries, mean):
                np.vecdot(array, array)
                np.vecdot(np.log(np.maximum(array, np.finfo(np.float64).tiny)), array)

    def last_vectors(self, states: Tensor) -> Tensor:
        """Return the vectors at the last token of each prompt."""
        return states[torch.arange(len(self.n)), torch.tensor(self.n) - 1]

    def finish(self, index: int, states: Tensor) -> None:
        """Predict after the last tokens of all prompts."""
        if not self.quantities:
            return
        self.last.setdefault(-3, []).append(self.last_vectors(states))
        if index == len(self.batches) - 1:
            logits = self._decoder.next_token_logits(torch.cat(self.last.pop(-3)))
            logs = logits.double().log_softmax(-1)
            (logs.exp() * logs).sum(-1)
            logs.max(-1)


@cache
def triangle(width: int) -> tuple[Tensor, NDArray[np.float64]]:
    """Return the places of a causal map, row by row, and their weights in five sums, (5, n)."""
    row, column = np.tril_indices(width)
    weights = np.stack([row >= 0, row == column, column == 0, column > row, row - column])
    return torch.from_numpy(row * width + column), weights.astype(np.float64)


def _geometry(vectors: Tensor) -> None:
    """Compute cosines, the sum of a kernel, and the entropy of singular values."""
    x64 = vectors.double()
    gram = x64 @ x64.T
    singular_values = torch.linalg.eigvalsh(gram).clamp_min(0).sqrt()
    torch.special.entr(singular_values / singular_values.sum()).sum()
    lengths = gram.diagonal().sqrt()
    cosines = (gram / lengths).div_(lengths[:, None])
    cosines.sum()
    cosines[1:, 1:].sum()
    cosines.sub_(1).mul_(4).exp_().sum()

"""Hooks that measure while a model reads prompts, and reduce as they go.

They sit on the blocks themselves, because ``hidden_states`` of transformers never holds the
output of the last block: its last entry has already been through the final norm. No hidden
state and no attention map outlives its block, except, for the geometry, the input of block 0
until its batch is done and the vectors at the last token until all prompts have passed a site.
Numbers stay on the device that made them until a batch is done, and cross to the processor at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any

import torch
from torch import Tensor

from collect.adapters.capability import HEAD, PARTS
from collect.errors import ConformanceError, InputError
from collect.instruments import legacy
from collect.instruments.attention_maps import attention_statistics
from collect.instruments.gram_accumulator import GramAccumulator, Observation
from collect.instruments.grams import (
    correlations,
    grams,
    grams_and_largest,
    last_places,
    stacked,
    token_norms,
)
from collect.instruments.transfer import transferred
from collect.measures import geometry
from collect.measures.declaration import StreamQuantity
from collect.measures.predictions import Predictions, predictions
from collect.measures.register import OF_VECTORS
from collect.model.checkpoint.decoder import Contribution, Decoder, Sites
from collect.model.forward.hooked import Hooked, after, around, before
from collect.model.forward.passes import Batch


class Recorder(Hooked):
    """A watcher that reduces what it sees to an `Observation` of each batch.

    Parameters
    ----------
    batches
        What will be run.
    quantities
        Built-in quantities that are measured on prompts; other names are passed over.

    Attributes
    ----------
    batches
        As given.
    next_token
        Distribution after the last token of each prompt, in the order of the batches; None
        until the last batch is finished, when ``stream`` was not asked for, and of a model
        without a head.
    """

    def __init__(self, batches: Sequence[Batch], quantities: Sequence[str]) -> None:
        self.batches = tuple(batches)
        self.next_token: Predictions | None = None
        self._quantities = frozenset(quantities)
        self._declared = [it for it in OF_VECTORS.values() if it.name in self._quantities]
        self._observations: dict[int, Observation] = {n: {} for n in range(len(self.batches))}
        self._accumulators = {index: GramAccumulator() for index in range(len(self.batches))}
        self._entered: dict[int, tuple[Tensor, Tensor]] = {}
        self._last_tokens: dict[tuple[int, str], dict[int, Tensor]] = {}
        self._last_states: dict[int, Tensor] = {}
        self._sums: dict[int, dict[tuple[int, str], Tensor]] = {}
        self._to_input: dict[int, dict[tuple[int, str], Tensor]] = {}
        self._sums_across_prompts: dict[tuple[int, str], Tensor] = {}
        self._running: dict[str, Tensor] = {}
        self._known: dict[str, Tensor] = {}
        self._n_layers = 0

    def observation(self, index: int) -> Observation:
        """Return what was seen of a batch, and forget it."""
        self._entered.pop(index, None)
        observation, accumulator = self._observations.pop(index), self._accumulators.pop(index)
        if "stream" in self._quantities:
            observation["residual_norm"] = accumulator.norms()
            observation["residual_update"] = accumulator.updates()
        n_tokens = [len(prompt) for prompt in self.batches[index]]
        sums, to_input = self._sums.pop(index, {}), self._to_input.pop(index, {})
        correlations_seen = correlated(to_input, n_tokens)
        observation, sums, correlations_seen = transferred((observation, sums, correlations_seen))
        if sums:
            observation["token_geometry"] = token_geometry(sums, correlations_seen, n_tokens)
        return observation

    @property
    def across_prompts(self) -> dict[tuple[int, str], geometry.Geometry]:
        """By (layer, site): geometry of the vectors at the last token of all prompts."""
        n_prompts = sum(len(batch) for batch in self.batches)
        sums = transferred(self._sums_across_prompts)
        return {place: geometry.summary(n_prompts, of[0].tolist()) for place, of in sums.items()}

    def finish(self, index: int, states: Tensor) -> None:
        """Measure the predictions made from ``last_hidden_state``, (n_prompts, n_tokens, d)."""
        batch, logits = self.batches[index], self._decoder.next_token_logits
        if self._normed is not None:
            if "stream" in self._quantities:
                self._see_norms(self._n_layers - 1, "final_norm", self._normed)
            self._see_vectors(self._n_layers - 1, "final_norm", self._normed)
        if "predictions" in self._quantities:
            weight: Any = self._decoder.head.weight
            n_predicted = int(weight.shape[0])
            for prompt in batch:
                beyond = [token_id for token_id in prompt.token_ids[1:] if token_id >= n_predicted]
                if beyond:
                    raise InputError(
                        "Every token after the first must be one that the head predicts, of which "
                        f"there are {n_predicted}; {prompt.prompt_id} holds token {beyond[0]}.",
                        "Resize the head as the embedding was, or leave predictions out.",
                    )
            self._observations[index]["token_prediction"] = _predictions(states, batch, logits)
        if "legacy" in self._quantities:
            self._see_legacy(
                self._n_layers - 1, legacy.entropy_variant(logits(self._last_vectors(states)))
            )
        if "stream" in self._quantities and self._decoder.adapter.has(HEAD):
            self._last_states[index] = self._last_vectors(states)
            if len(self._last_states) == len(self.batches):
                self._predict_next_tokens()

    def _predict_next_tokens(self) -> None:
        """Predict after all prompts at once, so that the head is read once and not per batch."""
        states = torch.cat([self._last_states[index] for index in range(len(self.batches))])
        none_comes = torch.full((len(states),), -1, device=states.device)
        predicted = predictions(states, self._decoder.next_token_logits, none_comes)
        self.next_token = transferred(predicted)
        self._last_states = {}

    @property
    def _has_parts(self) -> bool:
        """Whether the parts of blocks are watched."""
        return "stream" in self._quantities and self._decoder.adapter.has(PARTS)

    @property
    def _mixing(self) -> str:
        return self._decoder.adapter.mixing

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        self._n_layers = len(decoder.blocks)
        if "stream" in self._quantities:
            see = partial(self._see_norms, 0, "embedding")
            yield after(decoder.embedding, self._while(None, "the token embedding", see))
        yield from self._keep_normed(decoder)
        for layer in range(self._n_layers):
            yield from self._hooks_of_block(decoder, layer)

    def _hooks_of_block(self, decoder: Decoder, layer: int) -> Iterator[Any]:
        block = decoder.blocks[layer]
        enter = partial(self._enter, layer)
        yield before(block, self._once(f"block {layer}", enter))
        if self._has_parts:
            yield from self._hooks_of_parts(layer, decoder.sites(layer))
        if self._quantities & {"attention", "legacy"}:
            see = self._while(layer, self._mixing, partial(self._see_attention, layer))
            yield around(decoder.attentions[layer], see)
        yield after(block, lambda states: self._leave(layer, states))

    def _hooks_of_parts(self, layer: int, sites: Sites) -> Iterator[Any]:
        middle = "block_input" if sites.mid is None else "block_mid"
        if sites.mid is not None:
            see = partial(self._see_middle, layer, sites)
            yield before(sites.mid, self._while(layer, "what reads the stream between parts", see))
        for part, contribution, reader, stream in (
            (self._mixing, sites.attention_update, sites.attention, "block_input"),
            ("ffn", sites.ffn_update, sites.ffn_input, middle),
        ):
            added_to = f"{part} reads" if sites.adds_to_norm else stream
            see_reading = self._see_reading(layer, part, is_recorded=sites.adds_to_norm)
            see_update = self._see_update(layer, part, added_to, contribution)
            yield before(reader, self._while(layer, part, see_reading))
            yield after(contribution.module, self._while(layer, part, see_update))

    def _see_reading(self, layer: int, part: str, *, is_recorded: bool) -> Callable[[Tensor], None]:
        """Return what measures the input of a part, and keeps it where updates are added to it."""

        def see(states: Tensor) -> None:
            states = states.view_as(self._running["block_input"])
            self._accumulators[self._index].add_reading(
                layer, part, token_norms(states, self._n_tokens)
            )
            if is_recorded:
                self._running[f"{part} reads"] = states

        return see

    def _see_middle(self, layer: int, sites: Sites, states: Tensor) -> None:
        self._running["block_mid"] = states.view_as(self._running["block_input"])
        if sites.adds_to_norm:
            self._see_norms(layer, "block_mid", self._running["block_mid"])

    def _see_update(
        self, layer: int, part: str, added_to: str, contribution: Contribution
    ) -> Callable[[Tensor], None]:
        """Return what measures an update at once, because some families add to it in place."""

        def see(output: Tensor) -> None:
            stream, n_tokens = self._running[added_to], self._n_tokens
            accumulator, known = self._accumulators[self._index], self._known.get(added_to)
            vectors = [stream, contribution.of(output, stream)]
            if added_to == "block_mid":
                products, largest = grams_and_largest(vectors, n_tokens, 1, known)
                accumulator.add_norm(layer, added_to, products, 1, largest)
            else:
                products = grams(vectors, n_tokens, known)
            accumulator.add_update(layer, part, products)
            self._known[added_to] = products

        return see

    def _enter(self, layer: int, states: Tensor) -> None:
        states = states.to(self._decoder.device_of_block(layer))
        self._running, self._running_block = {"block_input": states}, layer
        if layer > 0:
            return
        if "stream" in self._quantities:
            self._known["block_input"] = self._see_norms(0, "block_input", states)
        if "geometry" in self._quantities:
            known = self._known.get("block_input")
            products = grams([states], self._n_tokens) if known is None else known
            self._entered[self._index] = states.clone(), products
        self._see_vectors(0, "block_input", states)

    def _leave(self, layer: int, states: Tensor) -> None:
        observation = self._observations[self._index]
        seen = self._accumulators[self._index].parts(layer)
        unseen = [part for part in (self._mixing, "ffn") if self._has_parts and part not in seen]
        if "attention" in self._quantities and layer not in observation.get("attention", {}):
            unseen.append("attention map")
        if unseen:
            raise ConformanceError(
                f"Every block must run its {self._mixing} and its feed-forward part; "
                f"in block {layer} there was no {unseen[0]}."
            )
        if "stream" in self._quantities:
            vectors, known = [self._running["block_input"], states], self._known.get("block_input")
            products, largest = grams_and_largest(vectors, self._n_tokens, 2, known)
            self._accumulators[self._index].add_norm(layer, "block_output", products, 2, largest)
            scale = self._decoder.layer_scale(layer)
            self._accumulators[self._index].add_block(layer, products, scale)
        self._see_vectors(layer, "block_output", states)
        if "legacy" in self._quantities:
            self._see_legacy(layer, legacy.norm_variants(self._last_vectors(states)))
        self._running, self._known, self._running_block = {}, {}, None

    def _see_norms(self, layer: int, site: str, states: Tensor) -> Tensor:
        """Keep the norms at a site, and return the products that they are made of."""
        products, largest = grams_and_largest([states], self._n_tokens, 1)
        self._accumulators[self._index].add_norm(layer, site, products, 1, largest)
        return products

    def _see_attention(self, layer: int, args: Any, kwargs: Any, output: Any) -> None:
        maps = self._decoder.attention_maps(layer, args, kwargs, output)
        observation, n_tokens = self._observations[self._index], self._n_tokens
        if "attention" in self._quantities:
            of_heads, of_mean = attention_statistics(maps, n_tokens)
            observation.setdefault("attention", {})[layer] = of_heads
            observation.setdefault("attention_mean", {})[layer] = of_mean
        if "legacy" in self._quantities:
            weights = self._decoder.head_weights(layer)
            self._see_legacy(layer, legacy.map_variants(maps, n_tokens, weights))

    def _see_legacy(self, layer: int, of_metrics: dict[str, Tensor]) -> None:
        values = self._observations[self._index].setdefault("legacy_value", {})
        values |= {(layer, metric): value for metric, value in of_metrics.items()}

    def _see_vectors(self, layer: int, site: str, states: Tensor) -> None:
        """Measure what is asked for of the vectors at a site beside their norms."""
        index, n_tokens = self._index, self._n_tokens
        for quantity in self._declared:  # those that have a file in `collect.measures`
            of_table = self._observations[index].setdefault(quantity.table, {})
            of_table[layer, site] = values(quantity, states, n_tokens)
        if "geometry" not in self._quantities:
            return
        entered, known = self._entered[index]
        products = grams([entered.to(states.device), states], n_tokens, known)
        self._to_input.setdefault(index, {})[layer, site] = products
        self._sums.setdefault(index, {})[layer, site] = geometry.sums(states, n_tokens)
        of_batches = self._last_tokens.setdefault((layer, site), {})
        of_batches[index] = self._last_vectors(states)
        if len(of_batches) == len(self.batches):  # then the geometry of all prompts, alone
            together = torch.cat([of_batches[each] for each in range(len(self.batches))])
            n_prompts = len(together)
            self._sums_across_prompts[layer, site] = geometry.sums(together[None], [n_prompts])
            del self._last_tokens[layer, site]

    @property
    def _n_tokens(self) -> list[int]:
        return [len(prompt) for prompt in self.batches[self._index]]

    def _last_vectors(self, states: Tensor) -> Tensor:
        """Return the vectors (n_prompts, d) at the last token of each prompt that runs."""
        places = last_places(tuple(self._n_tokens), states.shape[1], states.device)
        return states.flatten(0, 1).index_select(0, places)


def values(quantity: StreamQuantity, states: Tensor, n_tokens: Sequence[int]) -> Tensor:
    """Return what a declared quantity is of each prompt at a site, (n_prompts, n_columns)."""
    rows = []
    for of_prompt, n in zip(states, n_tokens, strict=True):
        measured = quantity.measure(of_prompt[:n].double())
        numbers = [torch.as_tensor(measured[column.name]) for column in quantity.columns]
        rows.append(stacked([number.double() for number in numbers]))
    return stacked(rows)


def token_geometry(
    sums: dict[tuple[int, str], Tensor], correlations_seen: Tensor, n_tokens: Sequence[int]
) -> dict[tuple[int, str], Tensor]:
    """Return by place, of the tokens of each prompt, the columns of ``token_geometry``.

    They are (n_prompts, n_columns) in float64, NaN where one is not defined.
    """
    by_place = correlations_seen.tolist() or [[math.nan] * len(n_tokens)] * len(sums)
    measured = {}
    for (place, rows), correlation in zip(sums.items(), by_place, strict=True):
        of_prompts = zip(n_tokens, rows.tolist(), correlation, strict=True)
        numbers = [[*astuple(geometry.summary(n, row)), one] for n, row, one in of_prompts]
        measured[place] = torch.tensor(
            [[math.nan if number is None else number for number in row] for row in numbers],
            dtype=torch.float64,
        )
    return measured


def correlated(products: dict[tuple[int, str], Tensor], n_tokens: Sequence[int]) -> Tensor:
    """Return the mean correlation (n_places, n_prompts) of tokens with what entered block 0."""
    if not products:
        return torch.empty(0)
    of_tokens = correlations(stacked([*products.values()]), 2, 1)
    return torch.stack([few.nanmean(-1) for few in of_tokens.split(n_tokens, -1)], dim=-1)


def _predictions(states: Tensor, batch: Batch, logits: Callable[[Tensor], Tensor]) -> Predictions:
    """Return what is predicted after every token of a batch, prompt after prompt."""
    tokens = torch.cat(
        [of_prompt[: len(prompt)] for of_prompt, prompt in zip(states, batch, strict=True)]
    )
    coming = [token_id for prompt in batch for token_id in (*prompt.token_ids[1:], -1)]
    return predictions(tokens, logits, torch.tensor(coming, device=states.device))

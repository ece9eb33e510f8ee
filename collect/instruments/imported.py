"""States that another engine wrote, reduced to what hooks make of the same states.

No module runs: the vectors are there. What needs more than them (parts of blocks, attention,
the head) is not measured.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from collect.instruments.gram_accumulator import GramAccumulator, Observation
from collect.instruments.grams import grams, grams_and_largest
from collect.instruments.hooks import correlated, token_geometry, values
from collect.measures import geometry
from collect.measures.declaration import SITES
from collect.measures.predictions import Predictions
from collect.measures.register import BUILT_IN, OF_VECTORS
from collect.model.forward.passes import Batch

#: A place of the stream: layer and site, as in table ``residual_norm``.
Place = tuple[int, str]

#: What enters block 0.
ENTRY: Place = (0, "block_input")

#: Quantities that states give, of which what needs no more is measured.
OF_STATES = tuple(name for name, quantity in BUILT_IN.items() if quantity.of_states)


class ImportedStates:
    """Observes prompts one by one, from their states alone.

    Attributes
    ----------
    batches
        The prompts that were observed, each a batch of its own.
    next_token
        None: there is no head.
    """

    next_token: Predictions | None = None

    def __init__(self) -> None:
        self.batches: tuple[Batch, ...] = ()
        self._last: dict[Place, list[Tensor]] = {}

    def observe(self, batch: Batch, states: Mapping[Place, Tensor]) -> Observation:
        """Return what the states of one prompt give.

        Parameters
        ----------
        batch
            The prompt.
        states
            By place: (n_tokens, d), in any floating type.
        """
        self.batches = (*self.batches, batch)
        batched = {place: of_place[None] for place, of_place in states.items()}
        n_tokens = [len(batch[0])]
        for place, of_place in states.items():
            if place[1] in SITES:
                self._last.setdefault(place, []).append(of_place[-1])
        return {
            **_observe_stream(batched, n_tokens),
            **_observe_geometry(batched, n_tokens),
            **_observe_vectors(batched, n_tokens),
        }

    @property
    def across_prompts(self) -> dict[Place, geometry.Geometry]:
        """By place: geometry of the vectors at the last token of all prompts."""
        return {place: geometry.geometry(torch.stack(of)) for place, of in self._last.items()}


def entry_place(place: Place) -> Place | None:
    """Return where what enters the block of an output is found; None of other sites.

    >>> entry_place((3, "block_output")), entry_place((0, "block_output"))
    ((2, 'block_output'), (0, 'block_input'))
    """
    layer, site = place
    if site != "block_output":
        return None
    return ENTRY if layer == 0 else (layer - 1, site)


def _observe_stream(states: Mapping[Place, Tensor], n_tokens: list[int]) -> Observation:
    accumulator, has_blocks = GramAccumulator(), False
    for place, of_place in states.items():
        entry = entry_place(place)
        entered = None if entry is None else states.get(entry)
        vectors = [of_place] if entered is None else [entered, of_place]
        products, largest = grams_and_largest(vectors, n_tokens, len(vectors))
        accumulator.add_norm(*place, products, len(vectors), largest)
        if entered is not None:
            accumulator.add_block(place[0], products)
            has_blocks = True
    updates = {"residual_update": accumulator.updates()} if has_blocks else {}
    return {"residual_norm": accumulator.norms(), **updates}


def _observe_vectors(states: Mapping[Place, Tensor], n_tokens: list[int]) -> Observation:
    wanted = {place: of for place, of in states.items() if place[1] in SITES}
    return {
        quantity.table: {place: values(quantity, of, n_tokens) for place, of in wanted.items()}
        for quantity in OF_VECTORS.values()
        if wanted
    }


def _observe_geometry(states: Mapping[Place, Tensor], n_tokens: list[int]) -> Observation:
    wanted = {place: of for place, of in states.items() if place[1] in SITES}
    if not wanted:
        return {}
    sums = {place: geometry.sums(of_place, n_tokens) for place, of_place in wanted.items()}
    entered = states.get(ENTRY)
    products = (
        {}
        if entered is None
        else {place: grams([entered, of_place], n_tokens) for place, of_place in wanted.items()}
    )
    return {"token_geometry": token_geometry(sums, correlated(products, n_tokens), n_tokens)}

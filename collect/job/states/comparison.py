"""States of another engine beside those of our own hooks, place by place.

A layer index that is off by one shows: what is declared as one place equals the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from collect.instruments.hooked import Hooked, after, before
from collect.instruments.imported import ENTRY, Place
from collect.job.states.importing import Source, task_of
from collect.model.checkpoint.checkpoint import locate
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model
from collect.model.forward.passes import whole
from collect.prompts.tokens import Encoded

#: Largest relative distance of states that are the same, by number format: a half format rounds
#: every addition to the stream by up to 2^-9, a quantised matrix more.
TOLERANCES = {"float64": 1e-3, "float32": 1e-3, "float16": 2e-2, "bfloat16": 5e-2}


@dataclass(frozen=True, slots=True)
class Compared:
    """One entry of a file beside our own states.

    Attributes
    ----------
    place
        What it is declared to be of, as (layer, site).
    deviation
        Length of the difference from our states there, over the length of ours [1].
    nearest
        Where our states are nearest.
    nearest_deviation
        The deviation from those [1].
    tolerance
        Largest deviation of states that are the same [1].
    """

    place: Place
    deviation: float
    nearest: Place
    nearest_deviation: float
    tolerance: float

    @property
    def is_same(self) -> bool:
        """Whether the states are those of the place declared, and of no other rather."""
        return self.deviation <= min(self.tolerance, self.nearest_deviation)

    @property
    def is_moved(self) -> bool:
        """Whether they are those of another place."""
        return not self.is_same and self.nearest_deviation <= self.tolerance


class _Seen(Hooked):
    """Keeps the stream at every place of one prompt."""

    def __init__(self) -> None:
        self.states: dict[Place, Tensor] = {}

    def finish(self, index: int, states: Tensor) -> None:
        """Keep what the final norm returned."""
        if self._normed is not None:
            self._keep((len(self._decoder.blocks) - 1, "final_norm"), self._normed)

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        yield after(decoder.embedding, partial(self._keep_once, (0, "embedding")))
        yield before(decoder.blocks[0], partial(self._keep, ENTRY))
        for layer, block in enumerate(decoder.blocks):
            yield after(block, partial(self._keep, (layer, "block_output")))
        yield from self._keep_normed(decoder)

    def _keep(self, place: Place, states: Tensor) -> None:
        self.states[place] = states[0].detach().double().clone()

    def _keep_once(self, place: Place, states: Tensor) -> None:
        if place not in self.states:
            self._keep(place, states)


def compare(source: Source, model: str) -> list[Compared]:
    """Compare the states of the first file with those of our own hooks.

    Parameters
    ----------
    source
        Files of states, and their model.
    model
        The model with weights: checkpoint directory, GGUF file or hub identifier.

    Returns
    -------
    One entry per layer of the file that our hooks see, in its order.

    Raises
    ------
    CollectError
        If the model cannot be loaded.
    """
    found, prompt = source.heads[0], task_of(source).encoded[0]
    ours = _states(load_model(locate(model)), prompt)
    placed = {place: of.double() for place, of in source.placed(found).items() if place in ours}
    tolerance = TOLERANCES[found.number_format]
    return [_compared(place, of, ours, tolerance) for place, of in placed.items()]


def _states(decoder: Decoder, prompt: Encoded) -> dict[Place, Tensor]:
    seen = _Seen()
    for _ in whole(decoder, [(prompt,)], seen):
        pass
    return seen.states


def _compared(
    place: Place, theirs: Tensor, ours: Mapping[Place, Tensor], tolerance: float
) -> Compared:
    deviations = {
        known: float((theirs - of).norm() / of.norm())
        for known, of in ours.items()
        if of.shape == theirs.shape
    }
    nearest = min(deviations, key=lambda known: (deviations[known], known != place))
    return Compared(place, deviations[place], nearest, deviations[nearest], tolerance)


def as_text(found: list[Compared]) -> str:
    """Return a line for each entry, and what it comes to.

    A single shift that all entries share is named as such.
    """
    lines = [f"{'declared':22} {'deviation':>9}  {'nearest of our own':22} {'deviation':>9}"]
    lines += [
        f"{_named(it.place):22} {it.deviation:9.1e}  {_named(it.nearest):22} "
        f"{it.nearest_deviation:9.1e}"
        for it in found
    ]
    return "\n".join([*lines, verdict(found)])


def verdict(found: list[Compared]) -> str:
    """Return in a sentence whether the states are the model's, or by how many layers they are off.

    Examples
    --------
    >>> late = Compared((0, "block_output"), 0.4, (1, "block_output"), 1e-6, 1e-3)
    >>> verdict([late])
    'off by one: layer 0 of the file equals layer 1 of the model.'
    """
    wrong = [it for it in found if not it.is_same]
    if not wrong:
        return "the states are the model's, layer by layer."
    is_normed = [it.is_moved and it.nearest[1] == "final_norm" for it in wrong]
    moved = [it for it, is_it in zip(wrong, is_normed, strict=True) if it.is_moved and not is_it]
    shifts = {depth(it.nearest) - depth(it.place) for it in moved}
    first = wrong[0]
    if len(shifts) == 1 and len(moved) + sum(is_normed) == len(wrong):
        (shift,) = shifts
        by = "one" if abs(shift) == 1 else str(abs(shift))
        return (
            f"off by {by}: layer {depth(moved[0].place)} of the file equals layer "
            f"{depth(moved[0].nearest)} of the model."
        )
    if all(is_normed):
        return f"layer {depth(first.place)} of the file comes after the final norm."
    return (
        f"not the model's: {_named(first.place)} deviates by {first.deviation:.1e}, and is nearest "
        f"to {_named(first.nearest)}, by {first.nearest_deviation:.1e}."
    )


def depth(place: Place) -> int:
    """Return how many blocks lie before a place, less one: the layer of an output.

    >>> depth((0, "block_input")), depth((3, "block_output"))
    (-1, 3)
    """
    layer, site = place
    return {"block_input": layer - 1, "embedding": -1}.get(site, layer)


def _named(place: Place) -> str:
    return f"{place[1]} of layer {place[0]}"

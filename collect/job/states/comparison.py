"""States of another engine beside those of our own hooks, place by place.

A layer index that is off by one shows: what is declared as one place equals the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from collect.errors import InputError
from collect.instruments.imported import Place
from collect.instruments.own.definition import SITES
from collect.instruments.own.examples import raw_vectors
from collect.instruments.own.recording import OwnRecorder
from collect.job.states.declared import place_of
from collect.job.states.importing import Source
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.forward.passes import whole
from collect.process.interruption import interruptible
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


@interruptible()
def compare(source: Source, model: str) -> list[Compared]:
    """Compare the states of the first file with those of our own hooks.

    Returns
    -------
    One entry per layer of the file, in its order.
    """
    head, prompt = source.heads[0], source.task.encoded[0]
    placed, checkpoint = source.placed(head), locate(model)
    _refuse_another_shape(load_skeleton(checkpoint), source.skeleton, model, prompt)
    recorder = OwnRecorder([(prompt,)], [raw_vectors(sites=SITES)])
    for _ in whole(load_model(checkpoint), [(prompt,)], recorder):
        pass
    rows, tensors = recorder.vectors()
    named = rows[["layer", "site", "tensor"]].drop_duplicates().itertuples(index=False)
    ours = {place_of(layer, site): tensors[tensor].double() for layer, site, tensor in named}
    absent = [_name(place) for place in placed if place not in ours]
    if absent:
        raise InputError(
            f"Every state must be of a place that the model has; {model} has no "
            f"{', '.join(absent)}.",
            "Declare another --site, or measure the states without --against.",
        )
    tolerance = TOLERANCES[head.number_format]
    return [_compare(place, theirs.double(), ours, tolerance) for place, theirs in placed.items()]


def _refuse_another_shape(ours: Decoder, theirs: Decoder, model: str, prompt: Encoded) -> None:
    """Refuse a model whose states could not be compared."""
    embedding: Any = ours.embedding
    n_tokens = int(embedding.weight.shape[0])
    shape, wanted = ((int(of.config.hidden_size), len(of.blocks)) for of in (ours, theirs))
    if shape != wanted or max(prompt.token_ids) >= n_tokens:
        raise InputError(
            "The model must have the shape of the states' model and every token of the prompt; "
            f"{model} has width {shape[0]}, {shape[1]} blocks and {n_tokens} tokens. The states "
            f"have width {wanted[0]} and {wanted[1]} blocks.",
            "Give the model that wrote the states to --against.",
        )


def _compare(
    place: Place, theirs: Tensor, ours: Mapping[Place, Tensor], tolerance: float
) -> Compared:
    deviations = {
        known: float((theirs - of).norm() / of.norm())
        for known, of in ours.items()
        if of.shape == theirs.shape
    }
    nearest = min(deviations, key=lambda known: (deviations[known], known != place))
    return Compared(place, deviations[place], nearest, deviations[nearest], tolerance)


def is_agreement(entries: Sequence[Compared]) -> bool:
    """Return whether states were compared, and all are the model's."""
    return bool(entries) and all(entry.is_same for entry in entries)


def as_text(entries: Sequence[Compared]) -> str:
    """Return a line for each entry, and what it comes to.

    A single shift that all entries share is named as such.
    """
    lines = [f"{'declared':22} {'deviation':>9}  {'nearest of our own':22} {'deviation':>9}"]
    lines += [
        f"{_name(entry.place):22} {entry.deviation:9.1e}  {_name(entry.nearest):22} "
        f"{entry.nearest_deviation:9.1e}"
        for entry in entries
    ]
    return "\n".join([*lines, verdict(entries)])


def verdict(entries: Sequence[Compared]) -> str:
    """Return in a sentence whether the states are the model's, or by how many layers they are off.

    Examples
    --------
    >>> late = Compared((0, "block_output"), 0.4, (1, "block_output"), 1e-6, 1e-3)
    >>> verdict([late])
    'off by 1: layer 0 of the file equals layer 1 of the model.'
    """
    if not entries:
        return "nothing was compared."
    if is_agreement(entries):
        return "the states are the model's, layer by layer."
    first = next(entry for entry in entries if not entry.is_same)
    shifts = {depth(entry.nearest) - depth(entry.place) for entry in entries if entry.is_moved}
    if first.is_moved and first.nearest[1] == "final_norm":
        return f"layer {depth(first.place)} of the file comes after the final norm."
    if first.is_moved and len(shifts) == 1:
        if shifts == {0}:
            return (
                f"another site: {_name(first.place)} of the file equals "
                f"{_name(first.nearest)} of the model."
            )
        return (
            f"off by {abs(shifts.pop())}: layer {depth(first.place)} of the file equals layer "
            f"{depth(first.nearest)} of the model."
        )
    return (
        f"not the model's: {_name(first.place)} deviates by {first.deviation:.1e}, and is nearest "
        f"to {_name(first.nearest)}, by {first.nearest_deviation:.1e}."
    )


def depth(place: Place) -> int:
    """Return how many blocks lie before a place, less one: the layer of an output.

    >>> depth((0, "block_input")), depth((3, "block_output"))
    (-1, 3)
    """
    layer, site = place
    return {"block_input": layer - 1, "embedding": -1}.get(site, layer)


def _name(place: Place) -> str:
    return f"{place[1]} of layer {place[0]}"

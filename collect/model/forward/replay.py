"""The blocks of a model run one by one, with the arguments its body would give them.

The body runs without its blocks: stand-ins take their places, hand the stream on and keep the
other arguments (masks, rotary angles, whatever the family passes). A body that stand-ins cannot
be true to is refused: one that calls a block twice, out of turn or with another stream than the
block before returned, or whose other arguments depend on what a block returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from collect.errors import ConformanceError
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.passes import Batch, inputs, last_states


class NotReplayableError(ConformanceError):
    """The blocks of a model cannot be run one by one; found out at block ``layer``."""

    def __init__(self, cause: str, layer: int) -> None:
        self.layer = layer
        super().__init__(
            f"Streaming needs blocks that can be run one by one; {cause}.",
            "Load the model instead: leave --stream out, or use a machine with more memory.",
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of one call of a block, all but the stream."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_positional: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """How the body calls its blocks for one batch.

    Attributes
    ----------
    calls
        By block: the arguments.
    returns_tuple
        Whether the body takes the stream out of a tuple that a block returns.
    """

    calls: tuple[_Call, ...]
    returns_tuple: bool


class _StandIn(nn.Module):
    """Takes the place of a block, and its name for what the body asks of it."""

    def __init__(self, layer: int, block: nn.Module, journal: _Journal) -> None:
        super().__init__()
        # Beside the modules, so that no one who walks through the model meets the block.
        self.__dict__.update(layer=layer, block=block, journal=journal)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the arguments and hand the stream on."""
        return self.journal.called(self.layer, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return what the block has under a name."""
        return getattr(self.__dict__["block"], name)


class _Journal:
    """What the stand-ins of one pass note down.

    Parameters
    ----------
    returns_tuple
        Whether they return the stream in a tuple.
    replacement
        What the first one returns in place of the stream that enters it, if anything.
    """

    def __init__(self, *, returns_tuple: bool, replacement: Tensor | None) -> None:
        self.returns_tuple = returns_tuple
        self.replacement = replacement
        self.calls: list[_Call] = []
        self.entered: Tensor | None = None
        self.handed_on: Tensor | None = None
        self.beside = torch.empty(0)

    def called(self, layer: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a call down and return the stream as the body expects it.

        Raises
        ------
        NotReplayableError
            If the call is out of turn, with another stream than the block before returned, or
            with what that block returns beside it.
        """
        if _holds((args, kwargs), self.beside):
            cause = f"block {layer} reads more of block {layer - 1} than its stream"
            raise NotReplayableError(cause, layer)
        if layer != len(self.calls):
            raise NotReplayableError(f"block {layer} is called out of turn", layer)
        given, call = _split(args, kwargs)
        if layer == 0:
            self.entered = given
            self.handed_on = given if self.replacement is None else self.replacement
        elif given is not self.handed_on:
            raise NotReplayableError(
                f"what enters block {layer} is not what block {layer - 1} returns", layer
            )
        self.calls.append(call)
        return (self.handed_on, self.beside) if self.returns_tuple else self.handed_on


def _split(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, _Call]:
    """Return the stream and the other arguments of a block's call."""
    if args:
        return args[0], _Call(args[1:], kwargs, is_positional=True)
    others = {name: value for name, value in kwargs.items() if name != "hidden_states"}
    return kwargs["hidden_states"], _Call((), others, is_positional=False)


def record(decoder: Decoder, batch: Batch) -> tuple[Tensor, Recording]:
    """Return what enters the first block, and how the blocks are called.

    Raises
    ------
    NotReplayableError
        If the body cannot run on stand-ins, or arguments change when the stream does.
    """
    returns_tuple = _returns_tuple(decoder, batch)
    entered, recording, _ = _run_stand_ins(decoder, batch, returns_tuple=returns_tuple)
    how: dict[str, Any] = {"returns_tuple": returns_tuple, "replacement": 1 - entered}
    _check_same_calls(recording, _run_stand_ins(decoder, batch, **how)[1])
    return entered, recording


def _returns_tuple(decoder: Decoder, batch: Batch) -> bool:
    """Return whether the body takes the stream out of a tuple that a block returns."""
    # With one prompt alone, states and their first entry could be taken for each other.
    several = (*batch, *batch)
    refusals = []
    for returns_tuple in (False, True):
        try:
            _run_stand_ins(decoder, several, returns_tuple=returns_tuple)
        except NotReplayableError as refusal:
            refusals.append(refusal)
        else:
            return returns_tuple
    # The wrong way fails at the block after the first; what got further is the right way.
    raise max(refusals, key=lambda refusal: refusal.layer)


def _run_stand_ins(
    decoder: Decoder, batch: Batch, *, returns_tuple: bool, replacement: Tensor | None = None
) -> tuple[Tensor, Recording, Tensor]:
    """Run the body on a batch with stand-ins for the blocks.

    Returns
    -------
    What enters the first block, how the blocks were called, and the body's ``last_hidden_state``.
    """
    journal = _Journal(returns_tuple=returns_tuple, replacement=replacement)
    arguments = inputs(decoder, batch)
    try:
        with torch.inference_mode(), _stand_in(decoder, journal):
            last = last_states(decoder.body(**arguments, use_cache=False))
    except ValueError as error:
        # A body that unpacks more than a stand-in returns, as that of RWKV does.
        cause = f"the body expects more of a block than its stream ({error})"
        raise NotReplayableError(cause, len(journal.calls)) from error
    n_called, n_blocks = len(journal.calls), len(decoder.blocks)
    if n_called != n_blocks or journal.entered is None:
        raise NotReplayableError(f"{n_called} of {n_blocks} blocks are called", n_called)
    if last.shape[:-1] != arguments["input_ids"].shape:
        cause = f"the body returns states of shape {tuple(last.shape)}"
        raise NotReplayableError(cause, n_called)
    return journal.entered, Recording(tuple(journal.calls), returns_tuple), last


@contextmanager
def _stand_in(decoder: Decoder, journal: _Journal) -> Iterator[None]:
    """Put stand-ins in the places of the blocks, and the blocks back."""
    places: Any = decoder.at(decoder.adapter.blocks)
    blocks = decoder.blocks
    try:
        for layer, block in enumerate(blocks):
            places[layer] = _StandIn(layer, block, journal)
        yield
    finally:
        for layer, block in enumerate(blocks):
            places[layer] = block


def _check_same_calls(first: Recording, second: Recording) -> None:
    for layer, (call, other) in enumerate(zip(first.calls, second.calls, strict=True)):
        if not _is_same((call.args, call.kwargs), (other.args, other.kwargs)):
            raise NotReplayableError(
                f"the arguments of block {layer} depend on what the blocks before it return", layer
            )


def _holds(given: Any, wanted: Tensor) -> bool:
    """Return whether a tensor is among arguments."""
    if isinstance(given, dict):
        return any(_holds(value, wanted) for value in given.values())
    if isinstance(given, tuple | list):
        return any(_holds(value, wanted) for value in given)
    return given is wanted


def refuse_shared(blocks: Sequence[nn.Module]) -> None:
    """Raise NotReplayableError where two blocks have weights in common."""
    owners: dict[int, int] = {}
    for layer, block in enumerate(blocks):
        for parameter in block.parameters():
            owner = owners.setdefault(id(parameter), layer)
            if owner != layer:
                raise NotReplayableError(f"block {layer} has weights of block {owner}", layer)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two arguments are equal, tensors bit for bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one is other or (one.dtype == other.dtype and torch.equal(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


@torch.inference_mode()
def replay(block: nn.Module, layer: int, recording: Recording, states: Tensor) -> Tensor:
    """Return what a block makes of the stream, with the arguments that were recorded."""
    call = recording.calls[layer]
    if call.is_positional:
        output = block(states, *call.args, **call.kwargs)
    else:
        output = block(*call.args, hidden_states=states, **call.kwargs)
    is_among_others = isinstance(output, tuple | list)
    if is_among_others is not recording.returns_tuple:
        raise NotReplayableError(f"block {layer} returns {type(output).__name__}", layer)
    stream: Tensor = output[0] if is_among_others else output
    return stream


def finish(decoder: Decoder, batch: Batch, recording: Recording, states: Tensor) -> Tensor:
    """Return the body's ``last_hidden_state``, given the stream after the last block."""
    how: dict[str, Any] = {"returns_tuple": recording.returns_tuple, "replacement": states}
    _, again, last = _run_stand_ins(decoder, batch, **how)
    _check_same_calls(recording, again)
    return last

"""A pass through a model of which one block at a time is in memory.

Numbers are those of a loaded model, bit for bit, on the same machine with as many threads: each
block is read, all batches go through it with the arguments that the body gives it (see
``replay``), and it is dropped. Everything around the blocks is the body's own code, and all
weights lie in memory as those of a loaded model do (see `shards.aligned`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from collect.adapters.capability import HEAD
from collect.model.checkpoint.decoder import Decoder
from collect.model.checkpoint.placement import place
from collect.model.checkpoint.shards import Shards
from collect.model.forward.passes import Batch, Watcher
from collect.model.forward.replay import finish, record, refuse_shared, replay


def streamed(
    decoder: Decoder,
    batches: Sequence[Batch],
    watcher: Watcher,
    *,
    shards: Shards,
    device: str = "cpu",
) -> Iterator[int]:
    """Run the body on each batch with one block in memory; yield a batch's index when done.

    Parameters
    ----------
    decoder
        A model without weights, see ``load.load_skeleton``, in the number format to compute in.
        It is without weights again afterwards.
    batches, watcher
        As in ``passes.whole``. The watcher sees the blocks one by one, each with every batch,
        then embedding and final norm, batch by batch.
    shards
        The weights of this model.
    device
        Where to compute.

    Raises
    ------
    NotReplayableError
        If the blocks of this model cannot be run one by one.
    InputError
        If a weight is not finite.
    """
    refuse_shared(decoder.blocks)
    with _surroundings(decoder, shards, batches, device):
        recorded = [record(decoder, batch) for batch in batches]
        states = [entered for entered, _ in recorded]
        recordings = [recording for _, recording in recorded]
        del recorded
        with watcher.attached(decoder):
            for layer, block in enumerate(decoder.blocks):
                with _restore_parameters(block):
                    place(shards, _names(decoder, block), device=device)
                    for index, recording in enumerate(recordings):
                        watcher.watch(index)
                        states[index] = replay(block, layer, recording, states[index])
            for index, batch in enumerate(batches):
                watcher.watch(index)
                last = finish(decoder, batch, recordings[index], states[index])
                with torch.inference_mode():
                    watcher.finish(index, last)
                yield index


@contextmanager
def _surroundings(
    decoder: Decoder, shards: Shards, batches: Sequence[Batch], device: str
) -> Iterator[None]:
    """Fill in all that is not a block, for the tokens of some batches, and empty it again."""
    tokens = sorted({0, *(token for batch in batches for p in batch for token in p.token_ids)})
    in_blocks = {name for block in decoder.blocks for name in _names(decoder, block)}
    embedding = f"{_path(decoder, decoder.embedding)}.weight"
    head = f"{_path(decoder, decoder.head)}.weight" if decoder.adapter.has(HEAD) else None
    with ExitStack() as stack:
        stack.enter_context(_restore_parameters(decoder.model))
        stack.enter_context(_buffers_on(decoder.model, device))
        place(shards, shards.parameters - in_blocks - {embedding, head}, device=device)
        if shards.is_stored_as_it_is(embedding):
            stack.enter_context(_rows_of_embedding(decoder, shards, embedding, tokens, device))
        else:
            place(shards, [embedding], device=device)
        if head is not None and shards.is_stored_as_it_is(head):
            stack.enter_context(_rows_of_head(decoder, shards, head, device))
        elif head is not None:
            place(shards, [head], device=device)
        yield


def _path(decoder: Decoder, module: nn.Module) -> str:
    paths = {id(other): name for name, other in decoder.model.named_modules()}
    return str(paths[id(module)])


def _names(decoder: Decoder, block: nn.Module) -> set[str]:
    path = _path(decoder, block)
    return {f"{path}.{name}" for name in block.state_dict()}


@contextmanager
def _restore_parameters(module: nn.Module) -> Iterator[None]:
    """Put the parameters of a module and its parts back to what they are now."""
    saved = [(part, dict(part._parameters)) for part in module.modules()]
    try:
        yield
    finally:
        for part, parameters in saved:
            part._parameters.update(parameters)


@contextmanager
def _buffers_on(model: nn.Module, device: str) -> Iterator[None]:
    """Move the buffers of a model to a device, and back."""
    saved = [(part, dict(part._buffers)) for part in model.modules()]
    try:
        for part, buffers in saved:
            part._buffers.update({n: b if b is None else b.to(device) for n, b in buffers.items()})
        yield
    finally:
        for part, buffers in saved:
            part._buffers.update(buffers)


@contextmanager
def _rows_of_embedding(
    decoder: Decoder, shards: Shards, name: str, tokens: Sequence[int], device: str
) -> Iterator[None]:
    """Give the embedding the rows of some tokens only; any other token is an error."""
    embedding: Any = decoder.embedding
    rows = shards.rows(name, tokens).to(device, decoder.model.dtype)
    places = torch.full((embedding.num_embeddings,), -1, device=device)
    places[tokens] = torch.arange(len(tokens), device=device)
    # The row of the padding token matters to training alone, and counts in the whole matrix.
    padding, embedding.padding_idx = embedding.padding_idx, None
    embedding.weight = nn.Parameter(rows, requires_grad=False)
    hook = embedding.register_forward_pre_hook(lambda _module, args: (places[args[0]], *args[1:]))
    try:
        yield
    finally:
        hook.remove()
        embedding.padding_idx = padding


class _StoredRows:
    """The weight of the output embedding, of which a slice of rows is read when it is asked for."""

    def __init__(self, shards: Shards, name: str, shape: torch.Size, kind: dict[str, Any]) -> None:
        self.shape, self.dtype = shape, kind["dtype"]
        self._shards, self._name, self._kind = shards, name, kind

    def __getitem__(self, places: slice) -> Tensor:
        """Return some rows, in the number format and on the device of the pass."""
        return self._shards.rows(self._name, places).to(**self._kind)


@contextmanager
def _rows_of_head(decoder: Decoder, shards: Shards, name: str, device: str) -> Iterator[None]:
    """Let the output embedding read its rows when they are asked for."""
    head: Any = decoder.head
    kind = {"device": device, "dtype": decoder.model.dtype}
    weight = head._parameters.pop("weight")
    head.__dict__["weight"] = _StoredRows(shards, name, weight.shape, kind)
    try:
        yield
    finally:
        del head.__dict__["weight"]

"""Quantities of one's own, recorded while a model reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from collect.adapters.capability import OWN_NEEDS, PARTS
from collect.errors import InputError, translate_errors
from collect.instruments.own.definition import OwnQuantity
from collect.instruments.transfer import transferred
from collect.model.checkpoint.decoder import Decoder
from collect.model.forward.hooked import Hooked, after, around, before, unseen
from collect.model.forward.passes import Batch, Watcher

#: Quantity, block and site.
_Place = tuple[str, int, str]


@dataclass(slots=True)
class Vectors:
    """The vectors of one quantity at one block and site, as they will lie in one tensor.

    Attributes
    ----------
    prompt_ids, positions
        Prompt and token of each row.
    rows
        (n, k) of each prompt.
    n_on_device
        How many of them, the last, have not transferred to the processor.
    """

    prompt_ids: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    rows: list[Tensor] = field(default_factory=list)
    n_on_device: int = 0


class Together:
    """Several watchers of one pass, each of which sees all of it."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = tuple(watchers)

    @contextmanager
    def attached(self, decoder: Decoder) -> Iterator[None]:
        """Put all hooks on the model, and take them off on leaving."""
        with ExitStack() as stack:
            for watcher in self._watchers:
                attached: AbstractContextManager[None] = watcher.attached(decoder)
                stack.enter_context(attached)
            yield

    def watch(self, index: int) -> None:
        """Take what runs from now on as batch ``index``."""
        for watcher in self._watchers:
            watcher.watch(index)

    def finish(self, index: int, states: Tensor) -> None:
        """Hand the last hidden states of a batch to all."""
        for watcher in self._watchers:
            watcher.finish(index, states)


class OwnRecorder(Hooked):
    """A watcher that calls the functions of quantities, and keeps what they return.

    Parameters
    ----------
    batches
        What will be run.
    quantities
        What to record.
    """

    def __init__(self, batches: Sequence[Batch], quantities: Sequence[OwnQuantity]) -> None:
        self._batches, self._quantities = tuple(batches), tuple(quantities)
        self._values: dict[int, dict[_Place, list[Tensor]]] = {}
        self._vectors: dict[_Place, Vectors] = {}
        self._maps: Tensor | None = None
        self._entered: Tensor | None = None

    def rows(self, index: int) -> pd.DataFrame:
        """Return the rows of ``own_value`` of a batch, and forget them."""
        batch, of_places = self._batches[index], transferred(self._values.pop(index, {}))
        prompt_ids = [prompt.prompt_id for prompt in batch]
        frames = [
            pd.DataFrame(
                {
                    "prompt_id": np.repeat(prompt_ids, [len(of_prompt) for of_prompt in values]),
                    "measure": name,
                    "layer": layer,
                    "site": site,
                    "place": np.concatenate([np.arange(len(of_prompt)) for of_prompt in values]),
                    "value": torch.cat(values).numpy(),
                }
            )
            for (name, layer, site), values in of_places.items()
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def vectors(self) -> tuple[pd.DataFrame, dict[str, Tensor]]:
        """Return the rows of ``own_vector`` without their file, and the tensors they point into."""
        frames, tensors = [], {}
        for (name, layer, site), vectors in self._vectors.items():
            tensor = f"{name}.{layer}.{site}"
            tensors[tensor] = torch.cat(vectors.rows).contiguous()
            frames.append(
                pd.DataFrame(
                    {
                        "prompt_id": vectors.prompt_ids,
                        "measure": name,
                        "layer": layer,
                        "site": site,
                        "position": vectors.positions,
                        "tensor": tensor,
                        "tensor_row": range(len(vectors.positions)),
                    }
                )
            )
        rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
        return rows, tensors

    def finish(self, index: int, states: Tensor) -> None:
        """See what the final norm returned last, and let the vectors of a batch cross together."""
        if self._normed is not None:
            self._see("final_norm", len(self._decoder.blocks) - 1, self._normed)
        waiting = [vectors for vectors in self._vectors.values() if vectors.n_on_device]
        rows = transferred([vectors.rows[-vectors.n_on_device :] for vectors in waiting])
        for vectors, there in zip(waiting, rows, strict=True):
            vectors.rows[-vectors.n_on_device :] = there
            vectors.n_on_device = 0

    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        last = len(decoder.blocks) - 1
        if self._site_quantities("embedding", 0):
            see = partial(self._see, "embedding", 0)
            yield after(decoder.embedding, self._while(None, "the token embedding", see))
        for layer in range(len(decoder.blocks)):
            yield from self._hooks_of_block(decoder, layer)
        if self._site_quantities("final_norm", last):
            yield from self._keep_normed(decoder)

    def _hooks_of_block(self, decoder: Decoder, layer: int) -> Iterator[Any]:
        block = decoder.blocks[layer]
        middle = decoder.sites(layer).mid if decoder.adapter.has(PARTS) else None
        asked = [
            q for site in ("block_mid", "block_output") for q in self._site_quantities(site, layer)
        ]
        yield before(block, self._once(f"block {layer}", partial(self._enter, layer)))
        if any("attention" in quantity.needs for quantity in asked):
            see = self._while(layer, "attention", partial(self._keep_maps, layer))
            yield around(decoder.attentions[layer], see)
        if middle is not None and self._site_quantities("block_mid", layer):
            see = partial(self._see_middle, layer)
            yield before(middle, self._while(layer, "what reads the stream between parts", see))
        yield after(block, partial(self._leave, layer))

    def _site_quantities(self, site: str, layer: int) -> list[OwnQuantity]:
        """Return the quantities that are taken at a site of a block."""
        n_layers = len(self._decoder.blocks)
        return [
            quantity
            for quantity in self._quantities
            if site in quantity.sites
            and self._decoder.adapter.has(*(OWN_NEEDS[need] for need in quantity.needs))
            and (site in ("embedding", "final_norm") or layer in quantity.layers_of(n_layers))
        ]

    def _keep_maps(self, layer: int, args: Any, kwargs: Any, output: Any) -> None:
        self._maps = self._decoder.attention_maps(layer, args, kwargs, output)

    def _enter(self, layer: int, states: Tensor) -> None:
        self._entered, self._running_block = states, layer
        self._see("block_input", layer, states)

    def _see_middle(self, layer: int, states: Tensor) -> None:
        like = states if self._entered is None else self._entered
        self._see("block_mid", layer, states.view_as(like))

    def _leave(self, layer: int, states: Tensor) -> None:
        self._see("block_output", layer, states)
        self._maps = self._entered = self._running_block = None

    def _see(self, site: str, layer: int, states: Tensor) -> None:
        for quantity in self._site_quantities(site, layer):
            measured = [
                self._measure(quantity, site, layer, place, of_prompt)
                for place, of_prompt in enumerate(states)
            ]
            if quantity.is_vector:
                self._keep_vectors((quantity.name, layer, site), quantity, measured)
            else:
                numbers = [of_prompt.double().reshape(-1) for of_prompt in measured]
                self._values.setdefault(self._index, {})[quantity.name, layer, site] = numbers

    def _keep_vectors(self, at: _Place, quantity: OwnQuantity, states: Sequence[Tensor]) -> None:
        vectors = self._vectors.setdefault(at, Vectors())
        _check_widths(at, {of_prompt.shape[1] for of_prompt in [*vectors.rows[-1:], *states]})
        for prompt, of_prompt in zip(self._batches[self._index], states, strict=True):
            positions = quantity.positions_of(len(prompt))
            vectors.prompt_ids += [prompt.prompt_id] * len(positions)
            vectors.positions += positions
            vectors.rows.append(of_prompt[positions])
            vectors.n_on_device += 1

    def _measure(
        self, quantity: OwnQuantity, site: str, layer: int, place: int, states: Tensor
    ) -> Tensor:
        """Return what the function of a quantity makes of one prompt, checked."""
        n_tokens = len(self._batches[self._index][place])
        # What a function writes into is its own: the model goes on with what it computed.
        attention = None
        if "attention" in quantity.needs and self._maps is not None:
            attention = self._maps[place, :, :n_tokens, :n_tokens].clone()
        given = {name: _copy(value) for name, value in quantity.parameters.items()}
        more: dict[str, Callable[[Tensor], Tensor]] = {}
        if "logits" in quantity.needs:
            more["logits"] = self._logits
        raised = translate_errors(
            f"The function of {quantity.name} must return its numbers; in layer {layer} at "
            f"{site} it raised",
            'Correct it, or leave it out; attention is None without needs=("attention",).',
        )
        with raised, unseen():
            measured = quantity.measure(
                site, layer, states[:n_tokens].clone(), attention, **more, **given
            )
            # A function may fill one array of its own and return it every time.
            numbers = torch.as_tensor(measured).detach().to_dense().clone()
        expected = {"token": (n_tokens,), "prompt": (), "head": (self._decoder.heads.n_heads,)}
        if quantity.is_vector:
            is_right = numbers.ndim == 2 and len(numbers) == n_tokens
            wanted = f"({n_tokens}, k)"
        else:
            is_right = tuple(numbers.shape) == expected[quantity.level]
            wanted = str(expected[quantity.level])
        if not is_right or numbers.is_complex():
            raise InputError(
                f"The function of {quantity.name} must return real numbers of the shape {wanted}, "
                f"a number per {quantity.level}; it returned {tuple(numbers.shape)}, "
                f"{numbers.dtype}.",
                "Correct it, or give the quantity another level.",
            )
        return numbers

    def _logits(self, states: Tensor) -> Tensor:
        """Return the logits that states would give if no further block were to come."""
        if not self._decoder.has_lens:
            raise InputError(
                "The head must read the stream for logits to be read off a block; this model "
                "projects the stream to another width first.",
                "Leave quantities that need logits out.",
            )
        norm = self._decoder.final_norm
        if norm is not None:
            device = next(norm.parameters(), states).device
            states = norm(states.to(device))
        return self._decoder.next_token_logits(states)


def _copy(value: Any) -> Any:
    """Return a copy of numbers that a function might write into."""
    if isinstance(value, Mapping):
        return {name: _copy(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_copy(one) for one in value]
    if type(value) is tuple:
        return tuple(_copy(one) for one in value)
    if isinstance(value, Tensor):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def _check_widths(at: _Place, widths: set[int]) -> None:
    """Refuse vectors that cannot lie in one tensor."""
    name, layer, site = at
    if len(widths) > 1:
        few, *_, many = sorted(widths)
        raise InputError(
            f"The vectors of {name} must have one width at a block and site; in layer {layer} at "
            f"{site} some have {few} numbers, some {many}.",
            "Let its function return as many numbers of every token, whatever the prompt.",
        )

"""What every recorder does with a model: hooks put on and taken off, batches told apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collect.model.checkpoint.decoder import Decoder


class Hooked(ABC):
    """A watcher that sees a model run through hooks, batch by batch."""

    _decoder: Decoder
    _index = 0

    @contextmanager
    def attached(self, decoder: Decoder) -> Iterator[None]:
        """Put hooks on the model, and take them off on leaving."""
        self._decoder = decoder
        with ExitStack() as hooks:
            for handle in self._hooks(decoder):
                hooks.callback(handle.remove)
            yield

    def watch(self, index: int) -> None:
        """Take what runs from now on as batch ``index``."""
        self._index = index

    @abstractmethod
    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        """Put hooks on the model one by one, yielding the handle of each."""

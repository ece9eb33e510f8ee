"""What every recorder does with a model: hooks put on and taken off, batches told apart.

A hook sees a part of a block only while that block runs, since blocks may share a part, and sees
nothing of what another thread or a function of somebody else's runs (see `unseen`). A part that
runs twice in a pass has no one output and is refused; of the final norm the last run counts, which
follows the last block.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

from collect.errors import ConformanceError
from collect.model.checkpoint.decoder import Decoder

_IS_UNSEEN: ContextVar[bool] = ContextVar("is_unseen", default=False)


class Hooked(ABC):
    """A watcher that sees a model run through hooks, batch by batch."""

    _decoder: Decoder
    _index = 0
    _running_block: int | None = None
    _normed: Tensor | None = None

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
        self._index, self._running_block, self._normed = index, None, None

    @abstractmethod
    def _hooks(self, decoder: Decoder) -> Iterator[Any]:
        """Put hooks on the model one by one, yielding the handle of each."""

    def _keep_normed(self, decoder: Decoder) -> Iterator[Any]:
        """Keep what the final norm returns until the batch is finished, and yield the handle."""
        if decoder.final_norm is not None:
            yield after(decoder.final_norm, lambda states: setattr(self, "_normed", states))

    def _once(self, what: str, see: Callable[..., object]) -> Callable[..., None]:
        """Return a function that sees what runs once in each batch."""
        seen: set[int] = set()

        def see_it(*values: Any) -> None:
            if self._index in seen:
                raise ConformanceError(
                    f"A part of the model runs twice in one pass: {what}, which therefore has no "
                    "one input and output.",
                    "The adapter must name a module that runs once; collect/adapters/README.md "
                    "says how a layout is described.",
                )
            seen.add(self._index)
            see(*values)

        return see_it

    def _while(
        self, block: int | None, what: str, see: Callable[..., object]
    ) -> Callable[..., None]:
        """Return a function that sees once while a block runs; for None, while none does."""
        once = self._once(what if block is None else f"{what} of block {block}", see)

        def see_it(*values: Any) -> None:
            if self._running_block == block:
                once(*values)

        return see_it


@contextmanager
def unseen() -> Iterator[None]:
    """Let no recorder see what runs in here, such as a block that a quantity's function calls."""
    token = _IS_UNSEEN.set(True)
    try:
        yield
    finally:
        _IS_UNSEEN.reset(token)


def _is_seen(thread: int) -> bool:
    """Return whether what runs now is for the recorders of a thread."""
    return threading.get_ident() == thread and not _IS_UNSEEN.get()


def before(module: nn.Module, see: Callable[[Tensor], object]) -> Any:
    """Call ``see`` with the first argument of the module before it runs."""
    here = threading.get_ident()

    def hook(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _is_seen(here):
            see(args[0] if args else kwargs["hidden_states"])

    return module.register_forward_pre_hook(hook, with_kwargs=True)


def after(module: nn.Module, see: Callable[[Tensor], object]) -> Any:
    """Call ``see`` with what the module returned, alone or first of a tuple."""
    here = threading.get_ident()

    def hook(_module: nn.Module, _args: Any, output: Any) -> None:
        if _is_seen(here):
            see(output[0] if isinstance(output, tuple | list) else output)

    return module.register_forward_hook(hook)


def around(module: nn.Module, see: Callable[[Any, Any, Any], object]) -> Any:
    """Call ``see`` with the arguments of the module, those by name, and what it returned."""
    here = threading.get_ident()

    def hook(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if _is_seen(here):
            see(args, kwargs, output)

    return module.register_forward_hook(hook, with_kwargs=True)

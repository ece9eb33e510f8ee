"""Finished files put into their places: where all can be put there, and without interruption."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from collect.errors import OutputError

_ENDINGS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a request to end wait until the block has ended, which must be short.

    What is to be done together is then done wholly or not at all, unless the process is killed.
    A signal that ends the process without its knowledge, as the system's own way has it, is no
    request and is left as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python interrupts the main thread alone
        return
    came: list[int] = []
    handlers = {ending: signal.getsignal(ending) for ending in _ENDINGS}
    handlers = {ending: handler for ending, handler in handlers.items() if callable(handler)}
    try:
        for ending in handlers:
            signal.signal(ending, lambda number, _: came.append(number))
        yield
    finally:
        _restore(handlers)
        for number in came[:1]:
            signal.raise_signal(number)


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    """Put handlers back, all of them even where one is asked to end as soon as it is back."""
    with ExitStack() as stack:
        for ending, handler in handlers.items():
            stack.callback(signal.signal, ending, handler)


def check_open(directories: Iterable[Path]) -> None:
    """Make directories that are not there, and check that files in them can change."""
    for directory in dict.fromkeys(directories):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not os.access(directory, os.W_OK | os.X_OK):
                raise PermissionError
        except OSError as error:
            raise OutputError(
                f"The output directory {directory} must be writable; "
                f"{error.strerror or 'files in it may not be changed'}.",
                "Free the space, or give the rights to it.",
            ) from error

"""Requests to end, kept waiting for as long as something is done wholly or not at all."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

#: Signals that ask a program to end: from the keyboard, from the system, from a closed terminal.
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    handlers = {ending: signal.getsignal(ending) for ending in ENDINGS}
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


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder, which is gone afterwards, whenever a request to end comes.

    One that comes while ``tempfile.TemporaryDirectory`` makes or removes its folder leaves it.
    """

    def remove() -> None:
        with uninterrupted():
            shutil.rmtree(path, ignore_errors=True)

    with ExitStack() as stack:
        with uninterrupted():
            path = Path(tempfile.mkdtemp(prefix=prefix))
            stack.callback(remove)
        yield path

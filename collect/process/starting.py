"""The start of a program that runs networks: where memory stays, and libraries imported fast."""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Options of glibc's allocator, by their numbers, and what they are set to [bytes].
_ALLOCATOR = {-1: 2**30, -3: 2**25}


@contextmanager
def libraries_imported() -> Iterator[None]:
    """Let the collector of garbage rest while torch and what rests on it are imported.

    The imports make some 400,000 objects, all to stay; to look through them again and again
    takes a third of the time. They are left out of later searches. A process that has torch
    already is left as it is.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        # The engine complains at the end of what was never freed.
        atexit.register(gc.unfreeze)
        gc.enable()


def keep_memory() -> None:
    """Let freed memory stay with the process, where the allocator is that of glibc.

    It is for a program to ask for when it starts, not for a library within one.

    A block frees its activations and the next one takes as much. Whether the allocator hands
    them back to the system in between, to have every page zeroed again, hangs on which small
    object happens to lie last; where it does, a pass takes up to a tenth longer. From 32 MiB on
    memory goes back at once, as it does without this.
    """
    with suppress(AttributeError, OSError, TypeError):
        allocator = ctypes.CDLL(None)
        for option, size in _ALLOCATOR.items():
            allocator.mallopt(option, size)

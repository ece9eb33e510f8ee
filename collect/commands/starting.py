"""The start of a command that runs networks: libraries imported without a search for garbage."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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

"""The process that runs the chunks of a page: started for it, and ended after it."""

from __future__ import annotations

import atexit
import gc


def spare_collection() -> None:
    """Leave what is in memory now, and at the end all of it, to no collection of garbage.

    Modules and data stay to the end, where the system takes them back at once; without this,
    Python first looks through all of them, for half a second of a page's three.
    """
    gc.freeze()
    atexit.register(gc.freeze)

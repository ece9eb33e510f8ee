"""What a long computation asks and says: how much memory is free, whether to end, how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from collect.process.interruption import raise_interruption
from collect.process.memory import available_memory

__all__ = ["available_memory", "progress", "raise_interruption"]

#: Seconds before the first line.
PATIENCE = 2.0

T = TypeVar("T")


def progress(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the steps, with tqdm's bar on standard error where that is a terminal.

    Without tqdm, which the extra `collect` brings, nothing is shown.

    Parameters
    ----------
    steps
        What is done, one after another.
    what
        What the steps are, as the bar calls them.
    total
        How many there are, where `steps` does not tell.
    """
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        yield from steps
        return
    yield from tqdm(steps, what, total, leave=False, disable=None, delay=PATIENCE)

"""Headers of the files that this process put down, kept for whoever opens their store.

A process that fills a store knows its files. When it ends, or opens the store itself, it leaves
their headers as `cache` keeps them, read from the files as any reader reads them, and not before
they have settled. A file that is changed afterwards has another state and is read again.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from collect.errors import ThermoscopeError
from collect.schema.headers import cache
from collect.schema.headers.reading import Headers
from collect.schema.paths import is_local


@dataclass(slots=True)
class _Files:
    """Files of one store.

    Attributes
    ----------
    waiting
        When each was put down [ns since 1970].
    read
        When the header of each was read, and the state that it had before.
    headers
        Their headers.
    """

    waiting: dict[Path, int] = field(default_factory=dict)
    read: dict[Path, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)

    def add(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self.read.pop(path, None)
            self.headers.forget(path)
            self.waiting.pop(path, None)
            self.waiting[path] = time.time_ns()

    def read_settled(self) -> None:
        """Read the headers of files that lie for long enough, the first put down first."""
        for path, since in [*self.waiting.items()]:
            now = time.time_ns()
            if now - since <= cache.SETTLED:
                break
            del self.waiting[path]
            with suppress(OSError, ThermoscopeError):  # what cannot be read is none of the cache
                state = cache.state(path)
                self.headers.of(path)
                self.read[path] = now, state

    def keep(self, directory: Path) -> None:
        """Keep the headers of those files that are still as they were read."""
        self.read_settled()
        unchanged = {}
        for path, (when, state) in self.read.items():
            with suppress(OSError):
                if cache.state(path) == state:
                    unchanged[path] = when
        cache.keep_part(directory, self.headers.known(unchanged), unchanged)


_stores: dict[Path, _Files] = {}
_lock = threading.RLock()


def note(directory: Path, paths: Collection[Path]) -> None:
    """Remember files that were put down in a store.

    Nothing is read before they are as many as are worth a cache; then a few at a time.
    """
    with _lock:
        files = _stores.setdefault(directory.absolute(), _Files())
        files.add(path.absolute() for path in paths)
        if len(files.waiting) + len(files.read) >= cache.MANY:
            files.read_settled()


def leave(directory: Path | None = None) -> None:
    """Leave what is known of one store, or of all, in the user's folder of caches."""
    if directory is not None and not is_local(directory):
        return  # it lies on a server
    with _lock:
        for place in [*_stores] if directory is None else [directory.absolute()]:
            files = _stores.pop(place, None)
            if files is not None and len(files.waiting) + len(files.read) >= cache.MANY:
                files.keep(place)


def _forget() -> None:
    """Leave to the parent of a forked process what the parent put down."""
    global _lock  # noqa: PLW0603, another thread of the parent may have held it
    _lock = threading.RLock()
    _stores.clear()


atexit.register(leave)
os.register_at_fork(after_in_child=_forget)

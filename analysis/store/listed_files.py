"""The files of a store as DuckDB sees them: those that were listed, to be read and never written.

The engine gets no other file system (`analysis.store` switches the local one off), so what
DuckDB can do with a file is what this module lets it do, whatever the statement.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fsspec import AbstractFileSystem

from analysis.store.remote import Ranges, RemotePath

PROTOCOL = "store"


class ListedFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system that holds the files added to it, read-only.

    A file is known by its place behind ``store://``; nothing else exists here, and no pattern
    matches more than one file.
    """

    protocol = PROTOCOL
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[str, Path | RemotePath] = {}

    def add(self, path: Path | RemotePath) -> str:
        """Add a file and return the name by which the engine knows it."""
        place = path if isinstance(path, RemotePath) else path.resolve()
        name = f"{PROTOCOL}://{place}"
        self._paths[name] = place
        return name

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return name, size [bytes] and type of a file."""
        return {"name": path, "size": self._place(path).stat().st_size, "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether a file was added and is still there."""
        return path in self._paths and self._paths[path].is_file()

    def modified(self, path: str) -> datetime:
        """Return when a file was changed last [UTC]."""
        return datetime.fromtimestamp(self._place(path).stat().st_mtime, UTC)

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the file of exactly this name, whatever signs are in it."""
        return [path] if self.exists(path) else []

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Return no file: directories cannot be listed."""
        return []

    def open(self, path: str, mode: str = "rb", **_: Any) -> ReadingFile | ReadingRemote:
        """Open a file for reading.

        Raises
        ------
        PermissionError
            If it is to be opened for anything else.
        """
        if mode != "rb":
            raise PermissionError(f"the files of a store are only read; {path} was to be written")
        place = self._place(path)
        return ReadingRemote(place) if isinstance(place, RemotePath) else ReadingFile(place)

    def _place(self, path: str) -> Path | RemotePath:
        if path not in self._paths:
            raise FileNotFoundError(f"the store has no file {path}")
        return self._paths[path]


class ReadingRemote:
    """A file at an address open for reading, which several threads may read at once."""

    def __init__(self, path: RemotePath) -> None:
        self._ranges: Ranges = path.by_range()
        self._own = threading.local()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move this thread's place [bytes] from the start (0), itself (1) or the end (2)."""
        start = {0: 0, 1: self.tell(), 2: self._ranges.size()}[whence]
        self._own.place = start + offset
        return self.tell()

    def tell(self) -> int:
        """Return this thread's place [bytes]."""
        return int(getattr(self._own, "place", 0))

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes from this thread's place; fewer only at the end of the file."""
        wanted = self._ranges.size() - self.tell() if n_bytes < 0 else n_bytes
        content = self._ranges.read_at(self.tell(), wanted)
        self._own.place = self.tell() + len(content)
        return content

    def close(self) -> None:
        """Do nothing: nothing is held."""


class ReadingFile:
    """A file open for reading, which several threads may read at once.

    DuckDB lets its threads share a file and moves to a place before it reads. Each thread has a
    place of its own here, and a read names its place to the operating system. It lets go of many
    files without closing them; those are closed when they are forgotten.
    """

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY)
        self._own = threading.local()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move this thread's place [bytes] from the start (0), itself (1) or the end (2)."""
        start = {0: 0, 1: self.tell(), 2: os.fstat(self._number).st_size}[whence]
        self._own.place = start + offset
        return self.tell()

    def tell(self) -> int:
        """Return this thread's place [bytes]."""
        return int(getattr(self._own, "place", 0))

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes from this thread's place; fewer only at the end of the file."""
        place = self.tell()
        wanted = os.fstat(self._number).st_size - place if n_bytes < 0 else n_bytes
        parts: list[bytes] = []
        while wanted > 0 and (part := os.pread(self._number, wanted, place)):
            parts.append(part)
            place += len(part)
            wanted -= len(part)
        self._own.place = place
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def __del__(self) -> None:
        self.close()

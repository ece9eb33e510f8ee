"""A store opened where it lies: at an address, by ranges of bytes, with nothing copied.

What is there is what the store's description lists (`collect publish`), because a web server
lists no directory. The end of each file is asked for once and kept, since it says where in the
file every column lies; the rest is asked for as it is needed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from analysis.tidy.errors import (
    MissingExtraError,
    StoreError,
    UnreachableError,
    scarcity,
)
from collect.schema import DESCRIPTION, ContractError, Listed, listed_files

#: How much of the end of a file is asked for at first [bytes].
_END_BYTES = 2**16

#: Files of the web, whose names are quoted in their addresses.
_WEB = ("http", "https")

#: What a file system raises of an address that it cannot take, rather than of the network.
_OF_THE_ADDRESS = (
    ValueError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)

#: File systems that have a root without a name.
_ROOTED = ("memory:", "file:", "local:")

_HINT_OF_ADDRESS = (
    "Name a directory, or an address such as https://example.org/measurements; an archive stands "
    "after ::, as in zip://::measurements.zip."
)


def is_address(source: object) -> bool:
    """Return whether a source is an address, such as ``https://...``, and no path."""
    return isinstance(source, RemotePath) or (isinstance(source, str) and "://" in source)


class Remote:
    """The files at an address, read by ranges.

    Parameters
    ----------
    address
        Any address that fsspec knows, of the directory that holds the description.

    Attributes
    ----------
    n_requests, n_bytes
        What was asked for so far: requests [1], and bytes that came [bytes].
    failed
        The last failure of the network, which the engine says in words of its own: what must hold,
        and what to do. The exception itself is not kept: its frames hold files that the engine
        reads through here, and a circle through another library's objects is never freed.

    Raises
    ------
    MissingExtraError
        If the package that reads such addresses is not installed.
    UnreachableError
        If nothing came from there.
    StoreError
        If the address is of no known kind, or what is there is no published store.
    """

    def __init__(self, address: str) -> None:
        self.address = address if _is_bare(address) else address.rstrip("/")
        self.n_requests = self.n_bytes = 0
        self.failed: tuple[str, str] | None = None
        self._ends: dict[str, bytes] = {}
        self._redirected: set[str] = set()
        self._told: set[str] = set()
        self._is_web = self.address.partition("://")[0] in _WEB
        how = _redirect_options(self._redirected) if self._is_web else {}
        self._files, self._root = _file_system(self.address, how)
        self._listed = {file.name: file for file in self._listing()}

    def __getitem__(self, name: str) -> Listed:
        return self._listed[name]

    def __contains__(self, name: str) -> bool:
        return name in self._listed

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def _listing(self) -> list[Listed]:
        text = self._asked(DESCRIPTION)
        try:
            return listed_files(text, f"{self.address}/{DESCRIPTION}")
        except ContractError as error:
            raise StoreError(error.problem, error.hint) from error

    def read(self, name: str, start: int, stop: int) -> bytes:
        """Return bytes of a file, from a place [bytes] up to another.

        Raises
        ------
        UnreachableError
            If they did not come, or others did.
        """
        size = self[name].n_bytes
        stop, end = min(stop, size), max(0, size - _END_BYTES)
        if start >= stop:
            return b""
        if start < end:
            return self._asked(name, start, stop)
        if name not in self._ends:
            self._ends[name] = self._asked(name, end, size)
        return self._ends[name][start - end : stop - end]

    def _asked(self, name: str, start: int | None = None, stop: int | None = None) -> bytes:
        place = f"{self._root}/{quote(name, safe='/@+,~=') if self._is_web else name}"
        self.n_requests += 1
        try:
            content = bytes(self._files.cat_file(place, start=start, end=stop))
        except Exception as error:  # each kind of file system has errors of its own
            raise self._unreached(name, error) from error
        self.n_bytes += len(content)
        self._tell_of_redirects()
        if start is not None and stop is not None and len(content) != stop - start:
            self.failed = (
                f"The server must give the bytes asked for; of {self.address}/{name} it gave "
                f"{len(content)} instead of {stop - start}.",
                "Publish the directory again if it changed, on a server that knows ranges.",
            )
            raise UnreachableError(*self.failed)
        return content

    def _tell_of_redirects(self) -> None:
        """Say on standard error which hosts the bytes come from, where they are others."""
        for host in sorted(self._redirected - self._told):
            note = f"note: {self.address} sends its files from another host, {host}"
            print(note, file=sys.stderr)
        self._told |= self._redirected

    def _unreached(self, name: str, error: Exception) -> UnreachableError:
        reason = _reason(error)
        if isinstance(error, FileNotFoundError):
            reason = "it is not there"
        hint = "Look at the address and the network, and ask again."
        if "certificate" in reason.lower():
            hint = (
                "Correct the server's certificate; an authority of your own is named by "
                "SSL_CERT_FILE."
            )
        elif name == DESCRIPTION and isinstance(error, FileNotFoundError):
            hint = "The address must be of a directory that `thermoscope collect publish` wrote."
        self.failed = (
            f"The file {self.address}/{name} must come over the network; it did not ({reason}).",
            hint,
        )
        return UnreachableError(*self.failed)


def _redirect_options(hosts: set[str]) -> dict[str, Any]:
    """Return the options of fsspec by which hosts are noted that an address redirects to."""
    try:
        from aiohttp import TraceConfig
    except ImportError:
        return {}  # said in a sentence when the file system is made

    async def note(_session: Any, _context: Any, redirect: Any) -> None:
        place = urljoin(str(redirect.url), redirect.response.headers.get("Location", ""))
        if urlsplit(place).netloc != urlsplit(str(redirect.url)).netloc:
            hosts.add(urlsplit(place).netloc)

    trace = TraceConfig()
    trace.on_request_redirect.append(note)
    return {"client_kwargs": {"trace_configs": [trace]}, "skip_instance_cache": True}


def _file_system(address: str, how: Mapping[str, Any]) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the address as that names it."""
    from fsspec.core import url_to_fs

    if _is_bare(address) and not address.startswith(_ROOTED):
        raise StoreError(
            f"An address must name a place after ://; {address} names none.", _HINT_OF_ADDRESS
        )
    try:
        files, root = url_to_fs(address, **how)
    except ImportError as error:
        raise MissingExtraError(
            f"Reading {address} needs a package that is not installed ({error}).",
            "For http and https install the extra: pip install 'thermoscope[remote]'; for other "
            "addresses the package that the message names.",
        ) from error
    except Exception as error:  # each kind of file system has errors of its own
        raise _unusable(address, error) from error
    return files, str(root).rstrip("/")


def _is_bare(address: str) -> bool:
    """Return whether nothing but slashes follows the kind of an address."""
    return address.rstrip("/").endswith(":")


def _unusable(address: str, error: Exception) -> Exception:
    """Return the refusal of an address whose file system cannot be made."""
    if scarcity(error):
        return error
    reason = _reason(error)
    if isinstance(error, (TypeError, AttributeError)):
        reason = "fsspec needs to be told more than an address"
    elif not isinstance(error, _OF_THE_ADDRESS):
        return UnreachableError(
            f"The address {address} could not be reached ({reason}).",
            "Look at the address and the network, and ask again.",
        )
    return StoreError(
        f"An address must be of a kind that fsspec reads; {address} is not ({reason}).",
        _HINT_OF_ADDRESS,
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class RemotePath:
    """A file or directory at an address: what the schema asks of a path, and nothing more.

    Parameters
    ----------
    remote
        The files at the address.
    name
        Place within it; empty for the directory itself.
    """

    def __init__(self, remote: Remote, name: str = "") -> None:
        self.remote = remote
        self._place = PurePosixPath(name)

    @property
    def _name(self) -> str:
        return "" if self._place == PurePosixPath() else self._place.as_posix()

    @property
    def name(self) -> str:
        """Last part of the place, or of the address."""
        return self._place.name or self.remote.address.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Last part of the place without its suffix."""
        return self._place.stem

    @property
    def suffix(self) -> str:
        """Suffix of the last part, its point included."""
        return self._place.suffix

    @property
    def parent(self) -> RemotePath:
        """The directory it lies in."""
        return RemotePath(self.remote, self._place.parent.as_posix())

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.remote, (self._place / name).as_posix())

    def __str__(self) -> str:
        return f"{self.remote.address}/{self._name}".rstrip("/")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and str(self) == str(other)

    def __lt__(self, other: RemotePath) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def is_file(self) -> bool:
        """Return whether the description lists it."""
        return self._name in self.remote

    def exists(self) -> bool:
        """Return whether it is a file or a directory that is there."""
        return self.is_file() or self.is_dir()

    def is_dir(self) -> bool:
        """Return whether the description lists a file in it."""
        return not self._name or any(name.startswith(f"{self._name}/") for name in self.remote)

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """Return its place within a directory."""
        return self._place.relative_to(other._place)

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Yield the files directly in it whose names match a pattern."""
        for name in self.remote:
            place = PurePosixPath(name)
            if place.parent == self._place and fnmatchcase(place.name, pattern):
                yield RemotePath(self.remote, name)

    def contents(self) -> list[Listed]:
        """Return what the description lists, sorted by place."""
        return sorted((self.remote[name] for name in self.remote), key=lambda file: file.name)

    def stat(self) -> os.stat_result:
        """Return its size as listed [bytes]; nothing else of it is known."""
        return os.stat_result((0, 0, 0, 0, 0, 0, self.remote[self._name].n_bytes, 0, 0, 0))

    def open(self, _: str = "rb") -> io.BufferedReader:
        """Open the file for reading, by ranges."""
        return io.BufferedReader(_Raw(self.remote, self._name), buffer_size=_END_BYTES)

    def by_range(self) -> Ranges:
        """Open the file for a reader that asks for ranges itself (`collect.schema.headers`)."""
        return Ranges(self.remote, self._name)


class _Raw(io.RawIOBase):
    """A remote file as Python's own files are."""

    def __init__(self, remote: Remote, name: str) -> None:
        super().__init__()
        self._ranges = Ranges(remote, name)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._ranges.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class Ranges:
    """A remote file open for reading: its place moves, and a read asks for that range alone."""

    closed = False

    def __init__(self, remote: Remote, name: str) -> None:
        self._remote, self._name = remote, name
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move the place [bytes] from the start (0), itself (1) or the end (2)."""
        self._at = {0: 0, 1: self._at, 2: self._remote[self._name].n_bytes}[whence] + offset
        return self._at

    def tell(self) -> int:
        """Return the place [bytes]."""
        return self._at

    def size(self) -> int:
        """Return the size of the file [bytes]."""
        return self._remote[self._name].n_bytes

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the next bytes; fewer only at the end of the file."""
        stop = self.size() if n_bytes is None or n_bytes < 0 else self._at + n_bytes
        content = self._remote.read(self._name, self._at, stop)
        self._at += len(content)
        return content

    def read_at(self, start: int, n_bytes: int) -> bytes:
        """Return bytes from a place, which leaves this file's own place as it is."""
        return self._remote.read(self._name, start, start + n_bytes)

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Do nothing: nothing is held."""

"""A user who may not write: directories closed, and root without its leave to pass them over."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

#: What is closed: the output and where it lies; one directory of it; all; all but its top.
CLOSED = ("output", "one directory", "every directory", "every directory within")

#: Version of the kernel's capabilities, and how many words hold them.
_VERSION, _N_WORDS = 0x20080522, 6


def places(folder: Path, out: Path, kind: str, rng: np.random.Generator) -> list[Path]:
    """Return the directories that are closed."""
    within = sorted(path for path in out.rglob("*") if path.is_dir())
    top = [path for path in (folder, out) if path.is_dir()]
    if kind == "output" or not within:
        return top
    if kind == "one directory":
        return [within[int(rng.integers(len(within)))]]
    return within if kind == "every directory within" else [*top, *within]


@contextmanager
def taken(closed: Sequence[Path]) -> Iterator[None]:
    """Take away the right to write into some directories."""
    for path in closed:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in closed:
            if path.is_dir():
                path.chmod(0o755)


def bound(act: Callable[[], int]) -> Callable[[], int]:
    """Return what does something in a process that rights bind, root's too."""

    def acting() -> int:
        process = (ctypes.c_uint32 * 2)(_VERSION, 0)
        if ctypes.CDLL(None, use_errno=True).capset(process, (ctypes.c_uint32 * _N_WORDS)()):
            raise OSError(ctypes.get_errno(), "capabilities must be laid down")
        return act()

    return acting

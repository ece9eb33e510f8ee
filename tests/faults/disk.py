"""A disk that fills: a small one of its own where one may be mounted, else a limit on files."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Size of a disk before it is made small [bytes].
_LARGE = 1 << 30


def may_mount(place: Path) -> bool:
    """Return whether a disk can be mounted in an empty directory, which must be root's to do."""
    try:
        with mounted(place):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def mounted(place: Path) -> Iterator[None]:
    """Mount a disk in memory at an empty directory, and take it away."""
    place.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={_LARGE}", "tmpfs", str(place))
    try:
        yield
    finally:
        _run("umount", "--lazy", str(place))


def used(place: Path) -> int:
    """Return what a disk holds [bytes]."""
    state = os.statvfs(place)
    return (state.f_blocks - state.f_bfree) * state.f_frsize


@contextmanager
def full_but_for(place: Path, n_bytes: int) -> Iterator[None]:
    """Leave so much of a mounted disk free, and all of it afterwards."""
    page = resource.getpagesize()
    free = n_bytes // page * page
    _run("mount", "-o", f"remount,size={used(place) + free}", str(place))
    try:
        yield
    finally:
        _run("mount", "-o", f"remount,size={_LARGE}", str(place))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)

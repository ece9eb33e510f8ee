"""How much memory a device has to give."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from collect.errors import OUT_OF_MEMORY, InputError

_MEMINFO = Path("/proc/meminfo")

#: Where a container's limit and use stand, version 2 of the interface and version 1.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


#: What the messages of failed allocations say that have no class of their own.
_EXHAUSTED = (*OUT_OF_MEMORY, "can't start new thread")


def available(device: str = "cpu") -> int:
    """Return the memory a device has to give at the moment [bytes].

    Parameters
    ----------
    device
        ``cpu``, ``cuda`` with or without a number, or ``auto``: all accelerators together,
        the machine's own memory where there is none.
    """
    import torch

    if device == "auto":
        free = [_free_on(number) for number in range(torch.cuda.device_count())]
        return sum(free) if free else of_machine()
    if device.startswith("cuda"):
        return _free_on(torch.device(device).index or 0)
    return of_machine()


def _free_on(number: int) -> int:
    import torch

    free, _total = torch.cuda.mem_get_info(number)
    return int(free)


def of_machine() -> int:
    """Return the main memory this process may still take [bytes], a container's limit included."""
    amounts = [_of_system()]
    for limit, used in _LIMITS:
        # No limit is the word max; a file that is not there is no limit either.
        with suppress(OSError, ValueError):
            amounts.append(max(int(limit.read_text()) - int(used.read_text()), 0))
    return min(amounts)


def _of_system() -> int:
    with suppress(OSError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def refuse_exhausted(error: BaseException, what: str) -> None:
    """Say in a sentence that memory ran out, if that is what an error says.

    Parameters
    ----------
    error
        What was raised.
    what
        What did not fit.

    Raises
    ------
    InputError
        If an allocation failed, on whatever device; nothing happens otherwise.
    """
    if _is_exhausted(error):
        raise InputError(
            f"A model and its batch must fit the device's memory; {what} did not.",
            "Add --stream, which holds one block at a time, or use a smaller --batch-size, "
            "--dtype bfloat16 or another --device.",
        ) from error


def _is_exhausted(error: BaseException) -> bool:
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    is_of_torch = isinstance(error, RuntimeError)
    return is_of_torch and any(words in message for words in _EXHAUSTED)


def as_text(n_bytes: float) -> str:
    """Return a number of bytes for people.

    >>> as_text(1_234_567)
    '1.23 MB'
    >>> as_text(999_700), as_text(1.7e16)
    ('1 MB', '17,000 TB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB" if n_bytes < 999.5 else f"{n_bytes:,.0f} TB"

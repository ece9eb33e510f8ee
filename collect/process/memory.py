"""How much memory this process may still take, and the engine of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Share of what a process may still address that the engine's buffers may take: its hash tables,
#: threads, Arrow and Python need room beside them.
_SHARE = 0.4

#: Least that the engine opens with [bytes].
_LEAST = 32 << 20

_MEMINFO = Path("/proc/meminfo")

#: Where a container's limit and use stand, version 2 of the interface and version 1.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def engine_memory() -> dict[str, Any]:
    """Return the engine's setting ``memory_limit`` where the process has a limit (``ulimit -v``).

    Where it has none the engine's default stands: 80 % of the machine's memory, or of a cgroup's
    limit, which it reads itself.
    """
    left = addressable_memory()
    return {} if left is None else {"memory_limit": f"{max(int(_SHARE * left), _LEAST)}B"}


def addressable_memory() -> int | None:
    """Return what this process may still address [bytes]; None where it has no limit."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return max(limit - pages * resource.getpagesize(), 0)
    return None


def available_memory() -> int:
    """Return the main memory this process may still take [bytes], a container's limit included.

    ``sys.maxsize`` where the system does not tell.
    """
    amounts = [_system_memory()]
    for limit, used in _LIMITS:
        # No limit is the word max; a file that is not there is no limit either.
        with suppress(OSError, ValueError):
            amounts.append(max(int(limit.read_text()) - int(used.read_text()), 0))
    return min(amounts)


def _system_memory() -> int:
    with suppress(OSError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize

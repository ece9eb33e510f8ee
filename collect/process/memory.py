"""How much memory the engine may take of what this process may have."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

#: Share of what a process may still address that the engine's buffers may take: its hash tables,
#: threads, Arrow and Python need room beside them.
_SHARE = 0.4

#: Least that the engine opens with [bytes].
_LEAST = 32 << 20


def engine_memory() -> dict[str, Any]:
    """Return the engine's setting ``memory_limit`` where the process has a limit (``ulimit -v``).

    Where it has none the engine's default stands: 80 % of the machine's memory, or of a cgroup's
    limit, which it reads itself.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            left = limit - pages * resource.getpagesize()
            return {"memory_limit": f"{max(int(_SHARE * left), _LEAST)}B"}
    return {}

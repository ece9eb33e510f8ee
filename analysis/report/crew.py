"""Pages made side by side: several workers, each with a kernel of its own where it needs one."""

from __future__ import annotations

import os
import queue
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from analysis.report.execution import Kernel
from analysis.tidy.extra import extra

#: Workers at most: each holds the data and what it computed in memory.
MOST_WORKERS = 4


class Bench:
    """Where one worker makes pages: its kernel is started when a page first asks for it."""

    def __init__(self, directory: Path, locks: Path, opened: ExitStack, ended: Event) -> None:
        self._directory = directory
        self._locks = locks
        self._opened = opened
        self._ended = ended
        self._kernel: Kernel | None = None

    def kernel(self) -> Kernel:
        """Return the worker's kernel, in which no page has bound a name."""
        if self._kernel is None:
            # The client makes an event loop in every thread, and closes none.
            self._opened.callback(lambda: extra("jupyter_core.utils").ensure_event_loop().close())
            kernel = Kernel(self._directory, ended=self._ended, locks=self._locks)
            self._kernel = self._opened.enter_context(kernel)
        else:
            self._kernel.forget()
        return self._kernel


def work_through(
    sources: Sequence[Path], make: Callable[[Path, Bench], None], directory: Path
) -> None:
    """Make every page, as many at a time as this process may use cores, `MOST_WORKERS` at most.

    Parameters
    ----------
    sources
        The pages, begun in this order.
    make
        Makes one of them; called from several threads.
    directory
        Where kernels work.

    Raises
    ------
    ReportError
        The first that a page raised; the others are ended then, as by an interrupt.
    """
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for source in sources:
        waiting.put(source)
    ended = Event()

    def work(locks: str) -> None:
        with ExitStack() as opened:
            bench = Bench(directory, Path(locks), opened, ended)
            while not ended.is_set():
                try:
                    source = waiting.get_nowait()
                except queue.Empty:
                    return
                make(source, bench)

    n_workers = max(1, min(len(sources), _n_cores(), MOST_WORKERS))
    with (
        tempfile.TemporaryDirectory(prefix="report-") as locks,
        ThreadPoolExecutor(n_workers) as pool,
    ):
        workers = [pool.submit(work, locks) for _ in range(n_workers)]
        try:
            for worker in as_completed(workers):
                worker.result()
        finally:
            ended.set()


def _n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

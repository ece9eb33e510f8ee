"""What ends work and says nothing of the data: requests to end, and lack of memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


def is_interruption(error: BaseException) -> bool:
    """Return whether an exception is a request to end, in its own words or in those of DuckDB.

    The engine tells a request that comes while it works as an error of its own, and wraps the
    exception where one comes while it calls back into Python: by its name, or with the trace of
    a stream of rows that Arrow reads.
    """
    message, name = str(error), KeyboardInterrupt.__name__
    is_own = isinstance(error, RuntimeError) and message == "Query interrupted"
    is_wrapped = f"{name}:" in message or ("Traceback" in message and name in message.splitlines())
    return isinstance(error, KeyboardInterrupt) or is_own or is_wrapped


def is_exhaustion(error: BaseException) -> bool:
    """Return whether DuckDB or Arrow lacked memory, or a thread, which needs some."""
    lacks_thread = "Failed to launch worker thread" in str(error)
    return isinstance(error, MemoryError) or _is_engine_s(error) or lacks_thread


def _is_engine_s(error: BaseException) -> bool:
    """Return whether DuckDB ran out of memory; its import costs more than most commands."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, duckdb.OutOfMemoryException)


def raise_interruption(error: BaseException) -> None:
    """Raise what is no fault of the data: a request to end as KeyboardInterrupt, lack of memory."""
    if is_interruption(error):
        raise KeyboardInterrupt from error
    if is_exhaustion(error):
        raise error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a request to end come out as KeyboardInterrupt, whatever became of it on the way.

    Every public function that reaches the engine is decorated with it. What is raised while
    another error is handled, as where a transaction cannot be taken back, holds that one.
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if is_interruption(cause):
                raise KeyboardInterrupt from error
            cause = cause.__cause__ or cause.__context__
        raise

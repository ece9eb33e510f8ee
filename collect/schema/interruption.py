"""Requests to end, as the engine tells them."""

from __future__ import annotations


def is_interruption(error: BaseException) -> bool:
    """Return whether an exception is a request to end, in its own words or in those of DuckDB.

    The engine tells a request that comes while it works as an error of its own, and wraps the
    exception where one comes while it calls back into Python: by its name, or with the trace of
    a stream of rows that Arrow reads.
    """
    said, name = str(error), KeyboardInterrupt.__name__
    is_own = isinstance(error, RuntimeError) and said == "Query interrupted"
    is_wrapped = f"{name}:" in said or ("Traceback" in said and name in said.splitlines())
    return isinstance(error, KeyboardInterrupt) or is_own or is_wrapped


def raise_interruption(error: BaseException) -> None:
    """Raise KeyboardInterrupt where an exception is a request to end; see `is_interruption`."""
    if is_interruption(error):
        raise KeyboardInterrupt from error

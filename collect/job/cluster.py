"""A Ray cluster joined: the one in use, the one that RAY_ADDRESS names, or this machine alone."""

from __future__ import annotations

import logging
from pathlib import Path

import ray

from collect.schema.paths import as_path


def join() -> int:
    """Join the cluster in use, the one that RAY_ADDRESS names, or a new one of this machine.

    Returns
    -------
    How many processors it has.
    """
    if not ray.is_initialized():
        ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def words(error: Exception) -> str:
    """Return what an error that nobody foresaw says of itself, in one line."""
    first_line = next((line for line in str(error).splitlines() if line.strip()), "")
    name = type(error).__name__
    return f"{name}: {first_line.strip()}" if first_line else name


def absolute(path: str | Path) -> str:
    """Return a path that exists as an absolute one; the name of something else as it is."""
    place = as_path(path)
    return str(place.resolve()) if place.exists() else str(path)

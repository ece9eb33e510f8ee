"""Packages of the extras that make pages, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from analysis.tidy.errors import MissingExtraError


def extra(module: str, of: str = "report") -> Any:
    """Return a module of an extra.

    Raises
    ------
    MissingExtraError
        If its package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"Making pages needs the package '{error.name}'; it is not installed.",
            f'Run: pip install "thermoscope[{of}]"',
        ) from error

"""Packages of the extras, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from analysis.tidy.errors import MissingExtraError


def extra(module: str, of: str = "report", what: str = "Making pages") -> Any:
    """Return a module of an extra, for what is to be done with it.

    Raises
    ------
    MissingExtraError
        If its package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package '{error.name}'; it is not installed.",
            f'Run: pip install "thermoscope[{of}]"',
        ) from error

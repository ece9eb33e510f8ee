"""Packages of the [report] extra, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from analysis.tidy.errors import MissingExtraError


def extra(module: str) -> Any:
    """Return a module of the [report] extra.

    Raises
    ------
    MissingExtraError
        If its package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"Rendering the report needs the package '{error.name}'; it is not installed.",
            'Run: pip install "thermoscope[report]"',
        ) from error

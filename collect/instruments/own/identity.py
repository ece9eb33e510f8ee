"""What a function is, so that two runs of one definition are known to have measured the same."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from typing import Any

from collect.instruments.own.holding import (
    Holding,
    array_of,
    digest_of_array,
    is_filled,
    source_of,
)


def code_of(function: Any) -> str:
    """Return the source of a function, and a hash of what it was given besides its arguments.

    That is what it finds in the function around it, its defaults, what a partial has fixed, and
    the attributes of the object whose method it is. Names of its module are not followed.
    """
    if isinstance(function, functools.partial):
        return f"{code_of(function.func)} {digest_of([function.args, function.keywords])}"
    held = _held(function)
    return _source(function) + (f" {digest_of(held)}" if held else "")


def digest_of(value: Any) -> str:
    """Return a hash of the content of a parameter; of all that it holds, see `Holding`."""
    array = array_of(value)
    if array is not None:
        return digest_of_array(array)
    holding = Holding()
    try:
        content = json.dumps(value, sort_keys=True, default=holding.of)
    except (TypeError, ValueError, RecursionError):  # names that are no text, or a circle
        content = json.dumps(Holding().of(value), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _held(function: Any) -> dict[str, Any]:
    """Return what a callable holds besides its source, by where it holds it."""
    inner = getattr(function, "__func__", function)
    cells = getattr(inner, "__closure__", None) or ()
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    if inspect.ismodule(owner) or inspect.isclass(owner):
        owner = None
    found = {
        "closure": [cell.cell_contents for cell in cells if is_filled(cell)],
        "defaults": getattr(inner, "__defaults__", None),
        "keyword_defaults": getattr(inner, "__kwdefaults__", None),
        "attributes": getattr(owner, "__dict__", None),
    }
    return {name: value for name, value in found.items() if value}


def _source(function: Any) -> str:
    """Return the source of a function or of an object's class, or its compiled code."""
    is_object = not hasattr(function, "__code__") and not inspect.isroutine(function)
    shown = type(function) if is_object and not inspect.isclass(function) else function
    return source_of(shown)

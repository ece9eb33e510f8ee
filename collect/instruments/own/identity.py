"""What a function is, so that two runs of one definition are known to have measured the same."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
from typing import Any

#: Where an object lies in memory, as its description says it; the next process has it elsewhere.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


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
    """Return a hash of the content of a parameter; of arrays in lists and mappings too."""
    array = _array(value)
    if array is not None:
        content = f"{array.shape} {array.dtype}".encode() + array.tobytes()
    else:
        try:
            content = json.dumps(value, sort_keys=True, default=_said).encode()
        except (TypeError, ValueError, RecursionError):
            content = _described(value).encode()
    return hashlib.sha256(content).hexdigest()


def _held(function: Any) -> dict[str, Any]:
    """Return what a callable holds besides its source, by where it holds it."""
    inner = getattr(function, "__func__", function)
    cells = getattr(inner, "__closure__", None) or ()
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    if inspect.ismodule(owner) or inspect.isclass(owner):
        owner = None
    found = {
        "closure": [cell.cell_contents for cell in cells if _is_filled(cell)],
        "defaults": getattr(inner, "__defaults__", None),
        "keyword_defaults": getattr(inner, "__kwdefaults__", None),
        "attributes": getattr(owner, "__dict__", None),
    }
    return {name: value for name, value in found.items() if value}


def _is_filled(cell: Any) -> bool:
    """Return whether a name of the function around has a value yet."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _source(function: Any) -> str:
    """Return the source of a function or of an object's class, or its compiled code."""
    is_object = not hasattr(function, "__code__") and not inspect.isroutine(function)
    shown = type(function) if is_object and not inspect.isclass(function) else function
    try:
        return inspect.getsource(shown)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return f"{type(function).__module__}.{type(function).__qualname__}"
        return f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if _is_plain(c)]}"


def _said(value: Any) -> str:
    """Return what stands in JSON for something that it has no form for."""
    if _array(value) is not None:
        return digest_of(value)
    return _source(value) if callable(value) else _described(value)


def _array(value: Any) -> Any:
    """Return the array of a tensor or an array; None of anything else, and of one without numbers.

    A file can be detached too, which would take it from its owner, but has no dtype.
    """
    if not hasattr(value, "dtype"):
        return None
    array = value
    if hasattr(value, "detach"):
        try:
            array = value.detach().cpu().to_dense().double().numpy()
        except (RuntimeError, TypeError):  # on no device, or of a kind that has no numbers
            return None
    return array if hasattr(array, "tobytes") else None


def _described(value: Any) -> str:
    return _ADDRESS.sub("", repr(value))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, bytes, tuple))

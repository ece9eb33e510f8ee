"""What the version of a definition is made of: source text, and hashes of parameters."""

from __future__ import annotations

import hashlib
import inspect
import json
from typing import Any


def source_text(function: Any) -> str | None:
    """Return the source text of a function; None where Python knows none.

    None too of a partial and of an object that can be called: the text of its class does not have
    its values.
    """
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def defaults_of(function: Any) -> dict[str, Any]:
    """Return the default values of the arguments of a function, by name."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of some compiled functions
        return {}
    return {one.name: one.default for one in arguments if one.default is not one.empty}


def enclosed_names(function: Any) -> list[str]:
    """Return the names of values that neither source text nor parameters show.

    They are those of the function around it, and the object whose method it is.
    """
    code = getattr(function, "__code__", None)
    owner = getattr(function, "__self__", None)
    has_owner = owner is not None and not inspect.ismodule(owner) and not inspect.isclass(owner)
    return [*getattr(code, "co_freevars", ()), *(["self"] if has_owner else [])]


def digest_of(value: Any) -> str:
    """Return a hash of a parameter.

    That is, of a tensor or an array, its shape, type and numbers; of all else its JSON, in which
    tensors and arrays stand as their hashes.
    """
    array = _array_of(value)
    if array is not None:
        digest = hashlib.sha256(f"{array.shape} {array.dtype}".encode())
        digest.update(array.tobytes())
        return digest.hexdigest()
    content = json.dumps(value, sort_keys=True, default=_digest_within)
    return hashlib.sha256(content.encode()).hexdigest()


def _digest_within(value: Any) -> str:
    """Return the hash of a tensor or an array within a parameter."""
    if _array_of(value) is None:
        raise TypeError(f"{type(value).__name__} has no JSON")
    return digest_of(value)


def _array_of(value: Any) -> Any:
    """Return the array of a tensor or an array; None of anything else, and of one without numbers.

    A file can be detached too, which would take it from its owner, but has no dtype.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(dtype, "hasobject", False):  # objects have only addresses
        return None
    array = value
    if hasattr(value, "detach"):
        try:
            dense = value.detach().cpu().to_dense()
            array = (dense if dense.is_complex() else dense.double()).numpy()
        except (RuntimeError, TypeError):  # on no device, or of a kind that has no numbers
            return None
    return array if hasattr(array, "tobytes") else None

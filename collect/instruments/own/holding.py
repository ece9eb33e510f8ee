"""What a value holds, all the way down, in a form that JSON has: what two of it are compared by.

Tensors and arrays stand as hashes of their numbers, functions as their source with what they were
given besides their arguments, objects and modules as their class with what they hold.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import json
import re
import sys
import types
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import Any

#: Where an object lies in memory, as its description says it; the next process has it elsewhere.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

#: Things that lie deeper in each other are described: each takes several calls to walk through.
_DEEPEST = 60

#: Members of a set that are walked through each as if it came first.
_FEW = 100

#: What every object has, whatever it holds.
_OF_EVERY_OBJECT = {"__dict__", "__weakref__"}

#: Packages whose objects say by their description what they are.
_DESCRIBED = {"torch", "transformers", "tokenizers", "accelerate", "numpy", "pandas", "pyarrow"}


class Holding:
    """Walks through what values hold; what was met before is not walked through again.

    Parameters
    ----------
    known
        Names of objects that are not to be walked through, by their id. Without any, a whole
        model is not walked through either: a quantity is one, whatever is measured by it.
    with_globals
        Whether a function holds what its code reads of its module.
    """

    def __init__(
        self, known: Mapping[int, str] | None = None, *, with_globals: bool = False
    ) -> None:
        self._known, self._with_globals = known, with_globals
        self._met: dict[int, Any] = {}
        self._depth, self._is_within_set = 0, False
        self._classes: dict[type, dict[str, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the form of a value."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if self._known and id(value) in self._known:
            return f"of the model: {self._known[id(value)]}"
        if isinstance(value, (type, types.ModuleType)):
            return source_of(value) if isinstance(value, type) else value.__name__
        digest = self._digest(value)
        if digest is not None:
            return digest
        return self._of_new(value) if id(value) not in self._met else "met before"

    def _of_new(self, value: Any) -> Any:
        self._met[id(value)] = value  # kept, so that no other comes to lie there
        if self._depth == _DEEPEST:
            return described(value)
        self._depth += 1
        try:
            return self._of_many(_listed(value))
        finally:
            self._depth -= 1

    def _of_many(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._of_mapping(value)
        if isinstance(value, (list, tuple, deque)):
            return [self.of(one) for one in value]
        if isinstance(value, (set, frozenset)):
            return self._of_set(value)
        if is_function(value):
            return self.of_function(value)
        is_whole = self._known is None and _found(value, "get_input_embeddings") is not None
        if _is_module(value) or _is_followed(type(value)):
            return source_of(type(value)) if is_whole else self.of_object(value)
        return described(value)

    def _digest(self, value: Any) -> str | None:
        """Return a hash of the numbers of a tensor or an array; None of anything else.

        What a model holds is read several times over, and may be large: its bytes are taken as
        they lie. The numbers that define a quantity are widened first, whatever their format.
        """
        digest = None if self._known is None else _digest_of_bytes(value)
        if digest is None:
            array = array_of(value)
            digest = None if array is None else digest_of_array(array)
        return digest

    def _of_set(self, value: Collection[Any]) -> list[str]:
        """Return the form of a set, of whose order the next process makes another.

        What one member shares with another is walked through in both, as which of them comes
        first is left to chance; but not in sets within sets, where it would have no end in sight.
        """
        is_outermost = not self._is_within_set and len(value) <= _FEW
        n_before, later = len(self._met), dict[int, Any]()
        self._is_within_set = self._is_within_set or is_outermost
        forms = []
        for one in sorted(value, key=_shallow):
            form = json.dumps(self.of(one), sort_keys=True)
            # Text within text within text would double at every level.
            forms.append(hashlib.sha256(form.encode()).hexdigest())
            while is_outermost and len(self._met) > n_before:
                later.update([self._met.popitem()])
        self._met |= later
        self._is_within_set = self._is_within_set and not is_outermost
        return sorted(forms)

    def _of_mapping(self, value: Mapping[Any, Any]) -> Any:
        """Return the form of a mapping, walked through by name, in whatever order it was made.

        What a mapping of somebody's own does not give, such as a file far away, is left out.
        """
        named: dict[str, list[Any]] = {}
        try:
            for key in value:
                named.setdefault(self._name_of(key), []).append(value[key])
        except Exception:
            return described(value)
        forms = {name: [self.of(one) for one in named[name]] for name in sorted(named)}
        return {name: found[0] if len(found) == 1 else found for name, found in forms.items()}

    def _name_of(self, key: Any) -> str:
        if isinstance(key, (tuple, frozenset)):
            return json.dumps(Holding(self._known).of(key), sort_keys=True)
        return key if isinstance(key, str) else described(key)

    def of_object(self, value: Any, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the form of an object or a module: its class, and what it holds.

        Parameters
        ----------
        value
            The object.
        without
            Names of attributes that are not walked through.
        """
        held = {name: one for name, one in _attributes(value).items() if name not in without}
        kind = type(value)
        if kind not in self._classes:  # a source is read and parsed for some milliseconds
            read = _read_by(kind) if self._with_globals else None
            self._classes[kind] = {"class": source_of(kind), "globals": read}
        known = self._classes[kind]
        return {
            "class": known["class"],
            "held": self._of_mapping(held),
            **({"globals": self._of_mapping(known["globals"])} if self._with_globals else {}),
        }

    def of_function(self, function: Any) -> dict[str, Any]:
        """Return the form of a function: its source, and what it was given besides arguments."""
        if isinstance(function, functools.partial):
            parts = (function.func, function.args, function.keywords)
            return {"partial": [self.of(part) for part in parts]}
        inner = getattr(function, "__func__", function)
        cells = filter(is_filled, getattr(inner, "__closure__", None) or ())
        owner = getattr(function, "__self__", None)
        held = {
            "closure": [cell.cell_contents for cell in cells],
            "defaults": getattr(inner, "__defaults__", None),
            "keyword_defaults": getattr(inner, "__kwdefaults__", None),
            "attributes": getattr(inner, "__dict__", None),
            "owner": None if isinstance(owner, types.ModuleType) else owner,
            "globals": _globals_of(inner) if self._with_globals else None,
        }
        found = {name: self.of(value) for name, value in held.items() if value is not None}
        return {"source": source_of(inner), **{name: form for name, form in found.items() if form}}


def is_function(value: Any) -> bool:
    """Return whether a value is a function, a method or a partial of one."""
    return inspect.isroutine(value) or isinstance(value, functools.partial)


def source_of(shown: Any) -> str:
    """Return the source of a function or class, or its compiled code, or else its name."""
    try:
        return inspect.getsource(shown)
    except (OSError, TypeError):
        code = getattr(shown, "__code__", None)
        if code is None:
            return f"{shown.__module__}.{getattr(shown, '__qualname__', type(shown).__qualname__)}"
        return f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if _is_plain(c)]}"


def array_of(value: Any) -> Any:
    """Return the array of a tensor or an array; None of anything else, and of one without numbers.

    A file can be detached too, which would take it from its owner, but has no dtype.
    """
    dtype = _found(value, "dtype")
    if dtype is None or getattr(dtype, "hasobject", False):  # of objects it has their places only
        return None
    array = value
    if hasattr(value, "detach"):
        try:
            array = value.detach().cpu().to_dense().double().numpy()
        except (RuntimeError, TypeError):  # on no device, or of a kind that has no numbers
            return None
    return array if hasattr(array, "tobytes") else None


def digest_of_array(array: Any) -> str:
    """Return a hash of shape, type and numbers of an array."""
    digest = hashlib.sha256(f"{array.shape} {array.dtype}".encode())
    digest.update(array.tobytes())
    return digest.hexdigest()


def _digest_of_bytes(value: Any) -> str | None:
    """Return a hash of shape, type and bytes of a tensor; None of one without plain bytes."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    digest = hashlib.sha256(f"{tuple(value.shape)} {value.dtype}".encode())
    try:
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    except (RuntimeError, TypeError):
        return None
    return digest.hexdigest()


def described(value: Any) -> str:
    """Return the description of an object, without where it lies in memory.

    One that cannot describe itself, or lies too deep in itself, is described by its class.
    """
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _shallow(member: Any) -> str:
    """Return what members of a set are put in order by, in every process the same."""
    if isinstance(member, tuple):
        return f"({', '.join(map(_shallow, member))})"
    return "" if isinstance(member, frozenset) else described(member)


def _listed(value: Any) -> Any:
    """Return an array of objects as a list, and anything else as it is."""
    tolist = _found(value, "tolist")
    is_of_objects = getattr(_found(value, "dtype"), "hasobject", False)
    return [tolist()] if is_of_objects and callable(tolist) else value


def _found(value: Any, name: str) -> Any:
    """Return an attribute; None where there is none, or asking for it raises anything."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _is_followed(kind: type) -> bool:
    """Return whether objects of a class may hold what their description does not say."""
    package = kind.__module__.partition(".")[0]
    is_known = package in sys.stdlib_module_names or package in _DESCRIBED
    return not is_known or kind is types.SimpleNamespace


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object holds by name; of a module its parts, and nothing that torch adds."""
    found = dict(_found(value, "__dict__") or {})
    for kind in type(value).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in {names} if isinstance(names, str) else {*names} - _OF_EVERY_OBJECT:
            is_private = name.startswith("__") and not name.endswith("__")
            place = f"_{kind.__name__.lstrip('_')}{name}" if is_private else name
            if _found(value, place) is not None:
                found[place] = _found(value, place)
    if _is_module(value):
        found = {name: held for name, held in found.items() if name not in _of_every_module()}
    return found


def _is_module(value: Any) -> bool:
    """Return whether a value is a module of torch, which is not loaded where there is none."""
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].nn.Module)


@functools.cache
def _of_every_module() -> set[str]:
    """Return what torch keeps of every module, but for what the module is made of."""
    made = {*vars(sys.modules["torch"].nn.Module())}
    return made - {"_parameters", "_buffers", "_modules"}


def _read_by(kind: type) -> dict[str, Any]:
    """Return what the functions of a class read of its module, where the class is followed."""
    own = (vars(one).values() for one in kind.__mro__ if _is_followed(one))
    found: dict[str, Any] = {}
    for function in (one for of_class in own for one in of_class if inspect.isfunction(one)):
        found |= _globals_of(function)
    return found


def _globals_of(function: Any) -> dict[str, Any]:
    """Return what the code of a function reads of its module, other modules and classes aside."""
    code = getattr(function, "__code__", None)
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    if code is None or package in _DESCRIBED or package in sys.stdlib_module_names:
        return {}
    known = function.__globals__
    found = {name: known[name] for name in sorted(set(_names_read(code))) if name in known}
    apart = (type, types.ModuleType)
    return {name: value for name, value in found.items() if not isinstance(value, apart)}


def _names_read(code: types.CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for within in code.co_consts:
        if isinstance(within, types.CodeType):
            yield from _names_read(within)


def is_filled(cell: Any) -> bool:
    """Return whether a name of the function around has a value yet."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, bytes, tuple))

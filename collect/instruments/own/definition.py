"""What defines a quantity of one's own: a function, and where and of what it is taken."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from collect.errors import InputError, unknown_name

#: Numbers a function may return: one per token, one per prompt, one per head, or vectors.
LEVELS = ("token", "prompt", "head", "vector")

#: Places in a model at which a function may be called.
SITES = ("embedding", "block_input", "block_mid", "block_output", "final_norm")

#: What a function may ask for besides the states.
NEEDS = ("attention", "logits")

#: Sites at which the attention of a block has run and can be looked at.
_AFTER_ATTENTION = {"block_mid", "block_output"}

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

#: Names that mean something else on the command line.
_TAKEN = ("all", "weights", "stream", "attention", "geometry", "predictions", "legacy")


@dataclass(frozen=True, slots=True, eq=False)
class OwnQuantity:
    """A quantity that a function makes of what passes a place in a model.

    Attributes
    ----------
    name
        Small letters, digits and underscores.
    unit, description
        What a number means; kept with it.
    measure
        Called as ``measure(site, layer, states, attention, **parameters)`` for each prompt, layer
        and site. ``states`` is (n_tokens, d), the vectors of the prompt's own tokens without
        padding, in the number format of the pass; ``attention`` is (n_heads, n_tokens, n_tokens),
        or None unless needed. With ``logits`` among the needs it gets ``logits`` too: a function
        of states (n, d) to logits (n, n_vocabulary), through the model's final norm and head.
        Tensors and arrays are copies, in lists and mappings too: what a function writes into them
        changes nothing else.
    level
        What it returns: ``token``, (n_tokens,); ``prompt``, one number; ``head``, (n_heads,);
        ``vector``, (n_tokens, k), which is kept as safetensors.
    sites, layers
        Where it is taken; negative layers count from the last, None stands for all.
    positions
        Of vectors: the tokens that are kept; negative ones count from the last, None stands for
        all.
    needs
        Some of `NEEDS`.
    parameters
        Further arguments by name, such as a direction; tensors and arrays will do. They are part
        of what the quantity is.
    version
        To be raised when the function changes in something that its source does not show.

    Raises
    ------
    InputError
        If something is none of what there is.
    """

    name: str
    unit: str
    description: str
    measure: Callable[..., Any]
    level: str = "token"
    sites: tuple[str, ...] = ("block_output",)
    layers: tuple[int, ...] | None = None
    positions: tuple[int, ...] | None = None
    needs: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name in _TAKEN:
            raise InputError(
                "A quantity's name must be small letters, digits and underscores, and not one of "
                f"{', '.join(_TAKEN)}; found {self.name!r}.",
                "Rename it.",
            )
        _check_among("level", [self.level], LEVELS, self.name)
        _check_among("site", self.sites, SITES, self.name)
        _check_among("need", self.needs, NEEDS, self.name)
        if not self.unit.strip() or not self.description.strip():
            raise InputError(
                f"A quantity must say its unit and what it is; {self.name} does not.",
                "Give unit='1' to a pure number, and a sentence as description.",
            )
        if "attention" in self.needs and not {*self.sites} <= _AFTER_ATTENTION:
            raise InputError(
                "Attention must have run where it is looked at, which is so at "
                f"{' and '.join(sorted(_AFTER_ATTENTION))}; {self.name} asks for it at "
                f"{', '.join(self.sites)}.",
                "Name these sites, or leave attention out of its needs.",
            )

    @property
    def is_vector(self) -> bool:
        """Whether vectors are kept, and no numbers."""
        return self.level == "vector"

    @property
    def source(self) -> str:
        """Where the function is defined."""
        module = getattr(self.measure, "__module__", None) or "?"
        return f"{module}:{getattr(self.measure, '__qualname__', type(self.measure).__name__)}"

    @property
    def sha256(self) -> str:
        """Hash of all that defines the quantity: source of the function, parameters, places."""
        said = {
            "unit": self.unit,
            "description": self.description,
            "level": self.level,
            "sites": self.sites,
            "layers": self.layers,
            "positions": self.positions,
            "needs": sorted(self.needs),
            "version": self.version,
            "function": _code(self.measure),
            "parameters": {n: _digest(value) for n, value in sorted(self.parameters.items())},
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def layers_of(self, n_layers: int) -> list[int]:
        """Return the blocks of a model at which it is taken, those that there are."""
        if self.layers is None:
            return list(range(n_layers))
        placed = {layer if layer >= 0 else n_layers + layer for layer in self.layers}
        return sorted(layer for layer in placed if 0 <= layer < n_layers)

    def positions_of(self, n_tokens: int) -> list[int]:
        """Return the tokens of a prompt whose vectors are kept, those that there are."""
        if self.positions is None:
            return list(range(n_tokens))
        placed = {place if place >= 0 else n_tokens + place for place in self.positions}
        return sorted(place for place in placed if 0 <= place < n_tokens)


def _check_among(kind: str, found: Any, known: tuple[str, ...], name: str) -> None:
    unknown = [one for one in found if one not in known]
    if unknown or (kind == "site" and not found):
        given = unknown[0] if unknown else "none"
        raise unknown_name(f"The {kind} of quantity {name}", given, known)


def _code(function: Any) -> str:
    """Return the source of a function, or its compiled code where there is none."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return f"{type(function).__module__}.{type(function).__qualname__}"
        return f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if _is_plain(c)]}"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, bytes, tuple))


def _digest(value: Any) -> str:
    """Return a hash of the content of a parameter."""
    array = value.detach().cpu().double().numpy() if hasattr(value, "detach") else value
    if hasattr(array, "tobytes"):
        content = f"{array.shape} {array.dtype}".encode() + array.tobytes()
    else:
        content = json.dumps(array, sort_keys=True, default=repr).encode()
    return hashlib.sha256(content).hexdigest()

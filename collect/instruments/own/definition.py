"""What defines a quantity of one's own: a function, and where and of what it is taken."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from collect.errors import InputError, unknown_name
from collect.instruments.own.source import defaults_of, digest_of, enclosed_names, source_text
from collect.measures.register import BUILT_IN

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
_TAKEN = ("all", *BUILT_IN)


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
        Where it is taken, one or several; negative layers count from the last, None stands for
        all.
    positions
        Of vectors: the tokens that are kept, one or several; negative ones count from the last,
        None stands for all.
    needs
        One or several of `NEEDS`.
    parameters
        Further arguments by name, such as a direction: numbers, texts, tensors, arrays, and lists
        and mappings of them. They are part of the version.
    version
        Needed where a function has no source text (a partial, an object, code that was typed in)
        or a parameter is another object; to be raised where the function changes in something
        that neither its source text nor its parameters show, such as a value from the function
        around it, which a warning names.
    sha256
        The version of the definition: the hash of the function's source text, its parameters and
        defaults, the places, and ``version``.

    Raises
    ------
    InputError
        If something is none of what there is, or ``version`` is missing.

    Examples
    --------
    >>> def mean_size(site, layer, states, attention):
    ...     return states.abs().mean(-1)
    >>> import torch
    >>> own = OwnQuantity("mean_size", "1", "Mean absolute feature", mean_size, version="1")
    >>> own.level, mean_size("block_output", 0, torch.tensor([[3.0, -4.0]]), None)
    ('token', tensor([3.5000]))
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
    sha256: str = field(init=False, default="", repr=False)

    def __post_init__(self) -> None:
        is_named = isinstance(self.name, str) and _NAME.fullmatch(self.name)
        if not is_named or self.name in _TAKEN:
            raise InputError(
                "A quantity's name must be small letters, digits and underscores, and not one of "
                f"{', '.join(_TAKEN)}; found {self.name!r}.",
                "Rename it.",
            )
        for kind in ("sites", "needs"):
            given = getattr(self, kind)
            object.__setattr__(self, kind, (given,) if isinstance(given, str) else tuple(given))
        for kind in ("layers", "positions"):
            given = getattr(self, kind)
            if given is not None:
                object.__setattr__(self, kind, _whole_numbers(kind, given, self.name))
        _check_among("level", [self.level], LEVELS, self.name)
        _check_among("site", self.sites, SITES, self.name)
        _check_among("need", self.needs, NEEDS, self.name)
        needs_attention = "attention" in self.needs and not {*self.sites} <= _AFTER_ATTENTION
        is_described = _is_text(self.unit) and _is_text(self.description)
        is_callable = callable(self.measure) and isinstance(self.parameters, Mapping)
        if needs_attention or not (is_described and is_callable):
            raise InputError(
                f"Quantity {self.name} must have a unit, a description, a function as measure and "
                "a mapping as parameters. It may ask for attention only at "
                f"{' and '.join(sorted(_AFTER_ATTENTION))}.",
                "Give unit='1' to a pure number, and a sentence as description.",
            )
        object.__setattr__(self, "sha256", self._hash())
        enclosed = enclosed_names(self.measure)
        if enclosed and not self.version:
            warnings.warn(
                f"Not part of the version of {self.name}: {', '.join(enclosed)}, which its "
                "function takes from around it; name the values in parameters=, or give version=",
                stacklevel=3,
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
    def row(self) -> dict[str, str]:
        """Its row of table ``own_quantity``."""
        return {
            "measure": self.name,
            "unit": self.unit,
            "description": self.description,
            "level": self.level,
            "source": self.source,
            "definition_sha256": self.sha256,
        }

    def _hash(self) -> str:
        """Return the hash of all that defines the quantity."""
        text = source_text(self.measure)
        if text is None and not self.version:
            raise InputError(
                f"The function of {self.name} has no source text: {self.source}.",
                "Give version='1', and another when the function changes; or a function of a "
                "file, with its values as parameters.",
            )
        parameters = {**defaults_of(self.measure), **self.parameters}
        content = {
            "unit": self.unit,
            "description": self.description,
            "level": self.level,
            "sites": self.sites,
            "layers": self.layers,
            "positions": self.positions,
            "needs": sorted(self.needs),
            "version": self.version,
            "function": self.source if text is None else text,
            "parameters": {n: self._digest(n, value) for n, value in sorted(parameters.items())},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _digest(self, name: str, value: Any) -> str:
        """Return the hash of a parameter; the name of its type where a version stands for it."""
        try:
            return digest_of(value)
        except (TypeError, ValueError, RecursionError) as error:
            if self.version:
                return type(value).__qualname__
            raise InputError(
                f"The parameter {name} of {self.name} cannot be hashed: {error}.",
                "Give its numbers as tensors, arrays or lists; or version='1', and another when "
                "it changes.",
            ) from error

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


def _check_among(kind: str, value: Any, known: tuple[str, ...], name: str) -> None:
    unknown = [one for one in value if one not in known]
    if unknown or (kind == "site" and not value):
        given = unknown[0] if unknown else "none"
        raise unknown_name(f"The {kind} of quantity {name}", given, known)


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _whole_numbers(kind: str, given: Any, name: str) -> tuple[int, ...]:
    """Return whole numbers that were given as one or several."""
    numbers = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in numbers):
        raise InputError(
            f"The {kind} of a quantity must be whole numbers; those of {name} are {given!r}.",
            "Negative ones count from the last; leave them out for all.",
        )
    return tuple(int(one) for one in numbers)

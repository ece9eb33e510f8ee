"""A training recipe: one TOML file that says everything about one small model.

The file is read strictly. A key that is missing, unknown, of the wrong type or impossible is
refused before anything is trained.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from collect.errors import InputError

FAMILIES = ("gpt2", "gpt_neox", "llama")
OPTIMISERS = ("adamw", "muon")

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

#: How TOML's own specification calls the types a recipe is made of.
TOML_TYPES = {str: "a string", int: "an integer", float: "a float", bool: "a boolean"}

Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class Geometry:
    """Shape of the network; ``context`` is its longest input [bytes]."""

    n_layers: int
    d_model: int
    n_heads: int
    context: int
    n_kv_heads: int | None = None

    def __post_init__(self) -> None:
        for key in ("n_layers", "d_model", "n_heads", "context"):
            _require_positive(key, getattr(self, key))
        _require(
            self.d_model % self.n_heads == 0,
            f"d_model must be a multiple of n_heads; found {self.d_model} and {self.n_heads}",
        )
        if self.n_kv_heads is not None:
            _require_positive("n_kv_heads", self.n_kv_heads)
            _require(
                self.n_heads % self.n_kv_heads == 0,
                f"n_heads must be a multiple of n_kv_heads; "
                f"found {self.n_heads} and {self.n_kv_heads}",
            )


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Rule that turns gradients into steps; ``learning_rate`` is the peak of the schedule."""

    name: str
    learning_rate: float
    weight_decay: float

    def __post_init__(self) -> None:
        _require_choice("name", self.name, OPTIMISERS)
        _require_positive("learning_rate", self.learning_rate)
        _require(
            0 <= self.weight_decay < math.inf,
            f"weight_decay must be finite and not negative; found {self.weight_decay}",
        )


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length of training: ``warm_up`` of all ``steps``, each over ``batch_size`` windows."""

    steps: int
    warm_up: int
    batch_size: int

    def __post_init__(self) -> None:
        _require_positive("steps", self.steps)
        _require_positive("batch_size", self.batch_size)
        _require(
            0 <= self.warm_up < self.steps,
            f"warm_up must lie between 0 and steps; found {self.warm_up} of {self.steps}",
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines one trained model; ``text`` is relative to the recipe file."""

    name: str
    lab: str
    suite: str
    year: int
    family: str
    text: str
    seed: int
    initializer_range: float
    geometry: Geometry
    optimiser: Optimiser
    schedule: Schedule

    def __post_init__(self) -> None:
        for key in ("name", "lab", "suite"):
            _require(
                PLAIN_NAME.fullmatch(getattr(self, key)) is not None,
                f"{key} must be made of letters, digits, '.', '_' and '-'; "
                f"found {getattr(self, key)!r}",
            )
        _require(2017 <= self.year <= 2100, f"year must be in 2017 to 2100; found {self.year}")
        _require(0 <= self.seed < 2**63, f"seed must be in 0 to 2**63 - 1; found {self.seed}")
        _require_positive("initializer_range", self.initializer_range)
        _require_choice("family", self.family, FAMILIES)
        _require_shape(self.family, self.geometry)

    @property
    def model_id(self) -> str:
        """Identifier of the trained model, as it stands in the table ``model``."""
        return f"{self.lab}/{self.name}"


def read_recipe(path: Path) -> Recipe:
    """Return the recipe that a TOML file spells out.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or holds a key that is missing, unknown, of
        the wrong type or impossible.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The recipe {path} must be a readable file; {error.strerror or error}.",
            "Give the path of a recipe, for example one of data/sample/recipes.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The recipe {path} must be valid TOML in UTF-8; found: {error}.",
            "Correct that place.",
        ) from error
    return _section(Recipe, table, f"The recipe {path}")


def _section(kind: type[Section], table: dict[str, Any], where: str) -> Section:
    """Return the dataclass that a TOML table spells out."""
    types = get_type_hints(kind)
    _refuse_unknown_keys(list(table), list(types), where)
    required = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]
    missing = [key for key in required if key not in table]
    if missing:
        raise InputError(
            f"{where} must have the keys {', '.join(required)}; "
            f"found none named {', '.join(missing)}.",
            "The recipes in data/sample/recipes are complete ones to start from.",
        )
    values = {key: _value(types[key], table[key], f"{where}, {key},") for key in table}
    try:
        return kind(**values)
    except ValueError as error:
        raise InputError(f"{where} cannot be trained: {error}.", "Change that value.") from error


def _refuse_unknown_keys(keys: list[str], known: list[str], where: str) -> None:
    for key in keys:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            raise InputError(
                f"{where} must have only the keys {', '.join(known)}; found {key!r} besides.",
                f"Did you mean {nearest[0]!r}?" if nearest else "Remove it.",
            )


def _value(expected: Any, value: Any, where: str) -> Any:
    """Return a value of the expected type; an integer passes as a float, nothing else does."""
    if is_dataclass(expected) and isinstance(expected, type):
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a table; found {value!r}.", "Write it as [table].")
        return _section(expected, value, where.removesuffix(","))
    plain = expected if expected in TOML_TYPES else int
    if type(value) is not plain and (type(value), plain) != (int, float):
        found = TOML_TYPES.get(type(value), f"a {type(value).__name__}")
        raise InputError(
            f"{where} must be {TOML_TYPES[plain]}; found {value!r}, {found}.",
            "In TOML a string is quoted and a number is not.",
        )
    return plain(value)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _require_positive(key: str, number: float) -> None:
    _require(0 < number < math.inf, f"{key} must be positive and finite; found {number}")


def _require_choice(key: str, choice: str, options: tuple[str, ...]) -> None:
    _require(choice in options, f"{key} must be one of {', '.join(options)}; found {choice!r}")


def _require_shape(family: str, geometry: Geometry) -> None:
    """Refuse a geometry that the family cannot have."""
    d_head = geometry.d_model // geometry.n_heads
    if family == "llama":
        _require(geometry.n_kv_heads is not None, "family llama must have geometry.n_kv_heads")
        _require(d_head % 2 == 0, f"a llama head must have an even width; found {d_head}")
    else:
        _require(geometry.n_kv_heads is None, f"family {family} must not have geometry.n_kv_heads")
    if family == "gpt_neox":
        _require(d_head % 8 == 0, f"a gpt_neox head must be a multiple of 8 wide; found {d_head}")

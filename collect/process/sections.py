"""TOML tables read strictly into dataclasses.

A key that is missing, unknown, of the wrong type or impossible is refused in one sentence that
says where it stands. A field with a default may be left out; a dataclass says what is
impossible by raising ValueError.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from collect.errors import InputError, nearest

#: How TOML's own specification calls the types that values are made of.
TOML_TYPES = {str: "a string", int: "an integer", float: "a float", bool: "a boolean"}

Section = TypeVar("Section")


def read_toml(path: Path, what: str, hint: str) -> dict[str, Any]:
    """Return the table of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"The {what} {path} must be a readable file; {error.strerror or error}.", hint
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The {what} {path} must be valid TOML in UTF-8; found: {error}.",
            "Correct that place.",
        ) from error


def section(
    kind: type[Section], table: dict[str, Any], where: str, *, verdict: str, hint: str
) -> Section:
    """Return the dataclass that a TOML table spells out."""
    types = get_type_hints(kind)
    _refuse_unknown_keys(list(table), list(types), where)
    missing = [
        field.name
        for field in fields(kind)  # type: ignore[arg-type]
        if field.default is MISSING and field.default_factory is MISSING and field.name not in table
    ]
    if missing:
        raise InputError(f"{where} lacks the keys {', '.join(missing)}.", hint)
    values = {}
    for key, value in table.items():
        expected, place = _strip_none(types[key]), f"{where}, {key}"
        if is_dataclass(expected) and isinstance(expected, type) and isinstance(value, dict):
            values[key] = section(expected, value, place, verdict=verdict, hint=hint)
        else:
            values[key] = plain_value(expected, value, place)
    try:
        return kind(**values)
    except ValueError as error:
        raise InputError(f"{where} {verdict}: {error}.", "Change that value.") from error


def plain_value(expected: Any, value: Any, where: str) -> Any:
    """Return a value of the expected type; an integer passes as a float, nothing else does.

    ``expected`` is a type of `TOML_TYPES` or a tuple of one, which a TOML array fills.
    """
    if get_origin(expected) is tuple and isinstance(value, list):
        return tuple(plain_value(get_args(expected)[0], entry, where) for entry in value)
    if type(value) is not expected and (type(value), expected) != (int, float):
        wanted = TOML_TYPES.get(expected, "a table or an array")
        raise InputError(
            f"{where} must be {wanted}; found {value!r}.",
            "In TOML a string is quoted and a number is not; a table is written as [table].",
        )
    return expected(value)


def require(holds: bool, problem: str) -> None:
    """Raise ValueError with the problem unless it holds."""
    if not holds:
        raise ValueError(problem)


def require_positive(key: str, number: float) -> None:
    """Raise ValueError unless a number is positive and finite."""
    require(0 < number < math.inf, f"{key} must be positive and finite; found {number}")


def require_not_negative(key: str, number: float) -> None:
    """Raise ValueError unless a number is finite and not negative."""
    require(0 <= number < math.inf, f"{key} must be finite and not negative; found {number}")


def require_choice(key: str, choice: str, options: tuple[str, ...]) -> None:
    """Raise ValueError unless a choice is one of the options."""
    require(choice in options, f"{key} must be one of {', '.join(options)}; found {choice!r}")


def _strip_none(expected: Any) -> Any:
    """Return the type T of ``T | None``; any other type as it is."""
    if get_origin(expected) is UnionType:
        return next(kind for kind in get_args(expected) if kind is not NoneType)
    return expected


def _refuse_unknown_keys(keys: list[str], known: list[str], where: str) -> None:
    for key in keys:
        if key not in known:
            near = nearest(key, known)
            raise InputError(
                f"{where} must have only the keys {', '.join(known)}; found {key!r} besides.",
                f"Did you mean {near[0]!r}?" if near else "Remove it.",
            )

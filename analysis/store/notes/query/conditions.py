"""Conditions of a SELECT taken apart: what must hold, and what each compares with constants."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from analysis.store.notes.query.query import arguments_of
from analysis.store.statement import columns_of, within

#: Conditions on whether a value is there.
OF_NULL = frozenset({"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"})

_JOINING = frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_NOT"})


def conjuncts(condition: Any) -> Iterator[Any]:
    """Yield the parts of a condition each of which must hold."""
    if condition and condition.get("type") == "CONJUNCTION_AND":
        for each in condition["children"]:
            yield from conjuncts(each)
    elif condition:
        yield condition


def constants(condition: Any, here: Collection[str]) -> Iterator[str]:
    """Yield the columns that a condition gives one value, constant or of a query around it."""
    if condition.get("class") == "COLUMN_REF":
        yield str(condition["column_names"][-1]).lower()
    if condition.get("type") != "COMPARE_EQUAL":
        return
    sides = condition["left"], condition["right"]
    for one, other in (sides, sides[::-1]):
        path = [str(name).lower() for name in other.get("column_names") or []]
        is_given = path[-2] not in here if len(path) > 1 else not columns_of(other)
        if one.get("class") == "COLUMN_REF" and is_given:
            yield str(one["column_names"][-1]).lower()


def atoms(condition: Any) -> Iterator[Any]:
    """Yield the parts of a condition that AND, OR and NOT join."""
    if condition.get("type") in _JOINING:
        for each in condition["children"]:
            yield from atoms(each)
    else:
        yield condition


def subjects(atom: Any) -> list[Any]:
    """Return the expressions that a part of a condition compares with constants.

    A value of an inner query is a constant. A column that is itself a condition is compared with
    true, and one that IS NULL or IS NOT NULL asks of with NULL. Of columns that are compared with
    each other there is none.
    """
    kind = str(atom.get("type"))
    if atom.get("class") == "COLUMN_REF":
        return [atom]
    if kind in OF_NULL:
        return [it for it in atom["children"] if columns_of(it)]
    if kind.startswith("COMPARE_"):
        parts = [atom.get(it) for it in ("left", "right", "input", "lower", "upper")]
        parts = [it for it in [*parts, *(atom.get("children") or [])] if it]
    elif atom.get("class") == "FUNCTION":
        parts = arguments_of(atom)
    else:
        return []
    varying = [it for it in parts if columns_of(it) or _calls(it)]
    return varying if len(varying) == 1 and len(parts) > 1 else []


def _calls(expression: Any) -> bool:
    """Return whether an expression counts rows without a column, as ``count(*)`` does."""
    return any(str(it.get("function_name")).startswith("count") for it in within(expression))

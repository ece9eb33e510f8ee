"""Rows that a join repeats, so that one value counts many times in an aggregate.

A weight of a head that is joined to the attention of that head on each of many prompts stands once
a prompt. The key of a table is declared (`collect.schema`); an aggregate over columns of that table
alone is asked again with the number of its rows and of the keys among them. A mean or a correlation
of one table is what it was where each of its rows is repeated as often as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.store.notes.query.query import Query, arguments_of, name_of
from analysis.store.statement import named_within, within
from collect import schema

#: Aggregates that are the same where each value is repeated equally often.
_STABLE = frozenset(
    {"avg", "corr", "covar_pop", "mean", "median", "regr_intercept", "regr_r2", "regr_slope"}
    | {"spearman"}
)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Rows of a table that a join repeats.

    Attributes
    ----------
    table
        The table.
    key
        Columns that name a row of it.
    others
        What it is joined with; "" for a query.
    """

    table: str
    key: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def problem(self) -> str:
        """What is wrong."""
        return f"{self.table}: the join repeats its rows, so one value counts several times"

    @property
    def cure(self) -> str:
        """What to do about it."""
        is_named = len(self.others) == 1 and self.others[0] not in ("", self.table)
        what = self.others[0] if is_named else f"the other table{'s' * (len(self.others) > 1)}"
        return f"bring {what} to one row per {', '.join(self.key)}"


def repeats(query: Query) -> dict[str, Repeat]:
    """Return what a join repeats under an aggregate, by the table whose rows it repeats."""
    found: dict[str, Repeat] = {}
    for node, each in query.over_rows():
        parts, tables = named_within(node["from_table"]), query.tables(node)
        for alias, table in tables.items() if len(parts) > 1 else ():
            key = _key(table)
            owned = [_is_of(query, node, it, alias) for it in arguments_of(each)]
            if not key or not any(owned):
                continue
            units = ", ".join(f'"{alias}"."{column}"' for column in key)
            is_stable = name_of(each) in _STABLE and all(owned)
            asked = ["count(*)", f"count(DISTINCT ({units}))", f"histogram(({units})::VARCHAR)"]
            rows = query.counts(node, [(sql, each) for sql in asked]) or []
            if any(
                n > n_units and not (is_stable and len({*times.values()}) == 1)
                for n, n_units, times in rows
            ):
                others = [tables.get(name, "") for name in parts if name != alias]
                found[table] = Repeat(table, key, tuple(others))
    return found


def _key(table: str) -> tuple[str, ...]:
    if table in schema.KEYS:
        return schema.KEYS[table]
    name = table.removeprefix(f"{schema.RAW}.")
    return tuple(schema.tables()[name].key) if name in schema.tables() else ()


def _is_of(query: Query, node: Any, argument: Any, alias: str) -> bool:
    """Return whether all columns of an argument are of one table of those after FROM."""
    paths = [it["column_names"] for it in within(argument) if it.get("class") == "COLUMN_REF"]
    return bool(paths) and all(query.owner(node, path) == alias for path in paths)

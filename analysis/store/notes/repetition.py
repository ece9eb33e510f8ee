"""Rows that a join repeats, so that one value counts many times in an aggregate.

A weight of a head that is joined to the attention of that head on each of many prompts stands once
a prompt. The key of a table is declared (`collect.schema`); an aggregate over columns of that table
alone is asked again with the number of its rows and of the keys among them. A mean or a correlation
of one table is what it was where each of its rows is repeated as often as the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.store.notes.query import Query, arguments_of, name_of
from analysis.store.statement import named_within, within
from collect import schema

#: Aggregates that are the same where each value is repeated equally often.
_STABLE = frozenset(
    {"avg", "corr", "covar_pop", "mean", "median", "regr_intercept", "regr_r2", "regr_slope"}
    | {"spearman"}
)


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each table whose rows a join repeats under an aggregate."""
    for node, each in query.over_rows():
        if len(named_within(node["from_table"])) < 2:
            continue
        for alias, table in query.tables(node).items():
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
                yield (
                    f"{table}: the join repeats its rows, so one value counts several times; bring "
                    f"the other table to one row per {', '.join(key)} first"
                )


def _key(table: str) -> tuple[str, ...]:
    if table in schema.KEYS:
        return schema.KEYS[table]
    name = table.removeprefix(f"{schema.RAW}.")
    return tuple(schema.tables()[name].key) if name in schema.tables() else ()


def _is_of(query: Query, node: Any, argument: Any, alias: str) -> bool:
    """Return whether all columns of an argument are of one table of those after FROM."""
    paths = [it["column_names"] for it in within(argument) if it.get("class") == "COLUMN_REF"]
    return bool(paths) and all(query.owner(node, path) == alias for path in paths)

"""Statistics of few pairs, and columns and tables without a value that a query asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.store import contents
from analysis.store.notes import absent
from analysis.store.notes.query.query import OF_PAIRS, Query, arguments_of, called, name_of
from analysis.store.statement import columns_of, every
from collect import schema

#: Below so many pairs a correlation is noted: a perfect one of four in random order has p = .08.
_FEW = 5


def notes(query: Query) -> Iterator[str]:
    """Yield where rows without a value do not count, and on how many pairs a statistic rests."""
    found: dict[str, dict[str, None]] = {}
    for node in query.selects:
        if {*query.tables(node).values()}.isdisjoint(schema.KEYS):
            continue
        functions = [each for each in called(node) if name_of(each) in query.aggregates]
        counted = [arguments_of(each) for each in functions if name_of(each) == "count"]
        for each in functions:
            if name_of(each) in OF_PAIRS:
                columns = [name for it in arguments_of(each) for name in sorted(columns_of(it))]
                is_said = not columns_of(counted).isdisjoint(columns)
                for rests in _of_pairs(query, node, each, is_said=is_said):
                    found.setdefault(rests, {})[f"{name_of(each)} of {', '.join(columns)}"] = None
    for rests, statistics in found.items():
        yield f"{'; '.join(statistics)} {'rests' if len(statistics) == 1 else 'rest'} on {rests}"
    yield from absent.notes(query)


def unfilled(query: Query, lacking: Sequence[str]) -> Iterator[str]:
    """Yield the columns that a query names and that no row of its answer has a value of.

    Not those that it asks to be NULL, or that say what is wrong (`schema.REASONS`). Of a column
    that no row of its table has a value of, its meaning is said.
    """
    top = query.tree["statements"][0]["node"]
    chosen = top.get("select_list") or []
    if any(each.get("class") == "STAR" for each in chosen):
        return
    asked = [it for it in every(query.tree) if it.get("type") == "OPERATOR_IS_NULL"]
    known = columns_of(asked) | schema.REASONS
    paths = {str(it.get("alias") or it["column_names"][-1]): it["column_names"]
             for it in chosen if "column_names" in it}  # fmt: skip
    rest: list[str] = []
    for name in lacking:
        path = paths.get(name, [name])
        if str(path[-1]).lower() in known:
            continue
        source = query.sources(top).get(query.owner(top, path)) if name in paths else None
        if source and source.table in schema.KEYS and _is_void(query, source.table, path[-1]):
            column = f"{source.table}.{path[-1]}"
            yield f"{column} is NULL in every row{contents.meaning(column)}"
        else:
            rest.append(name)
    if rest:
        yield f"{', '.join(rest)}: NULL in every row of the answer"


def _is_void(query: Query, table: str, column: str) -> bool:
    """Return whether no row of a table has a value of a column."""
    return query.cursor.execute(f'SELECT count("{column}") FROM {table}').fetchall() == [(0,)]


def _of_pairs(query: Query, node: Any, function: Any, *, is_said: bool) -> Iterator[str]:
    """Yield on how many pairs a statistic rests, where these are few or not all rows.

    A count of either column beside it says how many rows have a value.
    """
    rows_of = {**function, "arguments": [], "children": []}
    rows = query.counts(node, [("count(*)", rows_of), ("count(*)", function)]) or []
    n, there = (sum(it) for it in zip(*rows, strict=True)) if rows else (0, 0)
    least = min((pairs for _, pairs in rows), default=_FEW)
    few = ", which tell next to nothing"
    if there < n and not is_said:
        why = few if len(rows) == 1 and least < _FEW else ""
        yield f"{there} of {n} rows{why}; in the others one of them is NULL"
    if least < _FEW and (there == n or is_said or len(rows) > 1):
        where = " in a group" if len(rows) > 1 else ""
        yield f"{least} rows{where}{few}" if least else f"no row{where}"

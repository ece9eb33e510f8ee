"""Statistics of few pairs, and columns and tables without a value that a query asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes import absent
from analysis.store.notes.query import OF_PAIRS, Query, arguments_of, called, name_of
from analysis.store.statement import columns_of, every
from collect import schema

if TYPE_CHECKING:
    import duckdb

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


def unjoined(query: Query) -> Iterator[str]:
    """Yield why an aggregate over joined tables has no row to take."""
    for node in query.selects:
        functions = [each for each in called(node) if name_of(each) in query.aggregates]
        if not functions or len(query.tables(node)) < 2:
            continue
        if query.counts(node, [("count(*)", None)]) == [(0,)]:
            yield from contents.apart(query.cursor, [*query.tables(node).values()])


def unfilled(tree: Any, lacking: Sequence[str]) -> Iterator[str]:
    """Yield the columns that a query names and that no row of its answer has a value of."""
    chosen = tree["statements"][0]["node"].get("select_list") or []
    if lacking and not any(each.get("class") == "STAR" for each in chosen):
        yield f"{', '.join(lacking)}: NULL in every row of the answer"


def required(cursor: duckdb.DuckDBPyConnection, names: Sequence[str], tree: Any) -> Iterator[str]:
    """Yield the columns that a query asks to be NOT NULL and that have no value in a table."""
    known = contents.columns_by_table(cursor)
    asked = [
        str(child["column_names"][-1]).lower()
        for node in every(tree)
        if node.get("type") == "OPERATOR_IS_NOT_NULL"
        for child in node["children"]
        if child.get("class") == "COLUMN_REF"
    ]
    for column in dict.fromkeys(asked):
        for name in (each for each in names if column in known.get(each, ())):
            if cursor.execute(f'SELECT count("{column}") FROM {name}').fetchall() == [(0,)]:
                comment = schema.commented(schema.front_sql())[1].get(f"main.{name}.{column}", "")
                meaning = f": {schema.unit_apart(comment)[0]}" if comment else ""
                yield f"{name}.{column} is NULL in every row{meaning}"


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
        yield f"{least} rows{where}{few}"

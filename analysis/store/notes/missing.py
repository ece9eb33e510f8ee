"""Rows without a value that are counted or compared, and statistics of few pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes.query import OF_PAIRS, Query, arguments_of, base_tables, called, name_of
from analysis.store.notes.sampling import conjuncts
from analysis.store.statement import columns_of, every, within
from collect import schema

if TYPE_CHECKING:
    import duckdb

#: Below so many pairs a correlation is noted: a perfect one of four in random order has p = .08.
_FEW = 5


def notes(query: Query) -> Iterator[str]:
    """Yield how many rows that are counted have no value, and on how many a correlation rests."""
    for node in query.selects:
        tables = {*base_tables(node).values()}.intersection(schema.OF_MODELS)
        functions = [each for each in called(node) if name_of(each) in query.aggregates]
        counts_rows = any(
            (name_of(each) == "count_star" and not each.get("filter")) or _is_distinct(each)
            for each in functions
        )
        counted = [arguments_of(each) for each in functions if name_of(each) == "count"]
        for each in functions if tables else ():
            columns = [name for it in arguments_of(each) for name in sorted(columns_of(it))]
            if name_of(each) in OF_PAIRS:
                is_said = not columns_of(counted).isdisjoint(columns)
                yield from _of_pairs(query, node, each, columns, is_said=is_said)
            elif counts_rows and not _is_distinct(each) and not each.get("filter"):
                yield from _of_values(query, node, each, columns, tables)
            if tables:
                yield from _of_comparisons(query, node, each, tables)
        if tables and counts_rows:
            yield from _of_conditions(query, node, tables)


def unjoined(query: Query) -> Iterator[str]:
    """Yield why an aggregate over joined tables has no row to take."""
    for node in query.selects:
        functions = [each for each in called(node) if name_of(each) in query.aggregates]
        if not functions or len(base_tables(node)) < 2:
            continue
        if query.counts(node, [("count(*)", None)]) == [(0,)]:
            yield from contents.apart(query.cursor, [*base_tables(node).values()])


def _is_distinct(function: Any) -> bool:
    """Return whether a function counts values apart from the rows, such as labs."""
    return name_of(function) == "count" and bool(function.get("distinct"))


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
                yield f"{name}.{column} is NULL in every row"


def _of_pairs(
    query: Query, node: Any, function: Any, columns: Sequence[str], *, is_said: bool
) -> Iterator[str]:
    """Yield on how many pairs a statistic rests, where these are few or not all rows.

    A count of either column beside it says how many rows have a value.
    """
    called_so = f"{name_of(function)} of {', '.join(columns)}"
    rows_of = {**function, "arguments": [], "children": []}
    rows = query.counts(node, [("count(*)", rows_of), ("count(*)", function)]) or []
    n, there = (sum(it) for it in zip(*rows, strict=True)) if rows else (0, 0)
    least = min((pairs for _, pairs in rows), default=_FEW)
    few = ", which tell next to nothing"
    if there < n and not is_said:
        why = few if len(rows) == 1 and least < _FEW else ""
        yield f"{called_so} rests on {there} of {n} rows{why}; in the others one of them is NULL"
    if least < _FEW and (there == n or is_said or len(rows) > 1):
        where = " in a group" if len(rows) > 1 else ""
        yield f"{called_so} rests on {least} rows{where}{few}"


def _compared(condition: Any) -> set[str]:
    """Return the columns whose size or direction a condition asks for, but where NULL is, too.

    A text that is not there is none of those asked for: an equality with one is met by no NULL.
    """
    nodes = [*within(condition)]
    if any(str(each.get("type")).startswith("OPERATOR_IS_") for each in nodes):
        return set()
    return {
        name
        for each in nodes
        if str(each.get("type")).startswith("COMPARE_") and {"left", "right"} <= each.keys()
        for side, other in ((each["left"], each["right"]), (each["right"], each["left"]))
        if other.get("class") == "CONSTANT"
        if side.get("class") == "FUNCTION"
        or (side.get("class") == "COLUMN_REF" and other["literal"]["kind"] != "STRING")
        for name in columns_of(side)
    }


def _null(query: Query, node: Any, column: str, tables: Collection[str]) -> tuple[str, int, int]:
    """Return the table of a column, and of a SELECT's rows how many lack it, and how many are."""
    of = next((name for name in sorted(tables) if column in query.columns.get(name, ())), "")
    asked = [("count(*)", None), (f'count("{column}")', None)]
    rows = query.counts({**node, "modifiers": [], "having": None}, asked) if of else None
    n, there = (sum(it) for it in zip(*rows, strict=True)) if rows else (0, 0)
    return of, n - there, n


def _of_comparisons(
    query: Query, node: Any, function: Any, tables: Collection[str]
) -> Iterator[str]:
    """Yield how many rows lack what an aggregate's filter or CASE compares: it is not met there."""
    compared = _compared(function.get("filter")) | _compared(arguments_of(function))
    counted = [arguments_of(each) for each in called(node) if name_of(each) == "count"]
    for column in sorted(compared - columns_of(counted)):
        of, n_null, n = _null(query, node, column, tables)
        if n_null:
            yield (
                f"{of}.{column} is NULL in {n_null} of the {n} rows, which meet no comparison: "
                f"they count as neither; count({column}) says how many have it"
            )


def _of_conditions(query: Query, node: Any, tables: Collection[str]) -> Iterator[str]:
    """Yield how many rows a WHERE leaves out before a count, as they lack what it compares."""
    conditions = [*conjuncts(node.get("where_clause"))]
    for condition in conditions:
        others = [each for each in conditions if each is not condition]
        if any(str(each.get("type")).startswith("OPERATOR_IS_") for each in others):
            continue
        clause = {**node["where_clause"], "children": others} if len(others) > 1 else None
        rest = {**node, "where_clause": clause or (others or [None])[0]}
        for column in sorted(_compared(condition)):
            of, n_null, n = _null(query, rest, column, tables)
            if n_null:
                yield f"WHERE leaves out {n_null} of {n} rows of {of} that have no {column}"


def _of_values(
    query: Query, node: Any, function: Any, columns: Sequence[str], tables: Collection[str]
) -> Iterator[str]:
    """Yield how many of the rows that are counted an aggregate leaves out."""
    known = {name: query.columns.get(name, set()).intersection(columns) for name in sorted(tables)}
    of = next((name for name, there in known.items() if there), None)
    rows = query.counts(node, [("count(*)", None), ("count(*)", function)]) if of else None
    n, there = (sum(it) for it in zip(*rows, strict=True)) if rows else (0, 0)
    if there < n:
        named = f"{of}.{' or '.join(dict.fromkeys(columns))}"
        yield f"{named} is NULL in {n - there} of the {n} rows that are counted"

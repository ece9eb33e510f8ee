"""What a query must take one of, lest unlike rows stand together: the grain of its tables.

The parsed tree of DuckDB is asked (``json_serialize_sql``) twice. Over columns that repeat a unit
(`collect.schema.grain`) a mean, a sum or a count is noted unless each of them is grouped by,
filtered or joined on. Over columns that make another quantity of it so is an extreme, a ranking
(ORDER BY with LIMIT, a window) and a join of two such tables. So are prompts that count once for
each of several runs of a model, rows of a model that count as models (`sampling`), kinds of model
and prompt sets that an aggregate takes together (`mixture`), values on several scales (`scale`),
parameters of files (`parameters`), rows that a join repeats (`repetition`), rows without a value
(`absent`), dependent networks and other unlike rows (`apart`), means that few values decide
(`uneven`), and, where the data say so, several definitions of gain or poolings of tokens, a NOT IN
whose list holds a NULL (`contents`), a text that no row has, and what stands there where no row is
found (`empty`). What an answer is of, right as it is, is said apart (`scope`, `meaning`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from analysis.store import contents
from analysis.store.notes import (
    apart,
    meaning,
    missing,
    mixture,
    parameters,
    sampling,
    scale,
    scope,
    uneven,
)
from analysis.store.notes.empty import reasons, texts
from analysis.store.notes.query.grouped import grouped
from analysis.store.notes.query.query import Query
from analysis.store.notes.query.reading import EXTREMES, Reading
from analysis.store.statement import parsed, read_tables
from collect import schema

if TYPE_CHECKING:
    import duckdb

    from analysis.store.store import Store

_RAW = f"{schema.RAW}."

#: What asks a query again, in the order in which it is said.
_ROOMS = (
    sampling,
    mixture,
    parameters,
    scale,
    uneven,
    missing,
    apart,
)


def notes(
    store: Store, sql: str, *, is_empty: bool = False, lacking: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return what is said of an answer: what must not be mixed (cautions), and what it is of.

    Parameters
    ----------
    store
        Where the query was answered.
    sql
        A statement that it answered.
    is_empty
        Whether the answer has no row: then what the tables hold is said.
    lacking
        Columns of the answer without a value in any of its rows.
    """
    with store.cursor() as cursor:
        asked = _asked(store, cursor, sql)
        if not asked:
            return [], []
        found = _cautions(store, asked, is_empty=is_empty, lacking=lacking)
        return [*dict.fromkeys(found)], _contexts(store, asked, is_empty=is_empty)


def cautions(
    store: Store, sql: str, *, is_empty: bool = False, lacking: Sequence[str] = ()
) -> list[str]:
    """Return a sentence for each table that a query reads and that has no row or repeats a unit.

    Parameters are those of `notes`.
    """
    with store.cursor() as cursor:
        asked = _asked(store, cursor, sql)
        found = _cautions(store, asked, is_empty=is_empty, lacking=lacking) if asked else []
        return [*dict.fromkeys(found)]


def contexts(store: Store, sql: str, *, is_empty: bool = False) -> list[str]:
    """Return what the rows are that an answer is of, and other definitions of a gain that it takes.

    Parameters are those of `notes`.
    """
    with store.cursor() as cursor:
        asked = _asked(store, cursor, sql)
        return _contexts(store, asked, is_empty=is_empty) if asked else []


def _asked(store: Store, cursor: duckdb.DuckDBPyConnection, sql: str) -> list[Query]:
    """Return a statement as it is, then with pivots as GROUP BY, then a query for each window.

    None where it reads no table.
    """
    names = read_tables(sql, cursor)
    if not names:
        return []
    if not {*names}.isdisjoint(schema.OF_MODELS):
        store.make_views(*mixture.READ)
    aggregates = _aggregates(cursor)
    tree = parsed(sql, cursor)
    trees = [tree, *grouped(cursor, tree, aggregates)]
    return [Query(cursor, names, each, aggregates) for each in trees]


def _contexts(store: Store, asked: Sequence[Query], *, is_empty: bool) -> list[str]:
    original, *queries = asked
    if {*original.names}.isdisjoint(schema.KEYS):
        return []
    if "model_gain" in original.names:
        store.make_views("main.published_model")
    found = (
        it
        for query in queries
        for it in (
            *scope.notes(query, is_empty=is_empty),
            *([] if is_empty else meaning.notes(query)),
        )
    )
    return [*dict.fromkeys(found)]


def _cautions(
    store: Store, asked: Sequence[Query], *, is_empty: bool, lacking: Sequence[str]
) -> list[str]:
    original, *queries = asked
    plain, names = queries[0], original.names
    empty = [
        name
        for name in names
        if (name.startswith(_RAW) and name.removeprefix(_RAW) in schema.tables())
        and not plain.cursor.execute(f"FROM {name} LIMIT 1").fetchall()
    ]
    voids = reasons.voids(plain)
    is_empty |= any(it is plain.tree["statements"][0]["node"] for it in voids)
    return [
        *(f"{name} has no rows in the opened store" for name in empty),
        *_of_grains(original, queries, {*names} - {*empty}),
        *(
            sentence
            for query in ([] if is_empty else queries)
            for room in _ROOMS
            for sentence in room.notes(query)
        ),
        *(mixture.lacking(plain) if is_empty else ()),
        *_of_the_rows(original),
        *texts.notes(plain, store),
        *(reasons.reasons(plain, store) if is_empty or voids else ()),
        *missing.unfilled(original, [] if is_empty else lacking),
    ]


def _of_grains(original: Query, queries: Sequence[Query], names: Collection[str]) -> Iterator[str]:
    """Yield what to take one of, of each table of raw that repeats a unit."""
    aggregates = original.aggregates
    grains = {
        name: grain
        for name in names
        if name.startswith(_RAW) and (grain := schema.GRAINS.get(name.removeprefix(_RAW)))
    }
    repeated = {name: frozenset(grain.columns) for name, grain in grains.items()}
    other = {name: frozenset(grain.quantities) for name, grain in grains.items()}
    counted = Reading(repeated, aggregates - EXTREMES)
    extremes = Reading(other, aggregates & EXTREMES, takes_order=True)
    noted = {it for query in queries for it in counted.noted_in(query.tree)}
    for name in sorted(noted | {*extremes.noted_in(original.tree)}):
        yield f"{name}: take {grains[name].rule}"


def _of_the_rows(query: Query) -> Iterator[str]:
    """Yield what the rows say of a query: prompts counted again, mixed gains, NULL, names."""
    cursor, names, tree, aggregates = query.cursor, query.names, query.tree, query.aggregates
    again = contents.measured_again(cursor, tree)
    runs = dict.fromkeys(contents.of_runs(cursor, names, tree), frozenset({contents.TELLS_RUNS}))
    counting = aggregates - EXTREMES
    if again and (counted := Reading(runs, counting, takes_joined_run=False).noted_in(tree)):
        of_whom = again[0] if len(again) == 1 else f"{again[0]} and {len(again) - 1} more"
        yield (
            f"{', '.join(counted)}: runs of {of_whom} on the same prompts are taken together; JOIN "
            "primary_run USING (run_id, model_id) takes one, GROUP BY run_id keeps them apart"
        )
    gains = {name: frozenset({"metric"}) for name in names if name in contents.ONE_GAIN}
    taken = Reading(gains, aggregates, takes_order=True).noted_in(tree)
    mixed = contents.definitions(cursor, taken, tree)
    for name, metrics in mixed.items():
        ask = "published_model" if "published" in name else "model_gain"
        yield (
            f"{name}: {', '.join(metrics)} are taken together; filter or group by metric to "
            f"compare one, or ask main.{ask}, where each is a column"
        )
    pooled = {
        name: frozenset({contents.TELLS_POOLINGS}) for name in names if name in contents.POOLED
    }
    unlike = Reading(pooled, aggregates, takes_order=True).noted_in(tree)
    for name, poolings in contents.poolings(cursor, unlike, tree).items():
        yield (
            f"{name}: gains of {', '.join(poolings)} are taken together, which are different "
            "quantities; filter or group by pooling"
        )
    for column in contents.nulls_in_not_in(cursor, tree):
        yield (
            f"NOT IN keeps no row where its list holds a NULL, as that for {column} does; "
            "leave NULL out of the list, or use ANTI JOIN"
        )


def _aggregates(cursor: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of the aggregates of the engine and of the store's macros that hold one."""
    rows = cursor.execute(
        "SELECT function_name, any_value(macro_definition), bool_or(function_type = 'aggregate') "
        "FROM duckdb_functions() "
        "WHERE function_type = 'aggregate' OR (function_type = 'macro' AND NOT internal) "
        "GROUP BY function_name"
    ).fetchall()
    known = frozenset(name for name, _, is_aggregate in rows if is_aggregate)
    macros = [(name, text) for name, text, is_aggregate in rows if not is_aggregate]
    called = {name: set(re.findall(r"(\w+)\(", text)) for name, text in macros}
    return known | {name for name, words in called.items() if not known.isdisjoint(words)}

"""Whether a statement only reads: its kind, and every node of its parsed tree.

This is the second of two barriers. The first is the engine (`analysis.store`): it sees files
through a file system that cannot write, and its transactions are read-only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb

from analysis.tidy.errors import QueryError
from collect import schema
from collect.schema import raise_interruption

#: Kinds of statement that only read, if every part of them does.
READING = frozenset({"SELECT", "EXPLAIN"})

#: Kinds of query within a statement that only read. The others (COPY, DELETE, INSERT, UPDATE,
#: MERGE) may stand in a WITH clause.
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})

#: Table functions of DuckDB that neither open a file, change a state, nor run a text as SQL.
#: Those whose names begin with ``duckdb_`` list what the database holds.
_TABLE_FUNCTIONS = frozenset(
    {
        "generate_series",
        "histogram",
        "histogram_values",
        "icu_calendar_names",
        "json_each",
        "json_tree",
        "pg_timezone_names",
        "pragma_collations",
        "pragma_database_size",
        "pragma_platform",
        "pragma_show",
        "pragma_storage_info",
        "pragma_table_info",
        "pragma_version",
        "range",
        "repeat",
        "repeat_row",
        "summary",
        "test_all_types",
        "unnest",
    }
)
_LISTING = "duckdb_"

#: Functions with a side effect, as DuckDB declares them, that is none outside their query.
_HARMLESS = frozenset(
    {
        "current_connection_id",
        "current_query",
        "current_query_id",
        "current_transaction_id",
        "error",
        "gen_random_uuid",
        "random",
        "stats",
        "uuid",
        "uuidv4",
        "uuidv7",
        "vector_type",
    }
)

#: Where the tables of a store and the catalogue of DuckDB lie.
_SCHEMAS = frozenset(
    {"main", "raw", "memory", "system", "temp", "information_schema", "pg_catalog"}
)

_PIVOT = "A PIVOT reads if its values are listed: PIVOT ... ON column IN (value, ...)."
_HINT = "Start it with FROM, SELECT, WITH, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN."


def check_reads(sql: str, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise QueryError unless the text is exactly one statement all of whose parts only read.

    Parameters
    ----------
    sql
        The text.
    connection
        Connection whose parser and list of functions count; nothing of the text is run.

    Raises
    ------
    QueryError
        If the text cannot be parsed, is no statement or several, or some part of it writes,
        opens a file, changes a state, runs a text as SQL, or names another database.
    """
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        raise QueryError(
            f"A query must be text that UTF-8 can hold; {character} is not one."
        ) from error
    statements = kinds(sql)
    if len(statements) != 1 or statements[0] not in READING:
        hint = _PIVOT if statements == ["MULTI"] else _HINT
        raise _refusal(_list_kinds(statements), hint)
    for node in every(parsed(sql, connection)):
        kind = node.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
            raise _refusal(kind.removesuffix("_NODE").removesuffix("_QUERY").replace("_", " "))
        _check_place(node)
        _check_function(node, connection)


def read_tables(sql: str, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the tables and views of a database that a reading statement names.

    One of schema raw is named with it. A name that the statement defines itself, in a WITH clause,
    is not one of them.

    Parameters
    ----------
    sql
        A statement that `check_reads` lets pass.
    connection
        Connection to the database.
    """
    known = {
        named(*pair)
        for pair in connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
        ).fetchall()
    }
    nodes = list(every(parsed(sql, connection)))
    defined = {
        str(entry["key"]).lower()
        for node in nodes
        for entry in (node.get("cte_map") or {}).get("map", [])
    }
    places = {place_of(node, known) for node in nodes if node.get("type") == "BASE_TABLE"}
    return sorted((places & known) - defined)


def named(place: str, name: str) -> str:
    """Return how a table of a schema is named: one of main by its name alone.

    >>> named("main", "model"), named("raw", "model")
    ('model', 'raw.model')
    """
    return name.lower() if place == schema.FRONT else f"{place}.{name.lower()}"


def place_of(node: Mapping[str, Any], known: Collection[str]) -> str:
    """Return the name of the table that a node of a tree reads: without a schema, main first."""
    name = str(node.get("table_name", "")).lower()
    place = str(node.get("schema_name") or "").lower()
    if place:
        return named(place, name)
    return name if name in known else named(schema.RAW, name)


def plain(error: duckdb.Error) -> str:
    """Return what DuckDB complains about, in one line."""
    message = str(error).partition("\n\nLINE")[0].partition("Stack Trace:")[0]
    return " ".join(message.split())


def _list_kinds(result: Sequence[str]) -> str:
    """Return kinds of statement in words, and how many there are of several.

    >>> _list_kinds(["SELECT", "SELECT", "DROP"]), _list_kinds(["DROP"]), _list_kinds([])
    ('3 (DROP, SELECT)', 'DROP', 'nothing')
    """
    names = ", ".join(sorted({*result}))
    return f"{len(result)} ({names})" if len(result) > 1 else names or "nothing"


def _refusal(actual: str, hint: str = _HINT) -> QueryError:
    return QueryError(f"A query must be one statement that reads; found {actual}.", hint)


def kinds(sql: str) -> list[str]:
    """Return the kind of each statement of a text, as DuckDB parses it.

    Raises
    ------
    QueryError
        If the text is no SQL.
    """
    try:
        return [_kind(statement) for statement in duckdb.extract_statements(sql)]
    except duckdb.Error as error:
        raise_interruption(error)
        raise QueryError(plain(error)) from error


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # the engine knows kinds that its Python package has no name for
        return "OTHER"


def explained(sql: str) -> str:
    """Return what an EXPLAIN explains: the text after it and its options, which must be a SELECT.

    It is judged as a statement of its own, so a word skipped wrongly makes it none.
    """
    tokens = [at for at, kind in duckdb.tokenize(sql) if "comment" not in str(kind)]
    words = [
        sql.encode()[start:end].decode().split("--")[0].split("/*")[0].strip().upper()
        for start, end in zip(tokens, [*tokens[1:], len(sql.encode())], strict=True)
    ]
    place = 1
    if words[1:2] == ["("] and words[2:3] != ["SELECT"]:
        place = words.index(")") + 1
    elif words[1:2] in (["ANALYZE"], ["ANALYSE"]):
        place = 2
    text = sql.encode()[tokens[place] :].decode() if place < len(tokens) else ""
    inner = kinds(text)
    if inner != ["SELECT"]:
        raise _refusal(f"EXPLAIN of {', '.join(inner) or 'nothing'}")
    return text


def parsed(sql: str, connection: duckdb.DuckDBPyConnection) -> Any:
    """Return the parsed statement, or what an EXPLAIN explains, as DuckDB serialises it.

    Raises
    ------
    QueryError
        If it cannot be serialised.
    """
    asked = [explained(sql) if kinds(sql) == ["EXPLAIN"] else sql]
    try:
        text = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", asked).fetchall()[0][0]
        result = json.loads(text)
    except (duckdb.Error, RecursionError, ValueError) as error:
        raise_interruption(error)
        reason = plain(error) if isinstance(error, duckdb.Error) else "it is nested too deeply"
        raise QueryError(f"A query must be one that can be checked; {reason}.") from error
    if result["error"] or len(result["statements"]) != 1:
        raise _refusal(f"one that cannot be checked ({result.get('error_message', 'no reason')})")
    return result


def within(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree that belongs to no query within it."""
    if isinstance(tree, dict):
        yield tree
        parts = [part for name, part in tree.items() if name not in ("subquery", "cte_map")]
    else:
        parts = tree if isinstance(tree, list) else []
    for part in parts:
        yield from within(part)


def columns_of(tree: Any) -> set[str]:
    """Return the last name of each column that stands in a tree, and the columns of USING."""
    result = {name for node in within(tree) for name in node.get("using") or []}
    named = [node["column_names"] for node in within(tree) if node.get("class") == "COLUMN_REF"]
    return {name.lower() for name in [*result, *(path[-1] for path in named)]}


def named_within(source: Any) -> list[str]:
    """Return the names under which the tables and queries after FROM are known."""
    places = [
        each.get("alias") or each.get("table_name")
        for each in within(source)
        if each.get("type") in ("BASE_TABLE", "SUBQUERY")
    ]
    return [str(each).lower() for each in places if each]


def every(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree, however deep."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def all_columns(tree: Any) -> set[str]:
    """Return the last name of each column that stands anywhere in a tree, inner queries too."""
    using = {name for node in every(tree) for name in node.get("using_columns") or []}
    named = {node["column_names"][-1] for node in every(tree) if node.get("class") == "COLUMN_REF"}
    return {name.lower() for name in using | named}


def _check_place(node: dict[str, Any]) -> None:
    """Refuse the name of a table, view or function of another database."""
    kind = node.get("type")  # Of a value, such as the size of a sample, that is an object.
    if not isinstance(kind, str) or kind not in {"BASE_TABLE", "FUNCTION", "WINDOW", "SHOW_REF"}:
        return
    named = [node.get(part) for part in ("catalog", "schema", "catalog_name", "schema_name")]
    path = (node.get("qualified_name") or {}).get("path", [])[:-1]
    others = [name for name in [*named, *path] if name and name.lower() not in _SCHEMAS]
    if others:
        raise QueryError(
            f"A query must read the store's own tables and views; {others[0]} is another place.",
            "Leave out what stands before the name, or name raw. List tables with: SHOW TABLES",
        )


def _check_function(node: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse functions that open files, run a text as SQL, or do something besides returning."""
    if node.get("type") == "TABLE_FUNCTION":
        name = str(node["function"].get("function_name", "")).lower()
        if name in _TABLE_FUNCTIONS or name.startswith(_LISTING):
            return
        is_refused = name in _functions_of_engine(connection)[0]
    elif "function_name" in node:
        name = str(node["function_name"]).lower()
        is_refused = name in _functions_of_engine(connection)[1] - _HARMLESS
    else:
        return
    if is_refused:
        raise QueryError(
            f"A query must not call {name}(); it does more than return rows of the store.",
            "Read the store's tables and views. List them with: SHOW TABLES",
        )


#: What `_functions_of_engine` found; it is the same for every database of a process.
_KNOWN: list[tuple[frozenset[str], frozenset[str]]] = []


def _functions_of_engine(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[frozenset[str], frozenset[str]]:
    """Return DuckDB's own functions that give tables, and its others with a side effect."""
    if not _KNOWN:
        rows = connection.execute(
            """
            SELECT DISTINCT lower(function_name),
                            function_type IN ('table', 'table_macro', 'pragma')
              FROM duckdb_functions()
             WHERE internal
               AND (function_type IN ('table', 'table_macro', 'pragma') OR has_side_effects)
            """
        ).fetchall()
        tables = frozenset(name for name, gives_table in rows if gives_table)
        others = frozenset(name for name, gives_table in rows if not gives_table)
        _KNOWN.append((tables, others))
    return _KNOWN[0]

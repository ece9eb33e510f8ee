"""Put the rows of several directories into one database that satisfies the contract."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from collect.errors import OutputError, first_line
from collect.measures.declaration import quoted
from collect.process.interruption import raise_interruption
from collect.schema import merging
from collect.schema.attachment import display, left_in_files
from collect.schema.contract import (
    FRONT,
    LARGE,
    RAW,
    ContractError,
    commented,
    schema_sql,
    tables,
)
from collect.schema.files import read_rows
from collect.schema.headers import Headers
from collect.schema.sources import Sources
from collect.schema.views import front_sql, inherited_comments, views_sql

#: Column that numbers incoming rows; no table has one of this name.
_ORDER = "order_of_incoming"

#: How a file that cannot grow shows: while rows are written, at a commit, and ever after.
UNWRITABLE = (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException)

#: Geometry that two descriptions of one model must agree on.
GEOMETRY = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_head")


def assemble(
    connection: duckdb.DuckDBPyConnection,
    directories: Sequence[Path],
    *,
    copy: bool,
    contents: bool = False,
) -> Sources:
    """Fill the empty tables of a connection from directories of measurements.

    Parameters
    ----------
    connection
        Database with the tables of ``schema.sql``, empty.
    directories
        Where the files lie. A unit measured in two of them counts once if it is the same run.
    copy
        True to copy the large tables; False to leave them in their Parquet files and the tables
        empty: see `attachment`. A CSV file is always copied.
    contents
        True to compare the contents of measured files with their hashes, not only rows and sizes.

    Returns
    -------
    Files used, by table; and in what the measured ones were compared with their run files.

    Raises
    ------
    ContractError
        If a directory holds no table, or one twice; a file is damaged or is not as its run file
        says; rows break the contract; two directories disagree; or two networks have one name.
    """
    sources = Sources(contents=contents)
    for directory in directories:
        sources.add(directory)
    left = {} if copy else left_in_files(sources)
    small = [table for table in sources.files if table not in LARGE]
    with transaction(connection):  # one for all: each of its own costs half as much again
        for table in small:
            _insert(connection, table, sources.files[table], sources.headers)
    check_networks(connection)
    for table, paths in sources.files.items():
        if table in left:
            for path in paths:
                header = sources.headers.of(path)
                header.check_types(table)
                sources.headers.note_columns(path, table, header.columns.names)
        elif table not in small:
            _insert(connection, table, paths, sources.headers)
    return sources


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Keep all changes that a connection makes in between, or none where one fails."""
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def check_networks(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse runs of one model and revision whose weights or configuration differ.

    Raises
    ------
    ContractError
        If there are such runs: a difference of networks would be read as one of prompts.
    """
    first_row = connection.execute(
        """
        SELECT model_id, revision, count(DISTINCT weights_sha256) > 1,
               list(DISTINCT coalesce(prompt_set, kind) || ' of ' || weights_sha256[:8]
                    ORDER BY coalesce(prompt_set, kind) || ' of ' || weights_sha256[:8])
          FROM run
         GROUP BY model_id, revision
        HAVING count(DISTINCT (weights_sha256, config_sha256)) > 1
         ORDER BY model_id
         LIMIT 1
        """
    ).fetchone()
    if first_row is not None:
        model_id, revision, are_weights, places = first_row
        raise ContractError(
            two_networks(model_id, revision, "weights" if are_weights else "configurations"),
            f"{', '.join(places)} were measured. Open them apart, or measure one again under a "
            "name of its own: model_id in thermoscope.json beside its weights.",
        )


def two_networks(model_id: str, revision: str | None, what: str) -> str:
    """Return the sentence on two networks of one name that differ in something."""
    named = model_id if revision is None else f"{model_id} at {revision}"
    return f"Two networks are named {named}: their {what} differ."


def comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Put comments on the tables of a connection, its views, and every column of both.

    Parameters
    ----------
    connection
        Database with every table of the contract, some as views, and every view.
    """
    views = {
        name
        for place, view in connection.sql(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        for name in ([view] if place == RAW else [f"{place}.{view}"])
    }
    stated = {
        **commented(schema_sql())[1],
        **commented(views_sql())[1],
        **commented(front_sql())[1],
    }
    statements = []
    for place, text in {**stated, **inherited_comments(connection, stated)}.items():
        depth = place.removeprefix(f"{FRONT}.").count(".")
        kind = "COLUMN" if depth else "VIEW" if place in views else "TABLE"
        statements.append(f"COMMENT ON {kind} {place} IS {quoted(text)}")
    connection.execute(";\n".join(statements))


#: What DuckDB says of a row that a CHECK of the contract forbids.
_CHECK = re.compile(r"with expression CHECK\((.+)\)\.?$")


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path], headers: Headers
) -> None:
    """Insert the distinct rows in the order of the key, so that keys and checks are enforced.

    Measured files (Parquet) come before hand-made tables (CSV).
    """
    measured = [path for path in paths if path.suffix != ".csv"]
    by_hand = {path: read_rows(path, table, headers) for path in paths if path.suffix == ".csv"}
    parts = [*headers.together(measured, table), *by_hand.values()]
    key = tables()[table].key
    rows = pa.concat_tables(parts)
    incoming = None if table in merging.MERGED else _distinct_in_order(rows, key)
    chosen = "* FROM incoming"  # DuckDB finds the rows by the name of the variable
    if incoming is None:
        for path, part in by_hand.items():
            if table not in merging.MERGED:
                _require_once(part, table, path)
        incoming = rows.append_column(_ORDER, _counting(len(rows)))
        n_measured = len(rows) - sum(map(len, by_hand.values()))
        distinct = merging.rows_of(table, "incoming", _ORDER, n_measured)
        chosen = f"{distinct} ORDER BY {', '.join(key)}"
    if table == "model":
        _check_geometry(rows, paths)
    try:
        connection.execute(f'INSERT INTO "{table}" BY NAME SELECT {chosen}')
    except UNWRITABLE as error:  # of the database, whatever the rows are
        raise unwritable(error) from error
    except duckdb.Error as error:
        raise_interruption(error)
        reason = " ".join(str(error).split())
        if broken := _CHECK.search(reason):
            keys = ", ".join(key)
            # The transaction is over: another connection finds the row.
            found = (
                duckdb.connect()
                .execute(f"SELECT {keys} FROM (SELECT {chosen}) WHERE NOT ({broken[1]}) LIMIT 1")
                .fetchone()
            )
            named = ", ".join(f"{name} {it}" for name, it in zip(key, found or (), strict=False))
            reason = f"CHECK constraint {broken[1]} not met by the row of {named}."
        raise ContractError(
            f"Rows of table {table} must satisfy collect/schema.sql; found: {reason}",
            f"The rows come from {display(paths)}.{_other_prompts(table, reason)}",
        ) from error


def unwritable(error: duckdb.Error) -> OutputError:
    """Return the refusal of a database that cannot grow; raise what is a request to end."""
    raise_interruption(error)
    return OutputError(
        f"The database must be writable; {first_line(error)}",
        "Choose another --out, or free some space.",
    )


def _counting(n: int) -> pa.Array:
    """Return 0 to ``n`` - 1, from a buffer: Arrow imports pandas to take them from a range."""
    return pa.Array.from_buffers(pa.int64(), n, [None, pa.py_buffer(array("q", range(n)))])


def _require_once(rows: pa.Table, table: str, path: Path) -> None:
    """Refuse a hand-made file that has a key twice: of two like rows one was meant to differ."""
    key = tables()[table].key
    counts = rows.group_by(key, use_threads=False).aggregate([([], "count_all")])
    again = counts.filter(pc.greater(counts["count_all"], 1)).to_pylist()
    if again:
        named = ", ".join(f"{name} {again[0][name]}" for name in key)
        raise ContractError(
            f"Each key of table {table} must occur once in a file; {named} occurs "
            f"{again[0]['count_all']} times.",
            f"Correct or drop the others in {path}.",
        )


def _other_prompts(table: str, reason: str) -> str:
    """Return what to do when two prompts have one identifier, as sets of one name have them."""
    if table != "prompt" or "duplicate key" not in reason:
        return ""
    return (
        " Two prompt sets of one name hold different prompts: measure one of them again under "
        "another name, or open them apart."
    )


def _distinct_in_order(rows: pa.Table, key: Sequence[str]) -> pa.Table | None:
    """Return the rows in the order of their key; None if one occurs twice, and DuckDB decides."""
    ordered = rows.take(pc.sort_indices(rows, [(name, "ascending") for name in key]))
    columns = [ordered.column(name) for name in key]
    n_pairs = max(len(rows) - 1, 0)
    same = [pc.equal(column.slice(1), column.slice(0, n_pairs)) for column in columns]
    return None if pc.any(reduce(pc.and_, same)).as_py() else ordered


def _check_geometry(models: pa.Table, paths: Sequence[Path]) -> None:
    """Refuse descriptions of one model that differ in its shape."""
    columns = [models[name].to_pylist() for name in ("model_id", *GEOMETRY)]
    shapes: dict[str, set[tuple[int | None, ...]]] = {}
    for model_id, *shape in zip(*columns, strict=True):
        shapes.setdefault(model_id, set()).add(tuple(shape))
    disagreeing = sorted(model_id for model_id, variants in shapes.items() if len(variants) > 1)
    if disagreeing:
        raise ContractError(
            f"Descriptions of one model must agree on its geometry; they differ for {disagreeing}.",
            f"Compare {', '.join(GEOMETRY)} in {', '.join(str(path) for path in paths[:4])}.",
        )

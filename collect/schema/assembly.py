"""Put the rows of several directories into one database that satisfies the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from collect.schema import merging
from collect.schema.contract import (
    LARGE,
    ContractError,
    Table,
    commented,
    schema_sql,
    tables,
)
from collect.schema.files import read_rows
from collect.schema.headers import Headers
from collect.schema.marks import Comparison
from collect.schema.sources import Sources

#: Column that numbers incoming rows; no table has one of this name.
_ORDER = "order_of_incoming"

#: Geometry that two descriptions of one model must agree on.
GEOMETRY = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_head")


def assemble(
    connection: duckdb.DuckDBPyConnection,
    directories: Sequence[Path],
    *,
    copy: bool,
    named: Callable[[Path], str] = str,
    contents: bool = False,
) -> tuple[dict[str, list[Path]], Comparison]:
    """Fill the empty tables of a connection from directories of measurements.

    Parameters
    ----------
    connection
        Database with the tables of ``schema.sql``, empty.
    directories
        Where the files lie. A unit measured in two of them counts once if it is the same run.
    copy
        True to copy the large tables; False to leave them in their Parquet files, behind views
        (see `comment` for what these say). A CSV file is always copied.
    named
        Gives the name by which the connection opens a file that is left where it is.
    contents
        True to compare the contents of measured files with their hashes, not only rows and sizes.

    Returns
    -------
    Files used, by table; and in what the measured ones were compared with their run files.

    Raises
    ------
    ContractError
        If a directory holds no table, or one twice; a file is damaged or is not as its run file
        says; rows break the contract; or two directories disagree.
    """
    sources = Sources(contents=contents)
    for directory in directories:
        sources.add(directory)
    for table, paths in sources.files.items():
        is_text = any(path.suffix == ".csv" for path in paths)
        if table in LARGE and not (copy or is_text):
            for path in paths:
                sources.headers.of(path).check_types(table)
            _attach(connection, table, [named(path) for path in paths])
            if not sources.vouched.issuperset(paths):
                _check_keys(connection, table, paths)
        else:
            _insert(connection, table, paths, sources.headers)
    return sources.files, sources.comparison


def _attach(connection: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> None:
    """Put a view over some Parquet files in the place of an empty table."""
    listed = ", ".join(quoted(name) for name in names)
    replace_by_view(connection, tables()[table], f"read_parquet([{listed}])")


def _check_keys(connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path]) -> None:
    """Refuse a large table whose keys repeat, where no run file vouches for its rows."""
    key = ", ".join(f'"{name}"' for name in tables()[table].key)
    found = connection.execute(
        f'SELECT {key}, count(*) FROM "{table}" GROUP BY {key} HAVING count(*) > 1 LIMIT 1'
    ).fetchone()
    if found is not None:
        shown = ", ".join(str(path) for path in paths[:4]) + (" ..." if len(paths) > 4 else "")
        raise ContractError(
            f"Each key of table {table} must occur once; {found[:-1]} occurs {found[-1]} times.",
            f"The rows come from {shown}.",
        )


def replace_by_view(connection: duckdb.DuckDBPyConnection, table: Table, source: str) -> None:
    """Put a view with the table's columns in the place of an empty table; see `comment`.

    Parameters
    ----------
    connection
        Database that has the table.
    table
        What the view is called, and which columns it shows.
    source
        What stands in its FROM.
    """
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    connection.execute(
        f'DROP TABLE "{table.name}"; CREATE VIEW "{table.name}" AS SELECT {names} FROM {source}'
    )


def comment(connection: duckdb.DuckDBPyConnection, further: Mapping[str, str]) -> None:
    """Put the contract's comments on the tables of a connection, and others on its views.

    Parameters
    ----------
    connection
        Database with every table of the contract, some as views.
    further
        Comments on views and their columns, by what they are on.
    """
    views = {name for (name,) in connection.sql("SELECT view_name FROM duckdb_views()").fetchall()}
    _, own = commented(schema_sql())
    statements = []
    for place, text in {**own, **further}.items():
        kind = "COLUMN" if "." in place else "VIEW" if place in views else "TABLE"
        statements.append(f"COMMENT ON {kind} {place} IS {quoted(text)}")
    connection.execute(";\n".join(statements))


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path], headers: Headers
) -> None:
    """Insert the distinct rows in the order of the key, so that keys and checks are enforced.

    Measured files (Parquet) come before hand-made tables (CSV).
    """
    ordered = sorted(paths, key=lambda path: path.suffix == ".csv")
    parts = [read_rows(path, table, headers) for path in ordered]
    rows = pa.concat_tables(parts)
    order = pa.array(range(len(rows)), pa.int64())
    connection.register("incoming", rows.append_column(_ORDER, order))
    key = ", ".join(tables()[table].key)
    if table == "model":
        _check_geometry(connection, paths)
    pairs = zip(parts, ordered, strict=True)
    n_measured = sum(len(part) for part, path in pairs if path.suffix != ".csv")
    distinct = merging.rows_of(table, "incoming", _ORDER, n_measured)
    try:
        connection.execute(f'INSERT INTO "{table}" BY NAME SELECT {distinct} ORDER BY {key}')
    except duckdb.Error as error:
        reason = " ".join(str(error).split())
        shown = ", ".join(str(path) for path in paths[:4]) + (" ..." if len(paths) > 4 else "")
        raise ContractError(
            f"Rows of table {table} must satisfy collect/schema.sql; found: {reason}",
            f"The rows come from {shown}.",
        ) from error
    finally:
        connection.unregister("incoming")


def _check_geometry(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> None:
    """Refuse descriptions of one model that differ in its shape."""
    disagreeing = connection.execute(
        f"SELECT model_id FROM incoming GROUP BY model_id "
        f"HAVING count(DISTINCT ({', '.join(GEOMETRY)})) > 1 ORDER BY model_id"
    ).fetchall()
    if disagreeing:
        raise ContractError(
            f"Descriptions of one model must agree on its geometry; they differ for "
            f"{[model_id for (model_id,) in disagreeing]}.",
            f"Compare {', '.join(GEOMETRY)} in {', '.join(str(path) for path in paths[:4])}.",
        )


def quoted(text: str) -> str:
    """Return a text as a constant of SQL."""
    return "'" + text.replace("'", "''") + "'"

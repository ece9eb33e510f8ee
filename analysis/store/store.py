"""Open measurements and published figures as one read-only database.

A store is an in-memory DuckDB with every table of ``collect/schema.sql`` (large ones stay
in their Parquet files) and every view of ``analysis/store/views``. It never writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from analysis.tidy.errors import QueryError, StoreError
from collect import schema

#: Kinds of statement that only read.
READING = {"SELECT", "EXPLAIN"}


@dataclass(frozen=True, slots=True)
class Store:
    """An open database of measurements.

    Attributes
    ----------
    connection
        DuckDB connection; use `query` rather than this.
    sources
        Directories (or the database file) it was opened from.
    incomplete
        Units whose measurement was interrupted; none of their rows are visible.
    """

    connection: duckdb.DuckDBPyConnection
    sources: tuple[Path, ...]
    incomplete: tuple[str, ...]

    def query(self, sql: str, **parameters: Any) -> pd.DataFrame:
        """Return the rows of one reading statement; ``$name`` takes the parameter of that name.

        Raises
        ------
        QueryError
            If the statement is not one reading statement, or DuckDB refuses it.
        """
        check_reads(sql)
        try:
            rows: pd.DataFrame = self.connection.sql(sql, params=parameters or None).df()
        except duckdb.Error as error:
            is_about_names = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
            hint = "List tables and views with: SHOW TABLES" if is_about_names else ""
            raise QueryError(_plain(error), hint) from error
        return rows

    def counts(self) -> pd.DataFrame:
        """Return one row per table: `table` and `n_rows`."""
        names = list(schema.tables())
        rows = [
            self.connection.sql(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] for name in names
        ]
        return pd.DataFrame({"table": names, "n_rows": rows})


def open_store(*sources: Path | str) -> Store:
    """Open one or several measurement directories, or one ``.duckdb`` file, read-only.

    Raises
    ------
    StoreError
        If a source does not exist or holds no table, a file is damaged or breaks the
        contract, or two sources disagree about the same key.
    """
    paths = tuple(Path(source) for source in sources)
    missing = [str(path) for path in paths if not path.exists()]
    if missing or not paths:
        raise StoreError(
            f"A store must be opened from existing places; not found: {', '.join(missing) or '-'}.",
            "Name a directory that `python -m collect` wrote, such as data/sample.",
        )
    databases = [path for path in paths if path.is_file()]
    if databases and len(paths) > 1:
        raise StoreError(
            f"A database file must be opened alone; {databases[0]} comes with other sources.",
            "Name its directories instead, or build one database of them all.",
        )
    if databases:
        return Store(_open_database(databases[0]), paths, ())
    connection = schema.connect()
    try:
        schema.assemble(connection, paths, copy=False)
    except schema.ContractError as error:
        raise StoreError(error.problem, error.hint) from error
    connection.execute(schema.views_sql())
    _lock(connection, paths)
    incomplete = tuple(
        f"{path}: {unit}" for path in paths for unit in schema.incomplete_units(path)
    )
    return Store(connection, paths, incomplete)


def _lock(connection: duckdb.DuckDBPyConnection, directories: Sequence[Path]) -> None:
    """Let queries read the store's own directories and nothing else, and install nothing."""
    allowed = ", ".join("'" + str(path.resolve()).replace("'", "''") + "'" for path in directories)
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def check_reads(sql: str) -> None:
    """Raise QueryError unless the text is exactly one statement that only reads."""
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(_plain(error)) from error
    kinds = [statement.type.name for statement in statements]
    explained = re.match(r"\s*EXPLAIN\s+ANALYZE\b", sql, flags=re.IGNORECASE)
    if len(kinds) != 1 or kinds[0] not in READING or explained:
        raise QueryError(
            f"A query must be one statement that reads; found {', '.join(kinds) or 'nothing'}.",
            "Start it with FROM, SELECT, WITH, DESCRIBE or SUMMARIZE.",
        )


def _open_database(path: Path) -> duckdb.DuckDBPyConnection:
    hint = "Build one with: python -m collect database"
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise StoreError(f"{path} must be a DuckDB database; {_plain(error)}", hint) from error
    found = {row[0] for row in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
    lacking = [table for table in schema.tables() if table not in found]
    if lacking:
        raise StoreError(
            f"{path} must hold every table of collect/schema.sql; it lacks {', '.join(lacking)}.",
            hint,
        )
    _lock(connection, [])
    return connection


def _plain(error: duckdb.Error) -> str:
    return " ".join(str(error).partition("\n\nLINE")[0].split())

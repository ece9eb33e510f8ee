"""Every table, view and macro in one DuckDB file that older DuckDB programs can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from collect.errors import InputError, OutputError
from collect.process import shipped
from collect.record.atomic.files import write_atomically
from collect.schema import (
    RAW,
    assemble,
    comment,
    commented,
    front_sql,
    schema_sql,
    table_files,
    tables,
    transaction,
    views_sql,
    within_raw,
)

#: Oldest storage format that carries comments and is read by DuckDB 1.2 and later.
STORAGE_VERSION = "v1.2.0"

#: How a file that cannot grow shows: while rows are written, at a commit, and ever after.
_UNWRITABLE = (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException)

_DEFAULTS = ("published", "sample", "fleet", "public", "measurements", "imported")


def default_directories(data: Path | None = None) -> list[Path]:
    """Return the directories under ``data`` that hold tables of the contract.

    Unless another is named it is that of the working directory, else what is shipped.
    """
    data = data or shipped.project() / "data"
    directories = [data / name for name in _DEFAULTS if table_files(data / name)]
    if not directories:
        raise InputError(
            f"There must be tables under {data}; found none in {', '.join(_DEFAULTS)}.",
            "Run this in the root of the repository, or name directories.",
        )
    return directories


def write_database(directories: Sequence[Path], out: Path) -> dict[str, int]:
    """Copy the tables of some directories into one DuckDB file, complete or not at all.

    Schema main has the tables of ``analysis/store/front``, schema raw every table and the views of
    ``analysis/store/views``; every column is commented. The file cannot say where DuckDB looks a
    name up first, so those of raw are written with it. Rows that several directories hold alike
    count once; only units with a file in ``run`` count.

    Returns
    -------
    Number of rows of each table.
    """
    missing = [str(directory) for directory in directories if not directory.is_dir()]
    if missing:
        raise InputError(
            f"Every source must be a directory of tables; {', '.join(missing)} is none.",
            "Name directories that `thermoscope collect` wrote.",
        )
    n_rows: dict[str, int] = {}
    write_atomically(out, lambda temporary: n_rows.update(_fill(temporary, directories)))
    return n_rows


def _fill(path: Path, directories: Sequence[Path]) -> dict[str, int]:
    with duckdb.connect() as connection:
        try:
            quoted = str(path).replace("'", "''")
            connection.execute(
                f"ATTACH '{quoted}' AS measurements (STORAGE_VERSION '{STORAGE_VERSION}')"
            )
            connection.execute(within_raw("measurements"))
            # Outside a transaction each of some hundred comments goes to the disk by itself.
            connection.execute(f"BEGIN; {commented(schema_sql())[0]} COMMIT")
            assemble(connection, directories, copy=True)
            connection.execute(f"BEGIN; {commented(views_sql())[0]} COMMIT")
            # What is asked first is computed once: an answer from it takes as long as a look.
            front = commented(front_sql())[0].replace("CREATE VIEW ", "CREATE TABLE ")
            connection.execute(f"BEGIN; {front} COMMIT")
            with transaction(connection):
                comment(connection)
            n_rows = {table: _count(connection, table) for table in tables()}
            connection.execute("USE memory")
            connection.execute("DETACH measurements")
        except _UNWRITABLE as error:
            raise OutputError(
                f"The database must be writable; {str(error).splitlines()[0]}",
                "Choose another --out, or free the space.",
            ) from error
        finally:
            path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    return n_rows


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.sql(f'SELECT count(*) FROM {RAW}."{table}"').fetchall()[0][0])  # noqa: S608

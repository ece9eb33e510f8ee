"""Every table, view and macro in one DuckDB file that older DuckDB programs can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from collect.errors import InputError, first_line
from collect.process import shipped
from collect.process.interruption import interruptible
from collect.record.atomic.files import write_atomically
from collect.schema import (
    RAW,
    UNFINISHED,
    UNWRITABLE,
    assemble,
    comment,
    commented,
    connect,
    front_sql,
    quoted,
    raise_interruption,
    schema_sql,
    table_files,
    tables,
    transaction,
    unwritable,
    views_sql,
    within_raw,
)

#: Oldest storage format that carries comments and is read by DuckDB 1.2 and later.
STORAGE_VERSION = "v1.2.0"

_DEFAULTS = ("published", "fleet", "public", "reported", "measurements", "imported")


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


@interruptible()
def write_database(
    directories: Sequence[Path],
    out: Path,
    *,
    overwrite: bool = False,
    notes: list[str] | None = None,
) -> dict[str, int]:
    """Copy the tables of some directories into one DuckDB file, complete or not at all.

    Schema main has the tables of ``analysis/store/front``, schema raw every table and the views of
    ``analysis/store/views``; every column is commented. The file cannot say where DuckDB looks a
    name up first, so those of raw are written with it. Rows that several directories hold alike
    count once; only units with a file in ``run`` count.

    Parameters
    ----------
    directories
        Directories of tables.
    out
        Where to write. A database that this function wrote is replaced.
    overwrite
        True to replace any other file too, unless it belongs to a store.
    notes
        Takes a sentence on each column that is left out, as this version does not know it.

    Returns
    -------
    Number of rows of each table.

    Raises
    ------
    InputError
        If a source is no directory, or ``out`` is a file that must stay.
    OutputError
        If it cannot be written.
    """
    _refuse_to_replace(out, overwrite=overwrite)
    missing = [str(directory) for directory in directories if not directory.is_dir()]
    if missing:
        raise InputError(
            f"Every source must be a directory of tables; {', '.join(missing)} is not one.",
            "Name directories that `thermoscope collect` wrote.",
        )
    n_rows: dict[str, int] = {}
    write_atomically(out, lambda temporary: n_rows.update(_fill(temporary, directories, notes)))
    return n_rows


def _refuse_to_replace(out: Path, *, overwrite: bool) -> None:
    """Refuse to write where a file lies that is no database of ours, or that a store has.

    Raises
    ------
    InputError
        If it is a file of a store, or would be taken for one; if it is not a regular file; or if it
        is another's and ``overwrite`` is not set.
    """
    is_database = out.is_file() and _strangeness(out) is None
    folder = out.parent.resolve()
    within = [folder.parent] if folder.name in {*tables(), UNFINISHED} else []
    store = next((place for place in (folder, *within) if table_files(place)), None)
    if store is not None and not is_database and (out.exists() or out.suffix in _OF_TABLES):
        raise InputError(
            f"{out} lies in the store {store}, whose files are never replaced.",
            "Choose another --out, beside the store.",
        )
    if is_database or out.is_dir() or not (out.exists() or out.is_symlink()):
        return  # that a directory is none is said where it is written
    if not out.is_file():
        raise InputError(f"{out} is not a regular file.", "Choose another --out.")
    wal = out.with_name(f"{out.name}.wal")
    if wal.exists():
        raise InputError(
            f"{out} has changes that lie in {wal.name}.",
            "Open it once with the program that wrote it and close it, or choose another --out.",
        )
    if not overwrite:
        raise InputError(
            f"{out} exists already, and is not a database that this command wrote: "
            f"{_strangeness(out)}.",
            "Choose another --out, or add --overwrite to replace the file.",
        )


#: Endings of the files that hold tables in a store.
_OF_TABLES = (".parquet", ".csv")


def _strangeness(path: Path) -> str | None:
    """Return why a file is not a database that was written here; None where it is one.

    Such a one has the tables that every measurement fills, and nothing of a name that this version
    does not give: that is what somebody added.
    """
    if path.with_name(f"{path.name}.wal").exists():
        return "it was changed since"
    with path.open("rb") as file:
        if file.read(_MAGIC.stop)[_MAGIC] != b"DUCK":  # the engine makes one of an empty file
            return "it is no DuckDB file"
    try:
        with duckdb.connect(path, read_only=True) as connection:
            names = _names(connection)
    except duckdb.Error as error:
        raise_interruption(error)
        return first_line(error)
    strange = sorted(names - _own_names())
    if strange:
        return f"it holds {strange[0]}"
    return None if {"model", "prompt", "run"} <= names else "it lacks tables"


def _names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the name of everything that a database holds."""
    return {name for (name,) in connection.execute(_NAMES).fetchall()}


_NAMES = """
    SELECT table_name FROM duckdb_tables() WHERE NOT internal
     UNION SELECT view_name FROM duckdb_views() WHERE NOT internal
     UNION SELECT function_name FROM duckdb_functions() WHERE NOT internal
     UNION SELECT schema_name FROM duckdb_schemas() WHERE NOT internal
     UNION SELECT type_name FROM duckdb_types() WHERE NOT internal
     UNION SELECT sequence_name FROM duckdb_sequences()
     UNION SELECT index_name FROM duckdb_indexes()
"""


def _own_names() -> set[str]:
    """Return the names of all tables, views and macros that are written."""
    with connect(comments=False) as connection:
        for sql in (views_sql(), front_sql()):
            connection.execute(commented(sql)[0])
        return _names(connection)


#: Where the signature of a DuckDB file stands.
_MAGIC = slice(8, 12)


def _fill(
    path: Path, directories: Sequence[Path], notes: list[str] | None = None
) -> dict[str, int]:
    with duckdb.connect() as connection:
        try:
            connection.execute(
                f"ATTACH {quoted(str(path))} AS measurements (STORAGE_VERSION '{STORAGE_VERSION}')"
            )
            connection.execute(within_raw("measurements"))
            # Outside a transaction each of some hundred comments goes to the disk by itself.
            connection.execute(f"BEGIN; {commented(schema_sql())[0]} COMMIT")
            sources = assemble(connection, directories, copy=True)
            if notes is not None:
                notes += sources.headers.notes
            connection.execute(f"BEGIN; {commented(views_sql())[0]} COMMIT")
            # What is asked first is computed once: an answer from it takes as long as a look. By
            # one thread, as several add the same numbers up in another order each time.
            connection.execute("SET threads = 1")
            front = commented(front_sql())[0].replace("CREATE VIEW ", "CREATE TABLE ")
            connection.execute(f"BEGIN; {front} COMMIT")
            with transaction(connection):
                comment(connection)
            n_rows = {table: len(connection.table(f'{RAW}."{table}"')) for table in tables()}
            connection.execute("USE memory")
            connection.execute("DETACH measurements")
        except UNWRITABLE as error:
            raise unwritable(error) from error
        finally:
            path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    return n_rows

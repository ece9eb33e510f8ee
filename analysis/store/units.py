"""The units of a paper that is not about models: a table of its own columns, ``unit.csv``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.tidy.errors import StoreError

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

FILE = "unit.csv"
#: The column that names a unit, and the one that names the group it belongs to, if there is one.
KEY, GROUP = "unit_id", "group_id"
#: What `analysis.audit.evidence.units` adds; no column of the file may be called so.
ADDED = ("model_id", "suite", "file", "caveats")


def add(connection: duckdb.DuckDBPyConnection, folders: Iterable[object]) -> None:
    """Make table ``unit`` of the file ``unit.csv`` of a folder, where one has it.

    Its columns are the file's: ``unit_id``, ``group_id`` if there are groups, and any others.

    Raises
    ------
    StoreError
        If the file cannot be read, names a unit twice or none, or two folders have one.
    """
    paths = [it / FILE for it in folders if isinstance(it, Path) and (it / FILE).is_file()]
    if not paths:
        return
    if len(paths) > 1:
        raise StoreError(
            f"One folder may have a {FILE}; found {paths[0]} and {paths[1]}.", "Open one of them."
        )
    connection.register("unit_of_file", _read(paths[0]))
    connection.execute("CREATE TABLE main.unit AS FROM unit_of_file")
    connection.unregister("unit_of_file")
    connection.execute(f"COMMENT ON TABLE main.unit IS 'One row per unit of the paper, of {FILE}.'")


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd  # opening a store that has no such file does without

    try:
        rows = pd.read_csv(path, dtype={KEY: "str", GROUP: "str"})
    except (ValueError, OSError) as error:
        raise StoreError(f"{path} must be a table in CSV; {error}.", "Correct it.") from error
    if KEY not in rows or rows[KEY].isna().any() or rows[KEY].duplicated().any():
        raise StoreError(
            f"Every row of {path} must have a {KEY} of its own.",
            f"Give it a column {KEY} without gaps or repetitions.",
        )
    taken = [name for name in ADDED if name in rows]
    if taken:
        raise StoreError(
            f"A column of {path} must not be called {taken[0]}.", "Give it another name."
        )
    return rows

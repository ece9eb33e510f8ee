"""The units of a paper that is not about models: a table of its own columns, ``unit.csv``.

A row is a unit, or one of several observations of it, told apart by ``observation_id``.
"""

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
#: The column that tells observations of one unit apart, where a unit has several rows.
OBSERVATION = "observation_id"
#: What `analysis.audit.evidence.units` adds; no column of the file may be called so.
ADDED = ("model_id", "suite", "file", "caveats")


def add(connection: duckdb.DuckDBPyConnection, folders: Iterable[object]) -> None:
    """Make table ``unit`` of the file ``unit.csv`` of a folder, where one has it.

    Its columns are the file's: ``unit_id``, ``observation_id`` if a unit has several rows,
    ``group_id`` if there are groups, and any others.

    Raises
    ------
    StoreError
        If the file cannot be read, names a unit (or an observation of it) twice or none, or two
        folders have one.
    """
    paths = [it / FILE for it in folders if isinstance(it, Path) and (it / FILE).is_file()]
    if not paths:
        return
    if len(paths) > 1:
        raise StoreError(
            f"One folder may have a {FILE}; found {paths[0]} and {paths[1]}.", "Open one of them."
        )
    read = _read(paths[0])
    connection.register("unit_of_file", read)
    connection.execute("CREATE TABLE main.unit AS FROM unit_of_file")
    connection.unregister("unit_of_file")
    rows = "unit AND observation of it" if OBSERVATION in read else "unit"
    connection.execute(
        f"COMMENT ON TABLE main.unit IS 'One row per {rows}, of the paper, from {FILE}.'"
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd  # opening a store that has no such file does without

    try:
        rows = pd.read_csv(path, dtype=dict.fromkeys((KEY, GROUP, OBSERVATION), "str"))
    except (ValueError, OSError) as error:
        raise StoreError(f"{path} must be a table in CSV; {error}.", "Correct it.") from error
    _require_keys(rows, path)
    taken = [name for name in ADDED if name in rows]
    if taken:
        raise StoreError(
            f"A column of {path} must not be called {taken[0]}.", "Give it another name."
        )
    return rows


def _require_keys(rows: pd.DataFrame, path: Path) -> None:
    """Refuse a table without names, with a gap in them, or with one row of a unit too many."""
    if KEY not in rows:
        raise StoreError(
            f"{path} must have a column {KEY}; it has {', '.join(map(str, rows.columns))}.",
            f"Name the units in a column {KEY}.",
        )
    keys = [KEY, *([OBSERVATION] if OBSERVATION in rows else [])]
    for name in keys:
        if rows[name].isna().any():
            number = int(rows[name].isna().argmax()) + 1
            raise StoreError(
                f"Every row of {path} must have a {name}; row {number} has none.", "Fill it in."
            )
    again = rows.duplicated(keys)
    if again.any():
        number = int(again.argmax()) + 1
        named = ", ".join(f"{name} {rows[name].iloc[number - 1]}" for name in keys)
        raise StoreError(
            f"Each unit of {path} must have one row; row {number} has {named} again.",
            f"Where a unit was observed several times, tell its rows apart by a column "
            f"{OBSERVATION}: it then counts as one unit.",
        )

"""The units of an output directory: which are complete, which conform, when they were measured.

No torch here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.record.atomic import locks
from collect.record.units import variant_of
from collect.schema import incomplete_units
from collect.schema.contract import ContractError
from collect.schema.headers import Headers, is_pack, packed_units, units_of
from collect.schema.marks import Mark, has_files_as_marked, read_marked
from collect.schema.vouching import compare, vouched

_OF_RUN = (
    "model_id",
    "revision_name",
    "prompt_set",
    "rendering",
    "quantities",
    "dtype_compute",
    "is_conforming",
    "started_at",
    "duration_s",
)


@interruptible()
def units(out: Path) -> pd.DataFrame:
    """Return the units that an output directory holds.

    Returns
    -------
    One row per ``unit`` (stem of its files), sorted: ``state``, which is complete,
    nonconforming (complete, but the model failed a check), incomplete (interrupted, or a file
    is missing or altered) or measuring (a process is at work on it); ``n_rows`` [1], missing for
    a compact copy; and from table ``run`` model_id, revision_name, prompt_set, rendering,
    quantities, dtype_compute, is_conforming, started_at [UTC] and duration_s [s], missing where
    there is no mark that can be read.
    """
    if not out.is_dir():
        raise InputError(
            f"The output must be a directory; {out} is none.",
            "Name the directory given to `collect run` as --out.",
        )
    paths = sorted((out / "run").glob("*.parquet"))
    copied = packed_units(paths)
    of_units = [path for path in paths if not is_pack(path.stem) and path.stem not in copied]
    headers = Headers()
    headers.read_ahead(of_units)
    states = [_marked(path, out, headers) for path in of_units]
    states += [row for path in paths if is_pack(path.stem) for row in _packed(path, out)]
    states += [_unmarked(stem, out) for stem in incomplete_units(out)]
    if not states:
        raise InputError(
            f"The directory must hold units of measurement; {out} holds none.",
            "Name the directory given to `collect run` as --out.",
        )
    columns = ["unit", "state", "n_rows", *_OF_RUN]
    return pd.DataFrame(states, columns=columns).sort_values("unit", ignore_index=True)


def _marked(path: Path, out: Path, headers: Headers) -> dict[str, Any]:
    """Return the row of a unit that has a run file."""
    marked = read_marked(path, headers)
    if marked is None or not has_files_as_marked(marked[0], out):
        return _unmarked(path.stem, out)
    mark, run = marked
    return _complete(path.stem, mark, run)


def _packed(path: Path, out: Path) -> list[dict[str, Any]]:
    """Return the rows of the units of a compact copy; how many rows each has is not counted."""
    headers = Headers()
    try:
        copied = vouched(path, headers)
        compare(out, [copied], headers, contents=True)
    except ContractError:
        return [_unmarked(stem, out) for stem in units_of(path)]
    rows = headers.run(path).to_pylist()
    return [_complete(unit.stem, None, run) for unit, run in zip(copied.units, rows, strict=True)]


def _complete(stem: str, mark: Mark | None, run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "unit": stem,
        "state": "complete" if run.get("is_conforming", True) else "nonconforming",
        "n_rows": None if mark is None else sum(mark.rows.values()),
        **{name: run.get(name) for name in _OF_RUN},
    }


def _unmarked(stem: str, out: Path) -> dict[str, Any]:
    """Return the row of a unit without a mark that can be trusted."""
    is_in_progress = locks.is_held_elsewhere(out, variant_of(stem))
    return {"unit": stem, "state": "measuring" if is_in_progress else "incomplete"}


def as_text(units: pd.DataFrame) -> str:
    """Return the frame of `units` for people, empty where a unit says nothing."""
    shown = units.assign(
        n_rows=units["n_rows"].map(lambda n: "" if pd.isna(n) else f"{int(n):,}"),
        started_at=units["started_at"].map(
            lambda at: "" if pd.isna(at) else f"{at:%Y-%m-%d %H:%M}"
        ),
        duration_s=units["duration_s"].map(lambda s: "" if pd.isna(s) else f"{s:.1f}"),
    ).drop(columns=["is_conforming"])
    return shown.astype(object).where(shown.notna(), "").to_string(index=False)


def as_json(units: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the frame of `units` as objects of JSON, times as ISO 8601 in UTC."""
    plain = units.astype(object).where(units.notna(), None)
    rows = [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False)]
    for row in rows:
        if row["started_at"] is not None:
            row["started_at"] = row["started_at"].isoformat(timespec="seconds")
    return rows

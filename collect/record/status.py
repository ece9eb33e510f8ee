"""The units of an output directory: which are complete, which conform, which are still to do.

No torch here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.record import queue
from collect.record.atomic import locks
from collect.record.units import variant_of
from collect.schema import incomplete_units
from collect.schema.contract import ContractError
from collect.schema.headers import Headers, is_pack, packed_units, units_of
from collect.schema.run_files import compare, read_run_file

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
    is missing or altered), measuring (a process is at work on it), and, where the output has a
    queue, refused (see `reason`) or to do; ``n_rows`` [1], missing for
    a compact copy; from table ``run`` model_id, revision_name, prompt_set, rendering,
    quantities, dtype_compute, is_conforming, started_at [UTC] and duration_s [s], missing where
    there is no mark that can be read; and from the queue ``planned_s`` [s], how long it takes by
    the plan, and ``reason``, why the model was refused.
    """
    if not out.is_dir():
        raise InputError(
            f"The output must be a directory; {out} is not one.",
            "Name the directory given to `collect run` as --out.",
        )
    paths = sorted((out / "run").glob("*.parquet"))
    copied = packed_units(paths)
    of_units = [path for path in paths if not is_pack(path.stem) and path.stem not in copied]
    headers = Headers()
    headers.read_ahead(of_units)
    packs = [path for path in paths if is_pack(path.stem)]
    states = [row for path in (*of_units, *packs) for row in _marked_rows(path, out, headers)]
    states += [_unmarked_row(stem, out) for stem in incomplete_units(out)]
    planned = _plan(out)
    states = [planned.pop(str(row["unit"]), {}) | row for row in states]
    states += [{"unit": unit, **row} for unit, row in planned.items()]
    if not states:
        raise InputError(
            f"The directory must hold units of measurement; {out} holds none.",
            "Name the directory given to `collect run` as --out.",
        )
    columns = ["unit", "state", "n_rows", *_OF_RUN, "planned_s", "reason"]
    return pd.DataFrame(states, columns=columns).sort_values("unit", ignore_index=True)


def _plan(out: Path) -> dict[str, dict[str, Any]]:
    """Return the units of the queue by their name, and the models that were refused as such."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in queue.entries(out):
        reason = entry["reason"] or None
        state = {"state": "to do" if reason is None else "refused", "reason": reason}
        for unit in entry["units"]:
            is_held = reason is None and locks.is_held_elsewhere(out, variant_of(unit["unit"]))
            at_work = {"state": "measuring"} if is_held else {}
            rows[unit["unit"]] = {**state, **at_work, "planned_s": unit["planned_s"]}
        if reason is not None and not entry["units"]:
            rows[entry["model"]] = state
    return rows


def _marked_rows(path: Path, out: Path, headers: Headers) -> list[dict[str, Any]]:
    """Return the rows of the units that a run file says are complete.

    How many rows each unit of a compact copy has is not counted.
    """
    try:
        run_file = read_run_file(path, headers)
        compare(out, [run_file], headers, contents=True)
    except ContractError:
        stems = units_of(path) if is_pack(path.stem) else [path.stem]
        return [_unmarked_row(stem, out) for stem in stems]
    n_rows = None if is_pack(path.stem) else sum(run_file.mark.rows.values())
    return [
        {
            "unit": unit.stem,
            "state": "complete" if run.get("is_conforming", True) else "nonconforming",
            "n_rows": n_rows,
            **{name: run.get(name) for name in _OF_RUN},
        }
        for unit, run in zip(run_file.units, headers.of(path).stored().to_pylist(), strict=True)
    ]


def _unmarked_row(stem: str, out: Path) -> dict[str, Any]:
    """Return the row of a unit without a mark that can be trusted."""
    is_in_progress = locks.is_held_elsewhere(out, variant_of(stem))
    return {"unit": stem, "state": "measuring" if is_in_progress else "incomplete"}


def as_text(units: pd.DataFrame) -> str:
    """Return the frame of `units` for people, empty where a unit says nothing.

    Where some of them are planned, how far the queue is stands above, and why models were refused
    below.
    """
    shown = units.assign(
        n_rows=units["n_rows"].map(lambda n: "" if pd.isna(n) else f"{int(n):,}"),
        started_at=units["started_at"].map(
            lambda at: "" if pd.isna(at) else f"{at:%Y-%m-%d %H:%M}"
        ),
        duration_s=units["duration_s"].map(lambda s: "" if pd.isna(s) else f"{s:.1f}"),
    ).drop(columns=["is_conforming", "planned_s", "reason"])
    lines = [shown.astype(object).where(shown.notna(), "").to_string(index=False)]
    if units["planned_s"].notna().any() or units["reason"].notna().any():
        lines = [_progress(units), "", *lines]
    refused = units.dropna(subset=["reason"]).drop_duplicates("reason")
    lines += [f"{unit}: {reason}" for unit, reason in refused[["unit", "reason"]].to_numpy()]
    return "\n".join(lines)


def _progress(units: pd.DataFrame) -> str:
    """Return a bar, how many units are in each state, and the hours that are left by the plan."""
    from tqdm import tqdm

    counts = units["state"].value_counts()
    n_done = int(counts.reindex(["complete", "nonconforming"], fill_value=0).sum())
    left = units.loc[units["state"].isin(["to do", "measuring", "incomplete"]), "planned_s"].sum()
    listed = ", ".join(f"{n} {state}" for state, n in counts.items())
    bar = tqdm.format_meter(
        n_done, len(units), 0, ncols=40, bar_format="{percentage:3.0f}% |{bar}|"
    )
    return f"{bar} {listed}; by the plan {left / 3600:.1f} worker hours are left"


def as_json(units: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the frame of `units` as objects of JSON, times as ISO 8601 in UTC."""
    plain = units.astype(object).where(units.notna(), None)
    rows = [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False)]
    for row in rows:
        if row["started_at"] is not None:
            row["started_at"] = row["started_at"].isoformat(timespec="seconds")
    return rows

"""A plan in words: a table of its units, their rows, what is not measured, and the sum of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from collect.instruments.quantities import about
from collect.job.planning import estimate
from collect.job.planning.plan import Planned
from collect.model.checkpoint import memory
from collect.process.memory import available_memory
from collect.schema.counting import counted


def as_text(units: Sequence[Planned]) -> str:
    """Return a plan for people: a line per unit, then its rows per table."""
    table = pd.DataFrame(
        {
            "unit": [unit.unit for unit in units],
            "state": [unit.state for unit in units],
            "execution": [unit.execution for unit in units],
            "rows": [f"{sum(unit.n_rows.values()):,}" for unit in units],
            "disk": [memory.as_text(unit.n_bytes) for unit in units],
            "memory": [memory.as_text(unit.peak_bytes) for unit in units],
            "time": [_time(unit.duration_s) for unit in units],
        }
    )
    to_do = [unit for unit in units if unit.state == "to do"]
    total_s = estimate.START_S + sum(unit.duration_s for unit in to_do)
    lines = [table.to_string(index=False), "", "rows per table"]
    for unit in (unit for unit in units if unit.n_rows):
        rows = ", ".join(f"{table} {n:,}" for table, n in unit.n_rows.items())
        lines.append(f"  {unit.unit}: {rows}")
    lines += ["", "quantities"]
    for name in dict.fromkeys(name for unit in units for name in unit.quantities):
        lines.append(f"  {name}: {about(name)}")
    gaps = list(dict.fromkeys(_lines_of_gaps(units)))
    lines += ["", "not measured", *gaps] if gaps else []
    first_of = {unit.unit.partition("@")[0].partition("+")[0]: unit for unit in reversed(units)}
    for unit in units:
        if unit.download_bytes and unit in first_of.values() and unit.state == "to do":
            lines.append(f"{unit.unit}: {memory.as_text(unit.download_bytes)} to download first")
    return "\n".join(
        [
            *lines,
            "",
            f"To do: {len(to_do)} of {counted(len(units), 'unit')}, about {_time(total_s)} and "
            f"{memory.as_text(sum(unit.n_bytes for unit in to_do))} on disk; "
            f"{memory.as_text(available_memory())} of memory are available.",
            "Rows are exact, but for matrices that hold one number throughout, which not_measured "
            "names after a run. Disk and",
            "memory are estimates, good to a factor of 2. Times rest on products of matrices "
            "timed just now",
            f"and on weights read at {estimate.READ_RATE / 1e9:g} GB/s, which was not measured: "
            "expect a factor of 3 either way on a machine that has nothing else to do.",
        ]
    )


def _lines_of_gaps(units: Sequence[Planned]) -> Iterator[str]:
    """Yield a line for each model and reason: what is not measured of it."""
    for unit in units:
        name = unit.unit.partition("@")[0]
        by_reason: dict[str, list[str]] = {}
        for gap in unit.not_measured:
            if gap.table != "prompt":
                by_reason.setdefault(gap.reason, []).append(f"{gap.table} {gap.quantity}")
        for reason, lacks in by_reason.items():
            yield f"  {name}: {', '.join(lacks)}: {reason}"
        long = [gap.quantity for gap in unit.not_measured if gap.table == "prompt"]
        if long:
            yield f"  {unit.unit}: {counted(len(long), 'prompt')} too long, {long[0]} the first"


def _time(seconds: float) -> str:
    for unit, n_units in (("s", 60), ("min", 60)):
        if seconds < n_units:
            return f"{seconds:.2g} {unit}"
        seconds /= n_units
    return f"{seconds:,.2g} h"

"""One unit of a run that has not begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from collect.model.description import Missing


@dataclass(frozen=True, slots=True)
class Planned:
    """One unit of a run that has not begun.

    Attributes
    ----------
    unit
        Stem of its files.
    run_id
        Identity of its run; of no meaning where the hash of the weights is not known yet.
    state
        ``to do``, also where it replaces what is there; ``complete``, if the weights are still
        those it was measured with; ``as`` and a unit before it that has the same content,
        measured once; or ``measured otherwise``, where the output holds something that
        contradicts it, or another unit of the model, so that a run refuses the model.
    execution
        ``loaded``, ``streamed`` or ``shards``.
    n_rows
        Rows by table.
    n_bytes
        About the size of its files [bytes].
    peak_bytes
        About the most memory it takes [bytes].
    duration_s
        About how long it takes [s].
    download_bytes
        Weights to be fetched from the hub first, for all units of the model together [bytes].
    quantities
        What is measured.
    not_measured
        What the model or the prompts cannot give of what was asked for, and why; the rows of
        ``not_measured`` but for matrices that hold one number throughout.
    """

    unit: str
    run_id: str
    state: str
    execution: str
    n_rows: dict[str, int]
    n_bytes: int
    peak_bytes: int
    duration_s: float
    download_bytes: int
    quantities: tuple[str, ...] = ()
    not_measured: tuple[Missing, ...] = ()


def as_json(units: Sequence[Planned]) -> list[dict[str, Any]]:
    """Return a plan as objects of JSON, in the units of `Planned`."""
    return [asdict(unit) for unit in units]

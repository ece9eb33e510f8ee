"""What an output is to hold: units that are planned, and models that were refused, with the reason.

A file of JSON for each model lies under ``<out>/.queue``. `collect plan --queue` and the engine
ray write them, every run notes there what it refuses, and `status` sets them beside what is done.
Other verbs leave them aside: no number depends on them. No torch here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from collect.record.atomic.files import write_text

DIRECTORY = ".queue"


@dataclass(frozen=True, slots=True)
class Queued:
    """One unit that is to be measured.

    Attributes
    ----------
    unit
        Stem of its files.
    planned_s
        How long it takes by the plan [s].
    peak_bytes
        The most memory it takes by the plan [bytes].
    """

    unit: str
    planned_s: float
    peak_bytes: int


def enqueue(out: Path, units: Mapping[str, Iterable[Queued]]) -> None:
    """Write what is planned of each model, in place of what was planned of it before."""
    (out / DIRECTORY).mkdir(parents=True, exist_ok=True)
    for model, each in units.items():
        _write(out, {"model": model, "units": [asdict(unit) for unit in each], "reason": ""})


def note_refused(out: Path, model: str, reason: str) -> None:
    """Note why a model was refused, where the output has a queue."""
    if (out / DIRECTORY).is_dir():
        known = _read(_path(out, model)) or {"model": model, "units": []}
        _write(out, known | {"reason": reason})


def note_measured(out: Path, model: str) -> None:
    """Forget why a model was refused before it could be measured."""
    known = _read(_path(out, model))
    if known is not None and known["reason"]:
        _write(out, known | {"reason": ""})


def entries(out: Path) -> Iterator[dict[str, Any]]:
    """Yield `model`, `units` (attributes of `Queued`) and `reason` of each model in the queue."""
    yield from (entry for _, entry in _entries(out) if entry is not None)


def damaged(out: Path) -> list[str]:
    """Return a sentence on each file of the queue that cannot be read."""
    return [
        f"{path} cannot be read, so what it planned is not shown; plan its model again with --queue"
        for path, entry in _entries(out)
        if entry is None
    ]


def _entries(out: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    for path in sorted((out / DIRECTORY).glob("*.json")):
        yield path, _read(path)


def _path(out: Path, model: str) -> Path:
    return out / DIRECTORY / f"{hashlib.sha256(model.encode()).hexdigest()[:16]}.json"


def _write(out: Path, entry: Mapping[str, Any]) -> None:
    write_text(_path(out, str(entry["model"])), json.dumps(entry, indent=1) + "\n")


def _read(path: Path) -> dict[str, Any] | None:
    """Return the entry of a file; None where there is none that can be read."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    try:
        units = [asdict(Queued(**unit)) for unit in known["units"]]
        return {"model": str(known["model"]), "units": units, "reason": str(known["reason"])}
    except (KeyError, TypeError):
        return None

"""What each model asks of a machine, for a scheduler: memory, threads, accelerators, time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.errors import CollectError
from collect.job.outcome import Refusal, noted
from collect.job.planning import estimate
from collect.job.planning.plan import TO_DO, units_of
from collect.job.resolve import Job
from collect.model.checkpoint.load import DTYPES
from collect.model.checkpoint.memory import as_text
from collect.record.inventory import Inventory
from collect.record.queue import Queued

#: A worker takes more than the plan says: pages of mapped files, and Ray's own [bytes]. Of seven
#: models on a simulated cluster less was exceeded.
_MARGIN, _WORKER_BYTES = 1.25, 128 * 2**20

#: An accelerator holds weights, and a part of this size for states and products.
_BESIDE_WEIGHTS = 1.2


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine has to give: cores, memory [bytes], accelerators."""

    n_cores: int
    memory_bytes: int
    n_accelerators: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """What a model, in all of its revisions, asks for.

    Attributes
    ----------
    model
        As named.
    memory_bytes, duration_s
        The most that a unit takes by the plan, with a margin, and the time of all units.
    n_threads, n_accelerators
        As `threads` and `accelerators` have it.
    units
        By title of a revision: its units that are still to do.
    """

    model: str
    memory_bytes: int
    duration_s: float
    n_threads: int
    n_accelerators: int
    units: dict[str, list[Queued]]


def threads(memory_bytes: int, machines: Iterable[Machine]) -> int:
    """Return the threads of a model: the share of the cores that it takes of the memory.

    As many models then run on a machine as its memory holds, and all of its cores work. Of several
    machines the smallest that holds the model decides.

    Examples
    --------
    >>> threads(30 * 2**30, [Machine(64, 240 * 2**30)])
    8
    """
    fit = [machine for machine in machines if machine.memory_bytes >= memory_bytes]
    if not fit:
        return 1
    machine = min(fit, key=lambda it: it.memory_bytes)
    return max(1, machine.n_cores * memory_bytes // machine.memory_bytes)


def accelerators(weights_bytes: int, device: str, accelerator_bytes: int | None) -> int:
    """Return how many accelerators a model asks for: none, one, or with ``auto`` what it fills.

    Examples
    --------
    >>> accelerators(140 * 10**9, "auto", 80 * 10**9)
    3
    """
    if device == "cpu" or (device == "auto" and accelerator_bytes is None):
        return 0
    if device != "auto" or accelerator_bytes is None:
        return 1
    return max(1, math.ceil(_BESIDE_WEIGHTS * weights_bytes / accelerator_bytes))


def requests(
    job: Job,
    out: Path,
    machines: Sequence[Machine],
    *,
    accelerator_bytes: int | None = None,
) -> tuple[list[Request], list[Refusal]]:
    """Return what each model asks for, the longest first, and the models that fit no machine.

    Parameters
    ----------
    job
        The models, resolved.
    out
        Where units may be complete already; they are not asked for.
    machines
        The cluster.
    accelerator_bytes
        Memory of an accelerator; None where there is none.
    """
    inventory = Inventory(out)
    throughput = estimate.calibrate(job.settings.dtype, "cpu")
    revisions: dict[str, list[Request]] = {}
    refusals: list[Refusal] = []
    for subject in job.subjects:
        with noted(subject.title, refusals, goes_on=job.goes_on):
            planned, _ = units_of(subject, inventory, throughput, None)
            todo = [
                Queued(unit.unit, unit.duration_s, unit.peak_bytes)
                for unit in planned
                if unit.state == TO_DO
            ]
            width = DTYPES[job.settings.dtype].itemsize
            weights_bytes = estimate.shape_of(subject.bare).n_parameters * width
            n_accelerators = accelerators(weights_bytes, job.settings.device, accelerator_bytes)
            request = _request(subject.name, {subject.title: todo}, machines, n_accelerators)
            revisions.setdefault(subject.name, []).append(request)
        subject.release()
    asked = [_together(each, machines) for each in revisions.values()]
    too_large = {each.model: _too_large(each, machines) for each in asked}
    refusals += [refusal for refusal in too_large.values() if refusal is not None]
    fitting = [each for each in asked if too_large[each.model] is None]
    return sorted(fitting, key=lambda it: -it.duration_s), refusals


def _request(
    model: str,
    units: dict[str, list[Queued]],
    machines: Sequence[Machine],
    n_accelerators: int,
) -> Request:
    todo = [unit for each in units.values() for unit in each]
    peak = max((unit.peak_bytes for unit in todo), default=0)
    peak = int(_MARGIN * peak) + _WORKER_BYTES if todo else 0
    duration_s = sum(unit.planned_s for unit in todo)
    return Request(model, peak, duration_s, threads(peak, machines), n_accelerators, units)


def _together(revisions: Sequence[Request], machines: Sequence[Machine]) -> Request:
    """Return what the revisions of a model ask for, one after another."""
    units = {title: units for each in revisions for title, units in each.units.items()}
    n_accelerators = max(each.n_accelerators for each in revisions)
    return _request(revisions[0].model, units, machines, n_accelerators)


def _too_large(request: Request, machines: Sequence[Machine]) -> Refusal | None:
    """Return why no machine of a cluster can take a model, None where one can."""
    most = max(machine.memory_bytes for machine in machines)
    if request.memory_bytes > most:
        return Refusal(
            request.model,
            f"A machine must have {as_text(request.memory_bytes)} of memory for {request.model}; "
            f"the largest of the cluster gives {as_text(most)}.",
            "Add --stream, which holds two blocks at a time, or a larger machine.",
            CollectError.exit_code,
        )
    most_accelerators = max(machine.n_accelerators for machine in machines)
    if request.n_accelerators > most_accelerators:
        return Refusal(
            request.model,
            f"A machine must have {request.n_accelerators} accelerators for {request.model}; the "
            f"largest of the cluster has {most_accelerators}.",
            "Use --dtype bfloat16, or --device cpu with --stream.",
            CollectError.exit_code,
        )
    return None

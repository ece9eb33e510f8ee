"""What each model asks of a machine, for a scheduler: memory, threads, accelerators, time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.errors import CollectError
from collect.job.outcome import Refusal
from collect.job.planning import estimate
from collect.job.planning.plan import Planned, units_of, units_to_do
from collect.job.resolve import Job
from collect.job.subject import n_bytes
from collect.model.checkpoint.memory import as_text
from collect.record.inventory import Inventory
from collect.record.queue import Queued
from collect.schema.counting import counted

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

    def holds(self, memory_bytes: int, n_accelerators: int = 0) -> bool:
        """Return whether it has as much memory and as many accelerators."""
        return self.memory_bytes >= memory_bytes and self.n_accelerators >= n_accelerators


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


def threads(memory_bytes: int, machines: Iterable[Machine], n_accelerators: int = 0) -> int:
    """Return the threads of a model: the share of the cores that it takes of the memory.

    As many models then run on a machine as its memory holds, and all of its cores work. Of several
    machines the smallest that holds the model decides.

    Examples
    --------
    >>> threads(30 * 2**30, [Machine(64, 240 * 2**30)])
    8
    """
    fit = [machine for machine in machines if machine.holds(memory_bytes, n_accelerators)]
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
    available_bytes: int | None = None,
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
    available_bytes
        The most that a process may take on one of them, by which a model is loaded or streamed;
        None for what this machine has to give.
    accelerator_bytes
        Memory of an accelerator; None where there is none.
    """
    inventory = Inventory(out)
    throughput = estimate.calibrate(job.settings.dtype, "cpu")
    planned: dict[str, list[Planned]] = {}
    weights: dict[str, int] = {}
    refusals: list[Refusal] = []
    for subject in job.subjects:
        name = subject.name
        with job.noted(subject.title, refusals):
            units, _ = units_of(subject, inventory, throughput, None, available_bytes)
            planned.setdefault(name, []).extend(units)
            size = n_bytes(subject.bare, job.settings.dtype)
            weights[name] = max(size, weights.get(name, 0))
        subject.release()
    asked = []
    for model, units in planned.items():
        n_accelerators = accelerators(weights[model], job.settings.device, accelerator_bytes)
        request = _request(model, units_to_do(units), machines, n_accelerators)
        if any(it.holds(request.memory_bytes, n_accelerators) for it in machines):
            asked.append(request)
        else:
            refusals += _refuse(request, machines)
    return sorted(asked, key=lambda it: -it.duration_s), refusals


def _request(
    model: str,
    units: dict[str, list[Queued]],
    machines: Sequence[Machine],
    n_accelerators: int,
) -> Request:
    to_do = [unit for each in units.values() for unit in each]
    peak = max((unit.peak_bytes for unit in to_do), default=0)
    peak = int(_MARGIN * peak) + _WORKER_BYTES if to_do else 0
    duration_s = sum(unit.planned_s for unit in to_do)
    n_threads = threads(peak, machines, n_accelerators)
    return Request(model, peak, duration_s, n_threads, n_accelerators, units)


def _refuse(request: Request, machines: Sequence[Machine]) -> list[Refusal]:
    """Return the refusal of each revision of a model that no machine of a cluster can take."""
    given = ", ".join(
        f"{as_text(it.memory_bytes)} and {it.n_accelerators}" for it in dict.fromkeys(machines)
    )
    problem = (
        f"A machine must have {as_text(request.memory_bytes)} of memory and "
        f"{counted(request.n_accelerators, 'accelerator')} for {request.model}; those of the "
        f"cluster have {given or 'none'}."
    )
    hint = "Add --stream, --dtype bfloat16 or --device cpu, or a larger machine."
    return [Refusal(title, problem, hint, CollectError.exit_code) for title in request.units]

"""Checkpoints spread over a Ray cluster, each measured by one worker into one shared directory.

A worker does what ``run.run`` does for one checkpoint, so units are as atomic and as
resumable as on one machine. The output directory, and checkpoints given as directories, must
be reachable under the same path from every machine.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
import ray.exceptions
from tqdm import tqdm

from collect.errors import CollectError, first_line
from collect.instruments.quantities import files_of
from collect.job import run as local
from collect.job.outcome import Outcome, Refusal, RefusedError, refusal_of
from collect.job.planning.requests import Machine, Request, requests
from collect.job.resolve import expanded, resolve
from collect.record import queue
from collect.record.provenance import code_version, take_version_of_driver
from collect.schema.paths import expand_path

#: Ray's functions that it leaves without types.
_ray: Any = ray


def run(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path,
    *,
    quiet: bool = False,
    fail_fast: bool = False,
    register: str | Path | Sequence[str | Path] = (),
    **options: Any,
) -> Outcome:
    """Measure as ``run.run`` does, each model on a worker of a Ray cluster.

    The cluster is the one in use, the one that RAY_ADDRESS names, or else a new one of this
    machine's processors. Each model asks for the memory, threads and accelerators that its plan
    says (see `planning.requests`), the longest first. Files are those of `run.run` with as many
    threads of torch, bit for bit. Another number of threads sums in another order, which changes
    last digits: 1e-6 at most in effective ranks. The plan lies in the output for `collect status`.
    A model that is refused does not stop the others, unless ``fail_fast`` is set: then the
    workers are ended.

    Returns
    -------
    As ``run.run``, in the order in which models were done.
    """
    named = [_absolute(model) for model in expanded(models)]
    sets = [_absolute(prompt_set) for prompt_set in prompt_sets]
    options["register"] = [_absolute(source) for source in files_of(register)]
    job = resolve(named, sets, out, fail_fast=fail_fast, quiet=quiet, **options)
    if not ray.is_initialized():
        ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    nodes = [node["Resources"] for node in _ray.nodes() if node["Alive"]]
    asked, refusals = requests(
        job,
        out,
        [
            Machine(int(it.get("CPU", 0)), int(it.get("memory", 0)), int(it.get("GPU", 0)))
            for it in nodes
            if it.get("CPU")
        ],
        available_bytes=_available_bytes(nodes),
        accelerator_bytes=_accelerator_bytes(job.settings.device),
    )
    queue.enqueue(out, {title: units for each in asked for title, units in each.units.items()})
    outcome = Outcome(refusals=[*job.refusals, *refusals])
    for refusal in outcome.refusals:
        queue.note_refused(out, refusal.model, refusal.problem)
    where, version = str(out.resolve()), code_version()
    pending = {
        _task(each).remote(
            each.model, sets, where, options, version, n_threads=each.n_threads
        ): each
        for each in asked
    }
    _wait(pending, outcome, out, fail_fast=fail_fast, quiet=quiet)
    if outcome.refusals:
        raise RefusedError(outcome, job.n_models)
    return outcome


def _wait(
    pending: dict[Any, Request], outcome: Outcome, out: Path, *, fail_fast: bool, quiet: bool
) -> None:
    """Add what became of each model as its task ends; end the others where one is to stop all."""
    with tqdm(total=len(pending), unit="model", disable=True if quiet else None) as bar:
        while pending and not (fail_fast and outcome.refusals):
            (done,), _ = ray.wait(list(pending), num_returns=1)
            request = pending.pop(done)
            ended = _outcome(done, request.model)
            outcome.units += ended.units
            new = [refusal for refusal in ended.refusals if refusal not in outcome.refusals]
            outcome.refusals += new
            for refusal in new:
                is_of_all = refusal.model == request.model
                for title in request.units if is_of_all else [refusal.model]:
                    queue.note_refused(out, title, refusal.problem)
            bar.update()
            if not quiet:
                state = "refused" if ended.refusals else "measured"
                bar.write(f"{request.model}: {state}", file=sys.stderr)
    for running in pending:
        ray.cancel(running, force=True)


def _task(request: Request) -> Any:
    """Return the task that measures a model, with what it asks of a machine."""
    return ray.remote(
        num_cpus=request.n_threads,
        num_gpus=request.n_accelerators,
        memory=request.memory_bytes,
        max_retries=2,
    )(_measure)


def _available_bytes(nodes: Sequence[Mapping[str, float]]) -> int:
    """Return the most memory that a process may take on a machine, Ray's own store included.

    A worker judges by that whether it loads a model, which must not be more than was asked for.
    """
    return int(max(it.get("memory", 0) + it.get("object_store_memory", 0) for it in nodes))


def _accelerator_bytes(device: str) -> int | None:
    """Return the memory of an accelerator of the cluster; None where none is to be used."""
    if device != "auto" or not _ray.cluster_resources().get("GPU"):
        return None
    probe = ray.remote(num_cpus=0, num_gpus=1)(_memory_of_accelerator)
    return int(ray.get(probe.remote()))


def _memory_of_accelerator() -> int:
    """Return the memory of the accelerator that a worker was given [bytes]."""
    import torch

    return int(torch.cuda.get_device_properties(0).total_memory)


def _absolute(path: str | Path) -> str:
    """Return a path that exists as an absolute one; the name of something else as it is."""
    place = expand_path(path)
    return str(place.resolve()) if place.exists() else str(path)


def _outcome(done: Any, model: str) -> Outcome:
    """Return what became of a model whose task has ended, its worker perhaps with it."""
    try:
        outcome: Outcome = ray.get(done)
    except ray.exceptions.RayError as error:
        return _failure(model, error)
    return outcome


def _failure(model: str, error: Exception) -> Outcome:
    """Return the refusal that stands for an error nobody foresaw."""
    refusal = Refusal(
        model,
        f"The worker that measures {model} died: {type(error).__name__}: {first_line(error)}",
        "Measure that model alone, without --engine ray, to see what is wrong.",
        CollectError.exit_code,
    )
    return Outcome(refusals=[refusal])


def _measure(
    model: str,
    sets: Sequence[str],
    out: str,
    options: dict[str, Any],
    version: str,
    *,
    n_threads: int = 1,
) -> Outcome:
    """Measure one model, on a worker; return what became of it."""
    import torch

    torch.set_num_threads(n_threads)
    take_version_of_driver(version)
    try:
        return local.run([model], sets, Path(out), **options, quiet=True)
    except RefusedError as error:
        return error.outcome
    except CollectError as error:
        return Outcome(refusals=[refusal_of(model, error)])
    except Exception as error:
        return _failure(model, error)

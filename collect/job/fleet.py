"""Checkpoints spread over a Ray cluster, each measured by one worker into one shared directory.

A worker does what ``run.run`` does for one checkpoint, so units are as atomic and as
resumable as on one machine. The output directory, and checkpoints given as directories, must
be reachable under the same path from every machine.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
import ray.exceptions

from collect.errors import CollectError, first_line
from collect.instruments.quantities import files_of
from collect.job import run as local
from collect.job.model_list import expanded
from collect.job.outcome import Outcome, Refusal, RefusedError, refusal_of
from collect.job.resolve import resolve
from collect.record.provenance import code_version, take_version_of_driver
from collect.schema.paths import as_path


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
    machine's processors. A worker takes one processor, and one accelerator if the device is
    one; files are then those of `run.run` with one thread of torch, bit for bit. Another number
    of threads sums in another order, which changes last digits: 1e-6 at most in effective ranks.
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
    task = ray.remote(num_cpus=1, num_gpus=int(job.settings.device != "cpu"), max_retries=2)(
        _measure
    )
    names = dict.fromkeys(subject.name for subject in job.subjects)
    where = str(out.resolve())
    version = code_version()
    pending = {task.remote(name, sets, where, options, version): name for name in names}
    outcome = Outcome(refusals=[*job.refusals])
    while pending and not (fail_fast and outcome.refusals):
        (done,), _ = ray.wait(list(pending), num_returns=1)
        model = pending.pop(done)
        ended = _outcome(done, model)
        outcome.units += ended.units
        outcome.refusals += ended.refusals
        if not quiet:
            print(f"{model}: {'refused' if ended.refusals else 'measured'}", file=sys.stderr)
    for running in pending:
        ray.cancel(running, force=True)
    if outcome.refusals:
        raise RefusedError(outcome, job.n_models)
    return outcome


def _absolute(path: str | Path) -> str:
    """Return a path that exists as an absolute one; the name of something else as it is."""
    place = as_path(path)
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
    model: str, sets: Sequence[str], out: str, options: dict[str, Any], version: str
) -> Outcome:
    """Measure one model, on a worker; return what became of it."""
    import torch

    torch.set_num_threads(1)
    take_version_of_driver(version)
    try:
        return local.run([model], sets, Path(out), **options, quiet=True)
    except RefusedError as error:
        return error.outcome
    except CollectError as error:
        return Outcome(refusals=[refusal_of(model, error)])
    except Exception as error:
        return _failure(model, error)

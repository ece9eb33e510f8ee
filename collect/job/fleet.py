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
from typing import Any, TypeAlias

import ray
import ray.exceptions

from collect.errors import CollectError
from collect.job import run as local
from collect.schema import ContractError

#: Exit code, problem and hint of a refusal; exceptions themselves do not travel well.
_Refusal: TypeAlias = "tuple[int, str, str] | None"


def run(
    models: Sequence[str],
    prompt_sets: Sequence[str | Path],
    out: Path,
    *,
    quiet: bool = False,
    **options: Any,
) -> None:
    """Measure as ``run.run`` does, each model on a worker of a Ray cluster.

    The cluster is the one in use, the one that RAY_ADDRESS names, or else a new one of this
    machine's processors. A worker takes one processor, and one accelerator if the device is
    one. A model that is refused does not stop the others.

    Parameters
    ----------
    models, prompt_sets, out, quiet, **options
        As for ``run.run``.

    Raises
    ------
    CollectError
        As ``run.run``; before any worker starts, or after all have ended, for the first model
        that was refused.
    """
    named = [_absolute(model) for model in models]
    sets = [_absolute(prompt_set) for prompt_set in prompt_sets]
    job = local.prepare(named, sets, out, **options)
    if not ray.is_initialized():
        ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    task = ray.remote(num_cpus=1, num_gpus=int(job.settings.device != "cpu"), max_retries=2)(
        _measure
    )
    pending = {task.remote(model, sets, str(out.resolve()), options): model for model in named}
    refusals = []
    while pending:
        (done,), _ = ray.wait(list(pending), num_returns=1)
        model = pending.pop(done)
        refusal = _outcome(done, model)
        if refusal is not None:
            refusals.append(refusal)
        if not quiet:
            print(f"{model}: {'refused' if refusal else 'measured'}", file=sys.stderr)
    _raise_first(refusals, len(named))


def _outcome(done: Any, model: str) -> _Refusal:
    """Return what became of a model whose task has ended, its worker perhaps with it."""
    try:
        refusal: _Refusal = ray.get(done)
    except ray.exceptions.RayError as error:
        return _failure(model, error)
    return refusal


def _failure(model: str, error: Exception) -> tuple[int, str, str]:
    """Return the refusal that stands for an error nobody foresaw."""
    first_line = next((line for line in str(error).splitlines() if line.strip()), "")
    said = f"{type(error).__name__}: {first_line.strip()}" if first_line else type(error).__name__
    return (
        CollectError.exit_code,
        f"The worker that measures {model} must come to its end; it did not: {said}",
        "Measure that model alone, without --engine ray, to see what is wrong.",
    )


def _measure(model: str, sets: Sequence[str], out: str, options: dict[str, Any]) -> _Refusal:
    """Measure one model, on a worker; return its refusal, if it was refused."""
    import torch

    torch.set_num_threads(1)
    try:
        local.run([model], sets, Path(out), **options, quiet=True)
    except CollectError as error:
        return error.exit_code, error.problem, error.hint
    except ContractError as error:
        return CollectError.exit_code, f"{model}: {error.problem}", error.hint
    except Exception as error:
        return _failure(model, error)
    return None


def _raise_first(refusals: Sequence[tuple[int, str, str]], n_models: int) -> None:
    if not refusals:
        return
    exit_code, problem, hint = refusals[0]
    kind = next(kind for kind in [*CollectError.__subclasses__()] if kind.exit_code == exit_code)
    others = f" ({len(refusals)} of {n_models} models were refused; this is the first.)"
    raise kind(problem + (others if n_models > 1 else ""), hint)


def _absolute(path: str | Path) -> str:
    """Return a path that exists as an absolute one; the name of something else as it is."""
    found = Path(path).expanduser()
    return str(found.resolve()) if found.exists() else str(path)

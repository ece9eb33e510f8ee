"""What carries out the runs of a study: this process, several of this machine, or a Ray cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collect.errors import CollectError, OutputError
from collect.job.settings import check_engine
from collect.training.study import training
from collect.training.study.design import Design
from collect.training.study.plan import Run

#: What is given to a worker: design, run, output, and whether the network is kept.
Given = tuple[Design, Run, Path, bool]

#: A run under way; its result is what kept it from being done.
Going = Future[CollectError | None]


@dataclass(frozen=True, slots=True)
class Workers:
    """What starts a run, and how many are carried out at a time."""

    submit: Callable[[Design, Run, Path, bool], Going]
    n: int


@contextmanager
def lent(engine: str, n: int | None) -> Iterator[Workers]:
    """Lend workers, and let no run begin once the block has ended with an error.

    Parameters
    ----------
    engine
        ``local``, or ``ray`` for a cluster; see `collect.job.settings.ENGINES`.
    n
        Runs at a time; None for one on this machine, and for one per processor of a cluster.
    """
    check_engine(engine)
    if engine == "ray":
        lending = _of_cluster(n)
    elif n is None or n == 1:
        lending = _of_this_process()
    else:
        lending = _of_processes(n)
    with lending as workers:
        yield workers


def attempt(design: Design, run: Run, out: Path, keeps_network: bool) -> CollectError | None:
    """Perform a run; return the refusal that kept it from being done."""
    try:
        training.perform(design, run, out, keeps_network=keeps_network)
    except CollectError as error:
        return error
    return None


def ended(going: Going) -> CollectError | None:
    """Return what kept a run that has ended from being done."""
    failure = going.result()
    if isinstance(failure, OutputError):
        raise failure
    return failure


@contextmanager
def _of_this_process() -> Iterator[Workers]:
    def submit(*given: Any) -> Going:
        going: Going = Future()
        going.set_result(attempt(*given))
        return going

    yield Workers(submit, 1)


@contextmanager
def _of_processes(n: int) -> Iterator[Workers]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n, mp_context=context) as pool:
        try:
            yield Workers(lambda *given: pool.submit(attempt, *given), n)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _of_cluster(n: int | None) -> Iterator[Workers]:
    """Lend workers of a Ray cluster, each on one processor; one that dies is tried twice more."""
    import ray

    from collect.job import cluster

    there = cluster.join()
    task = ray.remote(num_cpus=1, max_retries=2)(attempt)
    sent = []

    def submit(design: Design, run: Run, out: Path, keeps_network: bool) -> Going:
        sent.append(task.remote(design, run, out.resolve(), keeps_network))
        return _as_refusal(sent[-1].future(), run)

    try:
        yield Workers(submit, there if n is None else min(n, there))
    except BaseException:
        for reference in sent:
            ray.cancel(reference, force=True)
        raise


def _as_refusal(future: Going, run: Run) -> Going:
    """Return a future in which the death of a worker is a refusal of its run."""
    from collect.job import cluster

    result: Going = Future()

    def tell(done: Going) -> None:
        error = done.exception()
        if error is None:
            result.set_result(done.result())
            return
        cause = cluster.words(error) if isinstance(error, Exception) else type(error).__name__
        result.set_result(
            CollectError(
                f"The worker that trains {run.cell.name} must come to its end; it did not: {cause}",
                "Give the command again without --engine ray to see what is wrong.",
            )
        )

    future.add_done_callback(tell)
    return result

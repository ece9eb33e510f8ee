"""A study carried out: runs in parallel, resumed where they were left."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from collect.errors import CollectError, OutputError
from collect.job.settings import progress_bar
from collect.process.interruption import interruptible
from collect.record.commit import check_writable
from collect.schema.counting import counted
from collect.training.study import training
from collect.training.study.design import Design, read_design
from collect.training.study.plan import Run, runs
from collect.training.study.training import is_complete, network_file


class FailedRunsError(CollectError):
    """Runs of a study failed; hint and exit code are those of the first.

    Parameters
    ----------
    study
        Its name.
    failures
        What prevented each.
    """

    def __init__(self, study: str, failures: Sequence[CollectError]) -> None:
        first, n = failures[0], counted(len(failures), "run")
        self.exit_code = first.exit_code
        super().__init__(f"{n} of {study} failed, the first: {first.problem}", first.hint)


#: A run under way; its result is what prevented it.
Going = Future[CollectError | None]


@interruptible()
def carry_out(path: Path, out: Path, *, n_processes: int = 1, quiet: bool = False) -> int:
    """Train and measure the runs of a design that ``out`` does not hold yet, short ones first.

    Each run has a process of its own on one thread where there are several. Runs that fail are
    named when the others are done; where the output cannot be written, no other run is begun.
    Return the number of runs that are still to do.
    """
    design = read_design(path)
    check_writable(out)
    planned = runs(design)
    todo = sorted((run for run in planned if not is_complete(out, run)), key=lambda r: r.seconds)
    parents = {run.parent.run_id for run in planned if run.parent is not None}
    total = round(sum(run.seconds for run in todo))
    failures: list[CollectError] = []
    with (
        progress_bar(total, design.head.name, "s", quiet=quiet) as bar,
        _workers(n_processes) as submit,
    ):

        def start(run: Run) -> Going:
            return submit(design, run, out, run.run_id in parents)

        for run, failure in _finish(todo, start, out, n_processes):
            bar.update(round(run.seconds))
            failures.extend([failure] if failure is not None else [])
    if failures:
        raise FailedRunsError(design.head.name, failures)
    return sum(not is_complete(out, run) for run in planned)


def _finish(
    todo: Sequence[Run], start: Callable[[Run], Going], out: Path, n_at_a_time: int
) -> Iterator[tuple[Run, CollectError | None]]:
    """Yield runs as they end, each started after its parent, until none is left."""
    waiting = list(todo)
    going: dict[Going, Run] = {}
    while waiting or going:
        ready = [run for run in waiting if _can_start(out, run)]
        for run in ready[: n_at_a_time - len(going)]:
            waiting.remove(run)
            going[start(run)] = run
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            failure = future.result()
            if isinstance(failure, OutputError):
                raise failure
            yield going.pop(future), failure


def _can_start(out: Path, run: Run) -> bool:
    if run.parent is None:
        return True
    return is_complete(out, run.parent) and network_file(out, run.parent).is_file()


@contextmanager
def _workers(n: int) -> Iterator[Callable[[Design, Run, Path, bool], Going]]:
    """Yield what starts a run, here or in one of n processes; none begins after an error."""
    if n == 1:
        yield _start_here
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n, mp_context=context) as pool:
        try:
            yield lambda *given: pool.submit(_attempt, *given)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_here(design: Design, run: Run, out: Path, keeps_network: bool) -> Going:
    going: Going = Future()
    going.set_result(_attempt(design, run, out, keeps_network))
    return going


def _attempt(design: Design, run: Run, out: Path, keeps_network: bool) -> CollectError | None:
    """Perform a run; return the refusal that prevented it."""
    try:
        training.perform(design, run, out, keeps_network=keeps_network)
    except CollectError as error:
        return error
    return None

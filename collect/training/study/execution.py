"""A study carried out: runs in parallel, resumed where they were left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path

from collect.errors import CollectError, InputError
from collect.job.settings import progress_bar
from collect.record.commit import check_writable
from collect.training.study.design import read_design
from collect.training.study.plan import Run, runs
from collect.training.study.training import is_complete, network_file
from collect.training.study.workers import Going, ended, lent


def carry_out(
    path: Path,
    out: Path,
    *,
    n_processes: int | None = None,
    engine: str = "local",
    minutes: float | None = None,
    quiet: bool = False,
) -> int:
    """Train and measure the runs of a design that ``out`` does not hold yet, short ones first.

    Parameters
    ----------
    path, out
        The design file, and where the rows go.
    n_processes
        Runs at a time, each in a process of its own on one thread; None for one, and for one
        per processor of a cluster.
    engine
        ``local``, or ``ray`` to spread the runs over a Ray cluster. It is the one in use, the one
        that RAY_ADDRESS names, or else a new one of this machine's processors; design, texts
        and output must be reachable under the same path from every machine.
    minutes
        Start no run after so many; None for no limit.
    quiet
        Show no bar; see `collect.job.settings.progress_bar`.

    Returns
    -------
    Number of runs that are still to do.
    """
    design = read_design(path.resolve() if engine == "ray" else path)
    check_writable(out)
    planned = runs(design)
    todo = [run for run in planned if not is_complete(out, run)]
    todo.sort(key=lambda run: run.seconds)
    parents = {run.parent.run_id for run in planned if run.parent is not None}
    total = round(sum(run.seconds for run in todo))
    failures: list[CollectError] = []
    with (
        progress_bar(total, design.head.name, "s", quiet=quiet, progress=False) as bar,
        lent(engine, n_processes) as workers,
    ):

        def start(run: Run) -> Going:
            return workers.submit(design, run, out, run.run_id in parents)

        for run, failure in _finished(todo, start, out, workers.n, minutes):
            bar.update(round(run.seconds))
            failures.extend([failure] if failure is not None else [])
    _raise_first(failures, design.head.name)
    return sum(not is_complete(out, run) for run in planned)


def _raise_first(failures: Sequence[CollectError], study: str) -> None:
    """Raise what the first run that failed says, with how many did."""
    if failures:
        raise InputError(
            f"Every run of {study} must train; {len(failures)} did not, "
            f"the first: {failures[0].problem}",
            failures[0].hint,
        )


def _finished(
    todo: Sequence[Run],
    start: Callable[[Run], Going],
    out: Path,
    n_at_a_time: int,
    minutes: float | None,
) -> Iterator[tuple[Run, CollectError | None]]:
    """Yield runs as they end, each started after its parent, until none is left or time is up."""
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    waiting = list(todo)
    going: dict[Going, Run] = {}
    while waiting or going:
        late = deadline is not None and time.monotonic() > deadline
        ready = [] if late else [run for run in waiting if _can_start(out, run)]
        for run in ready[: n_at_a_time - len(going)]:
            waiting.remove(run)
            going[start(run)] = run
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            yield going.pop(future), ended(future)


def _can_start(out: Path, run: Run) -> bool:
    if run.parent is None:
        return True
    return is_complete(out, run.parent) and network_file(out, run.parent).is_file()

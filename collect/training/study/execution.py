"""A study carried out: runs in parallel processes, resumed where they were left."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from collect.errors import CollectError, InputError, OutputError
from collect.job.settings import progress_bar
from collect.record.commit import check_writable
from collect.schema import tables
from collect.training.study.design import Design, read_design
from collect.training.study.plan import Run, runs
from collect.training.study.training import is_complete, network_file, perform


def carry_out(
    path: Path,
    out: Path,
    *,
    n_processes: int = 1,
    minutes: float | None = None,
    quiet: bool = False,
    progress: bool = False,
) -> int:
    """Train and measure the runs of a design that ``out`` does not hold yet, short ones first.

    Parameters
    ----------
    path, out
        The design file, and where the rows go.
    n_processes
        Runs at a time, each in a process of its own on one thread.
    minutes
        Start no run after so many; None for no limit.
    quiet, progress
        When to show a bar; see `collect.job.settings.progress_bar`.

    Returns
    -------
    Number of runs that are still to do.

    Raises
    ------
    InputError
        If the design is wrong, or a run's loss ceased to be finite; the other runs go on first.
    OutputError
        If a file cannot be written; no other run is begun.
    """
    design = read_design(path)
    check_writable(out)
    planned = runs(design)
    todo = [run for run in planned if not is_complete(out, run)]
    todo.sort(key=lambda run: run.seconds)
    parents = {run.parent.run_id for run in planned if run.parent is not None}
    total = round(sum(run.seconds for run in todo))
    failures: list[CollectError] = []
    with (
        progress_bar(total, design.head.name, "s", quiet=quiet, progress=progress) as bar,
        _workers(n_processes) as submit,
    ):

        def start(run: Run) -> Future[CollectError | None]:
            return submit(design, run, out, run.run_id in parents)

        for run, failure in _finished(todo, start, out, n_processes, minutes):
            bar.update(round(run.seconds))
            failures.extend([failure] if failure is not None else [])
    left = sum(not is_complete(out, run) for run in planned)
    if failures:
        raise InputError(
            f"Every run of {design.head.name} must train; {len(failures)} did not, "
            f"the first: {failures[0].problem}",
            failures[0].hint,
        )
    return left


#: Starts a run; the future gives what kept it from being done.
_Submit = Callable[[Design, Run, Path, bool], "Future[CollectError | None]"]


def _finished(
    todo: Sequence[Run],
    start: Callable[[Run], Future[CollectError | None]],
    out: Path,
    n_processes: int,
    minutes: float | None,
) -> Iterator[tuple[Run, CollectError | None]]:
    """Yield runs as they end, each started after its parent, until none is left or time is up."""
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    waiting = list(todo)
    going: dict[Future[CollectError | None], Run] = {}
    while waiting or going:
        late = deadline is not None and time.monotonic() > deadline
        ready = [] if late else [run for run in waiting if _can_start(out, run)]
        for run in ready[: n_processes - len(going)]:
            waiting.remove(run)
            going[start(run)] = run
        if not going:
            return
        for future in wait(going, return_when=FIRST_COMPLETED).done:
            yield going.pop(future), future.result()


def _can_start(out: Path, run: Run) -> bool:
    if run.parent is None:
        return True
    return is_complete(out, run.parent) and network_file(out, run.parent).is_file()


def _attempt(design: Design, run: Run, out: Path, keeps_network: bool) -> CollectError | None:
    """Perform a run; return the refusal that kept it from being done."""
    try:
        perform(design, run, out, keeps_network=keeps_network)
    except OutputError:
        raise  # no other run could be written either
    except CollectError as error:
        return error
    return None


@contextmanager
def _workers(n_processes: int) -> Iterator[_Submit]:
    """Lend what starts a run: in this process, or in one of several fresh ones."""
    if n_processes == 1:
        yield _here
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
        try:
            yield lambda *given: pool.submit(_attempt, *given)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _here(design: Design, run: Run, out: Path, keeps_network: bool) -> Future[CollectError | None]:
    future: Future[CollectError | None] = Future()
    future.set_result(_attempt(design, run, out, keeps_network))
    return future


def check(path: Path, reference: Path, n: int) -> dict[str, float]:
    """Train the n cheapest first-generation runs again and compare them with their rows.

    Parameters
    ----------
    path
        The design.
    reference
        Directory of tables that hold rows of the design, merged or not.
    n
        How many runs.

    Returns
    -------
    By run: the largest difference of a response at any checkpoint.

    Raises
    ------
    InputError
        If the reference holds fewer runs of the design.
    """
    design = read_design(path)
    known = _read("study_response", reference)
    of_known = set(known["study_run_id"])
    held = [run for run in runs(design) if run.parent is None and run.run_id in of_known]
    if len(held) < n:
        raise InputError(
            f"{reference} must hold {n} runs of {path} to compare; found {len(held)}.",
            "Give the directory its rows were merged into.",
        )
    chosen = sorted(held, key=lambda run: run.seconds)[:n]
    scratch = Path(tempfile.mkdtemp())
    try:
        for run in chosen:
            perform(design, run, scratch, keeps_network=False)
        again = _read("study_response", scratch)
    finally:
        shutil.rmtree(scratch)
    return {run.run_id: _difference(known, again, run.run_id) for run in chosen}


def _read(table: str, directory: Path) -> pd.DataFrame:
    files = sorted((directory / table).glob("*.parquet"))
    if not files:
        names = [column.name for column in tables()[table].columns]
        return pd.DataFrame(columns=names)
    rows: pd.DataFrame = pd.concat([pq.read_table(file).to_pandas() for file in files])
    return rows


def _difference(known: pd.DataFrame, again: pd.DataFrame, run_id: str) -> float:
    key = ["step", "tokens"]
    old, new = (
        rows[rows["study_run_id"] == run_id]
        .drop(columns="study_run_id")
        .set_index(key)
        .sort_index()
        for rows in (known, again)
    )
    if not old.index.equals(new.index):
        return float("inf")
    return float(np.abs(old.to_numpy() - new.to_numpy()).max())

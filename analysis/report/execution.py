"""Processes in which IPython runs the code of pages, as Quarto's kernel would.

Each worker has one shell; no page finds a name that another one bound.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from analysis.report.cache import LOCKS
from analysis.report.reading.inline import Inline
from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra
from collect.process import shipped
from collect.process.requests import temporary_folder

Made = TypeVar("Made")
#: Values by MIME type, in order.
Outputs = list[dict[str, Any]]

#: Workers at most: each holds the data and what it computed in memory.
MOST_WORKERS = 4
#: For matrices as small as the report's a second thread of BLAS costs more than all computing.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Session:
    """The shell of this process, in which a page begins with no name bound."""

    def __init__(self) -> None:
        self._shell, self._outputs = _shell()
        self._shell.reset(new_session=False)
        gc.freeze()  # What is left stays to the end: no later collection looks through it.

    def run(self, code: str, *, name: str) -> Outputs:
        """Return what a chunk shows; what it prints goes to the terminal.

        ``name`` is the chunk in messages.
        """
        self._outputs.clear()
        with redirect_stdout(sys.stderr):
            result = self._shell.run_cell(code, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if isinstance(error, KeyboardInterrupt):
            raise error
        if error is not None:
            message = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ReportError(f"The chunk {name} must run; it ended with {message}")
        return list(self._outputs)

    def evaluate(self, asked: Sequence[Inline]) -> Outputs:
        """Return the values of expressions."""
        numbered = {str(number): inline.expression for number, inline in enumerate(asked)}
        answers = self._shell.user_expressions(numbered)
        for inline, answer in zip(asked, answers.values(), strict=True):
            if answer["status"] != "ok":
                message = f"{answer['ename']}: {answer['evalue']}".rstrip(": ")
                raise ReportError(f"{inline.name} must have a value; it ended with {message}")
        return [dict(answer["data"]) for answer in answers.values()]


@cache
def _shell() -> tuple[Any, Outputs]:
    """Return the shell of this process, and the list that receives what it shows."""
    outputs: Outputs = []
    settings = extra("traitlets.config").Config()
    settings.HistoryManager.enabled = False
    shell = extra("IPython.core.interactiveshell").InteractiveShell.instance(config=settings)

    def published(data: Mapping[str, Any], *_: Any, **_named: Any) -> None:
        outputs.append(dict(data))

    def shown(value: object) -> None:
        if value is not None:
            outputs.append(shell.display_formatter.format(value)[0])

    shell.display_pub.publish = published
    shell.display_trap.hook = shown
    shell._showtraceback = lambda *_: None
    return shell, outputs


def run_workers(
    make: Callable[..., Made], sources: Sequence[Path], directory: Path, *arguments: object
) -> dict[Path, Made]:
    """Return what a function makes of each page, several at a time in processes of their own.

    The function is called in a worker with a page, a `Session` and the arguments; its code works
    in the directory. The first error of a page ends the others, as by an interrupt.
    """
    for name, value in environment().items():
        os.environ.setdefault(name, value)
    context = multiprocessing.get_context("spawn")
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    n_workers = max(1, min(len(sources), len(cores), MOST_WORKERS))
    with (
        temporary_folder("report-") as locks,
        ProcessPoolExecutor(n_workers, context, _begin, (str(directory), str(locks))) as pool,
    ):
        try:
            tasks = {pool.submit(_work, make, source, arguments): source for source in sources}
            # A worker is watched from the next task on; all have started by now.
            pool.submit(int)
            results = {tasks[task]: task.result() for task in as_completed(tasks)}
            return {source: results[source] for source in sources}
        except BrokenProcessPool as error:
            raise ReportError(
                "A Python process that ran the chunks of a page ended.",
                "It may have run out of memory.",
            ) from error
        except BaseException:
            for child in multiprocessing.active_children():
                child.kill()
            raise


def _begin(directory: str, locks: str) -> None:
    """Set up a worker; it ends with the process that started it."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    atexit.register(gc.unfreeze)  # The engine complains at the end of what was never freed.
    os.environ[LOCKS] = locks
    # A worker that is killed cleans up nothing: what it makes lies in what its parent removes.
    tempfile.tempdir = locks
    os.chdir(directory)


def _work(make: Callable[..., Made], source: Path, arguments: tuple[object, ...]) -> Made:
    print(f"rendering: {source.name}", file=sys.__stderr__, flush=True)
    return make(source, Session(), *arguments)


def environment() -> dict[str, str]:
    """Return the environment of the report's code: this project's packages are importable.

    BLAS has one thread unless the caller's environment says otherwise.
    """
    inherited = os.environ.get("PYTHONPATH")
    paths = [str(shipped.BESIDE), *([inherited] if inherited else [])]
    settings = {"PYTHONPATH": os.pathsep.join(paths), "QUARTO_PYTHON": sys.executable}
    return {**ONE_THREAD, **os.environ, **settings}

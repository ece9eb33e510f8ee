"""One Python kernel that runs the chunks and evaluates the inline code of a report.

The kernel is this interpreter, whatever other kernels the machine knows, works in the
directory of the source as Quarto's does, and listens on sockets in a private directory only.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

from analysis.report.kept import LOCKS
from analysis.report.reading.inline import Inline
from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

TIME_LIMIT_S = 1800.0
START_LIMIT_S = 60.0
POLL_S = 0.5
#: How a line of progress begins; see `kept.Results.keep`.
PROGRESS = "computing: "
#: Ends what a page bound. What is left stays to the end: no later collection looks through it.
FORGET = "get_ipython().reset(new_session=False); __import__('gc').freeze()"
OUTPUT_TYPES = ("stream", "display_data", "execute_result")
PROJECT_ROOT = Path(__file__).resolve().parents[2]
#: For matrices as small as the report's a second thread of BLAS costs more than all computing.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Kernel:
    """A running kernel; a context manager, so that it never outlives the rendering.

    Parameters
    ----------
    directory
        Working directory of the code.
    time_limit
        Longest time one chunk may take [s].
    ended
        Set by another thread when the rendering is over, whatever runs.
    locks
        Directory in which kernels that run at the same time lock what they compute.
    """

    def __init__(
        self,
        directory: Path,
        time_limit: float = TIME_LIMIT_S,
        *,
        ended: Event | None = None,
        locks: Path | None = None,
    ) -> None:
        self.directory = directory
        self.time_limit = time_limit
        self._ended = ended or Event()
        self._locks = {} if locks is None else {LOCKS: str(locks)}

    def __enter__(self) -> Self:
        """Start the kernel.

        Raises
        ------
        MissingExtraError
            If ipykernel is not installed.
        ReportError
            If the kernel does not answer within a minute.
        """
        extra("ipykernel")
        manager = extra("jupyter_client.manager")
        # With no directory to search, the native kernel is left: this very interpreter.
        specifications = extra("jupyter_client.kernelspec").KernelSpecManager(kernel_dirs=[])
        # Removing needs open files too; where there are none left, the first error is the one told.
        with ExitStack() as opened:
            sockets = opened.enter_context(
                tempfile.TemporaryDirectory(prefix="report-", ignore_cleanup_errors=True)
            )
            self._manager = manager.KernelManager(
                kernel_spec_manager=specifications,
                transport="ipc" if os.name == "posix" else "tcp",
                connection_file=str(Path(sockets) / "kernel.json"),
            )
            self._manager.start_kernel(
                cwd=str(self.directory),
                env=environment() | self._locks,
                extra_arguments=["--HistoryManager.hist_file=:memory:"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            opened.callback(self._manager.shutdown_kernel, now=True)
            self._client = self._manager.client()
            self._client.start_channels()
            opened.callback(self._client.stop_channels)
            self._wait()
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the kernel and remove its sockets."""
        self._opened.close()

    def _wait(self) -> None:
        """Return when the kernel answers."""
        try:
            self._client.wait_for_ready(timeout=START_LIMIT_S)
        except RuntimeError as error:
            raise ReportError(
                f"The Python kernel must start; {sys.executable} did not answer: {error}.",
                f"Try: {sys.executable} -m ipykernel_launcher --version",
            ) from error

    def run(self, code: str, *, name: str) -> list[dict[str, Any]]:
        """Return the outputs of a chunk, in order.

        Parameters
        ----------
        code
            Python code.
        name
            The chunk in messages.

        Returns
        -------
        The content of each message, with its kind under ``type``: ``stream`` (``name``,
        ``text``), ``display_data`` or ``execute_result`` (``data`` by MIME type).

        Raises
        ------
        ReportError
            If the code raises, takes too long or ends the kernel.
        """
        outputs, reply = self._execute(code, {}, name=f"The chunk {name}")
        if reply["status"] != "ok":
            raise ReportError(f"The chunk {name} must run; it ended with {_last_line(reply)}")
        return _joined_streams(outputs)

    def evaluate(self, asked: Sequence[Inline]) -> list[dict[str, Any]]:
        """Return the representations by MIME type of the values of expressions, in their order.

        They are asked in one request: most of what one alone would cost is the asking.

        Raises
        ------
        ReportError
            If an expression raises, or they take too long or end the kernel.
        """
        if not asked:
            return []
        numbered = {str(number): inline.expression for number, inline in enumerate(asked)}
        several = f"The inline code from {asked[0].place} to {asked[-1].place}"
        name = several if len(asked) > 1 else asked[0].name
        _, reply = self._execute("", numbered, name=name)
        found = []
        for number, inline in zip(numbered, asked, strict=True):
            answer = reply["user_expressions"][number] if reply["status"] == "ok" else reply
            if answer["status"] != "ok":
                raise ReportError(
                    f"{inline.name} must have a value; it ended with {_last_line(answer)}"
                )
            found.append(dict(answer["data"]))
        return found

    def forget(self) -> None:
        """Forget every name that code has bound; what is imported stays loaded."""
        self.run(FORGET, name="between two pages")

    def _execute(
        self, code: str, expressions: Mapping[str, str], *, name: str
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        request = self._client.execute(
            code, user_expressions=dict(expressions), store_history=False, allow_stdin=False
        )
        outputs = []
        deadline = time.monotonic() + self.time_limit
        while True:
            message = self._next_message(deadline, name)
            if message is None or message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            _tell_progress(message)
            if message["msg_type"] in OUTPUT_TYPES:
                outputs.append({"type": message["msg_type"], **content})
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return outputs, self._reply(request)

    def _reply(self, request: str) -> dict[str, Any]:
        """Return the answer to a request, past late answers to the ones before it."""
        while True:
            message = self._client.get_shell_msg(timeout=START_LIMIT_S)
            if message["parent_header"].get("msg_id") == request:
                return dict(message["content"])

    def _next_message(self, deadline: float, name: str) -> dict[str, Any] | None:
        if self._ended.is_set():
            raise ReportError(f"{name} was ended: the rendering is over.")
        if time.monotonic() > deadline:
            raise ReportError(f"{name} must finish within {self.time_limit:g} s; it did not.")
        try:
            return dict(self._client.get_iopub_msg(timeout=POLL_S))
        except queue.Empty:
            if self._manager.is_alive():
                return None
            raise ReportError(
                f"{name} must leave the kernel alive; the Python process ended.",
                "It may have run out of memory.",
            ) from None


def environment() -> dict[str, str]:
    """Return the environment of the report's code: this project's packages are importable.

    BLAS has one thread unless the caller's environment says otherwise.
    """
    inherited = os.environ.get("PYTHONPATH")
    paths = [str(PROJECT_ROOT), *([inherited] if inherited else [])]
    own = {"PYTHONPATH": os.pathsep.join(paths), "QUARTO_PYTHON": sys.executable}
    return {**ONE_THREAD, **os.environ, **own}


def _tell_progress(message: Mapping[str, Any]) -> None:
    """Print what a chunk says it is computing, while it does."""
    content = message["content"]
    if message["msg_type"] == "stream" and content["text"].startswith(PROGRESS):
        print(content["text"], end="", file=sys.stderr, flush=True)


def _joined_streams(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for output in outputs:
        before = joined[-1] if joined else {"type": ""}
        same = output["type"] == before["type"] == "stream" and output["name"] == before["name"]
        if same:
            joined[-1] = {**before, "text": before["text"] + output["text"]}
        else:
            joined.append(output)
    return joined


def _last_line(reply: Mapping[str, Any]) -> str:
    return f"{reply['ename']}: {reply['evalue']}" if reply.get("evalue") else f"{reply['ename']}."

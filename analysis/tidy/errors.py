"""The few ways an analysis can refuse, each with its exit code.

The first sentence says what must hold and what was found; the hint says what to do.
"""

from __future__ import annotations

import errno

#: How native libraries say that memory is short, in whatever exception.
OUT_OF_MEMORY = (
    "allocate memory",
    "bad_alloc",
    "malloc of size",
    "out of memory",
    "not enough memory",
)


class AnalysisError(ValueError):
    """Refusal that a person can act on.

    Parameters
    ----------
    problem
        What must hold, and what was found, in one sentence.
    hint
        What to do about it, in one sentence.
    """

    exit_code = 2

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}\nhint: {hint}" if hint else problem)


class StoreError(AnalysisError):
    """The measurements cannot be opened: a file, column or key is wrong (exit code 2)."""


class ColumnError(AnalysisError):
    """A frame lacks a column, or a column holds what it must not (exit code 2)."""


class DesignError(AnalysisError):
    """The data cannot answer the question: too few units, no variation (exit code 2)."""


class QueryError(AnalysisError):
    """DuckDB refuses a query (exit code 2)."""


class MissingExtraError(AnalysisError):
    """A package of an extra is not installed (exit code 3)."""

    exit_code = 3


class UnreachableError(AnalysisError):
    """Something had to come over the network and did not (exit code 4)."""

    exit_code = 4


class ReportError(AnalysisError):
    """The report cannot be rendered (exit code 5)."""

    exit_code = 5


class ReportRequestError(ReportError):
    """A page or parameter is asked for that the report does not have (exit code 2)."""

    exit_code = 2


class UnexpectedError(AnalysisError):
    """A defect of this program: an exception that nobody foresaw (exit code 70).

    Parameters
    ----------
    error
        The exception.
    """

    exit_code = 70

    def __init__(self, error: BaseException) -> None:
        said = ascii(str(error).strip().partition("\n")[0][:200])[1:-1]
        super().__init__(
            f"Every failure must be foreseen; {type(error).__name__} was not"
            f"{f' ({said})' if said else ''}.",
            "This is a defect of thermoscope: report it where you have thermoscope from, with the "
            "command and with what it prints when --debug stands before the verb.",
        )


class ScarcityError(AnalysisError):
    """The machine lends no more memory, processes or open files (exit code 71).

    Parameters
    ----------
    what
        What it lacks.
    """

    exit_code = 71

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The machine must lend this command enough {what}; it lends no more.",
            "Raise the limit (ulimit -a lists them), or end other programs; no file was left "
            "half-written.",
        )


class TimeLimitError(AnalysisError):
    """A command reached the time limit that it was given (exit code 71).

    Parameters
    ----------
    seconds
        The limit [s].
    """

    exit_code = 71

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The time limit of {seconds:g} s was reached before the statement ended.",
            "Raise --timeout, or ask for fewer rows.",
        )


def scarcity(error: BaseException) -> ScarcityError | None:
    """Return what an exception says the machine lacks; None where it says something else."""
    kinds = {
        errno.ENOMEM: "memory",
        errno.EAGAIN: "processes and threads",
        errno.EMFILE: "open files",
        errno.ENFILE: "open files",
    }
    said = str(error).lower()
    number = getattr(error, "errno", None)  # ZeroMQ's errors have one and are no OSError
    if number in kinds:
        return ScarcityError(kinds[number])
    if isinstance(error, MemoryError) or any(words in said for words in OUT_OF_MEMORY):
        return ScarcityError("memory")
    if "can't start new thread" in said or "failed to launch worker thread" in said:
        return ScarcityError("processes and threads")
    return None

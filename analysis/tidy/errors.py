"""The few ways an analysis can refuse, each with its exit code.

The first sentence says what must hold and what was found; the hint says what to do.
"""

from __future__ import annotations


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


class ReportError(AnalysisError):
    """The report cannot be rendered (exit code 5)."""

    exit_code = 5


class UnexpectedError(AnalysisError):
    """A defect of this program: an exception that nobody foresaw (exit code 70).

    Parameters
    ----------
    error
        The exception.
    """

    exit_code = 70

    def __init__(self, error: Exception) -> None:
        said = ascii(str(error).strip().partition("\n")[0][:200])[1:-1]
        super().__init__(
            f"Every failure must be foreseen; {type(error).__name__} was not"
            f"{f' ({said})' if said else ''}.",
            "This is a defect of thermoscope: report it where you have thermoscope from, with the "
            "command and with what it prints when --debug stands before the verb.",
        )

"""The errors of an analysis, beside those that both packages have (`collect.errors`)."""

from __future__ import annotations

from collect.errors import (
    MissingExtraError,
    ScarcityError,
    ThermoscopeError,
    TimeLimitError,
    UnexpectedError,
    UnreachableError,
    scarcity,
)

__all__ = [
    "AnalysisError",
    "ColumnError",
    "DesignError",
    "MissingExtraError",
    "QueryError",
    "ReportError",
    "ReportRequestError",
    "ScarcityError",
    "StoreError",
    "TimeLimitError",
    "UnexpectedError",
    "UnreachableError",
    "scarcity",
]


class AnalysisError(ThermoscopeError, ValueError):
    """Something given to an analysis is wrong (exit code 2)."""


class StoreError(AnalysisError):
    """The measurements cannot be opened: a file, column or key is wrong (exit code 2)."""


class ColumnError(AnalysisError):
    """A frame lacks a column, or a column holds what it must not (exit code 2)."""


class DesignError(AnalysisError):
    """The data cannot answer the question: too few units, no variation (exit code 2)."""


class QueryError(AnalysisError):
    """DuckDB refuses a query (exit code 2)."""


class ReportError(AnalysisError):
    """The report cannot be rendered (exit code 5)."""

    exit_code = 5


class ReportRequestError(ReportError):
    """A page or parameter is asked for that the report does not have (exit code 2)."""

    exit_code = 2

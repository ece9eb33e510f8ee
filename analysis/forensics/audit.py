"""A paper's Markdown to a verdict on every test it reports."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.forensics import p_value, reported_tests
from analysis.tidy.errors import AnalysisError

#: How a PDF begins, whatever it is called.
PDF = b"%PDF-"

#: Verdicts that make the paper inconsistent with itself.
WRONG = (p_value.INCONSISTENT, p_value.DECISION_ERROR)


def of_file(path: Path, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return one row per test that a Markdown file reports, recomputed and judged.

    Columns are those of `p_value.check` on the rows of `reported_tests.find`.

    Raises
    ------
    AnalysisError
        If the file cannot be read as UTF-8 text, or alpha is not
        between 0 and 1.
    """
    try:
        content = path.read_bytes()
        if content.startswith(PDF):
            raise AnalysisError(f"{path} is a PDF, not text.", "Convert it to Markdown first.")
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not"
        raise AnalysisError(
            f"{path} must be a readable UTF-8 text; {reason}.",
            "Name the Markdown of a paper; convert a PDF to Markdown first.",
        ) from error
    return p_value.check(reported_tests.find(text), alpha=alpha)


def is_consistent(tests: pd.DataFrame) -> bool:
    """Tell whether no reported test contradicts itself."""
    return not tests["consistency"].isin(WRONG).any()


def is_checked(tests: pd.DataFrame) -> bool:
    """Tell whether any reported test could be recomputed."""
    return bool(tests["consistency"].isin((p_value.CONSISTENT, *WRONG)).any())


def words(tests: pd.DataFrame) -> str:
    """Return the verdicts as lines to read, and how many there are of each."""
    lines = [_line(row) for row in tests.to_dict("records")]
    kinds = (p_value.CONSISTENT, *WRONG, p_value.NOT_CHECKABLE, p_value.NOT_UNDERSTOOD)
    counts = tests["consistency"].value_counts()
    total = ", ".join(f"{counts.get(kind, 0)} {kind}" for kind in kinds)
    return "\n".join([*lines, f"{len(tests)} reported: {total}."])


def _line(row: Mapping[Any, Any]) -> str:
    head = f"line {row['line']:>4}  {row['consistency']:<14}  {row['quoted']}"
    recomputed = "" if isnan(row["p_value"]) else f"p from the statistic: {row['p_value']:.4g}"
    if not isnan(row["p_low"]):
        recomputed += f", {row['p_low']:.4g} to {row['p_high']:.4g} with its rounding"
    below = "; ".join(part for part in (recomputed, row["note"]) if part)
    return f"{head}\n{'':11}{below}" if below else head

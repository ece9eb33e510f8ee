"""Comparing verdicts with the committed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.tidy.errors import StoreError

#: Columns of the committed verdicts that a finding consists of.
COMPARED = (
    "statement",
    "verdict",
    "estimate",
    "conf_low",
    "conf_high",
    "p_value",
    "n_obs",
    "n_models",
    "n_suites",
    "rule",
    "caveats",
    "note",
)

#: A sum that cancels leaves this much of numbers about 1; whether it is 0 hangs on the processor.
RESIDUE = 1e-14


def read_verdicts(
    path: Path,
    columns: Sequence[str] = COMPARED,
    *,
    keys: Sequence[str] = ("claim_id",),
    made_by: str = "claims --write (for another paper, with --paper)",
) -> pd.DataFrame:
    """Return the committed verdicts, one row per claim.

    Parameters
    ----------
    path
        The file.
    columns, keys
        What it must hold: what a finding consists of, and what identifies a row.
    made_by
        What writes it, for the hint.

    Raises
    ------
    StoreError
        If the file is absent, damaged, or lacks a column.
    """
    try:
        rows = pd.read_csv(path)
        if missing := sorted({*keys, *columns} - set(rows.columns)):
            raise ValueError(f"it lacks {missing}")
    except (OSError, ValueError) as error:
        result = error.strerror if isinstance(error, OSError) else error
        raise StoreError(
            f"The committed verdicts must be a whole CSV file {path}; {result}.",
            f"Write them with: thermoscope {made_by}.",
        ) from error
    return rows


def differences(
    before: pd.DataFrame,
    after: pd.DataFrame,
    columns: Sequence[str] = COMPARED,
    *,
    keys: Sequence[str] = ("claim_id",),
) -> pd.DataFrame:
    """Return one row per claim and column that differ: `claim_id` and `difference` in words."""
    joined = before.merge(after, on=list(keys), how="outer", suffixes=("_before", "_after"))
    rows = [
        {
            "claim_id": row["claim_id"],
            "difference": f"claim {', '.join(str(row[key]) for key in keys)}: {name} "
            f"{row[f'{name}_before']} -> {row[f'{name}_after']}",
        }
        for row in joined.to_dict("records")
        for name in columns
        if _differs(row[f"{name}_before"], row[f"{name}_after"])
    ]
    return pd.DataFrame(rows, columns=["claim_id", "difference"])


def _differs(before: Any, after: Any) -> bool:
    """Tell whether two values differ; numbers by more than their rounding between machines."""
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) != pd.isna(after))
    if isinstance(before, str) or isinstance(after, str):
        return str(before) != str(after)
    return not math.isclose(before, after, rel_tol=1e-6, abs_tol=RESIDUE)

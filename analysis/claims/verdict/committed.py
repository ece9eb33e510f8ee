"""Comparing verdicts with the committed ones."""

from __future__ import annotations

import math
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


def read_verdicts(path: Path) -> pd.DataFrame:
    """Return the committed verdicts, one row per claim.

    Raises
    ------
    StoreError
        If the file is absent, damaged, or lacks a column.
    """
    try:
        rows = pd.read_csv(path)
        if missing := sorted({"claim_id", *COMPARED} - set(rows.columns)):
            raise ValueError(f"it lacks {missing}")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"The committed verdicts must be a whole CSV file {path}; {error}.",
            "Write them with: python -m analysis claims --write (for another paper, with --paper).",
        ) from error
    return rows


def differences(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return one row per claim and column that differ: `claim_id` and `difference` in words."""
    joined = before.merge(after, on="claim_id", how="outer", suffixes=("_before", "_after"))
    rows = [
        {
            "claim_id": row["claim_id"],
            "difference": f"claim {row['claim_id']}: {name} {row[f'{name}_before']} -> "
            f"{row[f'{name}_after']}",
        }
        for row in joined.to_dict("records")
        for name in COMPARED
        if _differs(row[f"{name}_before"], row[f"{name}_after"])
    ]
    return pd.DataFrame(rows, columns=["claim_id", "difference"])


def _differs(before: Any, after: Any) -> bool:
    """Tell whether two values differ; numbers by more than their rounding between machines."""
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) != pd.isna(after))
    if isinstance(before, str) or isinstance(after, str):
        return str(before) != str(after)
    return not math.isclose(before, after, rel_tol=1e-6)

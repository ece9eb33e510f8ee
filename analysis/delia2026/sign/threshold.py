"""Whether some threshold on a size separates dampening from expanding models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.inference.resampling import permutation

METHOD = "accuracy of the best threshold in either direction, chosen after looking"


def best_cut(models: pd.DataFrame) -> float:
    """Return the share of models on the right side of the best threshold on their size.

    ``models`` has one row per model: `size`, `dampens`. Either side may be the dampening one.
    """
    sizes, dampens = models["size"].to_numpy(), models["dampens"].to_numpy(dtype=bool)
    sides = sizes[:, None] >= np.append(sizes, np.inf)
    agreeing = (sides == dampens[:, None]).mean(axis=0)
    return float(np.maximum(agreeing, 1 - agreeing).max())


def separation(
    part: str,
    condition: str,
    models: pd.DataFrame,
    *,
    counts: bool = True,
    tests: bool = True,
    note: str = "",
) -> Check:
    """Return the check that some threshold puts every model on the right side.

    Parameters
    ----------
    part, condition
        What is asserted, and how it was read.
    models
        One row per model: `size`, `dampens` (bool), and what `evidence.check` reads.
    counts
        Whether the check decides; else it is shown only.
    tests
        Whether the accuracy gets a p, by exact permutation of the labels.
    note
        What a reader must know besides.
    """
    if models.empty or models["dampens"].nunique() < 2:
        return evidence.missing(part, condition, "not both signs occur among its models")
    share = best_cut(models)
    return evidence.check(
        part,
        condition,
        share == 1 if counts else None,
        models,
        decides=counts,
        estimate=share,
        note=f"{_count(models, share)} {note}".strip(),
        **(_chance(models) if tests else {"method": METHOD}),
        measure="accuracy",
    )


def _chance(models: pd.DataFrame) -> dict[str, Any]:
    test = permutation.permutation_test(
        models[["size", "dampens"]], best_cut, label="dampens", unit=None, alternative="greater"
    ).iloc[0]
    return {
        "p_value": float(test["p_value"]),
        "method": f"{METHOD}; exact permutation of the labels, {evidence.INDEPENDENT}",
    }


def _count(models: pd.DataFrame, share: float) -> str:
    """Return in words how many models lie right, beside guessing, and how large both kinds are."""
    commoner = int(models["dampens"].value_counts().max())
    means = models.groupby("dampens")["size"].mean()
    return (
        f"{round(share * len(models))} of {len(models)} models on the right side; always guessing "
        f"the commoner sign gets {commoner}. The mean of the expanding models is "
        f"{means[False] / means[True]:.2f} times that of the dampening ones."
    )

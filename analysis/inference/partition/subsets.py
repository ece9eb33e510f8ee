"""R squared of every subset of blocks, on the frame and on resamples of clusters.

Commonality and dominance analysis, like Shapley shares, are functions of these 2^k numbers.
Computed once, they serve all three, and every method sees the same resamples.

>>> import numpy as np
>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import subsets
>>> rows = grunfeld.load_pandas().data
>>> blocks = {"value": ["value"], "capital": ["capital"]}
>>> how = {"rng": np.random.default_rng(1), "n_resamples": 9}
>>> parts = subsets.all_subsets(rows, response="invest", blocks=blocks, **how)
>>> parts.r_squared.round(3).tolist()
[0.0, 0.744, 0.456, 0.818]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.partition.explained import CONSTANT
from analysis.inference.partition.partition import (
    Blocks,
    block_design,
    require_residual_df,
    subset_columns,
)
from analysis.inference.resampling.bootstrap import draws, interval, interval_note
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers, group_codes, rows_by_group

#: Singular values below this share of the largest are zero.
RANK = 1e-12


@dataclass(frozen=True, slots=True)
class Subsets:
    """R squared of every subset of k blocks; subset s holds block b when bit b of s is set.

    Attributes
    ----------
    names
        Block names, length k.
    r_squared
        On the frame itself, shape (2^k,).
    chance
        What a response of pure noise would give, shape (2^k,): its rank over n - 1.
    replicates, chance_replicates
        Both on every resample, shape (B, 2^k), NaN where a resample's response does not vary.
    n_obs, n_groups
        Rows, and clusters resampled.
    """

    names: tuple[str, ...]
    r_squared: Floats
    chance: Floats
    replicates: Floats
    chance_replicates: Floats
    n_obs: int
    n_groups: int


def all_subsets(
    frame: pd.DataFrame,
    *,
    response: str,
    blocks: Blocks,
    rng: np.random.Generator,
    cluster: str | None = None,
    n_resamples: int = 1999,
) -> Subsets:
    """Return R squared of all subsets of blocks, with a cluster bootstrap.

    Least squares with the Moore-Penrose inverse, so that nested blocks (lab and suite) and
    levels that a resample lacks cost nothing.

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    response
        Column of finite numbers.
    blocks
        Block name to its columns, at most ten blocks. Text and categories become dummies.
    rng
        Source of the draws.
    cluster
        Column naming the independent units; None when each row is one.
    n_resamples
        Resamples to draw.

    Raises
    ------
    ColumnError, DesignError
        As `analysis.inference.partition.partition.shapley`.
    """
    design = block_design(frame, response, blocks)
    groups = rows_by_group(group_codes(frame, cluster))
    subsets = [subset_columns(design, subset) for subset in range(2 ** len(design.names))]
    require_residual_df(subsets[-1])
    everything = np.arange(len(frame))
    resamples = draws(len(groups), n_resamples, rng)
    drawn = np.array(
        [
            _explained(subsets, design.response, np.concatenate([groups[code] for code in draw]))
            for draw in resamples
        ]
    )
    found, chance = _explained(subsets, design.response, everything)
    return Subsets(
        names=design.names,
        r_squared=found,
        chance=chance,
        replicates=drawn[:, 0],
        chance_replicates=drawn[:, 1],
        n_obs=len(frame),
        n_groups=len(groups),
    )


def among(subsets: Subsets, names: Sequence[str]) -> Subsets:
    """Return the same resamples as if only some of the blocks had been asked for.

    Raises
    ------
    DesignError
        If a name is not a block, or there is none.
    """
    unknown = [name for name in names if name not in subsets.names]
    if unknown or not names:
        raise DesignError(
            f"Blocks must be among {list(subsets.names)}; found {list(names)}.",
            "Name at least one of them.",
        )
    bits = [1 << subsets.names.index(name) for name in names]
    kept = np.array(
        [
            sum(bit for place, bit in enumerate(bits) if chosen >> place & 1)
            for chosen in range(2 ** len(bits))
        ]
    )
    return replace(
        subsets,
        names=tuple(names),
        r_squared=subsets.r_squared[kept],
        chance=subsets.chance[kept],
        replicates=subsets.replicates[:, kept],
        chance_replicates=subsets.chance_replicates[:, kept],
    )


def share_columns(subsets: Subsets, weights: Floats, conf_level: float) -> dict[str, object]:
    """Return the columns of one linear combination of the subsets' R squared.

    `weights` has shape (2^k,). The columns are `share`, its percentile interval, `chance_share`,
    `r_squared` of all blocks, and the counts.
    """
    estimate = float(weights @ subsets.r_squared)
    replicates = subsets.replicates @ weights
    low, high = interval(replicates, estimate, conf_level)
    return {
        "share": estimate,
        "conf_low": low,
        "conf_high": high,
        "conf_level": conf_level,
        "chance_share": float(weights @ subsets.chance),
        "r_squared": float(subsets.r_squared[-1]),
        "n_obs": subsets.n_obs,
        "n_groups": subsets.n_groups,
        "n_resamples": len(replicates),
        "n_failed": int(np.isnan(replicates).sum()),
        "note": interval_note(subsets.n_groups, estimate, low, high),
    }


def _explained(subsets: Sequence[Floats], response: Floats, rows: Integers) -> Floats:
    """Return R squared of every subset on some rows and what noise would give, shape (2, 2^k).

    Noise is drawn once for every distinct row, and repeats with it. With w repeats of a row and
    an orthonormal basis q of the columns over all n rows, the expected sum of squares explained
    is the sum of w q^2, out of n less the sum of w / n.
    """
    outcome = response[rows] - response[rows].mean()
    total = float(outcome @ outcome)
    if total <= CONSTANT * float(response[rows] @ response[rows]):
        return np.full((2, len(subsets)), np.nan)
    repeats = np.bincount(rows, minlength=len(response))[rows].astype(np.float64)
    of_noise = len(rows) - float(repeats.sum()) / len(rows)
    explained = np.zeros((2, len(subsets)))
    for place, columns in enumerate(subsets):
        if columns.shape[1]:
            basis = _basis(columns[rows] - columns[rows].mean(axis=0))
            explained[0, place] = float(((outcome @ basis) ** 2).sum()) / total
            explained[1, place] = float((repeats[:, None] * basis**2).sum()) / of_noise
    return explained


def _basis(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of some columns, shape (n, rank)."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > RANK * max(float(singular[0]), 1.0)])

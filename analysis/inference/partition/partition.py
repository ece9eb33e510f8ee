"""Partition of explained variance among blocks of predictors.

The share of a block is its Shapley value of R squared: the mean increase of R squared over
all orders in which blocks can enter (LMG: Lindeman, Merenda and Gold 1980). A block with
more columns explains more by chance alone; `chance_share` says how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from analysis.inference.partition.explained import CONSTANT, r_squared
from analysis.inference.resampling.bootstrap import METHODS, draws, interval, interval_note
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    group_codes,
    level_codes,
    numbers,
    require_conf_level,
    require_option,
    require_variation,
    rows_by_group,
)

Blocks = Mapping[str, Sequence[str]]

#: All 2^k subsets of k blocks are fitted.
MOST_BLOCKS = 10

#: Differences of shares closer than this are ties.
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class BlockDesign:
    """Predictors by block, standardised over n rows, and the response.

    Attributes
    ----------
    names
        Block names, length k.
    columns
        One array per block, shape (n, columns of the block).
    response
        Shape (n,).
    """

    names: tuple[str, ...]
    columns: tuple[Floats, ...]
    response: Floats


@dataclass(frozen=True, slots=True)
class Resampled:
    """Shares on the frame itself and on every resample of clusters.

    Attributes
    ----------
    design
        The blocks and the response.
    shares
        Shape (k,).
    replicates
        Shape (B, k), NaN where a resample's response does not vary.
    left_out
        Shares without each cluster, shape (G, k); None unless BCa asks for it.
    n_groups
        Clusters resampled.
    """

    design: BlockDesign
    shares: Floats
    replicates: Floats
    left_out: Floats | None
    n_groups: int


def shapley(
    frame: pd.DataFrame,
    *,
    response: str,
    blocks: Blocks,
    rng: np.random.Generator,
    cluster: str | None = None,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
    method: str = "percentile",
) -> pd.DataFrame:
    """Return the Shapley share of R squared of every block, with a cluster bootstrap interval.

    Each resample fits all subsets of blocks by least squares with the Moore-Penrose inverse,
    so a level that the resample lacks costs nothing. Rows repeat in resamples, which pushes R
    squared up: read the interval as a spread. To rank blocks, use `differences`.

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    response
        Column of finite numbers.
    blocks
        Block name to its columns, at most ten blocks. Text, categories become dummies.
    rng
        Source of the draws; the same seed gives `differences` the same resamples.
    cluster
        Column naming the independent units; None when each row is one.
    n_resamples, conf_level, method
        As in `analysis.inference.resampling.bootstrap.cluster_bootstrap`.

    Returns
    -------
    One row per block, in the order given: `block`, `share` (summing to `r_squared`), the
    interval, `chance_share`, `r_squared`, `n_obs`, `n_groups`, `n_resamples`, `n_failed`.

    Raises
    ------
    ColumnError
        If a column is absent, unusable, in two blocks, or the response.
    DesignError
        If a predictor or the response is constant, the full model leaves no residual degree
        of freedom, there are more than ten blocks or fewer than two clusters.
    """
    require_conf_level(conf_level)
    design = block_design(frame, response, blocks)
    clusters = group_codes(frame, cluster)
    resampled = _resample(design, clusters, rng=rng, n_resamples=n_resamples, method=method)
    chance = chance_shares(design)
    rows = [
        {"block": name, "share": resampled.shares[position], "chance_share": chance[position]}
        | _interval_columns(resampled, np.eye(len(blocks))[position], conf_level, method)
        for position, name in enumerate(blocks)
    ]
    result = pd.DataFrame(rows).assign(
        r_squared=resampled.shares.sum(),
        method=f"Shapley share of R squared; cluster bootstrap, {method} interval",
    )
    glossary.checked(result.columns)
    return result


def differences(
    frame: pd.DataFrame,
    *,
    response: str,
    blocks: Blocks,
    rng: np.random.Generator,
    cluster: str | None = None,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
    method: str = "percentile",
) -> pd.DataFrame:
    """Return the difference of shares of every pair of blocks, with its interval.

    Both shares of a pair come from the same resample. A block with more columns leads by
    `null_value` when the response is shuffled, so a ranking is supported only where the
    interval excludes both zero and `null_value`. Intervals are not adjusted for the number of
    pairs.

    Parameters
    ----------
    frame, response, blocks, rng, cluster, n_resamples, conf_level, method
        As in `shapley`.

    Returns
    -------
    One row per pair: `contrast` (first minus second), `estimate`, `null_value`, `p_value` (see
    `beyond_chance`), the interval, `n_obs`, `n_groups`, `n_resamples`, `n_failed`.

    Raises
    ------
    ColumnError, DesignError
        As in `shapley`, and if there are fewer than two blocks.
    """
    if len(blocks) < 2:
        raise DesignError(
            f"A difference needs at least two blocks; found {len(blocks)}.",
            "Use shapley for the share of one block.",
        )
    require_conf_level(conf_level)
    design = block_design(frame, response, blocks)
    clusters = group_codes(frame, cluster)
    resampled = _resample(design, clusters, rng=rng, n_resamples=n_resamples, method=method)
    chance = chance_shares(design)
    unit = np.eye(len(blocks))
    names = list(blocks)
    rows = []
    for first, second in combinations(range(len(blocks)), 2):
        contrast = unit[first] - unit[second]
        estimate = {
            "contrast": f"{names[first]} - {names[second]}",
            "estimate": contrast @ resampled.shares,
            "null_value": contrast @ chance,
            "p_value": float(
                beyond_chance(resampled.replicates @ contrast, float(contrast @ chance))
            ),
        }
        rows.append(estimate | _interval_columns(resampled, contrast, conf_level, method))
    result = pd.DataFrame(rows).assign(
        method=f"Difference of Shapley shares; cluster bootstrap, {method} interval"
    )
    glossary.checked(result.columns)
    return result


def beyond_chance(replicates: Floats, null_value: float) -> Floats:
    """Return twice the share of resamples that do not lead beyond both zero and chance.

    The smaller of both directions counts, (b + 1) / (B + 1) and at most 1: the level of the widest
    percentile interval that clears zero and ``null_value``. One that equals them but for rounding
    does not lead: which blocks span the same in a resample must not hang on the processor.

    Parameters
    ----------
    replicates
        Resampled differences, shape (resamples,) or (resamples, cases); missing ones do not count.
    null_value
        The lead that chance gives.
    """
    known = np.sum(~np.isnan(replicates), axis=0)
    short = np.minimum(
        np.sum(replicates <= max(0.0, null_value) + TIE, axis=0),
        np.sum(replicates >= min(0.0, null_value) - TIE, axis=0),
    )
    return np.asarray(np.minimum(1.0, 2 * (short + 1) / (known + 1)), dtype=np.float64)


def shapley_weights(n_blocks: int) -> Floats:
    """Return the matrix that turns values of subsets into Shapley values, shape (k, 2^k).

    Subset s holds block b when bit b of s is set.
    """
    weights = np.zeros((n_blocks, 2**n_blocks))
    for subset in range(2**n_blocks):
        size = subset.bit_count()
        for block in range(n_blocks):
            if subset >> block & 1:
                weights[block, subset] = 1 / (n_blocks * comb(n_blocks - 1, size - 1))
            else:
                weights[block, subset] = -1 / (n_blocks * comb(n_blocks - 1, size))
    return weights


def chance_shares(design: BlockDesign) -> Floats:
    """Return the mean share of every block over all orders of the response, shape (k,).

    A shuffled response has on average R squared rank/(n - 1).
    """
    subsets = range(1, 2 ** len(design.names))
    ranks = [0, *(np.linalg.matrix_rank(subset_columns(design, subset)) for subset in subsets)]
    expected = np.array(ranks) / (len(design.response) - 1)
    return np.asarray(shapley_weights(len(design.names)) @ expected, dtype=np.float64)


def require_blocks(blocks: Blocks, response: str | None = None) -> None:
    """Raise unless there are one to ten blocks, each with columns of its own.

    Raises
    ------
    ColumnError
        If a column is in two blocks, or is the response.
    DesignError
        If there are no blocks, more than ten, or one without a column.
    """
    named = [name for names in blocks.values() for name in names]
    used = named if response is None else [*named, response]
    repeated = sorted({name for name in used if used.count(name) > 1})
    if repeated:
        raise ColumnError(
            f"A column must be in one block, and not the response; {repeated} are used twice.",
            "Give each column to the block it belongs to.",
        )
    if not 1 <= len(blocks) <= MOST_BLOCKS or not all(blocks.values()):
        raise DesignError(
            f"There must be 1 to {MOST_BLOCKS} blocks, each with a column; found {dict(blocks)}.",
            "Join blocks that make one argument.",
        )


def block_design(frame: pd.DataFrame, response: str, blocks: Blocks) -> BlockDesign:
    """Return the checked predictors of every block, standardised, and the response."""
    require_blocks(blocks, response)
    outcome = numbers(frame, response)
    require_variation(outcome, response)
    if outcome.var() <= CONSTANT * float(np.square(outcome).mean()):
        raise DesignError(
            f"Column {response!r} must vary beyond rounding; its mean is {float(outcome.mean()):g} "
            f"and its standard deviation {float(outcome.std()):g}.",
            "Subtract a constant near its mean first.",
        )
    return BlockDesign(tuple(blocks), tuple(block_columns(frame, blocks).values()), outcome)


def block_columns(frame: pd.DataFrame, blocks: Blocks) -> dict[str, Floats]:
    """Return the standardised columns of every block: a number, or a dummy of every level."""
    return {
        block: np.column_stack([_predictor(frame, name) for name in names])
        for block, names in blocks.items()
    }


def _predictor(frame: pd.DataFrame, name: str) -> Floats:
    """Return a standardised column of numbers, or standardised dummies of every level."""
    if name in frame.columns and not pd.api.types.is_numeric_dtype(frame[name]):
        codes, levels = level_codes(frame, name)
        require_variation(codes.astype(np.float64), name)
        columns = np.eye(len(levels))[codes]
    else:
        values = numbers(frame, name)
        require_variation(values, name)
        columns = values[:, None]
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0), dtype=np.float64)


def subset_columns(design: BlockDesign, subset: int) -> Floats:
    """Return the columns of the blocks whose bit is set, shape (n, columns)."""
    chosen = [columns for block, columns in enumerate(design.columns) if subset >> block & 1]
    return np.column_stack([np.empty((len(design.response), 0)), *chosen])


def _resample(
    design: BlockDesign,
    clusters: Integers,
    *,
    rng: np.random.Generator,
    n_resamples: int,
    method: str,
) -> Resampled:
    require_option("method", method, METHODS)
    require_residual_df(np.column_stack(design.columns))
    groups = rows_by_group(clusters)
    weights = shapley_weights(len(design.names))

    def shares(samples: Sequence[Integers]) -> Floats:
        return np.asarray(r_squared(design.columns, design.response, samples) @ weights.T)

    everything = np.arange(len(design.response))
    # With few clusters many resamples are the same rows in another order.
    drawn = np.sort(draws(len(groups), n_resamples, rng), axis=1)
    distinct, place = np.unique(drawn, axis=0, return_inverse=True)
    replicates = shares([np.concatenate([groups[code] for code in draw]) for draw in distinct])[
        place.reshape(-1)
    ]
    left_out = (
        shares([np.setdiff1d(everything, rows) for rows in groups]) if method == "bca" else None
    )
    return Resampled(design, shares([everything])[0], replicates, left_out, len(groups))


def require_residual_df(columns: Floats) -> None:
    """Raise DesignError unless the full model leaves a residual degree of freedom."""
    rank = int(np.linalg.matrix_rank(columns))
    if rank + 1 >= len(columns):
        raise DesignError(
            f"The full model must leave a residual degree of freedom; {len(columns)} rows and "
            f"{rank} independent columns leave none, so R squared is 1 whatever the data.",
            "Use fewer columns, or blocks that vary less from row to row.",
        )


def _interval_columns(
    resampled: Resampled, contrast: Floats, conf_level: float, method: str
) -> dict[str, object]:
    """Return interval and counts of one linear combination of the shares."""
    estimate = float(contrast @ resampled.shares)
    replicates = resampled.replicates @ contrast
    left_out = None if resampled.left_out is None else resampled.left_out @ contrast
    low, high = interval(replicates, estimate, conf_level, method=method, left_out=left_out)
    return {
        "conf_low": low,
        "conf_high": high,
        "conf_level": conf_level,
        "n_obs": len(resampled.design.response),
        "n_groups": resampled.n_groups,
        "n_resamples": len(replicates),
        "n_failed": int(np.isnan(replicates).sum()),
        "note": interval_note(
            resampled.n_groups, estimate, low, high, replicates if method == "bca" else None
        ),
    }

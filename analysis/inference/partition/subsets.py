"""R squared of every subset of blocks of predictors, on the frame and on resamples of clusters.

Shapley's shares, dominance and what a block adds last are functions of these 2^k numbers
(`shares`). Computed once, they serve all, and every method sees the same resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.partition.explained import CONSTANT, r_squared
from analysis.inference.resampling.bootstrap import draws
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    group_codes,
    level_codes,
    numbers,
    require_variation,
    rows_by_group,
    seed_of,
)

#: Name of a block to the columns it holds.
Blocks = Mapping[str, Sequence[str]]

#: All 2^k subsets of k blocks are fitted.
MOST_BLOCKS = 10

#: Singular values below this share of the largest are zero.
RANK = 1e-12


@dataclass(frozen=True, slots=True)
class Subsets:
    """R squared of every subset of k blocks; subset s holds block b when bit b of s is set."""

    names: tuple[str, ...]  #: Block names, length k.
    r_squared: Floats  #: On the frame itself, shape (2^k,).
    chance: Floats  #: What a response of pure noise would give, shape (2^k,): its rank over n - 1.
    #: Both on every resample, shape (B, 2^k), NaN where a resample's response does not vary; the
    #: second without rows unless it was asked for.
    replicates: Floats
    chance_replicates: Floats
    #: Rows, and clusters resampled.
    n_obs: int
    n_groups: int
    seed: str = ""  #: Of the draws, as `analysis.tidy.frame.seed_of` gives it.


def all_subsets(
    frame: pd.DataFrame,
    *,
    response: str,
    blocks: Blocks,
    rng: np.random.Generator | None = None,
    cluster: str | None = None,
    n_resamples: int = 1999,
    with_chance: bool = False,
) -> Subsets:
    """Return R squared of all subsets of blocks, with a cluster bootstrap.

    Nested blocks (lab and suite) and levels that a resample lacks cost nothing. Rows repeat in
    resamples, which pushes R squared up: read an interval as a spread.

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    response
        Column of finite numbers.
    blocks
        Block name to its columns, at most ten blocks. Text and categories become dummies.
    rng
        Source of the draws; a generator with the seed `analysis.tidy.frame.SEED` when None.
    cluster
        Column naming the independent units; None when each row is one.
    n_resamples
        Resamples to draw.
    with_chance
        Whether to compute what noise would explain on every resample, which `shares.dominance`
        needs.

    Raises
    ------
    ColumnError
        If a column is absent, unusable, in two blocks, or the response.
    DesignError
        If a predictor or the response is constant, the full model leaves no residual degree
        of freedom, there are more than ten blocks or fewer than two clusters.

    Examples
    --------
    >>> import numpy as np
    >>> import thermoscope as ts
    >>> from statsmodels.datasets import grunfeld
    >>> rows = grunfeld.load_pandas().data
    >>> blocks = {"value": ["value"], "capital": ["capital"]}
    >>> rng = np.random.default_rng(1)
    >>> parts = ts.all_subsets(rows, response="invest", blocks=blocks, rng=rng, n_resamples=99)
    >>> parts.r_squared.round(3).tolist()
    [0.0, 0.744, 0.456, 0.818]
    """
    require_blocks(blocks, response)
    outcome = _outcome(frame, response)
    columns = list(block_columns(frame, blocks).values())
    groups = rows_by_group(group_codes(frame, cluster))
    bits = range(2 ** len(columns))
    designs = [_columns_of(columns, subset) for subset in bits]
    _require_residual_df(designs[-1])
    # With few clusters many resamples are the same rows in another order.
    rng = generator(rng, "clusters are drawn")
    drawn = np.sort(draws(len(groups), n_resamples, rng), axis=1)
    distinct, place = np.unique(drawn, axis=0, return_inverse=True)
    samples = [np.concatenate([groups[code] for code in draw]) for draw in distinct]
    everything = np.arange(len(frame))
    noise = [_noise_r_squared(designs, outcome, rows) for rows in samples] if with_chance else []
    return Subsets(
        names=tuple(blocks),
        r_squared=r_squared(columns, outcome, [everything])[0],
        chance=_noise_r_squared(designs, outcome, everything),
        replicates=r_squared(columns, outcome, samples)[place.reshape(-1)],
        chance_replicates=np.array(noise)[place.reshape(-1)] if noise else np.empty((0, len(bits))),
        n_obs=len(frame),
        n_groups=len(groups),
        seed=seed_of(rng),
    )


def select_blocks(subsets: Subsets, names: Sequence[str]) -> Subsets:
    """Return the same resamples as if only some of the blocks had been asked for."""
    bits = [1 << subsets.names.index(name) for name in names]
    chosen = np.array(
        [
            sum(bit for place, bit in enumerate(bits) if subset >> place & 1)
            for subset in range(2 ** len(bits))
        ]
    )
    return replace(
        subsets,
        names=tuple(names),
        r_squared=subsets.r_squared[chosen],
        chance=subsets.chance[chosen],
        replicates=subsets.replicates[:, chosen],
        chance_replicates=subsets.chance_replicates[:, chosen],
    )


def require_blocks(blocks: Blocks, response: str | None = None) -> None:
    """Raise unless there are one to ten blocks, each with columns of its own."""
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


def block_columns(frame: pd.DataFrame, blocks: Blocks) -> dict[str, Floats]:
    """Return the standardised columns of every block: a number, or a dummy of every level."""
    return {
        block: np.column_stack([_predictor(frame, name) for name in names])
        for block, names in blocks.items()
    }


def _outcome(frame: pd.DataFrame, response: str) -> Floats:
    outcome = numbers(frame, response)
    require_variation(outcome, response)
    if outcome.var() <= CONSTANT * float(np.square(outcome).mean()):
        raise DesignError(
            f"Column {response!r} must vary beyond rounding; its mean is {float(outcome.mean()):g} "
            f"and its standard deviation {float(outcome.std()):g}.",
            "Subtract a constant near its mean first.",
        )
    return outcome


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


def _columns_of(columns: Sequence[Floats], subset: int) -> Floats:
    """Return the columns of the blocks whose bit is set, shape (n, columns)."""
    chosen = [block for place, block in enumerate(columns) if subset >> place & 1]
    return np.column_stack([np.empty((len(columns[0]), 0)), *chosen])


def _require_residual_df(columns: Floats) -> None:
    rank = int(np.linalg.matrix_rank(columns))
    if rank + 1 >= len(columns):
        raise DesignError(
            f"The full model must leave a residual degree of freedom; {len(columns)} rows and "
            f"{rank} independent columns leave none. R squared would be 1 whatever the data.",
            "Use fewer columns, or blocks that vary less from row to row.",
        )


def _noise_r_squared(designs: Sequence[Floats], outcome: Floats, rows: Integers) -> Floats:
    """Return the R squared that noise would give to every subset on some rows, shape (2^k,).

    Noise is drawn once for every distinct row, and repeats with it. With w repeats of a row and
    an orthonormal basis q of the columns over all n rows, the expected sum of squares explained
    is the sum of w q^2, out of n less the sum of w / n.
    """
    if np.ptp(outcome[rows]) == 0:
        return np.full(len(designs), np.nan)
    repeats = np.bincount(rows, minlength=len(outcome))[rows].astype(np.float64)
    of_noise = len(rows) - float(repeats.sum()) / len(rows)
    return np.array(
        [
            float((repeats[:, None] * _basis(design[rows]) ** 2).sum()) / of_noise
            for design in designs
        ]
    )


def _basis(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of some columns, centred, shape (n, rank)."""
    if not columns.shape[1]:
        return columns
    left, singular, _ = np.linalg.svd(columns - columns.mean(axis=0), full_matrices=False)
    return np.asarray(left[:, singular > RANK * max(float(singular[0]), 1.0)])

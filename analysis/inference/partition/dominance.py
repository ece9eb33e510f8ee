"""Dominance analysis: whether one block adds more than another, whatever else is in the model.

Budescu (1993), Psychological Bulletin 114; Azen and Budescu (2003), Psychological Methods 8.
Block i dominates block j completely when it adds more to every subset of the other blocks;
conditionally when it adds more on average at every number of blocks already entered; generally
when its Shapley share is larger. Complete implies conditional implies general dominance.

>>> import numpy as np
>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import dominance, subsets
>>> rows = grunfeld.load_pandas().data
>>> blocks = {"value": ["value"], "capital": ["capital"]}
>>> how = {"rng": np.random.default_rng(1), "n_resamples": 99}
>>> parts = subsets.all_subsets(rows, response="invest", blocks=blocks, **how)
>>> dominance.general(parts)["share"].round(3).tolist()
[0.553, 0.265]
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from analysis.inference.partition.partition import shapley_weights
from analysis.inference.partition.subsets import Subsets, share_columns
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_conf_level, require_flags

#: Differences of R squared below this are ties (order of summation).
TIE = 1e-10

KINDS = ("complete", "conditional", "general")


def general(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the general dominance of every block: its Shapley share of R squared.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`.
    conf_level
        Nominal coverage of the percentile intervals.

    Returns
    -------
    One row per block: `block`, `share` (summing to `r_squared`), the interval, `chance_share`,
    `n_obs`, `n_groups`, `n_resamples`, `n_failed`, `note`.
    """
    require_conf_level(conf_level)
    weights = shapley_weights(len(subsets.names))
    rows = [
        {"block": name} | share_columns(subsets, weights[block], conf_level)
        for block, name in enumerate(subsets.names)
    ]
    return _named(rows, "General dominance (Shapley) share of R squared; cluster bootstrap")


def conditional(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return what each block adds on average, by the number of blocks already entered.

    Parameters are those of `general`.

    Returns
    -------
    One row per block and size: `block`, `size`, `share` [rise of R squared], and the other
    columns of `general`. The mean of a block over sizes is its share in `general`.
    """
    require_conf_level(conf_level)
    k = len(subsets.names)
    rows = [
        {"block": name, "size": size}
        | share_columns(subsets, conditional_weights(k)[block, size], conf_level)
        for block, name in enumerate(subsets.names)
        for size in range(k)
    ]
    return _named(rows, "Conditional dominance: mean rise of R squared; cluster bootstrap")


def pairs(
    subsets: Subsets, *, conf_level: float = 0.95, net_of_chance: bool = True
) -> pd.DataFrame:
    """Return for every pair of blocks whether one dominates the other, and how surely.

    A block with more columns explains more of pure noise, so by default the R squared that
    each subset would have were the response shuffled is subtracted before comparing.
    `tests/benchmarks/ranking_size.py` says how often noise is ranked either way. Pairs are not
    adjusted for their number.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`.
    conf_level
        Dominance is stated when at least (1 + conf_level)/2 of the resamples agree: for general
        dominance, when the two-sided interval of the difference of shares excludes zero.
    net_of_chance
        Whether to compare R squared net of its mean under a shuffled response.

    Returns
    -------
    Three rows per pair: `contrast` (first over second), `term` (complete, conditional,
    general), `estimate` (1 the first dominates, 0 the second, 0.5 neither), `probability`
    (share of the resamples with the same outcome), `holds` (True or False when the first or
    the second dominates and enough resamples agree, else missing), `n_obs`, `n_groups`,
    `n_resamples`, `n_failed`, `note`.

    Raises
    ------
    AnalysisError
        If `net_of_chance` is neither True nor False.
    DesignError
        If there are fewer than two blocks.
    """
    require_conf_level(conf_level)
    require_flags(net_of_chance=net_of_chance)
    if len(subsets.names) < 2:
        raise DesignError(
            f"Dominance compares at least two blocks; found {len(subsets.names)}.",
            "Use general for the share of one block.",
        )
    everything = np.vstack([subsets.r_squared, subsets.replicates])
    if net_of_chance:
        everything = everything - np.vstack([subsets.chance, subsets.chance_replicates])
    everything = everything[~np.isnan(everything).any(axis=1)]
    k = len(subsets.names)
    rows = [
        {"contrast": f"{subsets.names[first]} over {subsets.names[second]}", "term": kind}
        | _decision(_outcomes(everything @ pair_weights(k, first, second, kind)), conf_level)
        for first, second in combinations(range(k), 2)
        for kind in KINDS
    ]
    basis = "net of chance" if net_of_chance else "as it is"
    result = _named(rows, f"Dominance by R squared {basis}; cluster bootstrap")
    return result.assign(
        n_obs=subsets.n_obs,
        n_groups=subsets.n_groups,
        n_resamples=len(subsets.replicates),
        n_failed=len(subsets.replicates) + 1 - len(everything),
    )


def conditional_weights(k: int) -> Floats:
    """Return the weights of the mean rise by block and size, shape (k, k, 2^k)."""
    weights = np.zeros((k, k, 2**k))
    for block in range(k):
        for subset in range(2**k):
            if not subset >> block & 1:
                size = subset.bit_count()
                weights[block, size, subset | 1 << block] += 1 / comb(k - 1, size)
                weights[block, size, subset] -= 1 / comb(k - 1, size)
    return weights


def pair_weights(k: int, first: int, second: int, kind: str) -> Floats:
    """Return the weights of every difference that a kind of dominance compares, (2^k, m)."""
    if kind == "general":
        weights = shapley_weights(k)
        return np.asarray((weights[first] - weights[second])[:, None])
    if kind == "conditional":
        by_size = conditional_weights(k)
        return np.asarray((by_size[first] - by_size[second]).T)
    neither = [s for s in range(2**k) if not s >> first & 1 and not s >> second & 1]
    columns = np.zeros((2**k, len(neither)))
    for column, subset in enumerate(neither):
        columns[subset | 1 << first, column] = 1.0
        columns[subset | 1 << second, column] = -1.0
    return columns


def _outcomes(differences: Floats) -> Floats:
    """Return 1, 0 or 0.5 per row: all differences above zero, all below, or neither."""
    above, below = (differences > TIE).all(axis=1), (differences < -TIE).all(axis=1)
    return np.where(above, 1.0, np.where(below, 0.0, 0.5))


def _decision(outcomes: Floats, conf_level: float) -> dict[str, object]:
    """Return what the frame (first outcome) says and whether enough resamples agree."""
    found = float(outcomes[0])
    agreeing = float(np.mean(outcomes[1:] == found))
    note = "Neither dominates." if found == 0.5 else ""
    wanted = (1 + conf_level) / 2
    if found != 0.5 and agreeing < wanted:
        note = f"Fewer than {wanted:.1%} of the resamples agree: no ranking."
    return {
        "estimate": found,
        "probability": agreeing,
        "holds": None if note else found == 1,
        "note": note,
    }


def _named(rows: list[dict[str, object]], method: str) -> pd.DataFrame:
    result = pd.DataFrame(rows).assign(method=method)
    glossary.checked(result.columns)
    return result

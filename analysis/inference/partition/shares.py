"""Shares of explained variance among blocks of predictors, and whether one leads another.

The share of a block is its Shapley value of R squared: the mean increase of R squared over
all orders in which blocks can enter (LMG: Lindeman, Merenda and Gold 1980), which is Azen and
Budescu's general dominance (2003, Psychological Methods 8). A block with more columns explains
more by chance alone; `chance_share` says how much.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from analysis.inference.partition.subsets import Subsets
from analysis.inference.resampling.bootstrap import interval, interval_note
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_conf_level

#: Differences of R squared below this are ties (order of summation).
TIE = 1e-9


def shapley(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the Shapley share of R squared of every block, with a cluster bootstrap interval.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`.
    conf_level
        Nominal coverage of the percentile intervals.

    Returns
    -------
    One row per block: `block`, `share` (summing to `r_squared`), the interval, `chance_share`,
    `r_squared`, `n_obs`, `n_groups`, `n_resamples`, `n_failed`, `seed`, `note`.

    Examples
    --------
    >>> import numpy as np
    >>> import thermoscope as ts
    >>> from statsmodels.datasets import grunfeld
    >>> rows = grunfeld.load_pandas().data
    >>> blocks = {"value": ["value"], "capital": ["capital"]}
    >>> rng = np.random.default_rng(1)
    >>> parts = ts.all_subsets(rows, response="invest", blocks=blocks, rng=rng, n_resamples=99)
    >>> ts.shapley(parts)["share"].round(3).tolist()
    [0.553, 0.265]
    """
    weights = shapley_weights(len(subsets.names))
    named = zip(subsets.names, weights, strict=True)
    rows = [{"block": name} | _share(subsets, row, conf_level) for name, row in named]
    return _check(rows, "Shapley share of R squared; cluster bootstrap, percentile interval")


def unique_and_alone(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return what each block explains alone and uniquely.

    Parameters are those of `shapley`.

    Returns
    -------
    Two rows per block: `block`, `term`, `share`, and the other columns of `shapley`. ``unique``
    is the rise of R squared when the block enters last, ``alone`` its R squared without the
    others.
    """
    pick, everything = np.eye(len(subsets.r_squared)), len(subsets.r_squared) - 1
    rows = []
    for block, name in enumerate(subsets.names):
        bit = 1 << block
        weights = {"unique": pick[everything] - pick[everything & ~bit], "alone": pick[bit]}
        rows += [
            {"block": name, "term": term} | _share(subsets, row, conf_level)
            for term, row in weights.items()
        ]
    return _check(rows, "Share of R squared; cluster bootstrap, percentile interval")


def differences(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the difference of Shapley shares of every pair of blocks, with its interval.

    Both shares of a pair come from the same resample. A block with more columns leads by
    `null_value` when the response is shuffled, so a ranking is supported only where the
    interval excludes both zero and `null_value`. Intervals are not adjusted for the number of
    pairs.

    Parameters are those of `shapley`.

    Returns
    -------
    One row per pair: `contrast` (first minus second), `estimate`, `null_value`, `p_value` (see
    `chance_p`), the interval, `n_obs`, `n_groups`, `n_resamples`, `n_failed`, `seed`, `note`.
    """
    weights = shapley_weights(len(subsets.names))
    rows = []
    for first, second in combinations(range(len(subsets.names)), 2):
        contrast = weights[first] - weights[second]
        row = _share(subsets, contrast, conf_level)
        del row["chance_share"]
        null_value = float(contrast @ subsets.chance)
        rows.append(
            {
                "contrast": f"{subsets.names[first]} - {subsets.names[second]}",
                "estimate": row.pop("share"),
                "null_value": null_value,
                "p_value": float(chance_p(subsets.replicates @ contrast, null_value)),
            }
            | row
        )
    return _check(
        rows, "Difference of Shapley shares; cluster bootstrap, percentile interval"
    ).drop(columns="r_squared")


def dominance(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return for every pair of blocks whether one dominates the other, and how surely.

    A block dominates another completely when it adds more to every subset of the other blocks,
    and generally when its Shapley share is larger. A block with more columns explains more of
    pure noise, so the R squared that each subset would have were the response shuffled is
    subtracted first. Pairs are not adjusted for their number.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`, with chance.
    conf_level
        Dominance is stated when at least (1 + conf_level)/2 of the resamples agree: for general
        dominance, when the two-sided interval of the difference of shares excludes zero.

    Returns
    -------
    Two rows per pair: `contrast` (first over second), `term` (complete, general), `estimate`
    (1 the first dominates, 0 the second, 0.5 neither), `probability` (share of the resamples
    with the same outcome), `holds` (True or False when the first or the second dominates and
    enough resamples agree, else missing), `n_obs`, `n_groups`, `n_resamples`, `n_failed`,
    `seed`, `note`.
    """
    require_conf_level(conf_level)
    net = np.vstack(
        [subsets.r_squared - subsets.chance, subsets.replicates - subsets.chance_replicates]
    )
    net = net[~np.isnan(net).any(axis=1)]
    weights = shapley_weights(len(subsets.names))
    rows = []
    for first, second in combinations(range(len(subsets.names)), 2):
        contrast = f"{subsets.names[first]} over {subsets.names[second]}"
        neither = np.arange(len(subsets.r_squared))
        neither = neither[(neither >> first & 1 | neither >> second & 1) == 0]
        compared = {
            "complete": net[:, neither | 1 << first] - net[:, neither | 1 << second],
            "general": net @ (weights[first] - weights[second])[:, None],
        }
        rows += [
            {"contrast": contrast, "term": term} | _decision(leads, conf_level)
            for term, leads in compared.items()
        ]
    return _check(rows, "Dominance by R squared net of chance; cluster bootstrap").assign(
        n_obs=subsets.n_obs,
        n_groups=subsets.n_groups,
        n_resamples=len(subsets.replicates),
        n_failed=len(subsets.replicates) + 1 - len(net),
        seed=subsets.seed,
    )


def chance_p(replicates: Floats, null_value: float) -> Floats:
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


def _share(subsets: Subsets, weights: Floats, conf_level: float) -> dict[str, object]:
    """Return share, interval and counts of one linear combination of the subsets' R squared."""
    require_conf_level(conf_level)
    estimate = float(weights @ subsets.r_squared)
    replicates = subsets.replicates @ weights
    low, high = interval(replicates, conf_level)
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
        "seed": subsets.seed,
        "note": interval_note(subsets.n_groups, estimate, low, high),
    }


def _decision(leads: Floats, conf_level: float) -> dict[str, object]:
    """Return what the frame (first row) says and whether enough resamples agree."""
    above, below = (leads > TIE).all(axis=1), (leads < -TIE).all(axis=1)
    outcomes = np.where(above, 1.0, np.where(below, 0.0, 0.5))
    outcome = float(outcomes[0])
    agreeing = float(np.mean(outcomes[1:] == outcome))
    note = "Neither dominates." if outcome == 0.5 else ""
    wanted = (1 + conf_level) / 2
    if outcome != 0.5 and agreeing < wanted:
        note = f"Fewer than {wanted:.1%} of the resamples agree: no ranking."
    return {
        "estimate": outcome,
        "probability": agreeing,
        "holds": None if note else outcome == 1,
        "note": note,
    }


def _check(rows: Iterable[dict[str, object]], method: str) -> pd.DataFrame:
    result = pd.DataFrame(rows)
    if result.empty:
        raise DesignError("A comparison needs at least two blocks.", "Name another block.")
    return glossary.table(result.assign(method=method))

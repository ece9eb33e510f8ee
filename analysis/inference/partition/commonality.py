"""Commonality analysis: which part of R squared a block explains alone, and which it shares.

Every non-empty set of blocks has one component: what can be explained by any of its blocks and
by no block outside it (Newton and Spurrell 1967, Applied Statistics 16; Mood 1971). The 2^k - 1
components add up to R squared. One with several blocks can be negative: the blocks suppress each
other. A large common component says that these data cannot tell its blocks apart.

>>> import numpy as np
>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import commonality, subsets
>>> rows = grunfeld.load_pandas().data
>>> blocks = {"value": ["value"], "capital": ["capital"]}
>>> how = {"rng": np.random.default_rng(1), "n_resamples": 99}
>>> parts = subsets.all_subsets(rows, response="invest", blocks=blocks, **how)
>>> commonality.components(parts)["share"].round(3).tolist()
[0.361, 0.074, 0.382]
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.inference.partition.subsets import Subsets, share_columns
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_conf_level


def components(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return every component of R squared, with its cluster bootstrap interval.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`.
    conf_level
        Nominal coverage of the percentile intervals.

    Returns
    -------
    One row per non-empty set of blocks, single blocks first: `block` (names joined by +),
    `n_blocks`, `share` (summing to `r_squared`), the interval, `chance_share` (the component's
    mean were the response shuffled), `n_obs`, `n_groups`, `n_resamples`, `n_failed`, `note`.
    """
    require_conf_level(conf_level)
    k = len(subsets.names)
    order = sorted(range(1, 2**k), key=lambda chosen: (chosen.bit_count(), _bits(chosen, k)))
    rows = [
        {
            "block": " + ".join(subsets.names[block] for block in _bits(chosen, k)),
            "n_blocks": chosen.bit_count(),
        }
        | share_columns(subsets, component_weights(k, chosen), conf_level)
        for chosen in order
    ]
    result = pd.DataFrame(rows).assign(
        method="Commonality component of R squared; cluster bootstrap, percentile interval"
    )
    glossary.checked(result.columns)
    return result


def unique_and_common(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return what each block explains alone, uniquely, and in common with others.

    Parameters are those of `components`.

    Returns
    -------
    Three rows per block: `block`, `term`, `share`, and the other columns of `components`.
    ``unique`` is the rise of R squared when the block enters last, ``alone`` its R squared
    without the others, ``common`` the difference, which is negative under suppression.
    """
    require_conf_level(conf_level)
    k, everything = len(subsets.names), 2 ** len(subsets.names) - 1
    rows = []
    for block, name in enumerate(subsets.names):
        bit = 1 << block
        alone = _indicator(k, bit)
        unique = _indicator(k, everything) - _indicator(k, everything & ~bit)
        for term, weights in (("unique", unique), ("common", alone - unique), ("alone", alone)):
            rows.append({"block": name, "term": term} | share_columns(subsets, weights, conf_level))
    result = pd.DataFrame(rows).assign(
        method="Unique and common share of R squared; cluster bootstrap, percentile interval"
    )
    glossary.checked(result.columns)
    return result


def component_weights(k: int, chosen: int) -> Floats:
    """Return the weights of the subsets' R squared in one component, shape (2^k,).

    With N the blocks outside the set S, the component is the sum over T within S of
    (-1)^(|T| + 1) R2(N and T).
    """
    outside = (2**k - 1) & ~chosen
    weights = np.zeros(2**k)
    for part in range(2**k):
        if part & ~chosen == 0:
            weights[outside | part] += (-1.0) ** (part.bit_count() + 1)
    return weights


def _indicator(k: int, subset: int) -> Floats:
    """Return the weights that pick one subset; the empty one explains nothing."""
    weights = np.zeros(2**k)
    weights[subset] = 1.0
    return weights


def _bits(subset: int, k: int) -> list[int]:
    return [block for block in range(k) if subset >> block & 1]

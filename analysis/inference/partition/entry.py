"""The share of a block over all orders of entry, as an identified set.

What a block adds to R squared depends on what was entered before it. Without a reason for one
order the data identify only the range over all of them: from the least that the block adds to any
subset of the others to the most. Shapley's share is one average inside it.

>>> import numpy as np
>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import entry, subsets
>>> rows = grunfeld.load_pandas().data
>>> blocks = {"value": ["value"], "capital": ["capital"]}
>>> how = {"rng": np.random.default_rng(1), "n_resamples": 99}
>>> parts = subsets.all_subsets(rows, response="invest", blocks=blocks, **how)
>>> entry.identified_shares(parts).filter(["bound_low", "bound_high"]).round(3).values.tolist()
[[0.361, 0.744], [0.074, 0.456]]
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.inference.partition.subsets import Subsets
from analysis.tidy import glossary
from analysis.tidy.frame import require_conf_level


def identified_shares(subsets: Subsets, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the least and the most that each block adds, over all orders of entry.

    Parameters
    ----------
    subsets
        From `analysis.inference.partition.subsets.all_subsets`.
    conf_level
        Coverage of the interval of the set: quantiles of both ends over the resamples, so that
        it holds the whole set as often.

    Returns
    -------
    One row per block: `block`, `bound_low` and `bound_high` [share of the variance], `first` and
    `second` (the blocks before it where it adds least and most, ``nothing`` for none),
    `conf_low`, `conf_high`, `conf_level`, `n_obs`, `n_groups`, `n_resamples`, `method`.
    """
    require_conf_level(conf_level)
    rows = []
    tail = (1 - conf_level) / 2
    for block, name in enumerate(subsets.names):
        before = [each for each in range(len(subsets.r_squared)) if not each >> block & 1]
        after = [each | 1 << block for each in before]
        added = (subsets.r_squared[after] - subsets.r_squared[before]).clip(0)
        drawn = (subsets.replicates[:, after] - subsets.replicates[:, before]).clip(0)
        kept = drawn[~np.isnan(drawn).any(axis=1)]
        rows.append(
            {
                "block": name,
                "bound_low": float(added.min()),
                "bound_high": float(added.max()),
                "first": _named(subsets, before[int(added.argmin())]),
                "second": _named(subsets, before[int(added.argmax())]),
                "conf_low": float(np.quantile(kept.min(axis=1), tail)),
                "conf_high": float(np.quantile(kept.max(axis=1), 1 - tail)),
                "conf_level": conf_level,
                "n_obs": subsets.n_obs,
                "n_groups": subsets.n_groups,
                "n_resamples": len(kept),
                "method": "Least and most added to R squared over all orders; cluster bootstrap",
            }
        )
    result = pd.DataFrame(rows)
    glossary.checked(result.columns)
    return result


def _named(subsets: Subsets, chosen: int) -> str:
    names = [name for place, name in enumerate(subsets.names) if chosen >> place & 1]
    return " + ".join(names) or "nothing"

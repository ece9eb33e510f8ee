"""The hierarchy again: with the paper's base models, and with those that others measured beside.

The functions are those of the hierarchy's own page. Where sources are mixed the source is a fixed
effect, because prompts, tokens and number formats differ between them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.hierarchy import sensitivity
from analysis.delia2026.reported.models import PUBLISHED
from analysis.delia2026.sign.exchange import NAMED_LAB, OTHER
from analysis.inference.counts import fisher
from analysis.inference.partition import shares as shares_of
from analysis.inference.partition.subsets import all_subsets
from analysis.mixed import power as power_mixed

#: The sets of models that are compared, by their name in a table.
PAPER_ALONE, WITH_REPORTED = "the paper's models", "with those of others"

SEED, RESAMPLES, SIMULATIONS = 20260107, 499, 1000

#: True log gains of EleutherAI less that of other labs, of which the power is told [nat].
EFFECTS = (0.0, -0.1, -0.2, -0.3)

#: Predictors by block, for shares of variance.
SHARES = {"heritage": ["heritage"], "geometry": ["rho", "depth"], "scale": ["size"]}


def sets(joint: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the models by set; ``joint`` has the rows of `models.joint`."""
    return {PAPER_ALONE: joint[joint["source"] == PUBLISHED], WITH_REPORTED: joint}


def coefficients(joint: pd.DataFrame) -> pd.DataFrame:
    """Return the mixed models of the hierarchy on both sets, and on the second without each lab.

    Returns
    -------
    The columns of `sensitivity.coefficients`, and `models` (the set), `level` (the lab that is left
    out, or nothing), `n_labs`. With less than one degree of freedom there is no p and no interval;
    a term that does not vary has no row.
    """
    cases = [(name, "", rows) for name, rows in sets(joint).items()]
    cases += [
        (WITH_REPORTED, lab, joint[joint["lab"] != lab]) for lab in sorted(joint["lab"].unique())
    ]
    parts = [
        sensitivity.coefficients(rows, block, ["source"]).assign(
            models=name, level=level, n_labs=rows["lab"].nunique()
        )
        for name, level, rows in cases
        for block in sensitivity.BLOCKS
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset=["estimate"], ignore_index=True)


def signs(joint: pd.DataFrame) -> pd.DataFrame:
    """Return Fisher's exact test of who dampens, on both sets.

    Returns
    -------
    `models`, then the columns of `fisher.fisher_exact`.
    """
    parts = []
    for name, rows in sets(joint).items():
        named = rows.assign(
            heritage=np.where(rows["heritage"] == 1, NAMED_LAB, OTHER),
            sign=np.where(rows["log_gain"] < 0, "dampen", "expand"),
        )
        parts.append(fisher.fisher_exact(named, row="heritage", column="sign").assign(models=name))
    return pd.concat(parts, ignore_index=True)


def shares(joint: pd.DataFrame) -> pd.DataFrame:
    """Return the share of variance that each block explains alone, suites drawn again.

    Returns
    -------
    `models`, then the columns of `partition.shares.unique_and_alone`.
    """
    parts = [
        shares_of.unique_and_alone(
            all_subsets(
                rows,
                response="log_gain",
                blocks=SHARES,
                cluster="suite",
                n_resamples=RESAMPLES,
                rng=np.random.default_rng(SEED),
                with_chance=True,
            )
        ).assign(models=name)
        for name, rows in sets(joint).items()
    ]
    return pd.concat(parts, ignore_index=True)


def power(joint: pd.DataFrame) -> pd.DataFrame:
    """Return with what power the mixed model finds a difference of labs, on both sets.

    Responses are simulated from the model with heritage, geometry and scale, and with the source
    where sources are mixed, the difference of EleutherAI to other labs set to each of `EFFECTS`.

    Returns
    -------
    `models`, `n_labs`, then the columns of `mixed.power.mixed_power`.
    """
    parts = []
    for name, rows in sets(joint).items():
        of_source = " + source" if len(set(rows["source"])) > 1 else ""
        fit = mixed.fit(
            f"log_gain ~ {' + '.join(sensitivity.BLOCKS['all'])}{of_source} + (1 | suite)", rows
        )
        table = power_mixed.mixed_power(
            fit,
            effects={"heritage": list(EFFECTS)},
            rng=np.random.default_rng(SEED),
            n_simulations=SIMULATIONS,
        )
        parts.append(table.assign(models=name, n_labs=rows["lab"].nunique()))
    return pd.concat(parts, ignore_index=True)

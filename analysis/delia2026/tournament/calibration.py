"""Rules for the hierarchy whose false positives are controlled: how they are made and chosen.

This file was committed before any rule in it met a published gain (see the history of this file and
of ``calibrated_quantile.csv``). A rule is a statistic and two cut-offs. Statistics compete on
simulated papers alone:

**Worlds.** A simulated paper has the labs, suites and shapes of the paper's 22 models. Sources of
variance (lab; suite within lab; shape: head density and width; depth; scale) are planted with known
shares, and the rest is residual; see `criterion`. A statement "first over second" is true where the
first has the larger share, and false where both are equal or the second has the larger.

**Calibration.** For each statement and statistic the cut-off of "yes" is the largest 95 % quantile
of the statistic over all worlds of `criterion` in which the statement is false, in all three forms
of residual. So the least favourable of these worlds gives a false "yes" in 5 of 100 papers, and
every other world in fewer. The cut-off of "no" is the same for the reversed statement.

**Validation.** Sizes are measured again on worlds that took no part: sources mixed in other
proportions, sources that go together, shares that vary from paper to paper (five labs are a
sample), other residuals, one lab that is aberrant, and sets of models that lack a suite. Where the
largest size there exceeds `MOST`, the cut-off becomes the largest over both families; what
the first cut-off gave is kept and shown. Sizes and powers that are quoted come from fresh
papers.

**Choice.** For each statement the statistic with the largest mean power over the calibration worlds
in which it is true; within two Monte Carlo standard errors, the first in `STATISTICS`.

**The bound.** Beside each power stands that of the Neyman-Pearson test which knows all shares and
signs of the true world and of the false one that is hardest to tell from it. No rule with 5 %
false positives has more.

Someone else's prototype of two of these statistics had been applied to the published gains before;
its results had no part in any choice made here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.sign.calibrated import (
    LEVEL,
    PARTS,
    STATEMENTS,
    STATISTICS,
    chosen,
    statistics,
)
from analysis.delia2026.tournament import criterion
from analysis.store import Store

__all__ = ["LEVEL", "PARTS", "STATEMENTS", "STATISTICS", "chosen", "statistics"]

#: The largest size that validation may find.
MOST = 0.06

#: Levels at which quantiles of the least favourable worlds are kept, for p-values.
LEVELS = (
    *(0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15),
    *(0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
)

#: Seeds of the papers of calibration, of validation, of fresh ones, of curves and of the bound; and
#: papers of a world.
SEEDS = {"calibration": 11, "validation": 23, "fresh": 37, "curve": 41, "bound": 53}
PAPERS = 2000

#: Shares at which power is drawn, and what rules there, by statement.
CURVE_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CURVES = {
    "lab over geometry": ("lab", "named lab"),
    "recipe over geometry": ("lab", "named lab", "suite"),
    "geometry over scale": ("shape", "depth"),
}

#: The claim's own order, lab over depth over scale as 12 : 5 : 1, holding `CLAIMED` together.
ORDER = {"lab": 12, "depth": 5, "scale": 1}
CLAIMED_ORDER = {
    name: criterion.CLAIMED * part / sum(ORDER.values()) for name, part in ORDER.items()
}

#: Worlds that take no part in calibration: shares of sources mixed otherwise.
MIXED: dict[str, dict[str, float]] = {
    "lab + suite = shape + depth": {"lab": 0.2, "suite": 0.2, "shape": 0.2, "depth": 0.2},
    "lab = shape + depth": {"lab": 0.4, "shape": 0.2, "depth": 0.2},
    "lab = depth, suite": {"lab": 0.25, "depth": 0.25, "suite": 0.3},
    "suite = depth, scale": {"suite": 0.3, "depth": 0.3, "scale": 0.2},
    "depth = scale, lab": {"depth": 0.2, "scale": 0.2, "lab": 0.4},
    "shape = scale, suite": {"shape": 0.25, "scale": 0.25, "suite": 0.3},
    "named lab = depth": {"named lab": 0.4, "depth": 0.4},
    "depth, no residual": {"depth": 0.49, "lab": 0.49},
    "shape > suite > lab": {"shape": 0.5, "suite": 0.3, "lab": 0.1},
}
#: Shares are of the whole; in a paper the five labs and seven suites are a sample.
SAMPLED = {f"{name}, sampled": shares for name, shares in criterion.TOGETHER.items() if shares}
#: Effects of levels go with the mean depth of their models; both hold .4, and their correlation.
TOGETHER_WITH, CORRELATION = ("lab", "suite"), 0.7
#: Other residuals: skewed, peaked, larger for small models, alike within a suite by size.
RESIDUALS = ("skewed", "Laplace", "larger for small models", "alike by size")
#: What holds where one lab is `criterion.AWAY` residuals off; that variance is the lab's.
ABERRANT = ({"depth": 0.6}, {"scale": 0.6}, {"depth": 0.4, "scale": 0.4})


def sizes(store: Store) -> pd.DataFrame:
    """Return one row per statement and rule: sizes, power, and whether it is chosen.

    Returns
    -------
    `statement`, `rule`, `before` (largest share of false yes in validation by the cut-off of
    calibration alone), `size` (the same by the cut-off in force, over both families, fresh papers)
    with `world` and `form`, `size_no` (of the reversed answer), `power` (mean share of yes over the
    calibration worlds where true) [1] and `is_chosen`.
    """
    rates = store.facts("FROM calibrated_rate WHERE rule <> 'bound'")
    judges = chosen(store)
    rows = []
    for (statement, rule), group in rates.groupby(["statement", "rule"], sort=False):
        both = group[group["family"].isin(("calibration", "validation"))]
        false = both[both["truth"] != "yes"]
        worst = false.sort_values("share_yes", kind="stable").iloc[-1]
        before = group[(group["family"] == "validation before") & (group["truth"] != "yes")]
        true = group[(group["family"] == "calibration") & (group["truth"] == "yes")]
        rows.append(
            {
                "statement": statement,
                "rule": rule,
                "before": float(before["share_yes"].max()),
                "size": float(worst["share_yes"]),
                "world": worst["world"],
                "form": worst["form"],
                "size_no": float(both.loc[both["truth"] != "no", "share_no"].max()),
                "power": float(true["share_yes"].mean()),
                "is_chosen": judges[str(statement)] == rule,
            }
        )
    return pd.DataFrame(rows)


def curves(store: Store) -> pd.DataFrame:
    """Return the power of the chosen rule and its bound against the share of one source.

    Returns
    -------
    One row per statement, source and share: `statement`, `source`, `share`, `power`, `bound` [1]
    and `against`, the false world that sets the bound.
    """
    rates = store.facts("FROM calibrated_rate WHERE family = 'curve' AND truth = 'yes'")
    rows = []
    for statement, rule in chosen(store).items():
        of_both = rates[rates["statement"] == statement]
        keys = ["world", "share"]
        power = of_both[of_both["rule"] == rule].set_index(keys)["share_yes"]
        bound = of_both[of_both["rule"] == "bound"].set_index(keys)
        table = bound.join(power.rename("power")).reset_index()
        rows.append(
            pd.DataFrame(
                {
                    "statement": statement,
                    "source": table["world"],
                    "share": table["share"],
                    "power": table["power"],
                    "bound": table["share_yes"],
                    "against": table["against"],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def least_shares(curve: pd.DataFrame, power: float = 0.8) -> pd.DataFrame:
    """Return the smallest share with a power, by the rule and by the bound, on straight lines.

    Returns
    -------
    One row per statement and source: `share` and `share_bound` [1], missing where no share up to
    .9 has that power.
    """
    rows = []
    single = curve[curve["source"] != "claimed order"]
    for (statement, source), group in single.groupby(["statement", "source"], sort=False):
        ordered = group.sort_values("share")
        row: dict[str, object] = {"statement": statement, "source": source}
        for name, column in (("share", "power"), ("share_bound", "bound")):
            values = np.maximum.accumulate(ordered[column].to_numpy(np.float64))
            reached = values.max() >= power
            shares = ordered["share"].to_numpy(np.float64)
            row[name] = float(np.interp(power, values, shares)) if reached else np.nan
        rows.append(row)
    return pd.DataFrame(rows)

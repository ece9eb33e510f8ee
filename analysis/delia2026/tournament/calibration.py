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

from math import comb

import numpy as np
import pandas as pd

from analysis.delia2026.sign import sources
from analysis.delia2026.tournament import criterion
from analysis.inference.partition import restricted
from analysis.inference.partition.restricted import Lattice
from analysis.tidy.frame import Floats

#: The statistics that compete, the simplest first.
STATISTICS = {
    "difference of R squared": "difference of Shapley shares of R squared",
    "difference of shares": "difference of restricted maximum likelihood shares",
    "likelihood ratio": "restricted likelihood where the first is larger over that elsewhere",
    "posterior": "posterior probability that new levels differ more by the first",
}
STATEMENTS = ("lab over geometry", "recipe over geometry", "geometry over scale")

#: Rate of false answers in the least favourable world, and the most that validation may find.
LEVEL, MOST = criterion.LEVEL, 0.06

#: Levels at which quantiles of the least favourable worlds are kept, for p-values.
LEVELS = (
    *(0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15),
    *(0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
)

#: Parts that the whole variance is cut into, for shares of lab, suite, geometry and scale.
PARTS = 12

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


def statistics(models: pd.DataFrame, gains: Floats) -> dict[str, dict[str, Floats]]:
    """Return every statistic of every statement for papers on the same models.

    Parameters
    ----------
    models
        One row per model: `lab`, `suite` and the predictors of `sources`.
    gains
        Log gains, shape (papers, models), in any unit.

    Returns
    -------
    By statistic, then by statement: shape (papers,), large where the first explains more.
    """
    grid = restricted.lattice(_blocks(models), PARTS)
    return {
        "difference of R squared": _shapley(models, gains),
        **_restricted(grid, gains),
        "posterior": {name: sources.new_levels(models, name, gains) for name in STATEMENTS},
    }


def _blocks(models: pd.DataFrame) -> dict[str, Floats]:
    blocks = {
        group: pd.get_dummies(models[group], dtype=float).to_numpy() for group in sources.LEVELS
    }
    shape, depth = sources.PREDICTORS["shape"], sources.PREDICTORS["depth"]
    blocks["geometry"] = _standard(models, (*shape, *depth))
    blocks["scale"] = _standard(models, sources.PREDICTORS["scale"])
    # Each source adds its share of variance to a model, on average.
    return {name: block / _size(block) for name, block in blocks.items()}


def _standard(models: pd.DataFrame, predictors: tuple[str, ...]) -> Floats:
    values = models[list(predictors)].to_numpy(dtype=np.float64)
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def _size(block: Floats) -> float:
    """Return the root of the mean variance that unit effects of the columns give a model."""
    about = block - block.mean(axis=0)
    return float(np.sqrt(np.square(about).sum() / len(about)))


def _restricted(grid: Lattice, gains: Floats) -> dict[str, dict[str, Floats]]:
    """Return likelihood ratios and differences of the likeliest shares."""
    ratios: dict[str, list[Floats]] = {name: [] for name in STATEMENTS}
    differences: dict[str, list[Floats]] = {name: [] for name in STATEMENTS}
    leads = {name: grid.leads(*sources.SIDES[name]) for name in STATEMENTS}
    for some in np.array_split(gains, max(1, -(-len(gains) // restricted.TOGETHER))):
        criteria = grid.criteria(some)
        best = criteria.argmin(axis=1)
        for name, lead in leads.items():
            without = criteria[:, lead <= 0].min(axis=1)
            ratios[name].append(without - criteria[:, lead >= 0].min(axis=1))
            differences[name].append(lead[best] / grid.n_parts)
    return {
        "difference of shares": {name: np.concatenate(all_) for name, all_ in differences.items()},
        "likelihood ratio": {name: np.concatenate(all_) for name, all_ in ratios.items()},
    }


def _shapley(models: pd.DataFrame, gains: Floats) -> dict[str, Floats]:
    """Return differences of Shapley's shares of R squared of three blocks."""
    blocks = _blocks(models)
    by_heritage = {
        heritage: _shares([blocks[heritage], blocks["geometry"], blocks["scale"]], gains)
        for heritage in sources.LEVELS
    }
    lab, suite = by_heritage["lab"], by_heritage["suite"]
    return {
        "lab over geometry": lab[0] - lab[1],
        "recipe over geometry": suite[0] - suite[1],
        "geometry over scale": lab[1] - lab[2],
    }


def _shares(blocks: list[Floats], gains: Floats) -> Floats:
    """Return Shapley's shares of R squared, shape (blocks, papers)."""
    about = gains - gains.mean(axis=1, keepdims=True)
    total = np.square(about).sum(axis=1)
    explained = {}
    for chosen in range(2 ** len(blocks)):
        columns = [block for place, block in enumerate(blocks) if chosen >> place & 1]
        if not columns:
            explained[chosen] = np.zeros(len(gains))
            continue
        design = np.column_stack(columns)
        left, sizes, _ = np.linalg.svd(design - design.mean(axis=0), full_matrices=False)
        basis = left[:, sizes > 1e-9 * sizes[0]]
        explained[chosen] = np.square(about @ basis).sum(axis=1) / total
    result = np.zeros((len(blocks), len(gains)))
    for place in range(len(blocks)):
        for chosen in range(2 ** len(blocks)):
            if chosen >> place & 1:
                continue
            n_before = bin(chosen).count("1")
            weight = 1 / len(blocks) / comb(len(blocks) - 1, n_before)
            result[place] += weight * (explained[chosen | 1 << place] - explained[chosen])
    return result

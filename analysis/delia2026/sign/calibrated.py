"""The three statements on the hierarchy, judged by rules whose false positives are controlled.

A rule is a statistic and the values that it passes in no more than a stated share of simulated
papers in which the answer is false (table ``calibrated_quantile``). How the rules were made and
chosen, before any of them met a published gain: `analysis.delia2026.tournament.calibration`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import comb

import numpy as np
import pandas as pd

from analysis.delia2026.sign import sources
from analysis.inference.partition import restricted
from analysis.inference.partition.restricted import Lattice
from analysis.store import Store, shared
from analysis.tidy.frame import Floats

#: The statistics that compete, the simplest first.
STATISTICS = {
    "difference of R squared": "difference of Shapley shares of R squared",
    "difference of shares": "difference of restricted maximum likelihood shares",
    "likelihood ratio": "restricted likelihood where the first is larger over that elsewhere",
    "posterior": "posterior probability that new levels differ more by the first",
}
STATEMENTS = ("lab over geometry", "recipe over geometry", "geometry over scale")

#: Rate of false answers in the least favourable world.
LEVEL = 0.05

#: Parts that the whole variance is cut into, for shares of lab, suite, geometry and scale.
PARTS = 12


def statistics(
    models: pd.DataFrame, gains: Floats, names: Collection[str] = STATISTICS
) -> dict[str, dict[str, Floats]]:
    """Return every statistic of every statement for papers on the same models.

    Parameters
    ----------
    models
        One row per model: `lab`, `suite` and the predictors of `sources`.
    gains
        Log gains, shape (papers, models), in any unit.
    names
        The statistics that are wanted.

    Returns
    -------
    By statistic, then by statement: shape (papers,), large where the first explains more.
    """
    result = {"difference of R squared": _shapley(models, gains)}
    if {"difference of shares", "likelihood ratio"} & {*names}:
        result |= _restrict(restricted.lattice(_blocks(models), PARTS), gains)
    if "posterior" in names:
        new = {name: sources.new_levels(models, name, gains) for name in STATEMENTS}
        result |= {"posterior": new}
    return result


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


def _restrict(grid: Lattice, gains: Floats) -> dict[str, dict[str, Floats]]:
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a calibrated rule says of one statement.

    Attributes
    ----------
    estimate
        The statistic.
    p_yes, p_no
        Largest share of papers, over worlds where the answer is false, in which the statistic is as
        extreme: the p-values of the statement and of its reverse.
    """

    estimate: float
    p_yes: float
    p_no: float

    @property
    def holds(self) -> bool | None:
        """True for yes, False for no, None where neither is shown."""
        if self.p_yes <= LEVEL:
            return True
        return False if self.p_no <= LEVEL else None


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force.

    Attributes
    ----------
    statistic
        By statement: the statistic that judges it, one of `STATISTICS`.
    quantiles
        Table ``calibrated_quantile``.
    """

    statistic: Mapping[str, str]
    quantiles: pd.DataFrame

    def p_values(self, models: pd.DataFrame, gains: Floats) -> dict[str, tuple[Floats, ...]]:
        """Return the statistic, `p_yes` and `p_no` of papers, by statement.

        ``models`` and ``gains`` are as in `statistics`; each value has the shape (papers,).
        """
        values = statistics(models, gains, {*self.statistic.values()})
        result: dict[str, tuple[Floats, ...]] = {}
        for statement, rule in self.statistic.items():
            kept = self.quantiles
            rows = kept[(kept["statement"] == statement) & (kept["rule"] == rule)]
            sizes = values[rule][statement]
            yes, no = (_p_value(rows[rows["answer"] == a], sizes, a) for a in ("yes", "no"))
            result[statement] = (sizes, yes, no)
        return result

    def judge(self, models: pd.DataFrame) -> dict[str, Judgement]:
        """Return what the rules say of the `log_gain` of models, by statement."""
        gains = models["log_gain"].to_numpy(dtype=np.float64)[None, :]
        results = self.p_values(models, gains)
        return {
            name: Judgement(*(float(it[0]) for it in values)) for name, values in results.items()
        }


@shared
def rules(store: Store) -> Rules:
    """Return the rules in force, from tables ``calibrated_quantile`` and ``calibrated_rate``."""
    return Rules(chosen(store), store.facts("FROM calibrated_quantile"))


def _p_value(rows: pd.DataFrame, sizes: Floats, answer: str) -> Floats:
    """Return the levels whose quantiles some statistics have, between those that are kept."""
    ordered = rows.sort_values("level")
    quantiles, levels = (ordered[name].to_numpy(np.float64) for name in ("quantile", "level"))
    sign = 1.0 if answer == "no" else -1.0
    return np.asarray(np.interp(sign * sizes, sign * quantiles, levels), dtype=np.float64)


def chosen(store: Store) -> dict[str, str]:
    """Return the rule that the criterion chooses for each statement."""
    rates = store.facts("FROM calibrated_rate WHERE family = 'calibration' AND truth = 'yes'")
    order = list(STATISTICS)
    result = {}
    for statement in STATEMENTS:
        rows = rates[rates["statement"] == statement]
        of_rule = {rule: rows[rows["rule"] == rule] for rule in order}
        means = {rule: float(some["share_yes"].mean()) for rule, some in of_rule.items()}
        errors = {rule: _mean_error(some) for rule, some in of_rule.items()}
        best = max(order, key=lambda rule: means[rule])
        apart = {rule: 2 * float(np.hypot(errors[rule], errors[best])) for rule in order}
        result[statement] = next(it for it in order if means[it] >= means[best] - apart[it])
    return result


def _mean_error(rows: pd.DataFrame) -> float:
    variance = rows["share_yes"] * (1 - rows["share_yes"]) / rows["n_papers"]
    return float(np.sqrt(variance.sum())) / len(rows)

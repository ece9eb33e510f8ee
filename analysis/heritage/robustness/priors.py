"""What the published gains say of lab, suite, shape, depth and scale, from stated priors.

Beside the frequentist hierarchy: one row per base model, five sources of variance and a residual,
every source as likely as any other to be the largest before the data. Lab and suite have one
effect a level; shape (head density and head width), depth and scale are coefficients of
standardised predictors, scaled so that each source adds the square of its deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.heritage.robustness import definitions
from analysis.heritage.sign import sources as ranked
from analysis.heritage.sign.sources import LEVELS, design
from analysis.inference.posterior import answers, hierarchy
from analysis.inference.posterior.hierarchy import Posterior, Prior, Quadrature, Sources
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_conf_level

#: Median of each source's deviation over that of models of one suite, in three priors.
WIDTHS = (0.5, 1.0, 2.0)

#: The prior that is quoted where one is.
MIDDLE = ranked.MIDDLE

PRIOR, AFTER = "prior", "posterior"

SEED = 20260122


@dataclass(frozen=True, slots=True)
class Beliefs:
    """One definition of gain under one prior.

    Attributes
    ----------
    metric
        The definition.
    rows
        One row per model.
    nodes
        The quadrature.
    found
        Its weights by the data.
    asked
        The variances that answers rest on, by population (`answers.SUPERPOPULATION` or
        `answers.FINITE`) and stage (`PRIOR` or `AFTER`).
    """

    metric: str
    rows: pd.DataFrame
    nodes: Quadrature
    found: Posterior
    asked: Mapping[tuple[str, str], answers.Belief]


def believe(
    store: Store, widths: Sequence[float] = WIDTHS, *, n_nodes: int = hierarchy.NODES
) -> list[Beliefs]:
    """Return the posterior of every published definition of gain under every prior.

    Parameters
    ----------
    store
        Published figures.
    widths
        Of the priors.
    n_nodes
        Of each quadrature, a power of two.
    """
    items = []
    known: dict[tuple[bytes, float], Quadrature] = {}  # most definitions were read on one design
    for metric, rows in definitions.gains(store).groupby("metric"):
        models = rows.reset_index(drop=True)
        gains = models["log_gain"].to_numpy(dtype=np.float64)
        sources = design(models)
        n_effects = sources.columns.shape[1]
        drawn = answers.draws(n_nodes, n_effects, rng=np.random.default_rng(SEED + 1))
        for width in widths:
            key = (sources.columns.tobytes(), width)
            if key not in known:
                rng = np.random.default_rng(SEED)
                known[key] = hierarchy.quadrature(sources, Prior(width), rng=rng, n_nodes=n_nodes)
            nodes = known[key]
            after = hierarchy.posterior(nodes, gains)
            items.append(Beliefs(str(metric), models, nodes, after, _asked(nodes, after, drawn)))
    return items


def shares(beliefs: Sequence[Beliefs]) -> pd.DataFrame:
    """Return the shares of variance before and after the data, of both populations.

    Returns
    -------
    One row per definition, prior, population, stage and source: `metric`, `prior_scale` (the
    prior's width), `population`, `stage`, `n_models`, `n_effective`, and the columns of
    `answers.shares`.
    """
    return _answered(beliefs, answers.shares)


def rankings(beliefs: Sequence[Beliefs]) -> pd.DataFrame:
    """Return the probability of every ranking of the five sources.

    Returns
    -------
    As `shares`, one row per definition, prior, population, stage and order, with the columns
    `ranking` and `probability`.
    """
    return _answered(beliefs, answers.orders)


def pairs(beliefs: Sequence[Beliefs]) -> pd.DataFrame:
    """Return the probability that one source has a larger variance than another, for all pairs.

    Returns
    -------
    As `rankings`, with `first`, `second` and `probability` in place of the order.
    """
    return _answered(beliefs, _pairs)


def _pairs(belief: answers.Belief) -> pd.DataFrame:
    items = [
        (first, second, answers.larger(belief, first, second))
        for first, second in combinations(belief.names, 2)
    ]
    return pd.DataFrame(items, columns=["first", "second", "probability"])


def predictions(beliefs: Sequence[Beliefs], *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the predicted gain of a model of mean shape, depth and scale that nobody has read.

    Returns
    -------
    One row per definition, prior and kind of novelty: `unit` (``sibling``, ``new suite``, ``new
    lab``), `level` (the suite or lab that is known), `estimate` (median [nat]), `predicted_low`
    and `predicted_high`, `conf_level`, `metric`, `prior_scale`, `n_models`, `n_effective`.
    """
    require_conf_level(conf_level)
    rows = []
    for each in beliefs:
        homes = each.rows.drop_duplicates("suite").set_index("suite")["lab"].astype(str)
        known: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
            ("sibling", str(suite), (str(suite), lab), ()) for suite, lab in homes.items()
        ]
        known += [("new suite", lab, (lab,), ("suite",)) for lab in sorted(set(homes))]
        known += [("new lab", "", (), ("lab", "suite"))]
        for unit, level, levels, new in known:
            row = _row(each.nodes.sources, levels)
            ahead = answers.predict(each.found, row, dict.fromkeys(new, 1.0))
            low, mid, high = (
                ahead.quantile(p) for p in ((1 - conf_level) / 2, 0.5, (1 + conf_level) / 2)
            )
            rows.append(
                {
                    "unit": unit,
                    "level": level,
                    "estimate": mid,
                    "predicted_low": low,
                    "predicted_high": high,
                    "conf_level": conf_level,
                    **_named(each),
                }
            )
    return _checked([pd.DataFrame(rows)])


def _row(sources: Sources, levels: Sequence[str]) -> Floats:
    """Return the design's row of a model with these levels and mean predictors."""
    row = np.zeros(sources.columns.shape[1])
    row[0] = 1.0
    for place, (label, source) in enumerate(zip(sources.labels, sources.source, strict=True)):
        if sources.names[source] in LEVELS and label in levels:
            row[1 + place] = 1.0
    return row


def _answered(
    beliefs: Sequence[Beliefs], answer: Callable[[answers.Belief], pd.DataFrame]
) -> pd.DataFrame:
    """Return an answer from every belief, both populations, before and after the data."""
    return _checked(
        [
            answer(belief).assign(population=population, stage=stage, **_named(each))
            for each in beliefs
            for (population, stage), belief in each.asked.items()
        ]
    )


def _asked(
    nodes: Quadrature, after: Posterior, drawn: answers.Draws
) -> dict[tuple[str, str], answers.Belief]:
    """Return the variances of both populations, before and after the data."""
    asked = {}
    stages: tuple[tuple[str, Posterior | None], ...] = ((PRIOR, None), (AFTER, after))
    for stage, result in stages:
        asked[answers.SUPERPOPULATION, stage] = answers.superpopulation(nodes, result)
        asked[answers.FINITE, stage] = answers.finite(nodes, drawn, result)
    return asked


def _named(each: Beliefs) -> dict[str, float | str]:
    return {
        "metric": each.metric,
        "prior_scale": each.nodes.prior.width,
        "n_models": len(each.rows),
        "n_effective": each.found.effective,
    }


def _checked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result

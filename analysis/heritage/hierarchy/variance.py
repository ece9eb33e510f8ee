"""Where the variance lies: shares of lab, suite, model, prompt and residual, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.heritage.hierarchy.models import GEOMETRY_AND_SCALE, NOTHING, Family
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import Profile, profile, relative_factors
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.model import MixedModel
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_conf_level

#: Before and after geometry and scale enter.
STEPS = (NOTHING, GEOMETRY_AND_SCALE)

RESIDUAL = "residual"


def variance_components(
    family: Family,
    *,
    rng: np.random.Generator,
    n_resamples: int = 199,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the variance of every group before and after geometry and scale enter.

    Heritage has no fixed effect here: labs and suites carry it. Intervals are percentiles of a
    parametric bootstrap of the shares: draws under the fit, fitted again. A variance estimated as
    zero is zero in the draws' model too, so that its interval starts at zero and is too short.

    Parameters
    ----------
    family
        A fitted data set.
    rng
        Source of the draws.
    n_resamples
        Responses drawn per fit.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per step and group: `data_set`, `metric`, `block` (in the fixed part), `group`,
    `variance` [nat^2], `variance_share` of the random variance with `conf_low` and `conf_high`,
    `n_groups` (its levels), `n_obs`, `n_resamples`, `note`. A step without a fit has one row
    whose `note` is the reason.
    """
    require_conf_level(conf_level)
    parts = []
    for step in STEPS:
        member = family.members[step]
        if member.model is None:
            parts.append(pd.DataFrame({"block": [step], "group": "", "note": member.reason}))
            continue
        drawn = _replicates(family, member.model, rng, n_resamples)
        parts.append(_frame(family, member.model, drawn, conf_level).assign(block=step))
    numeric = ["variance", "variance_share", "conf_low", "conf_high", "conf_level", "n_groups"]
    result = (
        pd.concat(parts, ignore_index=True)
        .reindex(columns=["block", "group", *numeric, "note"])
        .assign(
            data_set=family.data_set.name,
            metric=family.data_set.metric,
            n_obs=len(family.data_set.rows),
            n_resamples=n_resamples,
            method="Restricted maximum likelihood; parametric bootstrap of shares, percentile",
        )
        .astype(dict.fromkeys(numeric, "float64"))
    )
    glossary.checked(result.columns)
    return result


def group_variances(
    blocks: Sequence[Block], fitted: Profile, *, residual_scale: float = 1.0
) -> Floats:
    """Return the variance of the intercept of every group, then the residual's.

    Parameters
    ----------
    blocks
        Random intercepts by group.
    fitted
        Solution of the fit.
    residual_scale
        Mean over rows of one over the weight.

    Returns
    -------
    Shape (groups + 1,).
    """
    factors = relative_factors(tuple(blocks), fitted.theta)
    relative = [float(factor[0, 0]) ** 2 for factor in factors]
    return fitted.variance * np.array([*relative, residual_scale])


def _replicates(
    family: Family, model: MixedModel, rng: np.random.Generator, n_resamples: int
) -> Floats:
    """Return the shares in responses drawn under a fit, shape (B, groups + 1)."""
    source = simulator(model.cross, model.solution)
    drawn = []
    for _ in range(n_resamples):
        cross = source.draw(rng)
        result = profile(cross, quick(cross, model.solution.theta, reml=True), reml=True)
        drawn.append(_shares(family, model, result))
    return np.array(drawn)


def _shares(family: Family, model: MixedModel, entries: Profile) -> Floats:
    variances = _variances(family, model, entries)
    return np.asarray(variances / variances.sum(), dtype=np.float64)


def _variances(family: Family, model: MixedModel, entries: Profile) -> Floats:
    data_set = family.data_set
    scale = 1.0
    if data_set.weights is not None:
        scale = float((1 / data_set.rows[data_set.weights]).mean())
    return group_variances(model.design.blocks, entries, residual_scale=scale)


def _frame(family: Family, model: MixedModel, drawn: Floats, conf_level: float) -> pd.DataFrame:
    blocks = model.design.blocks
    tail = (1 - conf_level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="weibull")
    variances = _variances(family, model, model.solution)
    warned = model.warnings()
    about = [
        " ".join(warned.loc[(warned["group"] == block.group) & (warned["term"] == ""), "note"])
        for block in blocks
    ]
    components = pd.DataFrame(
        {
            "group": [*(block.group for block in blocks), RESIDUAL],
            "variance": variances,
            "variance_share": variances / variances.sum(),
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_groups": [*(len(block.levels) for block in blocks), model.statistics.n_obs],
            "note": [*about, ""],
        }
    )
    order = [*(group for group in family.specification.groups), RESIDUAL]
    return components.set_index("group").loc[order].reset_index()

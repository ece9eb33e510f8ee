"""Parametric bootstrap of a mixed model, at a cost that does not grow with rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import profile, relative_factors
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.frames import tables
from analysis.mixed.inference.fitted import Fitted
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, generator, require_conf_level, require_count, seed_of
from analysis.tidy.progress import progress

#: Rounding of the number of draws that an interval needs.
ROUNDING = 1e-7


def parametric_bootstrap(
    model: Fitted,
    *,
    rng: np.random.Generator | None = None,
    n_resamples: int = 999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return percentile intervals of all parameters from responses drawn under the fit.

    Responses are drawn exactly (see `simulate`) and the model is fitted again to each.

    Parameters
    ----------
    model
        The fit.
    rng
        Source of the draws.
    n_resamples
        Responses to draw.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per fixed effect and variance parameter: `effect`, `group`, `term`, `estimate`,
    `std_error` (of the replicates), `conf_low`, `conf_high`, `n_resamples`, `seed`.

    Raises
    ------
    DesignError
        If the level asks for more draws.

    Examples
    --------
    >>> import numpy as np
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> fitted = mixed.fit("invest ~ value + (1 | firm)", rows)
    >>> rng = np.random.default_rng(1)
    >>> table = mixed.parametric_bootstrap(fitted, rng=rng, n_resamples=99).set_index("term")
    >>> table.loc["value", ["conf_low", "conf_high"]].astype(float).round(3).tolist()
    [0.137, 0.199]
    """
    require_conf_level(conf_level)
    require_count("n_resamples", n_resamples)
    alpha = (1 - conf_level) / 2
    if (n_resamples + 1) * alpha < 1 - ROUNDING:
        raise DesignError(
            f"A {conf_level:g} interval needs at least {int(np.ceil(1 / alpha - ROUNDING)) - 1} "
            f"resamples; {n_resamples} were asked for.",
            "Draw more resamples, or ask for a lower level.",
        )
    rng = generator(rng, "responses are drawn")
    source = simulator(model.cross, model.solution)
    steps = progress(range(n_resamples), "bootstrap")
    replicates = np.array([_refit(model, source.draw(rng)) for _ in steps])
    low, high = np.nanquantile(replicates, [alpha, 1 - alpha], axis=0, method="weibull")
    estimates = tables.tidy(model, ("fixed", "ran_pars"), "wald", 0.95)
    return glossary.table(
        estimates[["effect", "group", "term", "estimate", "n_obs"]].assign(
            std_error=np.nanstd(replicates, axis=0, ddof=1),
            conf_low=low,
            conf_high=high,
            conf_level=conf_level,
            n_resamples=n_resamples,
            seed=seed_of(rng),
            method="Parametric bootstrap, percentile",
            note="",
        )
    )


def _refit(model: Fitted, cross: CrossProducts) -> Floats:
    """Return fixed effects, deviations and correlations, and sigma, fitted to another response."""
    theta = quick(cross, model.solution.theta, reml=model.reml)
    at = profile(cross, theta, reml=model.reml)
    parameters: list[float] = []
    for block, factor in zip(cross.blocks, relative_factors(cross.blocks, theta), strict=True):
        rows = tables.spread_rows(block, at.variance * factor @ factor.T)
        parameters += [estimate for _, _, estimate, _ in rows]
    estimated = cross.centring @ at.coefficients + cross.shift
    return np.concatenate([estimated, parameters, [np.sqrt(at.variance)]])

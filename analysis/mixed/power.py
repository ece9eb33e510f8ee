"""Power of the tests of a mixed model, from exactly drawn cross-products of new responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.inference.power import Components, curve_frame, rejection_rate, require_effects
from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import Profile, profile
from analysis.mixed.algebra.estimates import estimates
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.inference.distributions import t_quantile
from analysis.mixed.inference.fixed_effects import ContrastTests, Inference
from analysis.mixed.model import MixedModel
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_count


def mixed_power(
    model: MixedModel,
    *,
    effects: Mapping[str, Sequence[float]],
    rng: np.random.Generator,
    components: Components | None = None,
    n_simulations: int = 200,
    alpha: float = 0.05,
    df: str = "kenward-roger",
) -> pd.DataFrame:
    """Return the power of the tests of fixed effects of a mixed model.

    Cross-products of new responses are drawn exactly (`algebra.simulate`) and the model
    is fitted again to each, so that any design of crossed and nested factors can be asked,
    at a cost that does not grow with its rows. An effect of a column of the model shifts its
    estimate and leaves the variances, so one fit per response serves all effects.

    Parameters
    ----------
    model
        The fit whose design is asked.
    effects
        Fixed effect to the true values to try.
    rng
        Source of the draws.
    components
        Deviations instead of the fitted ones; only for a model with one random intercept.
    n_simulations, alpha
        As in `analysis.inference.power.simulated_power`.
    df
        ``kenward-roger``, ``satterthwaite`` or ``wald``.

    Returns
    -------
    As `analysis.inference.power.simulated_power`.

    Raises
    ------
    DesignError
        If a term is not in the model, or components are given for another kind of model.
    """
    require_count("n_simulations", n_simulations)
    require_effects(effects, alpha)
    unknown = [term for term in effects if term not in model.terms]
    if unknown:
        raise DesignError(
            f"Every term must be in the model; {unknown} are not among {list(model.terms)}.",
            "Use the names that tidy() prints.",
        )
    truth = _truth(model, components)
    none = np.linalg.solve(model.cross.centring, -model.cross.shift).astype(np.float64)
    source = simulator(model.cross, replace(truth, coefficients=none))
    drawn = [_tests(model, source.draw(rng), truth.theta, df) for _ in range(n_simulations)]
    rows: list[dict[str, object]] = []
    for term, values in effects.items():
        place = model.terms.index(term)
        deviations = np.array([tests.estimates[place] for tests in drawn])
        std_errors = np.array([tests.std_errors[place] for tests in drawn])
        critical = t_quantile(1 - alpha / 2, np.array([tests.df[place] for tests in drawn]))
        rows += [
            {"term": term, "true_value": float(value)}
            | rejection_rate(np.abs(deviations + value) >= critical * std_errors)
            for value in values
        ]
    n_groups = int(model.groups()["n_groups"].min())
    return curve_frame(rows, alpha, model.statistics.n_obs, n_groups, f"Mixed model, {df} t")


def _tests(model: MixedModel, cross: CrossProducts, start: Floats, df: str) -> ContrastTests:
    """Return the tests of all fixed effects, fitted to other cross-products."""
    found = profile(cross, quick(cross, start, reml=model.reml), reml=model.reml)
    inference = Inference(cross, found, estimates(cross, found), model.reml)
    return inference.tests(np.eye(len(model.terms)), df)


def _truth(model: MixedModel, components: Components | None) -> Profile:
    if components is None:
        return model.found
    if len(model.found.theta) != 1:
        raise DesignError(
            f"Components can be given for one random intercept; the model has "
            f"{len(model.found.theta)} variance parameters.",
            "Leave components out to use the fitted ones.",
        )
    theta = np.array([components.between / components.within])
    known = profile(model.cross, theta, reml=model.reml)
    return replace(known, residual=components.within**2 * known.df)

"""Power of the tests of a mixed model, and how many units per group a power asks for.

New responses are drawn as cross-products, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy

from analysis import mixed
from analysis.inference.power import Components, curve_frame, rejection_rate, require_effects
from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.deviance import Profile, profile
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.inference.fixed_effects import ContrastTests, Inference, t_quantile
from analysis.mixed.model import MixedModel
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats, generator, require_count, seed_of
from analysis.tidy.progress import progress

#: More units per group than this are not a design.
MOST_UNITS = 10_000


def mixed_power(
    model: MixedModel,
    *,
    effects: Mapping[str, Sequence[float]],
    rng: np.random.Generator | None = None,
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
        Responses to draw, and the level of the tests.
    df
        ``kenward-roger``, ``satterthwaite`` or ``wald``.

    Returns
    -------
    As `analysis.inference.power.permutation_power`.

    Raises
    ------
    DesignError
        If a term is not in the model, or components are given for another kind of model.
    """
    require_count("n_simulations", n_simulations)
    rng = generator(rng, "responses are drawn")
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
    drawn = [
        _tests(model, source.draw(rng), truth.theta, df)
        for _ in progress(range(n_simulations), "power")
    ]
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
    made = curve_frame(rows, alpha, model.statistics.n_obs, n_groups, f"Mixed model, {df} t")
    return made.assign(seed=seed_of(rng))


def _tests(model: MixedModel, cross: CrossProducts, start: Floats, df: str) -> ContrastTests:
    """Return the tests of all fixed effects, fitted to other cross-products."""
    theta = quick(cross, start, reml=model.reml)
    inference = Inference.at(cross, theta, reml=model.reml)
    return inference.tests(np.eye(len(model.terms)), df)


def _truth(model: MixedModel, components: Components | None) -> Profile:
    if components is None:
        return model.solution
    if len(model.solution.theta) != 1:
        raise DesignError(
            f"Components can be given for one random intercept; the model has "
            f"{len(model.solution.theta)} variance parameters.",
            "Leave components out to use the fitted ones.",
        )
    theta = np.array([components.between / components.within])
    known = profile(model.cross, theta, reml=model.reml)
    return replace(known, residual=components.within**2 * known.df)


def variance_components(
    models: pd.DataFrame, *, formula: str, group: str, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return the deviation among groups and within them, given the terms of a formula.

    Estimates are by restricted maximum likelihood, intervals by its profile. With few groups the
    interval of the first is wide, and everything computed from it is as unsure.

    Parameters
    ----------
    models
        One row per model.
    formula
        Fixed part: ``log_gain ~ heritage``.
    group
        Column of units with a random intercept: suites.
    conf_level
        Nominal coverage.

    Returns
    -------
    Two rows, `term` between and within: `estimate` [units of the response], the interval,
    `n_obs`, `n_groups`, `method`.

    Raises
    ------
    ColumnError, DesignError
        As `analysis.mixed.fit`.
    """
    fitted = mixed.fit(f"{formula} + (1 | {group})", models)
    estimated = fitted.tidy(["ran_pars"])
    profiled = mixed.profile_intervals(fitted, conf_level=conf_level, reml=True)
    return glossary.table(
        {
            "term": ["between", "within"],
            "estimate": estimated["estimate"].to_numpy(),
            "conf_low": profiled["conf_low"].to_numpy(),
            "conf_high": profiled["conf_high"].to_numpy(),
            "conf_level": conf_level,
            "n_obs": len(models),
            "n_groups": models[group].nunique(),
            "method": "REML estimate, interval by its profile",
            "note": f"Standard deviation, intercepts of {group}.",
        }
    )


def units_needed(
    components: Components,
    *,
    effects: Sequence[float],
    models_per_unit: Sequence[int],
    power: float = 0.8,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Return how many units per group a t test of two groups needs, by size of effect.

    Both groups have the same number m of units, each with the same number of models. The test
    compares means of units, with 2m - 2 degrees of freedom; its power is exact. More models
    per unit lower the variance of a unit's mean only to that between units.

    Parameters
    ----------
    components
        Deviations between and within units.
    effects
        True differences between the groups [units of the response], not 0.
    models_per_unit
        Numbers of models per unit to try.
    power
        Power wanted.
    alpha
        Level of the two-sided test.

    Returns
    -------
    One row per effect and number of models: `true_value`, `models_per_unit`, `units_needed`
    (per group), `power` (that this number reaches), `alpha`, `method`.

    Raises
    ------
    AnalysisError
        If an effect is 0, a number of models is not whole or below 1, or a power or level not
        inside (0, 1).
    DesignError
        If more than 10,000 units per group would be needed.
    """
    if not (effects and models_per_unit and np.isfinite(effects).all() and all(effects)):
        raise AnalysisError(
            "Effects must differ from 0 and be finite, and numbers of models be given; found "
            f"effects {list(effects)}, models {list(models_per_unit)}.",
            "No design detects an effect of 0.",
        )
    for n_models in models_per_unit:
        require_count("models_per_unit", n_models)
    if not (0 < alpha < power < 1):
        raise AnalysisError(
            f"Level and power must satisfy 0 < level < power < 1; found {alpha!r} and {power!r}.",
            "Usual are 0.05 and 0.8.",
        )
    rows = []
    for effect in effects:
        for n_models in models_per_unit:
            deviation = float(np.hypot(components.between, components.within / n_models**0.5))
            needed = _fewest(effect / deviation, power, alpha)
            rows.append(
                {
                    "true_value": float(effect),
                    "models_per_unit": int(n_models),
                    "units_needed": needed,
                    "power": two_group_power(effect / deviation, needed, alpha),
                    "alpha": alpha,
                }
            )
    return glossary.table(rows, method="t test of the means of units, noncentral t")


def two_group_power(standardised: float, n_units: int, alpha: float) -> float:
    """Return the power of a t test of two groups of n units, effect in deviations of a unit."""
    noncentrality, df = abs(standardised) * (n_units / 2) ** 0.5, 2 * n_units - 2
    critical = scipy.stats.t.isf(alpha / 2, df)
    above = scipy.stats.nct.sf(critical, df, noncentrality)
    # Far out scipy cannot compute the lower tail, which is nothing there; statsmodels'
    # TTestIndPower returns nan.
    below = np.nan_to_num(scipy.stats.nct.cdf(-critical, df, noncentrality))
    return float(above + below)


def _fewest(standardised: float, power: float, alpha: float) -> int:
    """Return the least number of units per group, by bisection: power rises with it."""
    low, high = 1, 2
    while two_group_power(standardised, high, alpha) < power:
        low, high = high, 2 * high
        if high > MOST_UNITS:
            raise DesignError(
                f"The effect is {standardised:.2g} deviations of a unit: more than {MOST_UNITS} "
                "units per group would be needed.",
                "Ask for a larger effect.",
            )
    while high - low > 1:
        middle = (low + high) // 2
        if two_group_power(standardised, middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high

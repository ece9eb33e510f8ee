"""Power of the tests at a design at hand, by simulation of its cells' means.

A model's mean over prompts is the cell; given the components of variance its distribution is
known, so it is drawn directly and nothing is simulated per prompt. With the deviations fixed,
an effect only shifts the estimate, so one set of draws gives the whole power curve, and the
same seed gives the same curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation as exchange
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    group_codes,
    level_codes,
    require_columns,
    require_count,
    rows_by_group,
    seed_of,
)

#: Coverage of the Monte-Carlo interval of a simulated power.
MONTE_CARLO = 0.95


#: What `minimum_detectable` reads of a curve.
CURVE = ("term", "method", "true_value", "power", "conf_low", "conf_high", "alpha")


@dataclass(frozen=True, slots=True)
class Components:
    """Standard deviations that an experiment would meet [units of the response].

    Examples
    --------
    >>> import thermoscope as ts
    >>> ts.Components(between=0.1, within=0.05).between
    0.1
    """

    between: float  #: Among units, such as suites, of one kind.
    within: float  #: Among models of one unit, the error of their means over prompts included.

    def __post_init__(self) -> None:
        """Refuse what is not a pair of deviations with some variance."""
        if not (0 <= self.between < np.inf and 0 < self.within < np.inf):
            raise AnalysisError(
                "Deviations must be at least 0 between units and above 0 within; found "
                f"{self.between!r} and {self.within!r}.",
                "Estimate them with analysis.mixed.power.variance_components.",
            )


def permutation_power(
    models: pd.DataFrame,
    *,
    label: str,
    unit: str,
    cluster: str,
    components: Components,
    effects: Sequence[float],
    rng: np.random.Generator | None = None,
    n_simulations: int = 2000,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Return the power of the exact permutation of a two-level label between units.

    The statistic is the difference between the means over units of their mean responses.

    Parameters
    ----------
    models
        One row per model.
    label
        Column with two levels, constant within a unit; the second in order gets the effect.
    unit
        Column naming what is exchanged: suites, or labs.
    cluster
        Column naming the units that share a deviation, such as suites.
    components
        What the responses are drawn with.
    effects
        True differences to try [units of the response].
    rng
        Source of the draws.
    n_simulations
        Responses to draw.
    alpha
        Level of the test.

    Returns
    -------
    One row per effect: `term`, `true_value`, `power` (the size of the test where the effect is 0),
    its Monte-Carlo interval, `alpha`, `n_resamples`, `n_obs`, `n_groups`, `method`, and
    `smallest_p`: where it exceeds `alpha` the power is always 0.

    Raises
    ------
    AnalysisError
        If there is no finite effect to try, or the level is not between 0 and 1.
    DesignError
        If the label has not two levels, varies within a unit, or has too many assignments.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> models = pd.DataFrame({"lab": [*"aaabbb"], "suite": [*"uvwxyz"]})
    >>> how = {"label": "lab", "unit": "suite", "cluster": "suite", "effects": [0.0, 0.5]}
    >>> curve = ts.permutation_power(
    ...     models,
    ...     components=ts.Components(between=0.1, within=0.05),
    ...     rng=np.random.default_rng(1),
    ...     alpha=0.1,
    ...     **how,
    ... )
    >>> curve["power"].round(2).tolist()
    [0.1, 0.99]
    """
    require_effects({label: effects}, alpha)
    units = group_codes(models, unit)
    codes, levels = level_codes(models, label)
    groups = rows_by_group(units)
    of_unit = np.array([codes[rows[0]] for rows in groups])
    _require_two_levels(label, unit, codes, of_unit[units], len(levels))
    if exchange.n_assignments(of_unit) > exchange.MOST_ENUMERATED:
        raise DesignError(
            f"At most {exchange.MOST_ENUMERATED} assignments are enumerated; {len(groups)} levels "
            f"of {unit!r} have {exchange.n_assignments(of_unit)}.",
            "Use analysis.mixed.power.mixed_power: with so many units its test is sound.",
        )
    rng = generator(rng, "models are drawn")
    noise = _noise(group_codes(models, cluster), components, n_simulations, rng)
    means = np.array([noise[:, rows].mean(axis=1) for rows in groups])
    assigned = np.array(list(exchange.every_assignment(of_unit)))
    weights = assigned / assigned.sum(axis=1, keepdims=True)
    weights = weights - (1 - assigned) / (1 - assigned).sum(axis=1, keepdims=True)
    by_noise, by_effect = weights @ means, weights @ of_unit
    rows = []
    for value in effects:
        statistics = np.abs(by_noise + value * by_effect[:, None])
        reached = statistics >= statistics[0] - exchange.RELATIVE_TIE * statistics.max(axis=0)
        rejected = reached.mean(axis=0) <= alpha * (1 + exchange.RELATIVE_TIE)
        rows.append({"term": label, "true_value": float(value)} | rejection_rate(rejected))
    method = f"Exact permutation of {unit}s, unadjusted"
    # Two assignments give the least p when both sides have as many units, else one.
    is_even = 2 * int(of_unit.sum()) == len(of_unit)
    smallest = (2 if is_even else 1) / len(assigned)
    made = curve_frame(rows, alpha, len(models), len(groups), method)
    return made.assign(smallest_p=smallest, seed=seed_of(rng))


def minimum_detectable(curve: pd.DataFrame, *, power: float = 0.8) -> pd.DataFrame:
    """Return the smallest effect that each test detects with a given power.

    Read off the curve by linear interpolation between the true values tried; the interval
    is where the Monte-Carlo limits cross.

    Parameters
    ----------
    curve
        From the functions above, stacked if wanted, true values ascending from 0 or more.
    power
        Power wanted.

    Returns
    -------
    One row per term and method: `term`, `method`, `estimate` [units of the effect], the
    interval, `power`, `test_size` (missing if no effect of 0 was tried), `alpha`,
    `n_obs`, `n_groups`, `note`. Missing where no effect tried reaches the power.

    Raises
    ------
    AnalysisError
        If the power wanted is not between 0 and 1.
    ColumnError
        If the curve lacks a column.
    """
    if not 0 < power < 1:
        raise AnalysisError(
            f"`power` must lie between 0 and 1; found {power!r}.", "Eighty percent is 0.8."
        )
    require_columns(curve, CURVE)
    rows = []
    for (term, method), part in curve.groupby(["term", "method"], sort=False):
        ordered = part.sort_values("true_value")
        at, powers = ordered["true_value"].to_numpy(), ordered["power"].to_numpy()
        null = ordered.loc[ordered["true_value"] == 0, "power"]
        estimate = _crossing(at, powers, power)
        rows.append(
            {
                "term": term,
                "method": method,
                "estimate": estimate,
                "conf_low": _crossing(at, ordered["conf_high"].to_numpy(), power),
                "conf_high": _crossing(at, ordered["conf_low"].to_numpy(), power),
                "conf_level": MONTE_CARLO,
                "power": power,
                "test_size": float(null.iloc[0]) if len(null) else np.nan,
                "alpha": float(ordered["alpha"].iloc[0]),
                "n_obs": int(ordered["n_obs"].iloc[0]),
                "n_groups": int(ordered["n_groups"].iloc[0]),
                "note": ""
                if np.isfinite(estimate)
                else f"No effect up to {at.max():g} reaches a power of {power:g}.",
            }
        )
    return glossary.table(rows)


def require_effects(effects: Mapping[str, Sequence[float]], alpha: float) -> None:
    """Raise AnalysisError unless there are finite effects to try, at a level within (0, 1)."""
    tried = [value for values in effects.values() for value in values]
    if not tried or not all(effects.values()) or not np.isfinite(tried).all():
        raise AnalysisError(
            f"Every term must have finite effects to try; found {dict(effects)}.",
            "Such as {'heritage[T.EleutherAI]': [0, 0.1, 0.2]}.",
        )
    if not 0 < alpha < 1:
        raise AnalysisError(
            f"`alpha` must lie between 0 and 1; found {alpha!r}.", "Five percent is 0.05."
        )


def _noise(
    clusters: Integers, components: Components, n_simulations: int, rng: np.random.Generator
) -> Floats:
    """Return deviations of models from their expectation, shape (simulations, models)."""
    require_count("n_simulations", n_simulations)
    normal = rng.standard_normal
    shared = normal((n_simulations, int(clusters.max()) + 1))[:, clusters]
    return components.between * shared + components.within * normal((n_simulations, len(clusters)))


def _require_two_levels(
    label: str, unit: str, codes: Integers, expected: Integers, n_levels: int
) -> None:
    if n_levels != 2 or not np.array_equal(codes, expected):
        raise DesignError(
            f"Label {label!r} must have two levels and be constant within each {unit!r}.",
            "Make one: lab == 'EleutherAI'.",
        )


def rejection_rate(rejected: NDArray[np.bool_]) -> dict[str, object]:
    """Return the share of simulations that reject, with its Monte-Carlo interval."""
    share = fisher.proportion(int(rejected.sum()), len(rejected), conf_level=MONTE_CARLO).iloc[0]
    return {
        "power": share["estimate"],
        "conf_low": share["conf_low"],
        "conf_high": share["conf_high"],
        "n_resamples": len(rejected),
    }


def curve_frame(
    rows: list[dict[str, object]], alpha: float, n_obs: int, n_groups: int, method: str
) -> pd.DataFrame:
    """Return rows of a power curve with all its columns."""
    columns = ["conf_low", "conf_high", "n_resamples", "smallest_p"]
    result = pd.DataFrame(rows)
    result = result.reindex(columns=[*result.columns, *(c for c in columns if c not in result)])
    return glossary.table(
        result.assign(
            alpha=alpha, conf_level=MONTE_CARLO, n_obs=n_obs, n_groups=n_groups, method=method
        )
    )


def _crossing(at: Floats, powers: Floats, wanted: float) -> float:
    """Return where a rising curve first reaches a value, NaN when it does not."""
    reached = np.flatnonzero(powers >= wanted)
    if not len(reached):
        return float("nan")
    place = int(reached[0])
    if place == 0:
        return float(at[0])
    step = (wanted - powers[place - 1]) / (powers[place] - powers[place - 1])
    return float(at[place - 1] + step * (at[place] - at[place - 1]))

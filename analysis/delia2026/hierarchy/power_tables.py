"""What power the published design has, and how many suites would settle the question."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.sign.exchange import cluster_means, exchange
from analysis.inference import power
from analysis.inference.power import Components
from analysis.mixed import power as power_mixed
from analysis.tidy import prose
from analysis.tidy.columns import Column

FORMULA = "log_gain ~ eleuther + log2_rho + log_parameters"
EFFECTS = {
    "eleuther": "EleutherAI or not",
    "log2_rho": "head density doubled",
    "log_parameters": "ten times the parameters",
}
#: Tests, by id.
TESTS = {"mixed": "mixed model", "suite": "suites permuted", "lab": "labs permuted"}
SEED = 20260107
SIMULATIONS, REFITS = 1000, 400
GRID = np.linspace(0.0, 0.6, 25)
#: Power that designs are usually made for, level of the tests, models of a suite to come.
TARGET, LEVEL, MODELS_EACH = 0.8, 0.05, 4


def components(models: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations between and within suites, given heritage, geometry and scale."""
    return power_mixed.variance_components(models, formula=FORMULA, group="suite")


def power_curves(models: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the power at the design at hand, by effect (`term`) and test (`method`, by id).

    Parameters
    ----------
    models
        As `partition_tables.base_models` returns them.
    known
        `components`.
    """
    deviations = Components(*known["estimate"])
    curves = [
        power.permutation_power(
            models,
            label="eleuther",
            unit=unit,
            cluster="suite",
            components=deviations,
            effects=list(GRID),
            rng=np.random.default_rng(SEED),
            n_simulations=SIMULATIONS,
        ).assign(method=unit)
        for unit in ("suite", "lab")
    ]
    mixture = power_mixed.mixed_power(
        mixed.fit(f"{FORMULA} + (1 | suite)", models),
        effects={term: list(GRID) for term in EFFECTS},
        rng=np.random.default_rng(SEED),
        components=deviations,
        n_simulations=REFITS,
    )
    return pd.concat([mixture.assign(method="mixed"), *curves], ignore_index=True)


def observed_effects(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect and test of `power_curves`: what it finds in the models.

    `term`, `method`, `estimate` [log gain], `conf_low`, `conf_high`, `p_value`. Exchanging labels
    adjusts for nothing and gives no interval.
    """
    fitted = mixed.fit(f"{FORMULA} + (1 | suite)", models).tidy(["fixed"])
    parts = [fitted[fitted["term"].isin(EFFECTS)].assign(method="mixed")]
    for unit in ("suite", "lab"):
        tested = exchange(cluster_means(models, unit, ["log_gain"]), "log_gain", unit)
        parts.append(pd.DataFrame([tested]).assign(term="eleuther", method=unit))
    columns = ["term", "method", "estimate", "conf_low", "conf_high", "p_value"]
    return pd.concat([rows.reindex(columns=columns) for rows in parts], ignore_index=True)


def detectable(effects: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect and test: observed, detectable, size of the test."""
    least = power.minimum_detectable(curves, power=TARGET)
    return effects.merge(
        least[["term", "method", "estimate", "test_size"]].rename(
            columns={"estimate": "detectable"}
        ),
        on=["term", "method"],
    )


#: The table of `detectable`.
COLUMNS = {
    "test": Column(
        "Effect and test", ["term", "method"], lambda term, test: f"{EFFECTS[term]}: {TESTS[test]}"
    ),
    "observed": Column("Observed", "estimate", prose.change),
    "interval": Column("95 % interval", ["conf_low", "conf_high"], prose.change_interval),
    "p": Column("p", "p_value", prose.bare_p),
    "detectable": Column("Detectable", "detectable", prose.change),
    "size": Column("False yes", "test_size", lambda it: prose.number(it, 3)),
}


def design_words(
    effects: pd.DataFrame, known: pd.DataFrame, curves: pd.DataFrame
) -> dict[str, str]:
    """Return how many suites per group a power of `TARGET` asks for, as text.

    For the effect that the mixed model finds, and for half of it; suites hold `MODELS_EACH` models
    each. The ranges go over the interval of the deviation between suites. `effect` is a factor
    above 1, `ratio` is EleutherAI's gain over the others'. `detectable` is of the most powerful
    of the tests in `curves`.
    """
    fitted = effects[effects["term"] == "eleuther"].to_dict("records")[0]
    effect = abs(float(fitted["estimate"]))
    low, high = float(np.exp(fitted["conf_low"])), float(np.exp(fitted["conf_high"]))
    by_term = known.set_index("term").to_dict("index")
    between, within = by_term["between"], by_term["within"]["estimate"]
    whole, half = (
        [
            _suites_needed(Components(between[end], within), part * effect)
            for end in ("estimate", "conf_low", "conf_high")
        ]
        for part in (1.0, 0.5)
    )
    of_heritage = curves[curves["term"] == "eleuther"]
    least = power.minimum_detectable(of_heritage, power=TARGET)["estimate"].min()
    return {
        "power": prose.percent(TARGET),
        "level": prose.percent(LEVEL),
        "models_each": prose.count(MODELS_EACH),
        "detectable": prose.number(float(np.exp(least))),
        "effect": prose.number(float(np.exp(effect))),
        "ratio": prose.number(float(np.exp(fitted["estimate"]))),
        "ratio_interval": prose.interval(low, high),
        "ratio_covers": "contains" if low <= 1 <= high else "excludes",
        "half_effect": prose.number(float(np.exp(effect / 2))),
        "between": prose.percent(float(np.expm1(between["estimate"])), 1),
        "between_interval": prose.change_interval(between["conf_low"], between["conf_high"]),
        "within": prose.percent(float(np.expm1(within)), 1),
        "suites": prose.plural(whole[0], "suite"),
        "suites_range": f"{whole[1]} to {whole[2]}",
        "half_suites": prose.plural(half[0], "suite"),
        "half_range": f"{half[1]} to {half[2]}",
    }


def _suites_needed(known: Components, effect: float) -> int:
    result = power_mixed.units_needed(
        known, effects=[effect], models_per_unit=[MODELS_EACH], power=TARGET, alpha=LEVEL
    )
    return int(result["units_needed"].iloc[0])

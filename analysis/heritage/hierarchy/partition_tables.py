"""The frames and words behind the report's section on what matters most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.heritage.sign import claims_ranking as ranking
from analysis.heritage.sign.exchange import NAMED_LAB, OTHER, exchange, of_units
from analysis.inference import power
from analysis.inference.association import regression
from analysis.inference.partition import (
    collinearity,
    cross_validation,
    matched,
)
from analysis.inference.partition import shares as shares_of
from analysis.inference.partition.subsets import Subsets, all_subsets, among
from analysis.inference.power import Components
from analysis.mixed import power as power_mixed
from analysis.store import Store
from analysis.tidy import prose

BLOCKS: Mapping[str, list[str]] = {
    "lab": ["lab"],
    "suite": ["suite"],
    "geometry": ["rho", "d_head"],
    "depth": ["n_layers"],
    "scale": ["log_parameters"],
}
#: Blocks of which none lies in another.
SEPARATE = ("lab", "geometry", "depth", "scale")
#: The same with the suite in the place of its lab, which says less.
WITH_SUITE = ("suite", "geometry", "depth", "scale")
#: What the figure calls the average share: Shapley's.
AVERAGED = "average over orders"
#: A predictive R squared nearer to zero than this is zero but for rounding.
ROUNDING = 1e-12
#: Same depth, same heads, same width of a head; parameters within a ratio.
SAME_SHAPE = {"n_layers": 1.0, "n_heads": 1.0, "d_head": 1.0, "parameters": 1.4}
FORMULA = "log_gain ~ eleuther + log2_rho + log_parameters"
EFFECTS = {
    "eleuther": "EleutherAI or not",
    "log2_rho": "head density doubled",
    "log_parameters": "ten times the parameters",
}
SEED = 20260107
RESAMPLES = 499
SIMULATIONS, REFITS = 1000, 400
GRID = np.linspace(0.0, 0.6, 25)
#: Power that designs are usually made for, level of the tests, models of a suite to come.
TARGET, LEVEL, MODELS_EACH = 0.8, 0.05, 4


def base_models(store: Store) -> pd.DataFrame:
    """Return one row per base model that is not post-norm, with predictors of all blocks."""
    models = ranking.hierarchy_models(store)
    ours = models["lab"] == NAMED_LAB
    return models.assign(
        heritage=np.where(ours, NAMED_LAB, OTHER),
        eleuther=ours.astype(float),
        log2_rho=np.log2(models["rho"]),
        parameters=10 ** models["log_parameters"],
    )


def explained(models: pd.DataFrame) -> Subsets:
    """Return R squared of every subset of blocks in log gain, labs resampled."""
    return all_subsets(
        models,
        response="log_gain",
        blocks=BLOCKS,
        cluster="lab",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
        with_chance=True,
    )


def shares(subsets: Subsets) -> pd.DataFrame:
    """Return one row per block and method: share of variance alone, by Shapley, uniquely."""
    parts = shares_of.unique_and_alone(subsets)
    alone, unique = (parts[parts["term"] == term] for term in ("alone", "unique"))
    columns = ["block", "method", "share", "conf_low", "conf_high", "chance_share", "n_groups"]
    methods = {
        "alone": alone,
        AVERAGED: shares_of.shapley(subsets),
        "entering last": unique,
    }
    named = [rows.assign(method=method)[columns] for method, rows in methods.items()]
    return pd.concat(named, ignore_index=True)


def rankings(subsets: Subsets, names: Sequence[str] = SEPARATE) -> pd.DataFrame:
    """Return one row per pair of separate blocks and kind of dominance, net of chance."""
    return shares_of.dominance(among(subsets, names))


def ranking_words(subsets: Subsets, names: Sequence[str] = SEPARATE) -> dict[str, str]:
    """Return what the resamples support: how many rankings of how many, and which.

    Heritage is the lab in `SEPARATE` and the suite in `WITH_SUITE`.
    """
    result = rankings(subsets, names)
    general = result[result["term"] == "general"]
    supported = general[general["holds"].notna()]
    named = [
        _ranked(str(row["contrast"]), bool(row["holds"])) for row in supported.to_dict("records")
    ]
    complete = result[(result["term"] == "complete") & result["holds"].notna()]
    whole = among(subsets, names)
    parts = shares_of.unique_and_alone(subsets)
    unique = parts[parts["term"] == "unique"].set_index("block")["share"]
    return {
        **{f"unique_{block}": prose.number(float(unique[block])) for block in subsets.names},
        "pairs": prose.share_of(len(supported), len(general)),
        "named": prose.listing(named) if named else "none",
        "complete": prose.share_of(len(complete), len(general)),
        "r_squared": prose.number(float(whole.r_squared[-1])),
        "chance": prose.number(float(whole.chance[-1])),
        "labs": prose.plural(subsets.n_groups, "lab"),
        "models": prose.plural(subsets.n_obs, "model"),
    }


def confounding_rows(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per block, formatted: inflation, and prediction of new suites.

    The suite stands in the lab's place in its own row; beside each other neither can be told.
    """
    shown = (*SEPARATE[:1], *WITH_SUITE)
    blocks = {name: BLOCKS[name] for name in shown}
    factors = {
        str(row["block"]): row
        for names in (WITH_SUITE, SEPARATE)
        for row in collinearity.inflation(
            models, blocks={name: BLOCKS[name] for name in names}
        ).to_dict("records")
    }
    predicted = cross_validation.leave_one_group_out(
        models, response="log_gain", blocks=blocks, group="suite"
    )
    new = predicted.set_index("block").to_dict("index")
    return pd.DataFrame(
        {
            "block": list(shown),
            "columns": [prose.count(factors[name]["df"]) for name in shown],
            "inflation": [prose.number(factors[name]["inflation"], 1) for name in shown],
            "predicted": [prose.number(_exactly(new[name]["estimate"])) for name in shown],
            "interval": [_interval(new[name]) for name in shown],
        }
    )


def _interval(row: Mapping[Any, Any]) -> str:
    """Return the interval of a predictive R squared; a dash where it is zero by construction."""
    ends = _exactly(row["conf_low"]), _exactly(row["conf_high"])
    return prose.interval(*ends) if any(ends) else prose.MISSING


def _exactly(value: float) -> float:
    """Return a predictive R squared, zero where only rounding keeps it from zero."""
    return 0.0 if abs(value) < ROUNDING else value


def variation_words(models: pd.DataFrame) -> dict[str, str]:
    """Return in how many suites the geometry varies at all, and how much of it varies there."""
    result = collinearity.within_variation(
        models, group="suite", columns=["rho", "n_layers", "log_parameters"]
    )
    varying = result[result["n_distinct"] > 1]
    inside = result.groupby("term")["within_share"].sum()
    return {
        "suites": prose.share_of(varying["level"].nunique(), result["level"].nunique()),
        "rho_within": prose.percent(float(inside["rho"])),
        "depth_within": prose.percent(float(inside["n_layers"])),
        "scale_within": prose.percent(float(inside["log_parameters"])),
    }


def same_shape(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models that have a match of another lab: same depth, same heads."""
    return matched.matched_models(models, label="lab", tolerance=SAME_SHAPE)


def match_rows(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per matched shape, formatted: who is in it and how gains differ."""
    matches = same_shape(models)
    contrasts = matched.match_contrasts(
        matches, response="log_gain", label="heritage", first=NAMED_LAB
    )
    rows = []
    for row in contrasts.to_dict("records"):
        table = matches[matches["match"] == row["match"]].sort_values("log_gain")
        shape = table.iloc[0]
        names = prose.short_name(table["model_id"])
        gains = zip(names, table["gain_mean"], strict=True)
        rows.append(
            {
                "shape": f"{shape['n_layers']} × {shape['n_heads']} × {shape['d_head']}",
                "models": ", ".join(f"{name} {prose.number(gain)}" for name, gain in gains),
                "ratio": prose.number(float(np.exp(row["estimate"]))),
            }
        )
    return pd.DataFrame(rows)


def match_words(models: pd.DataFrame) -> dict[str, str]:
    """Return the tests within matches and the count of pairs with opposite signs, as text."""
    tests = matched.match_tests(
        same_shape(models), response="log_gain", label="heritage", first=NAMED_LAB, unit="suite"
    )
    within, suites, signs = (row for _, row in tests.iterrows())
    pairs = matched.matched_pairs(models, label="lab", response="log_gain", tolerance=SAME_SHAPE)
    return {
        "tolerance": prose.number(SAME_SHAPE["parameters"], 1),
        "ratio": prose.number(float(np.exp(within["estimate"]))),
        "p_models": prose.p_value(within["p_value"]),
        "p_suites": prose.p_value(suites["p_value"]),
        "least_suites": prose.p_value(suites["smallest_p"]),
        "n_suites": prose.plural(int(suites["n_groups"]), "suite"),
        "lower": prose.share_of(round(signs["estimate"] * signs["n_groups"]), signs["n_groups"]),
        "p_signs": prose.p_value(signs["p_value"]),
        "least_signs": prose.p_value(signs["smallest_p"]),
        "opposite": prose.share_of(int(pairs["opposite"].sum()), len(pairs)),
    }


def components(models: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations between and within suites, given heritage, geometry and scale."""
    return power_mixed.variance_components(models, formula=FORMULA, group="suite")


def power_curves(models: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the power of the tests at the design at hand, one row per effect and test."""
    deviations = Components(*known["estimate"])
    clustered = power.simulated_power(
        models,
        formula=FORMULA,
        cluster="suite",
        components=deviations,
        effects={term: list(GRID) for term in EFFECTS},
        rng=np.random.default_rng(SEED),
        n_simulations=SIMULATIONS,
    )
    exchanged = [
        power.permutation_power(
            models,
            label="eleuther",
            unit=unit,
            cluster="suite",
            components=deviations,
            effects=list(GRID),
            rng=np.random.default_rng(SEED),
            n_simulations=SIMULATIONS,
        )
        for unit in ("suite", "lab")
    ]
    mixture = power_mixed.mixed_power(
        mixed.fit(f"{FORMULA} + (1 | suite)", models),
        effects={term: list(GRID) for term in EFFECTS},
        rng=np.random.default_rng(SEED),
        components=deviations,
        n_simulations=REFITS,
    )
    curves = pd.concat([mixture, clustered, *exchanged], ignore_index=True)
    tests = {
        "Mixed model, kenward-roger t": "mixed model",
        "Least squares, CR2 t by suite": "clustered by suite",
        "Exact permutation of suites, unadjusted": "suites exchanged",
        "Exact permutation of labs, unadjusted": "labs exchanged",
    }
    return curves.assign(test=_named(curves["term"], curves["method"].map(tests)))


def found_effects(models: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect and test of `power_curves`: what it finds in the models.

    `term`, `test`, `estimate` [log gain], `conf_low`, `conf_high`, `p_value`, `df`. Exchanging
    labels adjusts for nothing and gives no interval.
    """
    fits = {
        "mixed model": mixed.fit(f"{FORMULA} + (1 | suite)", models).tidy(["fixed"]),
        "clustered by suite": regression.fit(models, FORMULA, cluster="suite").tidy(),
    }
    parts = [
        rows[rows["term"].isin(EFFECTS)].assign(test=_named(rows["term"], test))
        for test, rows in fits.items()
    ]
    parts += [_exchanged(models, unit) for unit in ("suite", "lab")]
    columns = ["term", "test", "estimate", "conf_low", "conf_high", "p_value", "df"]
    return pd.concat([rows.reindex(columns=columns) for rows in parts], ignore_index=True)


def detectable_rows(effects: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect and test, formatted: found, detectable, size of the test."""
    detectable = power.minimum_detectable(curves.assign(method=curves["test"]), power=TARGET)
    both = effects.merge(
        detectable[["method", "estimate", "test_size"]].rename(columns={"estimate": "detectable"}),
        left_on="test",
        right_on="method",
    )
    return pd.DataFrame(
        [
            {
                "test": row["test"],
                "found": prose.number(row["estimate"]),
                "interval": prose.interval(row["conf_low"], row["conf_high"]),
                "p": prose.bare(prose.p_value(row["p_value"])),
                "detectable": prose.number(row["detectable"]),
                "size": prose.number(row["test_size"], 3),
            }
            for row in both.to_dict("records")
        ]
    )


def design_words(
    effects: pd.DataFrame, known: pd.DataFrame, curves: pd.DataFrame
) -> dict[str, str]:
    """Return how many suites per group a power of `TARGET` asks for, as text.

    For the effect that the mixed model finds, and for half of it; suites hold `MODELS_EACH` models
    each. The ranges go over the interval of the deviation between suites. `effect` is a factor
    above 1, `ratio` is EleutherAI's gain over the others'. `detectable` is of the most powerful
    of the tests in `curves`, `clustered_df` the most that a clustered one has.
    """
    clustered = effects[effects["test"].str.endswith("clustered by suite")]
    fitted = effects[effects["term"] == "eleuther"].to_dict("records")[0]
    effect = abs(float(fitted["estimate"]))
    low, high = float(np.exp(fitted["conf_low"])), float(np.exp(fitted["conf_high"]))
    by_term = known.set_index("term").to_dict("index")
    between, within = by_term["between"], by_term["within"]["estimate"]
    whole, half = (
        [
            _needed(Components(between[end], within), part * effect)
            for end in ("estimate", "conf_low", "conf_high")
        ]
        for part in (1.0, 0.5)
    )
    of_heritage = curves[curves["term"] == "eleuther"]
    detectable = power.minimum_detectable(of_heritage, power=TARGET)["estimate"].min()
    return {
        "power": prose.percent(TARGET),
        "level": prose.percent(LEVEL),
        "models_each": prose.count(MODELS_EACH),
        "detectable": prose.number(float(np.exp(detectable))),
        "effect": prose.number(float(np.exp(effect))),
        "direction": "lower" if fitted["estimate"] < 0 else "higher",
        "ratio": prose.number(float(np.exp(fitted["estimate"]))),
        "ratio_interval": prose.interval(low, high),
        "ratio_covers": "contains" if low <= 1 <= high else "excludes",
        "clustered_df": prose.number(clustered["df"].max(), 1),
        "half_effect": prose.number(float(np.exp(effect / 2))),
        "between": prose.number(between["estimate"], 3),
        "between_interval": prose.interval(between["conf_low"], between["conf_high"], 3),
        "within": prose.number(within, 3),
        "suites": prose.plural(whole[0], "suite"),
        "suites_range": f"{whole[1]} to {whole[2]}",
        "half_suites": prose.plural(half[0], "suite"),
        "half_range": f"{half[1]} to {half[2]}",
    }


def _exchanged(models: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the exact permutation test of heritage between the means of whole units."""
    means = of_units(models, unit, ["log_gain"])
    tested = pd.DataFrame([exchange(means, "log_gain", unit)])
    return tested.assign(
        term="eleuther", test=_named(pd.Series(["eleuther"]), f"{unit}s exchanged")
    )


def _named(terms: pd.Series, tests: pd.Series | str) -> pd.Series:
    return terms.map(EFFECTS) + ": " + tests


def _needed(known: Components, effect: float) -> int:
    result = power_mixed.units_needed(
        known, effects=[effect], models_per_unit=[MODELS_EACH], power=TARGET, alpha=LEVEL
    )
    return int(result["units_needed"].iloc[0])


def _ranked(contrast: str, first_leads: bool) -> str:
    first, _, second = contrast.partition(" over ")
    return f"{first} over {second}" if first_leads else f"{second} over {first}"

"""What each block of predictors explains, and what models of one shape and two labs show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.delia2026.sign import claims_ranking as ranking
from analysis.delia2026.sign.exchange import NAMED_LAB, heritage
from analysis.inference.partition import collinearity, matched
from analysis.inference.partition import shares as shares_of
from analysis.inference.partition.subsets import Subsets, all_subsets, select_blocks
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
#: Same depth, same heads, same width of a head; parameters within a ratio.
SAME_SHAPE = {"n_layers": 1.0, "n_heads": 1.0, "d_head": 1.0, "parameters": 1.4}
SEED = 20260107
RESAMPLES = 499


def base_models(store: Store) -> pd.DataFrame:
    """Return one row per base model that is not post-norm, with predictors of all blocks."""
    models = ranking.hierarchy_models(store)
    return models.assign(
        heritage=heritage(models["lab"]),
        eleuther=(models["lab"] == NAMED_LAB).astype(float),
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
    """Return one row per block and `term`: share of variance alone, and unique beside the others.

    `chance_share` is what as many columns of noise would explain.
    """
    return shares_of.unique_and_alone(subsets)


def rankings(subsets: Subsets, names: Sequence[str] = SEPARATE) -> pd.DataFrame:
    """Return one row per pair of separate blocks and kind of dominance, net of chance."""
    return shares_of.dominance(select_blocks(subsets, names))


def ranking_words(subsets: Subsets, names: Sequence[str] = SEPARATE) -> dict[str, str]:
    """Return what the resamples support: how many rankings of how many, and which; and the shares.

    Heritage is the lab in `SEPARATE` and the suite in `WITH_SUITE`.
    """
    result = rankings(subsets, names)
    general = result[result["term"] == "general"]
    supported = general[general["holds"].notna()]
    named = [
        _rank(str(row["contrast"]), bool(row["holds"])) for row in supported.to_dict("records")
    ]
    complete = result[(result["term"] == "complete") & result["holds"].notna()]
    whole = select_blocks(subsets, names)
    parts = shares_of.unique_and_alone(subsets)
    of_unique = parts[parts["term"] == "unique"].set_index("block")
    unique, noise = of_unique["share"], of_unique["chance_share"]
    shares = shares_of.shapley(whole).set_index("block")["share"]
    return {
        "unique": _listed(unique.drop("lab")),
        "noise_suite": prose.number(float(noise["suite"])),
        "shapley": _listed(shares),
        "pairs": prose.among(len(supported), len(general)),
        "named": prose.listing(named) if named else "none",
        "complete": prose.among(len(complete), len(general)),
        "r_squared": prose.number(float(whole.r_squared[-1])),
        "chance": prose.number(float(whole.chance[-1])),
        "labs": prose.plural(subsets.n_groups, "lab"),
        "models": prose.plural(subsets.n_obs, "model"),
    }


def _listed(shares: pd.Series[float]) -> str:
    """Return shares by cause as a list, the largest first."""
    ordered = shares.sort_values(ascending=False)
    return prose.listing([f"{block} {prose.number(float(it))}" for block, it in ordered.items()])


def variation_words(models: pd.DataFrame) -> dict[str, str]:
    """Return in how many suites the geometry varies at all, and how much of it varies there."""
    result = collinearity.group_variation(
        models, group="suite", columns=["rho", "n_layers", "log_parameters"]
    )
    varying = result[result["n_distinct"] > 1]
    inside = result.groupby("term")["within_share"].sum()
    return {
        "suites": prose.among(varying["level"].nunique(), result["level"].nunique()),
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
    """Return the test within matches and the counts of matches and pairs, as text.

    Whole suites are exchanged, since recipes are chosen by suite.
    """
    tests = matched.match_tests(
        same_shape(models), response="log_gain", label="heritage", first=NAMED_LAB, unit="suite"
    )
    within, suites, signs = (row for _, row in tests.iterrows())
    pairs = matched.matched_pairs(models, label="lab", response="log_gain", tolerance=SAME_SHAPE)
    return {
        "tolerance": prose.number(SAME_SHAPE["parameters"], 1),
        "ratio": prose.number(float(np.exp(within["estimate"]))),
        "p_suites": prose.p_value(suites["p_value"]),
        "least_suites": prose.p_value(suites["smallest_p"]),
        "n_suites": prose.plural(int(suites["n_groups"]), "suite"),
        "lower": prose.among(round(signs["estimate"] * signs["n_groups"]), int(signs["n_groups"])),
        "opposite": prose.share_of(int(pairs["opposite"].sum()), len(pairs)),
    }


def _rank(contrast: str, first_leads: bool) -> str:
    first, _, second = contrast.partition(" over ")
    return f"{first} over {second}" if first_leads else f"{second} over {first}"

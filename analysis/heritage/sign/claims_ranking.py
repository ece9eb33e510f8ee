"""The main claim: heritage explains more than geometry, and geometry more than scale (20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Claim, Line
from analysis.audit.evidence.checks import Check, Label
from analysis.heritage import reasons
from analysis.heritage.sign import claims_popular as popular
from analysis.heritage.sign.readings import EVERY, HUNT, JOINED, KEPT, model_sets
from analysis.inference.partition import partition
from analysis.store import Store

BLOCKS = {
    "lab": ["lab"],
    "geometry": ["rho", "d_head", "n_layers"],
    "scale": ["log_parameters"],
}
#: What heritage may mean: who trained a model, or the suite that shares its recipe.
HERITAGES = ("lab", "suite")
SEED, RESAMPLES = 20260106, 999


def part(first: str, second: str) -> Label:
    """Return the words of one ordered difference."""
    return Label(first, f"{first} explains more than {second}")


def hierarchy(store: Store) -> Sequence[Check]:
    """Check claim 20: heritage explains more than geometry, geometry more than scale."""
    return [
        check
        for condition, rows in ranked_sets(store).items()
        for heritage in HERITAGES
        for check in _hierarchy(condition, evidence.without_post_norm(rows), heritage)
    ]


def ranked_sets(store: Store) -> Mapping[str, pd.DataFrame]:
    """Return the base models under each published definition of gain, the report's primary first.

    A geometric mean over blocks is known of every model with a published profile.
    """
    every = model_sets(store)[EVERY]
    means = popular.mean_over_blocks(store).set_index("model_id")["gain_mean"]
    over_blocks = every.assign(gain_mean=every["model_id"].map(means)).dropna(subset=["gain_mean"])
    return {
        Label("body", "mean over blocks 1 to the penultimate"): over_blocks.assign(
            log_gain=np.log(over_blocks["gain_mean"].astype("float64"))
        ),
        EVERY: every,
        HUNT: model_sets(store)[HUNT],
        JOINED: evidence.penultimate_or_last(store),
        Label("maximum", "all base models, largest gain of a block"): evidence.base_gains(
            store, "gain_maximum"
        ),
        Label("last", "all base models, last block"): evidence.base_gains(store, "gain_last_block"),
    }


def hierarchy_models(store: Store) -> pd.DataFrame:
    """Return the frame behind claim 20: one row per base model that is not post-norm."""
    return model_sets(store)[KEPT]


def _hierarchy(condition: str, rows: pd.DataFrame, heritage: str) -> list[Check]:
    """Two ordered differences between Shapley shares, each with a suite-bootstrap interval."""
    pairs = (("heritage", "geometry"), ("geometry", "scale"))
    condition += Label(heritage, f"; heritage as {heritage}")
    n_columns = rows[heritage].nunique() - 1 + len([*BLOCKS["geometry"], *BLOCKS["scale"]])
    if rows["suite"].nunique() < 3 or len(rows) < n_columns + 2:
        reason = f"{len(rows)} models are too few for {n_columns} columns"
        return [evidence.missing(part(first, second), condition, reason) for first, second in pairs]
    differences = partition.differences(
        rows,
        response="log_gain",
        blocks={"heritage": [heritage]} | {name: BLOCKS[name] for name in ("geometry", "scale")},
        cluster="suite",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    found = {str(row["contrast"]): row for row in differences.to_dict("records")}
    return [
        _difference(condition, rows, first, second, found[f"{first} - {second}"])
        for first, second in pairs
    ]


def _difference(
    condition: str, rows: pd.DataFrame, first: str, second: str, row: Mapping[Any, Any]
) -> Check:
    """Decide one ordered difference, which must clear 0 and the lead that chance gives.

    A block with more columns explains more of pure noise; `partition` states that lead.
    """
    chance = float(row["null_value"])
    is_above = bool(row["conf_low"] > max(0.0, chance))
    is_below = bool(row["conf_high"] < min(0.0, chance))
    undecided = not is_above and not is_below
    reason = (
        f"The interval contains 0 or the lead by chance, {chance:.2f}: no ranking."
        if undecided
        else ""
    )
    return evidence.check(
        part(first, second),
        condition,
        None if undecided else is_above,
        rows,
        **evidence.numbers(row),
        method=row["method"],
        note=f"{reason} {row['note']}".strip(),
        measure="difference",
    )


CLAIMS = (
    Claim(
        20,
        "Differences between the Shapley shares of R2 of heritage, as lab and as suite, geometry "
        "and scale in log gain, by every published definition of gain",
        "Both ordered differences have a 95 % interval above 0 and above the lead that chance "
        "gives the block with more columns (bootstrap over suites); below both they "
        "fail, otherwise they are undecided. The stated reading is the mean "
        "over blocks, with heritage as lab.",
        hierarchy,
        statement='"The hierarchy is Heritage > Geometry > Scale"',
        place="abstract, §1",
        meaning=(
            "Who trained a model matters more than its shape, and its shape more than its size."
        ),
        family="training heritage",
        weight="central",
        rests_on="network",
        quantity="gain_penultimate_block",
        reason="Shares of variance of a free number are free." + reasons.RAW_AND_CENTRED,
        lines=(
            Line(part("heritage", "geometry"), "difference", 0),
            Line(part("geometry", "scale"), "difference", 0),
        ),
    ),
)

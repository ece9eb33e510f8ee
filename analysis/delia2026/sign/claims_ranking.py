"""The main claim: heritage explains more than geometry, and geometry more than scale (20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign import calibrated
from analysis.delia2026.sign import claims_popular as popular
from analysis.delia2026.sign.calibrated import Judgement
from analysis.delia2026.sign.readings import EVERY, HUNT, JOINED, PRE_NORM, model_sets
from analysis.inference.partition import shares
from analysis.inference.partition.subsets import all_subsets
from analysis.store import Store

BLOCKS = {
    "lab": ["lab"],
    "geometry": ["rho", "d_head", "n_layers"],
    "scale": ["log_parameters"],
}
#: What heritage may mean: who trained a model, or the suite that shares its recipe.
HERITAGES = ("lab", "suite")
#: Fewer suites are not ranked.
LEAST_SUITES = 3
SEED, RESAMPLES = 20260106, 999


def part(first: str, second: str) -> Label:
    """Return the words of one ordered difference."""
    return Label(first, f"{first} explains more than {second}")


#: What a ranking asserts, part by part.
FIRST, SECOND = part("heritage", "geometry"), part("geometry", "scale")
LEVEL = 0.05


@claim(
    20,
    Line(FIRST, "twice the log likelihood ratio", 0),
    Line(FIRST, "difference", 0),
    Line(SECOND, "difference", 0),
)
def hierarchy(store: Store) -> Sequence[Check]:
    """Check claim 20: heritage explains more than geometry, geometry more than scale.

    Calibrated rules decide, chosen on simulated papers. Their cut-offs are those of the models with
    a gain of the penultimate block; on other sets of models they are shown. The bootstrap of suites
    that decided before is shown too: in simulated papers in which neither is larger it often says
    that one is.
    """
    sets = {name: evidence.without_post_norm(rows) for name, rows in ranked_sets(store).items()}
    calibrated_on = {*sets[EVERY]["model_id"]}
    return [
        *(
            replace(check, decides={*rows["model_id"]} == calibrated_on)
            for condition, rows in sets.items()
            for check in _rule_checks(store, condition, rows)
        ),
        *(
            replace(check, decides=False)
            for condition, rows in sets.items()
            for heritage in HERITAGES
            for check in _hierarchy(condition, rows, heritage)
        ),
    ]


def _rule_checks(store: Store, condition: str, rows: pd.DataFrame) -> list[Check]:
    """Return the checks of one definition of gain by the rules that were chosen."""
    judged = calibrated.rules(store).judge(rows)
    as_meant = {
        meaning: condition + Label(f"variance {meaning}", f"; variances, heritage as {meaning}")
        for meaning in HERITAGES
    }
    asked = (
        (FIRST, as_meant["lab"], "lab over geometry"),
        (FIRST, as_meant["suite"], "recipe over geometry"),
        (SECOND, condition + Label("variance", "; variances"), "geometry over scale"),
    )
    statistic = calibrated.rules(store).statistic
    return [
        _add_counts(rule_check(part, words, statistic[statement], judged[statement]), rows)
        for part, words, statement in asked
    ]


#: What the estimate of each statistic is called.
MEASURES = {
    "difference of R squared": "difference",
    "difference of shares": "difference",
    "likelihood ratio": "twice the log likelihood ratio",
    "posterior": "probability",
}


def rule_check(part: str, condition: str, rule: str, judged: Judgement) -> Check:
    """Decide a part by a calibrated rule; p is that of the answer nearer at hand."""
    return Check(
        part,
        condition,
        judged.holds,
        estimate=judged.estimate,
        p_value=min(judged.p_yes, judged.p_no),
        method=(
            f"{calibrated.STATISTICS[rule]}; cut-off calibrated on simulated papers, p: share of "
            "papers as extreme in the least favourable world in which the answer is false"
        ),
        measure=MEASURES[rule],
    )


def _add_counts(judged: Check, rows: pd.DataFrame, **more: Any) -> Check:
    """Return a check with the counts, files and caveats of the rows it rests on."""
    counted = evidence.check(judged.part, judged.condition, judged.holds, rows, **more)
    return replace(
        counted,
        **{name: getattr(judged, name) for name in ("estimate", "p_value", "method", "measure")},
    )


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
    return model_sets(store)[PRE_NORM]


def _hierarchy(condition: str, rows: pd.DataFrame, heritage: str) -> list[Check]:
    """Two ordered differences between Shapley shares, each with a suite-bootstrap interval."""
    pairs = (("heritage", "geometry"), ("geometry", "scale"))
    condition += Label(heritage, f"; heritage as {heritage}")
    n_columns = rows[heritage].nunique() - 1 + len([*BLOCKS["geometry"], *BLOCKS["scale"]])
    if rows["suite"].nunique() < LEAST_SUITES or len(rows) < n_columns + 2:
        reason = f"{len(rows)} models are too few for {n_columns} columns"
        return [evidence.missing(part(first, second), condition, reason) for first, second in pairs]
    subsets = all_subsets(
        rows,
        response="log_gain",
        blocks={"heritage": [heritage]} | {name: BLOCKS[name] for name in ("geometry", "scale")},
        cluster="suite",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    differences = shares.differences(subsets).to_dict("records")
    by_name = {str(row["contrast"]): row for row in differences}
    return [
        _difference(condition, rows, first, second, by_name[f"{first} - {second}"])
        for first, second in pairs
    ]


def _difference(
    condition: str, rows: pd.DataFrame, first: str, second: str, row: Mapping[Any, Any]
) -> Check:
    """Decide one ordered difference, which must clear 0 and the lead that chance gives.

    A block with more columns explains more of pure noise; `shares.differences` states that lead.
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

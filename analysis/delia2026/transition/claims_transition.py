"""Claims about L*, the layer of the transition: its formula, its definition, its figure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.transition import constants, l_star
from analysis.delia2026.transition import published as published_l_star
from analysis.delia2026.transition.published import CHANGES, FIGURE, FITTED, HEADS
from analysis.store import Store
from analysis.tidy import prose

NEARER = Label("nearer", "the formula lies nearer to L* than half the depth does")
STEEPEST = "the stated L* is the layer where |dTr / dl| is largest"

#: Numbers in the formula that were fitted: 0.11, 0.012 and 4.9.
CONSTANTS = 3

#: What Fig. 5 counts: the part of the claim and its number, by column.
QUOTED_COUNTS = {"model_id": (Label("models", "6 models"), 6), "lab": (Label("labs", "4 labs"), 4)}

CONSTANTS_RETURN = Label("constants", "the constants follow from the published L*")


@claim(37, Line(NEARER, "difference", 0))
def formula(store: Store) -> Sequence[Check]:
    """Check claim 37: L* = L (0.11 + 0.012 L + 4.9 / H)."""
    sets = published_l_star.readings(store)
    return [
        *_constants(constants.published_values(store)),
        *(_nearer(name, models) for name, models in sets.items()),
        *(evidence.descriptive(_designs(name, sets[name])) for name in (FIGURE, FITTED)),
    ]


@claim(42, Line(STEEPEST, "share", 1))
def definition(store: Store) -> Sequence[Check]:
    """Check claim 42: L* is the layer where |dTr / dl| is largest."""
    stated = published_l_star.stated(store, evidence.TRACES)
    by_name = {
        Label(
            "gradient", "script 20: largest gradient of the trace it stores first"
        ): published_l_star.steepest(store, "trace_first_head"),
        Label(
            "step", "script 20: largest step from a layer to the next"
        ): published_l_star.steepest(store, "trace_first_head", l_star.argmax_abs_diff),
        HEADS + ", as Corollary 1 defines it": published_l_star.steepest(store, "trace_multi_head"),
    }
    return [
        *(_same_layer(condition, stated, layers) for condition, layers in by_name.items()),
        _sign_change_check(store),
    ]


@claim(44)
def models(store: Store) -> Sequence[Check]:
    """Check claim 44: Fig. 5 shows six models from four labs."""
    sets = published_l_star.readings(store)
    fitted = sets[FITTED]["model_id"]
    return [
        _count_check(name, sets[name], column, fitted)
        for column in QUOTED_COUNTS
        for name in (FIGURE, CHANGES)
    ]


def _constants(values: pd.DataFrame) -> list[Check]:
    """Ask whether least squares gives the printed constants, from all values and from any set."""
    whole, any_set, clean = (
        Label("all", "all nine published values"),
        Label("any_set", "some set of the published values"),
        Label("clean", "some set without the two values that are no turn of a trace"),
    )
    result = constants.every_set(values)
    fitted = constants.least_squares(values)
    hits = result[result["prints"]]
    named = "; ".join(hits["models"])
    both = int((hits["n_artefacts"] == len(constants.ARTEFACTS)).sum())
    method = "least squares of L* / L on 1, L and 1 / H"
    return [
        evidence.check(
            CONSTANTS_RETURN,
            whole,
            all(map(evidence.prints_as, fitted, constants.PRINTED)),
            values,
            kind="value",
            estimate=float(fitted[0]),
            method=f"{method}; the constant, printed as 0.11",
            note=f"They give {fitted[0]:.3f}, {fitted[1]:.4f} and {fitted[2]:.2f}.",
            measure="constant",
        ),
        evidence.check(
            CONSTANTS_RETURN,
            any_set,
            bool(len(hits)),
            values,
            kind="existence",
            estimate=float(len(hits)),
            n_obs=len(result),
            method=f"{method}, every set that determines them; count of sets that print alike",
            note=f"{len(hits)} of {len(result)} sets do: {named}. {both} of them contain both "
            f"{' and '.join(f'{model} ({why})' for model, why in constants.ARTEFACTS.items())}.",
            measure="constant",
        ),
        evidence.check(
            CONSTANTS_RETURN,
            clean,
            bool((~hits["is_artefact"]).any()),
            values[~values["is_artefact"]],
            kind="existence",
            estimate=float((~hits["is_artefact"]).sum()),
            n_obs=int((~result["is_artefact"]).sum()),
            method=f"{method}, every set that determines them; count of sets that print alike",
            measure="constant",
        ),
    ]


def _designs(condition: str, models: pd.DataFrame) -> Check:
    part = Label("determine", "the data determine the three constants")
    n = len(models[["n_layers", "n_heads"]].drop_duplicates())
    return evidence.check(
        part,
        condition,
        n >= CONSTANTS,
        models,
        estimate=float(n),
        method="number of distinct pairs of depth and heads",
        note=f"{len(models)} models have {n} pairs of L and H between them, so the formula "
        f"predicts {n} numbers; with fewer pairs than constants many constants fit alike.",
        measure="count",
    )


def _nearer(condition: str, models: pd.DataFrame) -> Check:
    gain = published_l_star.misses(models, "formula", "n_layers") - published_l_star.misses(
        models, "half_depth", "n_layers"
    )
    result = published_l_star.mean_error(gain)
    flips = scipy.stats.permutation_test(
        (gain.to_numpy(),), np.mean, permutation_type="samples", n_resamples=2 ** len(gain)
    )
    is_known = "conf_low" in result
    return evidence.check(
        NEARER,
        condition,
        decision.below(result["conf_low"], result["conf_high"], 0) if is_known else None,
        models,
        **result,
        p_value=float(flips.pvalue),
        method="mean difference of |predicted - L*| / L over models, t interval, exact sign flips",
        note=_noise_note(models) if condition == CHANGES else "",
        measure="difference",
    )


def _noise_note(models: pd.DataFrame) -> str:
    """Compare the mean layer of the first sign change with that of noise."""
    total = int(models["n"].sum())
    value = float((models["estimate"] * models["n"]).sum() / total)
    chances = np.array([l_star.sign_change_by_chance(layer) for layer in range(60)])
    layers = np.arange(60)
    expected = float((layers * chances).sum())
    spread = math.sqrt(float(((layers - expected) ** 2 * chances).sum()) / total)
    p = 2 * float(scipy.stats.norm.sf(abs(value - expected) / spread))
    return (
        f"Over {total} profiles the mean layer is {value:.2f}; pure noise gives {expected:.2f} "
        f"(p = {p:.2f})."
    )


def _same_layer(condition: str, stated: pd.DataFrame, table: pd.DataFrame) -> Check:
    both = stated.merge(table[["model_id", "estimate"]], on="model_id", suffixes=("", "_computed"))
    same = both["estimate"] == both["estimate_computed"]
    names = prose.short_name(both["model_id"])
    columns = (names, both["estimate_computed"], both["estimate"])
    layers = ", ".join(
        f"{name} {layer:g} for {given:g}" for name, layer, given in zip(*columns, strict=True)
    )
    return evidence.share_check(
        STEEPEST,
        condition,
        int(same.sum()),
        both,
        holds=bool(same.all()),
        method="share of models whose stated L* comes again",
        is_sample=False,
        note=f"{layers}.",
    )


def _sign_change_check(store: Store) -> Check:
    models = published_l_star.stated(store, published_l_star.SIGN_CHANGES)
    file = store.query("FROM published_file WHERE file = $file", file=published_l_star.SIGN_CHANGES)
    return evidence.check(
        STEEPEST,
        CHANGES,
        "sign change" not in str(file["experiment"].iloc[0]),
        models,
        estimate=float(models["estimate"].mean()),
        method="estimator the file names; mean of its L* over models",
        note="It takes the first layer whose trace exceeds both neighbours, of a trace that is "
        "rounding (equation 4).",
    )


def _count_check(condition: str, models: pd.DataFrame, column: str, fitted: pd.Series) -> Check:
    part, quoted = QUOTED_COUNTS[column]
    held_out = models[~models["model_id"].isin(fitted)]
    return evidence.check(
        part,
        condition,
        models[column].nunique() == quoted,
        models,
        estimate=float(models[column].nunique()),
        method="count",
        note=f"{len(models) - len(held_out)} of the models are those of script 20; "
        f"{len(held_out)}, of {held_out['lab'].nunique()} labs, are not.",
        measure="count",
    )

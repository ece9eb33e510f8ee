"""Claims about fine-tuning: how far instruction tuning moves the gain, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.inference.association import correlation
from analysis.store import Store, shared
from analysis.tidy import prose

LARGEST = "the largest change is 50 %"

#: Base model each instruct model was compared with; for Mistral not the model it was tuned from.
COMPARED = {
    "google/gemma-7b-it": "google/gemma-7b",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B",
    "mistralai/Mistral-7B-Instruct-v0.2": "mistralai/Mistral-7B-v0.1",
}
EXPANDER = Label("expander", "a model that expands still expands after fine-tuning")
DAMPENER = Label("dampener", "a model that dampens still dampens after fine-tuning")
CHARACTER = Label("character", "a model keeps its character in fine-tuning")
MEASURED = Label("ours", "models measured here, gain of the last block")
#: Correlation of base and instruct gains that the notebook asks for besides equal signs.
AGREEMENT = 0.8


@shared
def twins(store: Store) -> pd.DataFrame:
    """Return one row per pair compared: both gains, their ratio, whether the lineage is true."""
    return _pair(evidence.published_gains(store, "gain_last_block", [evidence.TWINS]))


@shared
def totals_of_twins(store: Store) -> pd.DataFrame:
    """Return the same pairs by their total growth after block 0."""
    # Total amplification after block 0 in the columns of a gain: one side of 1 alike.
    figures = evidence.figures(store, "total_amplification", [evidence.TWINS])
    totals = figures.rename(columns={"mean": "gain_mean", "sd": "gain_sd", "n": "n_prompts"})
    return _pair(totals)


@claim(47, Line(LARGEST, "change", 0.5))
def magnitude(store: Store) -> Sequence[Check]:
    """Check claim 47: instruction tuning changes the gain by up to 50 %."""
    pairs = twins(store)
    return [
        _largest_change(Label("compared", "the three pairs compared"), pairs),
        _largest_change(
            Label("lineage", "pairs where one was tuned from the other"), pairs[pairs["is_lineage"]]
        ),
    ]


@claim(48)
def gemma(store: Store) -> Sequence[Check]:
    """Check claim 48: Gemma goes from 2.32 to 1.15."""
    pairs = twins(store)
    chosen = pairs[pairs["model_id"] == "google/gemma-7b-it"]
    part, condition = (
        "2.32 before, 1.15 after",
        Label("gemma", "gain of the last block, bf16, 25 prompts"),
    )
    if chosen.empty:
        return [evidence.missing(part, condition, "the pair's figures are not in the store")]
    row = chosen.iloc[0]
    holds = evidence.prints_as(row["gain_mean_base"], "2.32") and evidence.prints_as(
        row["gain_mean"], "1.15"
    )
    return [
        evidence.check(
            part,
            condition,
            holds,
            chosen,
            estimate=row["ratio"],
            method="ratio of mean gains, instruct over base",
            note=f"{row['gain_mean_base']:.2f} before, {row['gain_mean']:.2f} after.",
            **evidence.both_sides(chosen, "_base"),
            measure="ratio",
        )
    ]


@claim(49, Line(EXPANDER, "share", 1))
@shared
def invariance(store: Store) -> Sequence[Check]:
    """Check claim 49: fine-tuning cannot invert the sign of a model."""
    last, total = twins(store), totals_of_twins(store)
    readings = {
        Label("compared", "the three pairs compared, gain of the last block"): last,
        Label("lineage", "pairs where one was tuned from the other, gain of the last block"): _true(
            last
        ),
        Label(
            "total", "pairs where one was tuned from the other, total over blocks 1 to L-1"
        ): _true(total),
    }
    return [
        *(_keeps_side(EXPANDER, condition, pairs) for condition, pairs in readings.items()),
        *_prompt_checks(store),
        *(_keeps_side(DAMPENER, condition, pairs) for condition, pairs in readings.items()),
        *_measured_checks(store),
    ]


@claim(19, Line(CHARACTER, "share", 1))
def character(store: Store) -> Sequence[Check]:
    """Check claim 19: the character of a model cannot be overwritten by fine-tuning."""
    pairs = twins(store)
    lineage = _true(pairs)
    checks = invariance(store)
    return [
        *(replace(check, part=CHARACTER) for check in checks if check.part is EXPANDER),
        _order(Label("order", "the order of the models by gain, pairs of true lineage"), lineage),
        _agreement(
            Label("criterion", "the notebook's second criterion, r above 0.8, three pairs"), pairs
        ),
        *(check for check in checks if check.part is DAMPENER),
    ]


def _pair(gains: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instruct model whose base has a gain too, with 95 % t intervals."""
    known = evidence.with_interval(gains)
    tuned = known[known["model_id"].isin(COMPARED)].assign(
        compared=lambda rows: rows["model_id"].map(COMPARED)
    )
    columns = ["model_id", "gain_mean", "gain_sd", "conf_low", "conf_high"]
    pairs = tuned.merge(
        known[columns], left_on="compared", right_on="model_id", suffixes=("", "_base")
    )
    return pairs.assign(
        ratio=pairs["gain_mean"] / pairs["gain_mean_base"],
        is_lineage=pairs["base_model_id"] == pairs["compared"],
    )


def _true(pairs: pd.DataFrame) -> pd.DataFrame:
    return pairs[pairs["is_lineage"]]


def _keeps_side(part: str, condition: str, pairs: pd.DataFrame) -> Check:
    """Count the pairs that stay on their side of 1; a change counts if both intervals exclude 1."""
    above = part is EXPANDER
    meant = pairs[(pairs["gain_mean_base"] > 1) == above]
    if meant.empty:
        verb = "expands" if above else "dampens"
        return evidence.missing(part, condition, f"no base model compared {verb}")
    remaining = (meant["gain_mean"] > 1) == above
    clear = pd.concat(
        [
            (meant[f"conf_low{which}"] > 1) | (meant[f"conf_high{which}"] < 1)
            for which in ("", "_base")
        ],
        axis=1,
    ).all(axis=1)
    decided = False if (clear & ~remaining).any() else True if (clear & remaining).all() else None
    return evidence.share_check(
        part,
        condition,
        int(remaining.sum()),
        meant,
        holds=decided,
        method="share of pairs on the same side of 1",
        units="pairs",
        note=_sides_in_words(meant),
        **evidence.both_sides(meant, "_base"),
    )


def _sides_in_words(pairs: pd.DataFrame) -> str:
    texts = [
        f"{str(row['model_id']).partition('/')[2]} {row['gain_mean_base']:.2f} to "
        f"{row['gain_mean']:.2f}"
        for row in pairs.to_dict("records")
    ]
    return f"{', '.join(texts)}."


def _prompt_checks(store: Store) -> list[Check]:
    """Compare base and instruct prompt by prompt; nothing without the raw files."""
    values = evidence.raw_values(store, "gain_last_block", [evidence.TWINS])
    tuned = values[values["model_id"].isin(COMPARED)].assign(
        compared=lambda rows: rows["model_id"].map(COMPARED)
    )
    both = tuned.merge(
        values[["model_id", "prompt_id", "value"]],
        left_on=["compared", "prompt_id"],
        right_on=["model_id", "prompt_id"],
        suffixes=("", "_base"),
    )
    expanding = both[(both["value_base"] > 1) & (both["base_model_id"] == both["compared"])]
    if expanding.empty:
        return []
    remaining = expanding["value"] > 1
    return [
        evidence.check(
            EXPANDER,
            Label("raw", "raw files: prompt by prompt, pairs where one was tuned from the other"),
            bool(remaining.all()),
            expanding,
            estimate=float(remaining.mean()),
            method="share of prompts that expand before and after",
            note=f"{int((~remaining).sum())} of {len(remaining)} prompts change sides.",
            **evidence.both_sides(expanding, "_base"),
            measure="share",
        )
    ]


def _measured_checks(store: Store) -> list[Check]:
    """Compare pairs measured here, the base being one of the paper's; else shown only."""
    gains = evidence.measured_gains(store, "gain_last_block")
    read = evidence.definitions(gains, ["gain_mean", "gain_sd"])
    return [
        evidence.on_ours(_keeps_side(part, MEASURED + words, rows), rows)
        for words, of_models in read.items()
        for part, rows in _sides(_measured_pairs(of_models)).items()
        if len(rows)
    ]


def _measured_pairs(gains: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model measured here that was tuned from another, with both gains."""
    known = evidence.with_interval(gains)
    base = known[known["base_model_id"].isna()]
    columns = ["model_id", "prompt_set", "gain_mean", "conf_low", "conf_high", "in_paper"]
    pairs = known[known["base_model_id"].notna()].merge(
        base[columns],
        left_on=["base_model_id", "prompt_set"],
        right_on=["model_id", "prompt_set"],
        suffixes=("", "_base"),
    )
    return pairs.assign(in_paper=pairs["in_paper_base"])


def _sides(pairs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        EXPANDER: pairs[pairs["gain_mean_base"] > 1],
        DAMPENER: pairs[pairs["gain_mean_base"] < 1],
    }


def _order(condition: str, pairs: pd.DataFrame) -> Check:
    """Ask whether any two models swap places, both differences being clear of their intervals."""
    if len(pairs) < 2:
        return evidence.missing(CHARACTER, condition, "fewer than two pairs are in the store")
    orders = list(combinations(pairs.to_dict("records"), 2))
    swaps = [
        (one["gain_mean_base"] < other["gain_mean_base"]) != (one["gain_mean"] < other["gain_mean"])
        for one, other in orders
    ]
    apart = [_apart(one, other, "_base") and _apart(one, other, "") for one, other in orders]
    clear = sum(swap and is_clear for swap, is_clear in zip(swaps, apart, strict=True))
    return evidence.check(
        CHARACTER,
        condition,
        decision.without_exception(clear, apart.count(False)),
        pairs,
        estimate=1 - sum(swaps) / len(swaps),
        method="share of orders between two models that fine-tuning leaves",
        note=_sides_in_words(pairs),
        n_obs=len(orders),
        **evidence.both_sides(pairs, "_base"),
        measure="share",
    )


def _apart(one: Mapping[Any, Any], other: Mapping[Any, Any], which: str) -> bool:
    """Tell whether two 95 % intervals do not overlap."""
    low, high = f"conf_low{which}", f"conf_high{which}"
    return bool(one[high] < other[low] or other[high] < one[low])


def _agreement(condition: str, pairs: pd.DataFrame) -> Check:
    """Decide the correlation of base and instruct gains by its interval."""
    if len(pairs) < 3:
        return evidence.missing(CHARACTER, condition, "fewer than three pairs are in the store")
    row = correlation.correlate(pairs, x="gain_mean_base", y="gain_mean").iloc[0]
    above, below = row["conf_low"] > AGREEMENT, row["conf_high"] < AGREEMENT
    return evidence.check(
        CHARACTER,
        condition,
        bool(above) if above or below else None,
        pairs,
        **evidence.numbers(row),
        method=f"{row['method']}, pairs as independent",
        **evidence.both_sides(pairs, "_base"),
        note=f"{prose.plural(len(pairs), 'pair')} cannot decide a correlation. {row['note']}"
        if not above and not below
        else str(row["note"]),
        measure="r",
    )


def _largest_change(condition: str, pairs: pd.DataFrame) -> Check:
    if pairs.empty:
        return evidence.missing(LARGEST, condition, "no pair is in the store")
    ordered = pairs.assign(change=(pairs["ratio"] - 1).abs()).sort_values("change")
    largest = ordered.iloc[-1]
    change = largest["change"]
    return evidence.check(
        LARGEST,
        condition,
        evidence.prints_as(100 * change, "50"),
        pairs,
        estimate=change,
        method="largest |instruct / base - 1| of the mean gains",
        note=f"Found in {largest['model_id']}; {len(pairs)} pairs.",
        **evidence.both_sides(pairs, "_base"),
        measure="change",
    )

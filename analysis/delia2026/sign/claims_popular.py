"""Claims of the forum post and the plain-language summary: who dampens, and in every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store
from analysis.tidy import prose

ELEUTHER = Label("eleuther", "EleutherAI's models mostly dampen")
PYTHIA = Label("pythia", "Pythia mostly dampens")
NEOX = Label("neox", "GPT-NeoX mostly dampens")

#: Labs the forum post sets against EleutherAI.
SHOUTERS = ("Meta", "OpenAI")
#: Two models are of one size when the larger has at most this many times the parameters.
SAME_SIZE = 1.05
OPPOSITE = Label("opposite", "models of one depth and one number of heads behave oppositely")
ACROSS_SIZES = Label("sizes", "this holds across model sizes")


@claim(54, Line(ELEUTHER, "share", 0.5), Line(PYTHIA, "share", 0.5), Line(NEOX, "share", 0.5))
def dampeners(store: Store) -> Sequence[Check]:
    """Check claim 54: EleutherAI's models, Pythia and GPT-NeoX, mostly dampen."""
    sets = definitions(store)
    penultimate, *_ = sets.values()
    ours = {name: rows[rows["lab"] == "EleutherAI"] for name, rows in sets.items()}
    return [
        *(_mostly(ELEUTHER, name, rows) for name, rows in ours.items()),
        *(_mostly(PYTHIA, name, rows[rows["suite"] == "Pythia"]) for name, rows in ours.items()),
        *_neox(penultimate[penultimate["lab"] == "EleutherAI"]),
        *_measured_dampeners(store),
    ]


def definitions(store: Store) -> Mapping[str, pd.DataFrame]:
    """Return the gains of base models, one row per model, under each published definition."""
    base = evidence.base_gains(store, "gain_penultimate_block")
    hunt = evidence.base_gains(store, "gain_penultimate_block", evidence.HUNT)
    last = evidence.base_gains(store, "gain_last_block")
    return {
        Label("penultimate", "all base models, penultimate block"): base,
        Label("hunt", "the models of the hunt, penultimate block"): hunt,
        Label("clear", "all base models without gains within 1 % of 1, penultimate block"): (
            evidence.away_from_one(base)
        ),
        Label("last", "all base models, last block"): last,
        Label("body", "all base models, mean over blocks 1 to the penultimate"): mean_over_blocks(
            store
        ),
    }


def mean_over_blocks(store: Store) -> pd.DataFrame:
    """Return one row per model: geometric mean of its published block gains after block 0."""
    blocks = evidence.block_gains(store)
    by = ["model_id", "lab", "suite", "file", "caveats"]
    logged = blocks.assign(log_gain=np.log(blocks["value"]))
    means = logged.groupby(by)["log_gain"].mean().reset_index()
    return means.assign(gain_mean=np.exp(means["log_gain"]))


@claim(55, Line(OPPOSITE, "share", 1), Line(ACROSS_SIZES, "share", 1))
def opposites(store: Store) -> Sequence[Check]:
    """Check claim 55: same depth, same heads, opposite behaviour, across model sizes."""
    sized = evidence.with_interval(evidence.base_gains(store, "gain_penultimate_block"))
    models = evidence.without_post_norm(sized)
    same_shape = pairs(models, ["n_layers", "n_heads"])
    same_size = pairs(models, ["n_layers"])
    near = same_size["size_ratio"] <= SAME_SIZE
    pythia = models[models["suite"] == "Pythia"]
    return [
        _all_opposite(
            OPPOSITE, Label("pairs", "each pair of EleutherAI with Meta or OpenAI"), same_shape
        ),
        _some_opposite(
            Label("one", "at least one such pair, both intervals clear of 1"), same_shape
        ),
        _all_opposite(
            OPPOSITE,
            Label("all_pairs", "each pair, the post-norm model among them"),
            pairs(sized, ["n_layers", "n_heads"]),
        ),
        _strata(Label("groups", "in each group of one depth and one number of heads"), same_shape),
        _one_side(Label("pythia", "within Pythia, each size on one side of 1"), pythia),
        evidence.descriptive(
            _all_opposite(
                ACROSS_SIZES,
                Label("same_size", "each pair of one depth and one size"),
                same_size[near],
            )
        ),
    ]


def pairs(models: pd.DataFrame, same: Sequence[str]) -> pd.DataFrame:
    """Return one row per pair of an EleutherAI model with one of Meta or OpenAI that match.

    Adds to both models' columns (those of the second end in ``_other``) `size_ratio`, larger
    over smaller parameter count, `opposite` (ours below 1, the other above) and `is_clear`
    (both 95 % intervals exclude 1).
    """
    ours = models[models["lab"] == "EleutherAI"]
    others = models[models["lab"].isin(SHOUTERS)]
    joined = ours.merge(others, on=list(same), suffixes=("", "_other"))
    distance = (joined["log_parameters"] - joined["log_parameters_other"]).abs()
    clear = [
        (joined[f"conf_low{which}"] > 1) | (joined[f"conf_high{which}"] < 1)
        for which in ("", "_other")
    ]
    return joined.assign(
        size_ratio=10**distance,
        opposite=(joined["gain_mean"] < 1) & (joined["gain_mean_other"] > 1),
        is_clear=clear[0] & clear[1],
        file=joined["file"] + " " + joined["file_other"],
        caveats=joined["caveats"] + "," + joined["caveats_other"],
    )


def _mostly(part: str, condition: str, rows: pd.DataFrame, *, fewest: int = 2) -> Check:
    if len(rows) < fewest:
        result = prose.plural(len(rows), "such model")
        return evidence.missing(part, condition, f"the store has gains of {result}")
    below = int((rows["gain_mean"] < 1).sum())
    known = evidence.with_interval(rows) if "gain_sd" in rows else rows
    is_open = pd.Series(False, known.index)
    if "conf_low" in known:
        is_open = (known["conf_low"] <= 1) & (known["conf_high"] >= 1)
    clear = int(((known["gain_mean"] < 1) & ~is_open).sum())
    names = ", ".join(
        f"{row['model_id'].partition('/')[2]} {row['gain_mean']:.4f}"
        for row in known[is_open].to_dict("records")
    )
    return evidence.share_check(
        part,
        condition,
        below,
        rows,
        holds=decision.more_than_half(clear, int(is_open.sum()), len(rows)),
        method="share of models whose gain is below 1",
        note=f"{prose.share_of(below, len(rows))} models."
        + (f" These prompts cannot tell on which side lie: {names}." if names else ""),
    )


def _neox(ours: pd.DataFrame) -> list[Check]:
    """Judge what the forum post may mean by GPT-NeoX, a model that no file measures."""
    readings = {
        Label("model", "the model of that name"): ours["model_id"].str.contains(
            "gpt-neox", case=False
        ),
        Label("architecture", "the architecture of that name"): ours["family"] == "gpt_neox",
        Label("neo", "GPT-Neo, the suite of a like name"): ours["suite"] == "GPT-Neo",
    }
    return [_mostly(NEOX, name, ours[meant], fewest=1) for name, meant in readings.items()]


def _measured_dampeners(store: Store) -> list[Check]:
    rows = evidence.measured_gains(store, "gain_penultimate_block")
    ours = evidence.base_models(rows[rows["lab"] == "EleutherAI"])
    if ours.empty:
        return []
    return [
        evidence.on_ours(
            _mostly(part, Label("ours", "models measured here, penultimate block") + words, of), of
        )
        for words, models in evidence.definitions(ours, ["gain_mean", "gain_sd"]).items()
        for part, of in (
            (PYTHIA, models[models["suite"] == "Pythia"]),
            (ELEUTHER, models),
        )
    ]


def _pairs_check(
    part: str, condition: str, matched: pd.DataFrame, *, holds: bool | None, note: str
) -> Check:
    """Return a check on pairs, which counts the models and suites of both sides."""
    return evidence.check(
        part,
        condition,
        holds,
        matched,
        estimate=float(matched["opposite"].mean()),
        **evidence.both_sides(matched, "_other"),
        method="share of pairs in which EleutherAI's model is below 1 and the other above; models "
        "recur in pairs, so no interval",
        note=note,
        measure="share",
    )


def _all_opposite(part: str, condition: str, matched: pd.DataFrame) -> Check:
    if matched.empty:
        return evidence.missing(part, condition, "no two models match")
    alike = matched[~matched["opposite"]]
    named = ", ".join(_versus(row) for row in alike.to_dict("records"))
    return _pairs_check(
        part,
        condition,
        matched,
        holds=alike.empty,
        note=f"Of the pairs {prose.share_of(len(matched) - len(alike), len(matched))} are opposite"
        + (f"; not so {named}." if named else "."),
    )


def _some_opposite(condition: str, matched: pd.DataFrame) -> Check:
    if matched.empty:
        return evidence.missing(OPPOSITE, condition, "no two models match")
    clear = matched[matched["opposite"] & matched["is_clear"]]
    named = ", ".join(_versus(row) for row in clear.to_dict("records"))
    return _pairs_check(
        OPPOSITE,
        condition,
        matched,
        holds=not clear.empty,
        note=f"Both intervals exclude 1 for {named}."
        if named
        else "No pair is clear of 1 on both sides.",
    )


def _versus(row: Mapping[Any, Any]) -> str:
    first, second = (str(row[name]).partition("/")[2] for name in ("model_id", "model_id_other"))
    return f"{first} {row['gain_mean']:.2f} and {second} {row['gain_mean_other']:.2f}"


def _strata(condition: str, matched: pd.DataFrame) -> Check:
    """Compare the mean of EleutherAI with that of the others in each group of one shape."""
    if matched.empty:
        return evidence.missing(ACROSS_SIZES, condition, "no two models match")
    groups = matched.groupby(["n_layers", "n_heads"])
    means = pd.DataFrame(
        {
            "ours": groups.apply(lambda rows: rows.drop_duplicates("model_id")["gain_mean"].mean()),
            "others": groups.apply(
                lambda rows: rows.drop_duplicates("model_id_other")["gain_mean_other"].mean()
            ),
        }
    )
    opposite = (means["ours"] < 1) & (means["others"] > 1)
    named = ", ".join(
        f"L = {shape[0]}, H = {shape[1]}: {row['ours']:.2f} and {row['others']:.2f}"
        for shape, row in zip(means.index, means.to_dict("records"), strict=True)
    )
    return _pairs_check(
        ACROSS_SIZES,
        condition,
        matched,
        holds=bool(opposite.all()),
        note=f"Means of EleutherAI and of the others at {named}.",
    )


def _one_side(condition: str, rows: pd.DataFrame) -> Check:
    """Ask whether a suite lies on one side of 1 at every size."""
    if len(rows) < 2:
        return evidence.missing(ACROSS_SIZES, condition, "fewer than two such models")
    below = int((rows["gain_mean"] < 1).sum())
    return evidence.share_check(
        ACROSS_SIZES,
        condition,
        below,
        rows,
        holds=below in (0, len(rows)),
        method="share of models whose gain is below 1",
        note=f"{prose.share_of(below, len(rows))} models are below 1.",
    )

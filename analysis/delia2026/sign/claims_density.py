"""Claims about head density rho = H / d_head: the pair of models, the threshold, the accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store
from analysis.tidy import prose

DAMPENS = Label("pythia", "Pythia-6.9B dampens")
EXPANDS = Label("gptj", "GPT-J-6B expands")
SEPARATES = "some threshold between 0.15 and 0.20 separates the signs"
IMPROVES = "43.75 % with the final norm, 100 % without it"

PYTHIA = "EleutherAI/pythia-6.9b"
GPTJ = "EleutherAI/gpt-j-6b"
THRESHOLD = 0.2
BAND = (0.15, 0.20)


@claim(45, Line(DAMPENS, "mean gain", 1), Line(EXPANDS, "mean gain", 1))
def pair(store: Store) -> Sequence[Check]:
    """Check claim 45: Pythia-6.9B dampens, GPT-J-6B expands, rho differs fourfold."""
    metrics = {
        "gain_penultimate_block": Label("penultimate", "gain of the penultimate block"),
        "gain_last_block": Label("last", "gain of the last block"),
        "gain_body": Label("body", "mean over blocks 1 to L-1"),
    }
    checks = [_densities(store), *_heritage(store)]
    for metric, condition in metrics.items():
        rows = evidence.base_gains(store, metric)
        checks.append(_side(DAMPENS, condition, rows, PYTHIA, below=True))
        checks.append(_side(EXPANDS, condition, rows, GPTJ, below=False))
    return checks


@claim(46, Line(SEPARATES, "accuracy", 1))
def threshold(store: Store) -> Sequence[Check]:
    """Check claim 46: a threshold between 0.15 and 0.20 separates dampening from expansion."""
    every, hunt = (
        evidence.without_post_norm(evidence.base_gains(store, "gain_penultimate_block", file))
        for file in (None, evidence.HUNT)
    )
    away, pythia = evidence.away_from_one(every), every[every["suite"] == "Pythia"]
    return [
        _separates(Label("all", "all base models"), every),
        _separates(Label("clear", "all base models farther than 1 % from a gain of 1"), away),
        _separates(Label("hunt", "the models of the hunt"), hunt),
        _separates(Label("pythia", "the Pythia family alone"), pythia),
        _separates(
            Label("others", "all base models but the Pythia family"),
            every[every["suite"] != "Pythia"],
        ),
    ]


@claim(50, Line(IMPROVES, "accuracy", 1))
def accuracy(store: Store) -> Sequence[Check]:
    """Check claim 50: leaving out the final norm raises accuracy from 43.75 % to 100 %."""
    readings = {
        Label("hunt", "the models of the hunt"): evidence.HUNT,
        Label("fp32", "the models of the repeat in fp32"): evidence.CLEAN,
        Label("sweep", "the sweep of the Pythia family"): evidence.PYTHIA,
    }
    return [_improves(store, condition, file) for condition, file in readings.items()]


def accuracy_of(rows: pd.DataFrame) -> float:
    """Return the share of models with rho at or above 0.2 exactly when the gain is below 1."""
    return float(correct_side(rows, THRESHOLD).mean())


def correct_side(rows: pd.DataFrame, cut: float) -> pd.Series:
    """Tell per model whether the rule 'rho at or above the cut dampens' gets its sign right."""
    return (rows["rho"] >= cut) == (rows["gain_mean"] < 1)


def _densities(store: Store) -> Check:
    part, condition = Label("density", "rho differs fourfold"), "H / d_head"
    rows = evidence.base_gains(store, "gain_penultimate_block")
    value = evidence.only(rows, PYTHIA)["rho"] / evidence.only(rows, GPTJ)["rho"]
    both = rows[rows["model_id"].isin([PYTHIA, GPTJ])]
    return evidence.check(
        part, condition, value == 4, both, estimate=value, method="ratio", measure="ratio"
    )


def _heritage(store: Store) -> list[Check]:
    rows = store.query(
        "SELECT model_id, lab, suite, '' AS caveats, 'model' AS file FROM raw.model "
        "WHERE model_id IN ($pythia, $gptj) ORDER BY model_id",
        pythia=PYTHIA,
        gptj=GPTJ,
    )
    part = Label("heritage", "identical heritage")
    readings = {Label("lab", "same lab"): "lab", Label("suite", "same training suite"): "suite"}
    return [
        evidence.check(
            part,
            condition,
            len(set(rows[column])) == 1,
            rows,
            note=f"{' and '.join(dict.fromkeys(rows[column]))}.",
        )
        for condition, column in readings.items()
    ]


def _side(part: str, condition: str, rows: pd.DataFrame, model_id: str, *, below: bool) -> Check:
    """Decide on which side of 1 a gain lies; undecided when its interval contains 1.

    A gain whose spread over prompts is not published has no interval, and lies where it lies.
    """
    row = evidence.only(evidence.with_interval(rows), model_id)
    undecided = bool(row["conf_low"] <= 1 <= row["conf_high"])
    has_spread = not np.isnan(row["conf_low"])
    over = "t interval" if has_spread else "whose spread is not published"
    return evidence.check(
        part,
        condition,
        None if undecided else bool(row["gain_mean"] < 1) == below,
        rows[rows["model_id"] == model_id],
        estimate=row["gain_mean"],
        conf_low=row["conf_low"],
        conf_high=row["conf_high"],
        n_obs=int(row["n_prompts"]),
        method=f"mean gain over prompts, {over}, {row['dtype']}",
        note="The interval contains 1: these prompts cannot tell." if undecided else "",
        measure="mean gain",
    )


def _separates(condition: str, rows: pd.DataFrame) -> Check:
    inside = rows.loc[rows["rho"].between(*BAND), "rho"].unique()
    cuts = np.unique([*BAND, *inside])
    hits = max(int(correct_side(rows, cut).sum()) for cut in cuts)
    expanding = int((rows["gain_mean"] >= 1).sum())
    return evidence.check(
        SEPARATES,
        condition,
        hits == len(rows),
        rows,
        estimate=hits / len(rows),
        method="accuracy of the best threshold in the band, chosen after looking",
        note=f"The best threshold in the band puts {hits} of {len(rows)} models on the right side; "
        f"always saying 'expands' gets {expanding}.",
        measure="accuracy",
    )


def _improves(store: Store, condition: str, file: str) -> Check:
    before = evidence.published_gains(store, "gain_with_final_norm", [file])
    after = evidence.published_gains(store, "gain_penultimate_block", [file])
    right = [prose.share_of(int(correct_side(r, THRESHOLD).sum()), len(r)) for r in (before, after)]
    return evidence.share_check(
        IMPROVES,
        condition,
        int(correct_side(after, THRESHOLD).sum()),
        after,
        holds=evidence.share_prints_as(accuracy_of(before), "43.75")
        and evidence.share_prints_as(accuracy_of(after), "100"),
        method="accuracy without the final norm",
        note=f"The rule is right for {right[0]} models with the final norm, {right[1]} without.",
        measure="accuracy",
    )

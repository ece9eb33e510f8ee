"""Claims about who trained the model: dampening by lab, Fisher's test, the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis import evidence
from analysis.claims.verdict.claim import Claim
from analysis.evidence.checks import Check
from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation
from analysis.store import Store, shared
from analysis.tidy import prose

HUNT = "the models of the hunt, penultimate block"
EVERY = "all base models, penultimate block"
KEPT = "all base models without the post-norm model, penultimate block"
BELOW = "EleutherAI's mean gain is below 1"
SEED = 20260106


@shared
def readings(store: Store) -> Mapping[str, pd.DataFrame]:
    """Return the defensible sets of models, one row per base model, the paper's own first."""
    hunt = evidence.base_gains(store, "gain_penultimate_block", evidence.HUNT)
    every = evidence.base_gains(store, "gain_penultimate_block")
    joined = evidence.penultimate_or_last(store)
    return {
        HUNT: hunt,
        "the hunt without the post-norm model": evidence.without_post_norm(hunt),
        "the hunt without gains within 1 % of 1": evidence.away_from_one(hunt),
        EVERY: every,
        KEPT: evidence.without_post_norm(every),
        "all base models, penultimate or else last block": joined,
        "the same without the post-norm model": evidence.without_post_norm(joined),
        "the same without gains within 1 % of 1": evidence.away_from_one(joined),
    }


@shared
def fisher_test(store: Store) -> Sequence[Check]:
    """Check claim 7: Fisher's exact test of lab against sign gives p < 0.001."""
    sets = readings(store)
    return [
        *(_fisher(condition, rows) for condition, rows in sets.items()),
        *(
            _by_suite(condition, rows)
            for condition, rows in sets.items()
            if "without" not in condition
        ),
    ]


@shared
def eleuther_dampens(store: Store) -> Sequence[Check]:
    """Check claim 8: 80 % of EleutherAI's models dampen."""
    part = "80 % of EleutherAI's models dampen"
    sets = readings(store)
    last = evidence.base_gains(store, "gain_last_block")
    every = sets["all base models, penultimate block"]
    chosen = {
        "the models of the hunt, penultimate block": sets[HUNT],
        "all base models, penultimate block": every,
        "all base models without gains within 1 % of 1": evidence.away_from_one(every),
        "all base models, last block": last,
    }
    return [
        _share(part, condition, rows[rows["lab"] == "EleutherAI"], dampening=True, quoted=80)
        for condition, rows in chosen.items()
    ]


def others_expand(store: Store) -> Sequence[Check]:
    """Check claim 9: all models of Meta and OpenAI expand."""
    sets = readings(store)
    named = ("Meta", "OpenAI")
    checks = [
        _share(
            f"100 % of {lab}'s models expand",
            condition,
            rows[rows["lab"] == lab],
            dampening=False,
            quoted=100,
        )
        for lab in named
        for condition, rows in sets.items()
    ]
    whole = evidence.base_gains(store, "gain_whole_matrix")
    meta = whole[whole["lab"] == "Meta"]
    condition = "whole-matrix gain of the last block (Llama 3.1)"
    return [
        *checks,
        _share("100 % of Meta's models expand", condition, meta, dampening=False, quoted=100),
    ]


def section_4_2(store: Store) -> Sequence[Check]:
    """Check claim 22: 80 % against 100 %, Fisher p < 0.001."""
    others = [
        _share(
            "100 % of the other labs' models expand",
            condition,
            rows[rows["lab"] != "EleutherAI"],
            dampening=False,
            quoted=100,
        )
        for condition, rows in readings(store).items()
    ]
    return [*fisher_test(store), *eleuther_dampens(store), *others]


def only_below(store: Store) -> Sequence[Check]:
    """Check claim 23: EleutherAI is the only lab whose mean gain is below 1."""
    sets = readings(store)
    chosen = {
        **{condition: rows for condition, rows in sets.items() if "within 1 %" not in condition},
        "all base models, last block": evidence.base_gains(store, "gain_last_block"),
        "all base models, whole matrix of the last block": evidence.base_gains(
            store, "gain_whole_matrix"
        ),
        "all base models, mean over blocks 1 to L-1": evidence.base_gains(store, "gain_body"),
    }
    return [
        *_lab_means(chosen),
        *(_lab_beyond(condition, sets[condition]) for condition in (HUNT, EVERY)),
        *(_other_labs(condition, rows) for condition, rows in chosen.items()),
    ]


def _lab_means(chosen: Mapping[str, pd.DataFrame]) -> list[Check]:
    """Check the lab's mean under each reading; sets with the same models of the lab are one."""
    distinct: dict[tuple[Any, ...], Check] = {}
    for condition, rows in chosen.items():
        ours = rows.loc[rows["lab"] == "EleutherAI", ["model_id", "gain_mean"]]
        figures = tuple(ours.sort_values("model_id").itertuples(index=False, name=None))
        distinct.setdefault(figures, _lab_mean(condition, rows))
    return list(distinct.values())


def _lab_mean(condition: str, rows: pd.DataFrame) -> Check:
    """Compare the lab's mean over its models in hand with 1, as a bar of Fig. 2 does."""
    ours = rows[rows["lab"] == "EleutherAI"]
    if ours.empty:
        return evidence.missing(BELOW, condition, "no such model of EleutherAI is in the store")
    found = evidence.mean_of(ours["gain_mean"], 1)
    return evidence.check(
        BELOW,
        condition,
        found["estimate"] < 1,
        ours,
        **found,
        method="mean over the lab's models, t interval and test against 1 as if they were "
        "independent",
        note=f"{prose.share_of(int((ours['gain_mean'] < 1).sum()), len(ours))} models lie below 1.",
    )


def _lab_beyond(condition: str, rows: pd.DataFrame) -> Check:
    """Decide about the lab rather than its models in hand: its interval must exclude 1."""
    found = _lab_mean(condition, rows)
    is_open = not (found.conf_low > 1 or found.conf_high < 1)
    return replace(
        found,
        condition=f"beyond these models; {condition}",
        holds=None if found.holds is None or is_open else found.holds,
        note="The interval contains 1: another model of the lab may lie on either side."
        if is_open
        else found.note,
    )


def _other_labs(condition: str, rows: pd.DataFrame) -> Check:
    part = "the mean of every other lab is above 1"
    others = rows[rows["lab"] != "EleutherAI"]
    if others.empty:
        return evidence.missing(part, condition, "no model of another lab is in the store")
    means = others.groupby("lab")["gain_mean"].mean().sort_values()
    named = ", ".join(f"{lab} {mean:.3f}" for lab, mean in means.items())
    return evidence.check(
        part,
        condition,
        bool(means.iloc[0] > 1),
        others,
        estimate=means.iloc[0],
        method="smallest mean over the models of a lab",
        note=f"{named}.",
    )


def _fisher(condition: str, rows: pd.DataFrame) -> Check:
    part = "the lab decides the sign with p < 0.001"
    labelled = _labelled(rows)
    if labelled["heritage"].nunique() < 2 or labelled["sign"].nunique() < 2:
        return evidence.missing(part, condition, "the table has an empty margin")
    row = fisher.fisher_exact(labelled, row="heritage", column="sign").iloc[0]
    counts = labelled.groupby(["heritage", "sign"]).size().reset_index(name="n")
    cells = ", ".join(
        f"{cell['heritage']} {cell['sign']} {cell['n']}" for cell in counts.to_dict("records")
    )
    return evidence.check(
        part,
        f"Fisher's exact test; {condition}",
        bool(row["p_value"] < 0.001),
        rows,
        estimate=row["estimate"],
        conf_low=row["conf_low"],
        conf_high=row["conf_high"],
        p_value=row["p_value"],
        method=f"{row['method']} from the tails, two-sided p from the likelihood of tables",
        note=f"{cells}. The smallest p these margins admit is {row['smallest_p']:.2g}. The p that "
        f"belongs to the interval, twice the one-sided p, is {central_p(rows):.2g}.",
    )


def central_p(rows: pd.DataFrame) -> float:
    """Return twice the smaller one-sided Fisher p, at most 1: the test that the interval inverts.

    ``rows`` has one row per model: `lab`, `sign_strict`.
    """
    return min(1.0, 2 * min(fisher.one_sided_p(_labelled(rows), row="heritage", column="sign")))


def least_p(store: Store, condition: str) -> tuple[float, float]:
    """Return the smallest p that Fisher's test and the exchange of suites can give a reading."""
    rows = readings(store)[condition]
    table = fisher.fisher_exact(_labelled(rows), row="heritage", column="sign")
    return float(table["smallest_p"].iloc[0]), float(_exchange(_suites(rows))["smallest_p"])


def _labelled(rows: pd.DataFrame) -> pd.DataFrame:
    ours = rows["lab"] == "EleutherAI"
    return rows.assign(heritage=np.where(ours, "EleutherAI", "other"), sign=rows["sign_strict"])


def _by_suite(condition: str, rows: pd.DataFrame) -> Check:
    """Test with suites as units: lab is permuted over suites, which share a recipe."""
    part = "the lab decides the sign with p < 0.001"
    condition = f"exact permutation of suites; {condition}"
    suites = _suites(rows)
    if suites["heritage"].nunique() < 2:
        return evidence.missing(part, condition, "one of the two groups of labs is missing")
    tested = _exchange(suites)
    return evidence.check(
        part,
        condition,
        bool(tested["p_value"] < 0.001),
        rows,
        estimate=tested["estimate"],
        p_value=tested["p_value"],
        n_obs=len(suites),
        method="difference in the share of dampening models, mean over suites; exact permutation",
        note=f"The smallest p that {len(suites)} suites admit is {tested['smallest_p']:.2g}.",
    )


def _suites(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per suite: the share of its models that dampen, and its heritage."""
    dampens = _labelled(rows).assign(dampens=(rows["sign_strict"] == "dampen").astype(float))
    return dampens.groupby(["suite", "heritage"], as_index=False)[["dampens"]].mean()


def _exchange(suites: pd.DataFrame) -> pd.Series[Any]:
    found: pd.Series[Any] = permutation.permutation_test(
        suites, _difference_in_dampening, label="heritage", unit="suite"
    ).iloc[0]
    return found


def _difference_in_dampening(suites: pd.DataFrame) -> float:
    ours = suites["heritage"].to_numpy() == "EleutherAI"
    shares = suites["dampens"].to_numpy()
    return float(shares[ours].mean() - shares[~ours].mean())


def _share(part: str, condition: str, rows: pd.DataFrame, *, dampening: bool, quoted: int) -> Check:
    if rows.empty:
        return evidence.missing(part, condition, "no such model is in the store")
    wanted = rows["sign_strict"] == ("dampen" if dampening else "expand")
    return evidence.share_check(
        part,
        condition,
        int(wanted.sum()),
        rows,
        holds=evidence.prints_as(100 * float(wanted.mean()), str(quoted)),
        method="share of models",
        note=f"{int(wanted.sum())} of {len(rows)} models.",
    )


CLAIMS = (
    Claim(
        7,
        "Odds ratio of dampening, EleutherAI against other labs, with Fisher's p; and the exact "
        "permutation p with suites as units",
        "p < 0.001.",
        fisher_test,
        "value",
    ),
    Claim(
        8,
        "Share of EleutherAI's base models whose mean gain is below 1",
        "The share prints as 80 %.",
        eleuther_dampens,
        "value",
    ),
    Claim(
        9,
        "Share of Meta's (shown) and of OpenAI's base models whose mean gain is above 1",
        "Both shares are 100 %.",
        others_expand,
        "universal",
    ),
    Claim(
        22,
        "The three statements of section 4.2 together; first the odds ratio of dampening",
        "80 % of EleutherAI dampen, 100 % of all others expand, and Fisher's p is below 0.001.",
        section_4_2,
        "value",
    ),
    Claim(
        23,
        "Mean gain over the base models of each lab",
        "EleutherAI's mean is below 1 and that of every other lab above 1; about the lab beyond "
        "these models, the 95 % interval of the mean must exclude 1, and is undecided otherwise.",
        only_below,
    ),
)

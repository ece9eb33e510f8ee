"""Claims about who trained the model: dampening by lab, Fisher's test, the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign.exchange import NAMED_LAB, cluster_means, compared, exchange, heritage
from analysis.delia2026.sign.readings import (
    EVERY,
    HUNT,
    each_once,
    lab_rows,
    model_sets,
    models,
    other_lab_rows,
)
from analysis.inference.counts import fisher
from analysis.store import Store, shared
from analysis.tidy import prose

DECIDES = "the lab decides the sign with p < 0.001"
DAMPEN = Label("dampen", "80 % of EleutherAI's models dampen")
OTHERS = Label("others", "100 % of the other labs' models expand")
ABOVE = Label("others", "the mean of every other lab is above 1")

BELOW = Label("mean", "EleutherAI's mean gain is below 1")
#: Readings whose suites are exchanged too.
EXCHANGED = ("hunt", "all", "joined")
FISHER = Label("fisher", "Fisher's exact test; ")
EXCHANGE = Label("exchange", "exact permutation of suites; ")


@claim(7, Line(DECIDES, "p", 0.001))
@shared
def fisher_test(store: Store) -> Sequence[Check]:
    """Check claim 7: Fisher's exact test of lab against sign gives p < 0.001.

    The first test decides, chosen on simulated papers; the readings that decided with it are shown.
    """
    sets = model_sets(store)
    first, *others = [
        *(_fisher(condition, rows) for condition, rows in sets.items()),
        *(
            _suite_test(condition, rows)
            for condition, rows in sets.items()
            if condition.id in EXCHANGED
        ),
    ]
    return [first, *(replace(check, decides=False) for check in others)]


@claim(8, Line(DAMPEN, "share", 0.8))
@shared
def eleuther_dampens(store: Store) -> Sequence[Check]:
    """Check claim 8: 80 % of EleutherAI's models dampen."""
    sets = model_sets(store)
    chosen = {
        HUNT: sets[HUNT],
        EVERY: sets[EVERY],
        Label("clear", "all base models without gains within 1 % of 1"): evidence.away_from_one(
            sets[EVERY]
        ),
        Label("last", "all base models, last block"): evidence.base_gains(store, "gain_last_block"),
    }
    return _shares(DAMPEN, lab_rows(chosen, NAMED_LAB), dampening=True, quoted=80)


def _expand(lab: str) -> Label:
    return Label(lab.lower(), f"100 % of {lab}'s models expand")


@claim(9, Line(_expand("Meta"), "share", 1), Line(_expand("OpenAI"), "share", 1))
def others_expand(store: Store) -> Sequence[Check]:
    """Check claim 9: all models of Meta and OpenAI expand."""
    whole = evidence.base_gains(store, "gain_whole_matrix")
    of_last = {Label("whole", "whole-matrix gain of the last block (Llama 3.1)"): whole}
    chosen = {"Meta": {**model_sets(store), **of_last}, "OpenAI": model_sets(store)}
    return [
        check
        for lab, sets in chosen.items()
        for check in _shares(_expand(lab), lab_rows(sets, lab), dampening=False, quoted=100)
    ]


@claim(22, Line(DECIDES, "p", 0.001), Line(DAMPEN, "share", 0.8), Line(OTHERS, "share", 1))
def section_4_2(store: Store) -> Sequence[Check]:
    """Check claim 22: 80 % against 100 %, Fisher p < 0.001."""
    others = other_lab_rows(model_sets(store), NAMED_LAB)
    return [
        *fisher_test(store),
        *eleuther_dampens(store),
        *_shares(OTHERS, others, dampening=False, quoted=100),
    ]


@claim(23, Line(BELOW, "mean gain", 1), Line(ABOVE, "smallest mean", 1))
def only_below(store: Store) -> Sequence[Check]:
    """Check claim 23: EleutherAI is the only lab whose mean gain is below 1."""
    sets = model_sets(store)
    chosen = {
        **{
            condition: rows
            for condition, rows in sets.items()
            if not condition.id.endswith("clear")
        },
        Label("last", "all base models, last block"): evidence.base_gains(store, "gain_last_block"),
        Label("whole", "all base models, whole matrix of the last block"): evidence.base_gains(
            store, "gain_whole_matrix"
        ),
        Label("body", "all base models, mean over blocks 1 to L-1"): evidence.base_gains(
            store, "gain_body"
        ),
    }
    return [
        *each_once(lab_rows(chosen, NAMED_LAB), _lab_mean),
        *(
            _lab_beyond(condition, rows)
            for condition, rows in lab_rows(sets, NAMED_LAB).items()
            if condition in (HUNT, EVERY)
        ),
        *each_once(other_lab_rows(chosen, NAMED_LAB), _other_labs),
    ]


def _lab_mean(condition: str, ours: pd.DataFrame) -> Check:
    """Compare the mean over a lab's models in hand with 1, as a bar of Fig. 2 does."""
    if ours.empty:
        return evidence.missing(BELOW, condition, "no such model of EleutherAI is in the store")
    result = evidence.mean_of(ours["gain_mean"], 1)
    return evidence.check(
        BELOW,
        condition,
        result["estimate"] < 1,
        ours,
        **result,
        method="mean over the lab's models, t interval and test against 1 as if they were "
        "independent",
        note=f"{prose.share_of(int((ours['gain_mean'] < 1).sum()), len(ours))} models lie below 1.",
        measure="mean gain",
    )


def _lab_beyond(condition: str, ours: pd.DataFrame) -> Check:
    """Decide about the lab rather than its models in hand: its interval must exclude 1."""
    check = _lab_mean(condition, ours)
    is_open = not (check.conf_low > 1 or check.conf_high < 1)
    return replace(
        check,
        condition=Label("beyond", "beyond these models; ") + condition,
        holds=None if check.holds is None or is_open else check.holds,
        note="The interval contains 1: another model of the lab may lie on either side."
        if is_open
        else check.note,
    )


def _other_labs(condition: str, others: pd.DataFrame) -> Check:
    if others.empty:
        return evidence.missing(ABOVE, condition, "no model of another lab is in the store")
    means = others.groupby("lab")["gain_mean"].mean().sort_values()
    named = ", ".join(f"{lab} {mean:.3f}" for lab, mean in means.items())
    return evidence.check(
        ABOVE,
        condition,
        bool(means.iloc[0] > 1),
        others,
        estimate=means.iloc[0],
        method="smallest mean over the models of a lab",
        note=f"{named}.",
        measure="smallest mean",
    )


def _fisher(condition: str, rows: pd.DataFrame) -> Check:
    labelled = _label(rows)
    if labelled["heritage"].nunique() < 2 or labelled["sign"].nunique() < 2:
        return evidence.missing(DECIDES, condition, "the table has an empty margin")
    row = fisher.fisher_exact(labelled, row="heritage", column="sign").iloc[0]
    counts = labelled.groupby(["heritage", "sign"]).size().reset_index(name="n")
    cells = ", ".join(
        f"{cell['heritage']} {cell['sign']} {cell['n']}" for cell in counts.to_dict("records")
    )
    return evidence.check(
        DECIDES,
        FISHER + condition,
        bool(row["p_value"] < 0.001),
        rows,
        **evidence.numbers(row),
        method=f"{row['method']} from the tails, two-sided p from the likelihood of tables",
        note=f"{cells}. The smallest p these margins admit is "
        f"{prose.power_of_ten(row['smallest_p'], 1)}. The p that belongs to the interval, "
        f"twice the one-sided p, is {prose.power_of_ten(central_p(rows), 1)}.",
        measure="odds ratio",
    )


def central_p(rows: pd.DataFrame) -> float:
    """Return twice the smaller one-sided Fisher p, at most 1: the test that the interval inverts.

    ``rows`` has one row per model: `lab`, `sign_strict`.
    """
    return min(1.0, 2 * min(fisher.one_sided_p(_label(rows), row="heritage", column="sign")))


def least_p(store: Store, reading: str) -> tuple[float, float]:
    """Return the smallest p that Fisher's test and the exchange of suites can give a reading."""
    rows = models(store, reading)
    table = fisher.fisher_exact(_label(rows), row="heritage", column="sign")
    tested = exchange(cluster_means(compared(rows)))
    return float(table["smallest_p"].iloc[0]), float(tested["smallest_p"])


def _label(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(heritage=heritage(rows["lab"]), sign=rows["sign_strict"])


def _suite_test(condition: str, rows: pd.DataFrame) -> Check:
    """Test with suites as units: lab is permuted over suites, which share a recipe."""
    condition = EXCHANGE + condition
    suites = cluster_means(compared(rows))
    if suites["heritage"].nunique() < 2:
        return evidence.missing(DECIDES, condition, "one of the two groups of labs is missing")
    tested = exchange(suites)
    smallest, pooled, of_logs = (
        prose.power_of_ten(p, 1)
        for p in (
            tested["smallest_p"],
            exchange(compared(rows))["p_value"],
            exchange(suites, "log_gain")["p_value"],
        )
    )
    return evidence.check(
        DECIDES,
        condition,
        bool(tested["p_value"] < 0.001),
        rows,
        estimate=tested["estimate"],
        p_value=tested["p_value"],
        n_obs=len(suites),
        method="difference in the share of dampening models, mean over suites; exact permutation",
        note=f"The smallest p that {len(suites)} suites admit is {smallest}. "
        "Two other statistics, with whole suites permuted: share pooled over models, p = "
        f"{pooled}; mean log gain over suites, p = {of_logs}.",
        measure="difference",
    )


def _shares(
    part: str, sets: Mapping[Label, pd.DataFrame], *, dampening: bool, quoted: int
) -> list[Check]:
    """Check under each reading that a percentage of the models lie on one side of 1."""
    return each_once(sets, partial(_share, part, dampening=dampening, quoted=quoted))


def _share(part: str, condition: str, rows: pd.DataFrame, *, dampening: bool, quoted: int) -> Check:
    if rows.empty:
        return evidence.missing(part, condition, "no such model is in the store")
    wanted = rows["sign_strict"] == ("dampen" if dampening else "expand")
    return evidence.share_check(
        part,
        condition,
        int(wanted.sum()),
        rows,
        holds=evidence.share_prints_as(float(wanted.mean()), str(quoted)),
        method="share of models",
        note=f"{int(wanted.sum())} of {len(rows)} models.",
    )

"""Claims about what explains the sign of the gain: the trace (13) and head density (16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign import readings, threshold
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.delia2026.weights.claims_trace import GPT2, OPT
from analysis.inference.association import correlation
from analysis.store import Store
from analysis.tidy import prose

DIFFER = Label("differ", "the two models compared behave differently")
DENSER = Label("denser", "denser heads go with smaller gains")

RULED = Label("h25", "head density of 0.2 or more dampens, any other expands")
#: The author's threshold on head density, H25 of his file.
RULE = 0.2
OUTCOMES = {True: "holds", False: "fails", None: "is undecided"}

LEVEL = 0.05
DAMPENERS = "EleutherAI"
SEPARATES = Label(
    "separates", "some threshold on the trace separates dampening from expanding models"
)
PARTNERS = Label("partners", "attention factor of the trace, gain centred under LayerNorm")
AGGREGATES = {
    "trace_multi_head": Label("multi_head", "trace summed over heads"),
    "trace_first_head": Label("first_head", "trace of the averaged map with the weights of head 0"),
}


@claim(13, Line(SEPARATES, "accuracy", 1))
def discrimination(store: Store) -> Sequence[Check]:
    """Check claim 13: the trace directly discriminates thermodynamic behaviour."""
    gains = evidence.base_gains(store, "gain_penultimate_block")
    traces = {
        words: evidence.figures(store, metric, [evidence.TRACES]).rename(columns={"mean": "size"})
        for metric, words in AGGREGATES.items()
    }
    weights = spectral.weights(store)
    proxy = weights.assign(size=weights["value_norm"] ** 2)
    proxies = {Label("proxy", "squared spectral norm, the trace proxy of Fig. 8"): proxy}
    sets = (traces | proxies).items()
    multi_head = traces[AGGREGATES["trace_multi_head"]]
    return [
        *(
            threshold.separation(
                SEPARATES, words + Label("signs", ", measured signs"), _join_signs(rows, gains)
            )
            for words, rows in sets
        ),
        *(
            threshold.separation(
                SEPARATES,
                words + Label("labels", ", the paper's labels"),
                rows.assign(dampens=rows["lab"] == DAMPENERS),
            )
            for words, rows in sets
        ),
        _opposite_labels(multi_head),
        _opposite_signs(_join_signs(multi_head, gains)),
        *_measured_separations(store),
    ]


@claim(16, Line(DENSER, "partial r", 0), Line(DENSER, "r", 0))
def mechanism(store: Store) -> Sequence[Check]:
    """Check claim 16: rho mechanistically explains why Pythia dampens.

    One test decides, chosen on simulated papers. The author's own reading, and what his own file
    concludes of his rule, stand beside the verdict.
    """
    gains = evidence.base_gains(store, "gain_penultimate_block")
    models = evidence.without_post_norm(gains)
    is_pythia = models["suite"] == "Pythia"
    pythia = _falls(Label("pythia", "Pythia family"), models[is_pythia])
    others = _falls(Label("others", "all other base models"), models[~is_pythia])
    hunt = _hypothesis(store)
    found = f"the author’s reading, Pythia alone, {OUTCOMES[pythia.holds]}"
    words = [f"{found} (r = {prose.number(pythia.estimate)})", *([hunt.note] if hunt else [])]
    return [
        _suite_adjusted_check(models),
        evidence.beside(pythia, words[0]),
        evidence.descriptive(others),
        *([evidence.beside(hunt, words[1])] if hunt else []),
    ]


def _hypothesis(store: Store) -> Check | None:
    """Return how often the author's rule on head density is right, and what his file concludes."""
    printed = quoted.at(store, evidence.HUNT).set_index("quantity")["printed"]
    gains = evidence.base_gains(store, "gain_penultimate_block", evidence.HUNT)
    if "file_verdict" not in printed or gains.empty:
        return None
    right = (gains["rho"] >= RULE) == (gains["gain_mean"] < 1)
    return evidence.check(
        RULED,
        Label("hunt", "the models of the hunt, as the author's file tests it (H25)"),
        bool(right.all()),
        gains,
        estimate=float(right.mean()),
        kind="universal",
        method="share of models whose gain the rule foresees",
        measure="accuracy",
        note=f"of his rule that ρ of 0.2 or more dampens his file says {printed['file_verdict']}: "
        f"right for {int(right.sum())} of {len(right)}",
    )


def _join_signs(rows: pd.DataFrame, gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the models whose gain was measured too, with `dampens`."""
    columns = ["model_id", "gain_mean", "norm_position", "file", "caveats"]
    joined = rows.merge(gains[columns], on="model_id", suffixes=("_of_size", ""))
    remaining = evidence.without_post_norm(joined)
    return remaining.assign(
        dampens=remaining["gain_mean"] < 1,
        file=remaining["file_of_size"] + " " + remaining["file"],
        caveats=remaining["caveats_of_size"] + "," + remaining["caveats"],
    )


def _opposite_labels(traces: pd.DataFrame) -> Check:
    condition = Label("labels", "the paper's labels: EleutherAI dampens, the others expand")
    pair = traces[traces["model_id"].isin([GPT2, OPT])]
    dampening = int((pair["lab"] == DAMPENERS).sum())
    return evidence.check(
        DIFFER,
        condition,
        dampening == 1,
        pair,
        estimate=float(dampening),
        method="number of the two models that are labelled dampening",
        note="A trace 26 times as large stands beside the same label.",
        measure="count",
    )


def _opposite_signs(signed: pd.DataFrame) -> Check:
    part, condition = DIFFER, Label("signs", "measured signs")
    pair = signed[signed["model_id"].isin([GPT2, OPT])]
    if len(pair) < 2:
        return evidence.missing(part, condition, "no file holds a measured gain of GPT-2 small")
    return evidence.check(
        part, condition, pair["dampens"].nunique() == 2, pair, method="signs of the two gains"
    )


def _measured_separations(store: Store) -> list[Check]:
    """Relate trace and sign in the models measured here; only the paper's own models decide.

    Of the trace the attention factor is a property of the network, of the gain the centred one.
    A base model stands once, its trace over the prompts that its gain is of.
    """
    gains = evidence.base_models(evidence.measured_gains(store, "gain_penultimate_block"))
    traces = store.query(
        """
        SELECT run_id, avg(trace_multi_head) AS size, avg(attention_factor) AS size_primary
          FROM layer_trace
         GROUP BY run_id
        """
    )
    models = gains.merge(traces, on="run_id")
    read = evidence.definitions(models, ["gain_mean", "size"], words=PARTNERS)
    return [
        _measured_separation(
            Label("ours", "models measured here, ") + (words or AGGREGATES["trace_multi_head"]),
            rows,
        )
        for words, rows in read.items()
    ]


def _measured_separation(condition: str, models: pd.DataFrame) -> Check:
    signed = models.assign(dampens=models["gain_mean"] < 1)
    counted = signed[signed["in_paper"]]
    check = threshold.separation(
        SEPARATES,
        condition,
        counted if len(counted) else signed,
        counts=len(counted) > 0,
        tests=False,
        note="" if len(counted) else evidence.NOT_THEIRS,
    )
    return replace(check, evidence=(evidence.OURS,))


def _suite_adjusted_check(models: pd.DataFrame) -> Check:
    """Decide from the one-sided p of rho beside suites and log depth whether log gain falls."""
    condition = Label("suites", "all base models, suite and log depth held constant")
    if len(models) < 4 + models["suite"].nunique():
        return evidence.missing(DENSER, condition, "too few base models have a gain")
    logged = models.assign(log_layers=np.log(models["n_layers"].astype("float64")))
    row = readings.within_suites(logged, x="rho", y="log_gain", covariates=["log_layers"])
    half = float(row["p_value"]) / 2
    p_value = half if row["estimate"] < 0 else 1 - half
    return evidence.check(
        DENSER,
        condition,
        True if p_value < LEVEL else False if 1 - p_value < LEVEL else None,
        models,
        **evidence.numbers(row) | {"p_value": p_value},
        method=f"{row['method']}; p one-sided, {evidence.INDEPENDENT}",
        measure="partial r",
    )


def _falls(condition: str, models: pd.DataFrame) -> Check:
    """Decide from the interval of a correlation whether the gain falls as rho grows."""
    row = correlation.correlate(models, x="rho", y="gain_mean").iloc[0]
    low, high = float(row["conf_low"]), float(row["conf_high"])
    return evidence.check(
        DENSER,
        condition,
        True if high < 0 else False if low > 0 else None,
        models,
        **evidence.numbers(row),
        method=f"{row['method']}, {evidence.INDEPENDENT}",
        measure="r",
    )

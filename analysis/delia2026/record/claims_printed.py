"""Claims judged by what is printed: the p of all three laws, and the seeds.

What the paper prints is data (see `analysis.audit.evidence.quoted`); it is checked against itself
first, then against the figures its files give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.depth import claims_law as depth
from analysis.delia2026.sign import claims_heritage as heritage
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.forensics import table_search
from analysis.forensics.rounding import read
from analysis.inference.association import correlation
from analysis.inference.resampling import permutation
from analysis.store import Store
from analysis.tidy import prose

DEPTH = Label("depth", "Kleiber's law: p < 0.05")
HERITAGE = Label("heritage", "training heritage: p < 0.05")
SPECTRAL = Label("spectral", "spectral signature: p < 0.05")
SEEDS = Label("seeds", "the code of all experiments fixes the seeds of its random numbers")

LEVEL = 0.05


@claim(21, Line(DEPTH, "p", 0.05), Line(HERITAGE, "p", 0.05), Line(SPECTRAL, "p", 0.05))
def three_laws(store: Store) -> Sequence[Check]:
    """Check claim 21: each of the three laws has p < 0.05."""
    return [
        _printed_correlation(store),
        *(_significant(DEPTH, check) for check in depth.correlations(store)),
        _printed_shares(store),
        *(_significant(HERITAGE, check) for check in heritage.fisher_test(store)),
        *_spectral(store),
    ]


@claim(52)
def seeds(store: Store) -> Sequence[Check]:
    """Check claim 52: all experiments fix their random seeds, PYTHONHASHSEED=42."""
    known = store.query("FROM caveat WHERE caveat_id = 'B15'")
    outside = evidence.missing(
        Label("hash_seed", "PYTHONHASHSEED was 42"),
        "an environment variable set before the notebooks were started",
        "no result file records the environment",
    )
    if known.empty:
        return [outside, evidence.missing(SEEDS, "the notebooks' code", "caveat B15 is not here")]
    code = Check(
        SEEDS,
        "the notebooks' code, all of it read",
        False,
        evidence=("caveat",),
        caveats=("B15",),
        method="reading of all notebooks and scripts",
        note=f"{known['explanation'].item()} PYTHONHASHSEED orders sets and dictionaries of "
        "strings; it seeds neither torch nor NumPy.",
    )
    return [code, outside]


def _significant(part: str, check: Check) -> Check:
    """Return a check of another claim, decided by its p alone."""
    holds = None if isnan(check.p_value) else check.p_value < LEVEL
    return replace(check, part=part, holds=holds, kind="difference", decides=True)


def _printed_correlation(store: Store) -> Check:
    """Recompute the p of the printed correlation from the printed number of models."""
    condition = Label("printed", "the printed r and number of models")
    try:
        r = quoted.text(store, "Fig. 1", "correlation", "Pythia")
        n = int(quoted.text(store, "§4.1", "n_models", "Pythia"))
    except LookupError as reason:
        return evidence.missing(DEPTH, condition, reason)
    row = correlation.from_summary(read(r).value, n).iloc[0]
    return Check(
        DEPTH,
        condition,
        bool(row["p_value"] < LEVEL),
        **evidence.numbers(row),
        n_obs=n,
        n_models=n,
        n_suites=1,
        evidence=(quoted.EVIDENCE,),
        method=f"t test of the printed correlation, {evidence.INDEPENDENT}",
        note="This p follows from the printed r, which is rounded; that of the unrounded r differs "
        "in its last digit (claim 16). Whether r is the one of depth and gain is another check.",
        measure="r",
    )


def _printed_shares(store: Store) -> Check:
    """Find what p the printed shares can have, whichever way the models split."""
    condition = Label("printed", "every table with the printed shares and number of models")
    try:
        n = int(read(quoted.text(store, "§1.2", "n_models")).value)
        dampening = quoted.text(store, "§4.2", "share_dampening", "EleutherAI")
        expanding = read(quoted.text(store, "§4.2", "share_expanding", "all other labs"))
        quoted_p = quoted.text(store, "§4.2", "p_value")
    except LookupError as reason:
        return evidence.missing(HERITAGE, condition, reason)
    other = str(100 - int(expanding.value))
    tables = table_search.tables([dampening, other], quoted_p, n=n)
    if tables.empty:
        return evidence.missing(HERITAGE, condition, "no table has these shares and this number")
    ours = tables[tables["group"] == 0]
    giving = ours.loc[ours["consistent"], "n_obs"].tolist()
    return Check(
        HERITAGE,
        condition,
        bool((ours["p_value"] < LEVEL).all()),
        p_value=float(ours["p_value"].max()),
        n_obs=n,
        n_models=n,
        evidence=(quoted.EVIDENCE,),
        method="Fisher's exact test of every possible table; p: the largest",
        note=f"{len(ours)} tables are possible; p {quoted_p} needs "
        f"{' or '.join(map(str, giving)) or 'another number of'} models of EleutherAI.",
        measure="odds ratio",
    )


def _spectral(store: Store) -> list[Check]:
    """Return the checks of the law that is printed without a p."""
    weights = spectral.weights(store)
    models = _join_gains(store, weights)
    checks = [
        evidence.missing(SPECTRAL, Label("printed", "as printed"), "no p and no test are printed")
    ]
    if len(models) < 3 or weights["lab"].nunique() < 2:
        return [
            *checks,
            evidence.missing(
                SPECTRAL, Label("recomputed", "recomputed"), "too few models have both"
            ),
        ]
    heritage_of = np.where(weights["lab"] == "EleutherAI", "EleutherAI", "other")
    norms = weights.assign(group=heritage_of, value=weights["value_norm"])
    logs = norms.assign(value=np.log(norms["value"].astype("float64")))
    by_suite = norms.groupby(["suite", "group"])["value"].mean().reset_index()
    signed = models.assign(group=models["sign_strict"], value=models["log_ratio"])
    exact = "exact permutation of"
    return [
        *checks,
        _permutation_check(
            SPECTRAL,
            Label("signs", f"{exact} models: log |W_V| / |W_O| by sign of the gain"),
            signed,
            models,
        ),
        _ratio_and_gain(SPECTRAL, models),
        _permutation_check(
            SPECTRAL,
            Label("norms", f"{exact} models: |W_V|, EleutherAI against others"),
            norms,
            weights,
        ),
        _permutation_check(
            SPECTRAL,
            Label("log_norms", f"{exact} models: log |W_V|, EleutherAI against others"),
            logs,
            weights,
        ),
        _permutation_check(
            SPECTRAL,
            Label("suites", f"{exact} suites: |W_V|, EleutherAI against others"),
            by_suite,
            weights,
        ),
    ]


def _join_gains(store: Store, weights: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model that has both norms and a gain of the penultimate block."""
    gains = evidence.base_gains(store, "gain_penultimate_block")
    columns = ["model_id", "ratio", "file", "caveats"]
    joined = gains.merge(weights[columns], on="model_id", suffixes=("", "_of_weights"))
    return joined.assign(
        log_ratio=np.log(joined["ratio"].astype("float64")),
        file=joined["file"] + " " + joined["file_of_weights"],
        caveats=joined["caveats"] + "," + joined["caveats_of_weights"],
    )


def _permutation_check(
    part: str, condition: str, units: pd.DataFrame, models: pd.DataFrame
) -> Check:
    """Test two groups of units; a test that cannot reach the level decides nothing."""
    grouped = units[["group", "value"]]
    tested = permutation.permutation_test(grouped, _difference, label="group", unit=None).iloc[0]
    is_able = tested["smallest_p"] < LEVEL
    smallest = prose.power_of_ten(tested["smallest_p"], 1)
    note = f"The smallest p that {len(units)} units admit is {smallest}"
    return evidence.check(
        part,
        condition,
        bool(tested["p_value"] < LEVEL) if is_able else None,
        models,
        estimate=tested["estimate"],
        p_value=tested["p_value"],
        n_obs=len(units),
        method="difference of means; exact permutation, the units as exchangeable",
        note=f"{note}." if is_able else f"{note}; the test cannot tell.",
        measure="difference",
    )


def _difference(units: pd.DataFrame) -> float:
    """Return the mean of the group that comes first in the alphabet less that of the other."""
    groups, values = units["group"].to_numpy(), units["value"].to_numpy()
    is_first = groups == groups.min()
    return float(values[is_first].mean() - values[~is_first].mean())


def _ratio_and_gain(part: str, models: pd.DataFrame) -> Check:
    row = correlation.correlate(models, x="log_ratio", y="log_gain").iloc[0]
    return evidence.check(
        part,
        Label("correlation", "correlation of log |W_V| / |W_O| and log gain"),
        bool(row["p_value"] < LEVEL),
        models,
        **evidence.numbers(row),
        method=f"{row['method']}, {evidence.INDEPENDENT}",
        measure="r",
    )

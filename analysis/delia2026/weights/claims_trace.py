"""Claims about the trace of the sheaf Laplacian."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.store import Store
from analysis.tidy.frame import Floats

TIMES = "GPT-2's mean trace is 26 times OPT-125m's"
EQUATION = "equation (4) gives the trace"

SEED = 20260106
GPT2 = "openai-community/gpt2"
OPT = "facebook/opt-125m"


@claim(12, Line(TIMES, "ratio", 26))
def ratio(store: Store) -> Sequence[Check]:
    """Check claim 12: GPT-2's trace is 26 times OPT-125m's."""
    aggregates = {
        "trace_multi_head": Label("multi_head", "sum over heads, as the code computes it"),
        "trace_first_head": Label(
            "first_head", "head-averaged attention with the weights of head 0"
        ),
    }
    method = "ratio of mean traces over layers and prompts"
    traces = [
        _ratio(
            condition,
            evidence.figures(store, metric, [evidence.TRACES]),
            "mean",
            power=1,
            method=method,
        )
        for metric, condition in aggregates.items()
    ]
    proxy = _ratio(
        Label("proxy", "squared mean spectral norm of W_V, the trace proxy of Fig. 8"),
        spectral.weights(store),
        "value_norm",
        power=2,
        method="squared ratio of mean spectral norms",
    )
    as_computed, *others = [*traces, proxy]
    return [as_computed, *(evidence.descriptive(other) for other in others)]


@claim(35)
def equation_4(store: Store) -> Sequence[Check]:
    """Check claim 35: the trace is (sum A - n) |W_V|^2."""
    return [_identity_check(), _literal(store)]


def _identity_check() -> Check:
    """Compare eq. (4) with the trace on attention that is one by construction.

    Rows of a softmax sum to one, so the sum of all entries is n and the equation says zero,
    whatever the network. The trace, n - tr A times the squared norm, is zero only where each token
    attends to itself alone.
    """
    part, condition = EQUATION, Label("algebra", "any softmax, by algebra; here 64 causal maps")
    sums, traces = causal_maps(np.random.default_rng(SEED))
    is_equal = np.isclose(sums, traces, rtol=0.01, atol=0)
    return Check(
        part,
        condition,
        bool(is_equal.all()),
        estimate=float(np.abs(sums / traces).max()),
        n_obs=len(sums),
        evidence=("definition",),
        caveats=("B5",),
        method="largest |sum A - n| over n - tr A; rows of a softmax sum to one",
        note="Rows of a softmax sum to one, so equation (4) as printed is zero up to rounding for "
        "every network, and the trace is not.",
        measure="ratio",
    )


def causal_maps(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return sum A - n and n - tr A of causal softmax maps of random scores, shape (maps,) each.

    The first is taken to twelve decimals: what is left below differs between processors.
    """
    n = 12
    scores = rng.standard_normal((64, n, n))
    weights = np.exp(scores) * np.tril(np.ones((n, n)))
    maps = weights / weights.sum(axis=2, keepdims=True)
    return np.round(maps.sum(axis=(1, 2)) - n, 12), n - np.trace(maps, axis1=1, axis2=2)


@claim(36)
def values(store: Store) -> Sequence[Check]:
    """Check claim 36: mean traces of 62,696 and 2,368."""
    quoted = {GPT2: "62696", OPT: "2368"}
    return [_value(store, model_id, text) for model_id, text in quoted.items()]


def _ratio(condition: str, rows: pd.DataFrame, column: str, *, power: int, method: str) -> Check:
    pair = rows[rows["model_id"].isin([GPT2, OPT])]
    gpt2, opt = (float(evidence.only(rows, name)[column]) for name in (GPT2, OPT))
    result = (gpt2 / opt) ** power
    holds = evidence.prints_as(result, "26")
    measure = "ratio" if power == 1 else ""
    return evidence.check(
        TIMES, condition, holds, pair, estimate=result, method=method, measure=measure
    )


def _literal(store: Store) -> Check:
    """Compare eq. (4) as printed with the trace the code computes, on the models measured here.

    Prompts of one token have no trace and say nothing.
    """
    condition = Label("ours", "models measured here: equation (4) within 1 % of the computed trace")
    measured = store.query(
        """
        SELECT count(DISTINCT t.model_id)                                      AS n_models,
               count(DISTINCT m.suite)                                         AS n_suites,
               count(*)                                                        AS n_obs,
               max(abs(t.trace_equation_4) / t.trace_multi_head)               AS largest,
               avg(CAST(abs(t.trace_equation_4 / t.trace_multi_head - 1) < 0.01 AS INTEGER)) AS near
          FROM layer_trace AS t
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = t.model_id
         WHERE t.is_conforming
           AND t.trace_multi_head > 0
        """
    ).iloc[0]
    if not measured["n_models"]:
        return evidence.missing(EQUATION, condition, "no attention map has been measured")
    return Check(
        EQUATION,
        condition,
        bool(measured["near"] == 1),
        decides=False,
        estimate=float(measured["largest"]),
        n_obs=int(measured["n_obs"]),
        n_models=int(measured["n_models"]),
        n_suites=int(measured["n_suites"]),
        evidence=("our measurements",),
        caveats=("B5",),
        method="largest |equation (4)| relative to the trace (sum A - trace A) |W_V|^2",
        note="Rows of a softmax sum to one, so equation (4) as printed is zero up to rounding.",
        measure="ratio",
    )


def _value(store: Store, model_id: str, quoted: str) -> Check:
    name = model_id.partition("/")[2]
    part = Label(name, f"{name}: {int(quoted):,}")
    condition = "sum over heads, mean over layers and four prompts, fp32"
    rows = evidence.figures(store, "trace_multi_head", [evidence.TRACES])
    result = evidence.only(rows, model_id)
    return evidence.check(
        part,
        condition,
        evidence.prints_as(result["mean"], quoted),
        rows[rows["model_id"] == model_id],
        estimate=result["mean"],
        method="mean over layers",
        measure="mean trace",
    )

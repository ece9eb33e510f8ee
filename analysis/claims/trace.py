"""Claims about the trace of the sheaf Laplacian."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.claims import evidence
from analysis.claims.claim import Check, Claim
from analysis.store import Store

GPT2 = "openai-community/gpt2"
OPT = "facebook/opt-125m"


def ratio(store: Store) -> Sequence[Check]:
    """Check claim 12: GPT-2's trace is 26 times OPT-125m's."""
    return [
        _ratio(store, "trace_multi_head", "sum over heads, as the code computes it"),
        _ratio(store, "trace_first_head", "head-averaged attention with the weights of head 0"),
        _literal(store),
    ]


def values(store: Store) -> Sequence[Check]:
    """Check claim 36: mean traces of 62,696 and 2,368."""
    quoted = {GPT2: "62696", OPT: "2368"}
    return [_value(store, model_id, text) for model_id, text in quoted.items()]


def _ratio(store: Store, metric: str, condition: str) -> Check:
    part = "GPT-2's mean trace is 26 times OPT-125m's"
    rows = evidence.figures(store, metric, [evidence.TRACES])
    pair = rows[rows["model_id"].isin([GPT2, OPT])]
    try:
        found = evidence.only(rows, GPT2)["mean"] / evidence.only(rows, OPT)["mean"]
    except LookupError as reason:
        return evidence.missing(part, condition, reason)
    return evidence.check(
        part,
        condition,
        evidence.rounds_to(found, "26"),
        pair,
        estimate=found,
        method="ratio of mean traces over layers and four prompts",
    )


def _literal(store: Store) -> Check:
    """Measure eq. (4) as printed on our own models: the factor is rounding around zero."""
    part = "GPT-2's mean trace is 26 times OPT-125m's"
    condition = "equation (4) as printed, (sum A - n) |W_V|^2: not zero"
    measured = store.query(
        """
        SELECT count(DISTINCT t.model_id)                          AS n_models,
               count(DISTINCT m.suite)                             AS n_suites,
               count(*)                                            AS n_obs,
               max(abs(t.trace_equation_4) / t.trace_multi_head)   AS largest
          FROM layer_trace AS t
          JOIN model AS m USING (model_id)
        """
    ).iloc[0]
    if not measured["n_models"]:
        return evidence.missing(part, condition, "no attention map has been measured")
    return Check(
        part,
        condition,
        bool(measured["largest"] > 1e-3),
        estimate=float(measured["largest"]),
        n_obs=int(measured["n_obs"]),
        n_models=int(measured["n_models"]),
        n_suites=int(measured["n_suites"]),
        evidence=("our measurements",),
        caveats=("B5",),
        method="largest |equation (4)| relative to the trace that the code computes",
        note="Rows of a softmax sum to one, so equation (4) as printed is zero up to rounding.",
    )


def _value(store: Store, model_id: str, quoted: str) -> Check:
    part = f"{model_id.partition('/')[2]}: {int(quoted):,}"
    condition = "sum over heads, mean over layers and four prompts, fp32"
    rows = evidence.figures(store, "trace_multi_head", [evidence.TRACES])
    try:
        found = evidence.only(rows, model_id)
    except LookupError as reason:
        return evidence.missing(part, condition, reason)
    return evidence.check(
        part,
        condition,
        evidence.rounds_to(found["mean"], quoted),
        rows[rows["model_id"] == model_id],
        estimate=found["mean"],
        method="mean over layers",
    )


CLAIMS = (
    Claim(
        12,
        "Ratio of the mean traces of GPT-2 and OPT-125m",
        "The ratio prints as 26 whichever of the published aggregates is taken.",
        ratio,
    ),
    Claim(
        36,
        "Mean trace over layers of GPT-2 and OPT-125m",
        "The means print as 62,696 and 2,368.",
        values,
    ),
)

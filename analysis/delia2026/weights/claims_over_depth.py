"""The claim that the constraint on gain over depth shows up in weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.inference.counts import fisher
from analysis.store import Store

SMALLER = "deeper networks have smaller norms, as they are said to have smaller gains"

#: What is said of the folded OV map where norms are LayerNorms.
OF_MEAN = (
    "No basis and no gain moves this map, and under RMSNorm it is the invariant partner of |W_V|. "
    "What it reads and writes along the mean over features is free under LayerNorm: "
    "thermoscope collect gauge leaves that out."
)


@claim(59, Line(SMALLER, "share", 0.5))
def constraint(store: Store) -> Sequence[Check]:
    """Check claim 59: the constraint on gain over depth shows up in weight geometry."""
    models = spectral.weights(store)
    product = models.assign(value_norm=models["value_norm"] * models["output_norm"])
    return [
        _deeper_is_smaller(Label("value", "published |W_V|, pairs of one suite"), _pairs(models)),
        _deeper_is_smaller(
            Label("product", "published |W_V| |W_O|, pairs of one suite"), _pairs(product)
        ),
        _measured_check(store),
        _bound(Label("value_bound", "published |W_V| against 10^(1/L)"), models),
        _bound(Label("product_bound", "published |W_V| |W_O| against 10^(1/L)"), product),
    ]


def _bound(condition: str, models: pd.DataFrame) -> Check:
    within = models["value_norm"] <= 10 ** (1 / models["n_layers"])
    return evidence.share_check(
        SMALLER,
        condition,
        int(within.sum()),
        models,
        holds=None,
        decides=False,
        method="share of models whose mean norm is at most 10^(1/L)",
        note="A gain has no unit, a weight has one that is a convention: rescaling moves the norms "
        "and changes no output. Shown, not counted.",
    )


def _pairs(models: pd.DataFrame, by: Sequence[str] = ("suite",)) -> pd.DataFrame:
    """Return one row per pair of models alike in ``by`` but of different depth.

    Columns: those of the deeper model, those of the other ending in `_shallow`, and `falls`,
    whether the deeper model has the smaller norm.
    """
    known = models.dropna(subset=list(by))
    both = known.merge(known, on=list(by), suffixes=("", "_shallow"))
    pairs = both[both["n_layers"] > both["n_layers_shallow"]]
    return pairs.assign(falls=pairs["value_norm"] < pairs["value_norm_shallow"])


def _deeper_is_smaller(
    condition: str, pairs: pd.DataFrame, *, counts: bool = True, **result: Any
) -> Check:
    """Decide from the exact interval of the share of pairs whether deeper means smaller."""
    if pairs.empty:
        return evidence.missing(SMALLER, condition, "no two models differ in depth alone there")
    falls = int(pairs["falls"].sum())
    note = f"The norm falls with depth in {falls} of {len(pairs)} pairs."
    return evidence.share_check(
        SMALLER,
        condition,
        falls,
        pairs,
        holds=_exceeds_half(falls, len(pairs)) if counts else None,
        decides=counts,
        method="share of pairs whose deeper model has the smaller norm",
        units="pairs",
        note=note if counts else f"{note} {evidence.NOT_THEIRS}",
        **(evidence.both_sides(pairs, "_shallow") | result),
    )


def _exceeds_half(hits: int, n: int) -> bool | None:
    """Tell whether the interval of a share lies above one half; None when it contains it."""
    share = fisher.proportion(hits, n).iloc[0]
    if share["conf_low"] > 0.5:
        return True
    return False if share["conf_high"] < 0.5 else None


def _measured_check(store: Store) -> Check:
    """Compare models measured here that differ in depth: the folded OV map of their heads.

    Only pairs of the paper's own models decide.
    """
    norms = store.query(
        """
        SELECT h.model_id, m.family, m.suite, m.n_layers, m.norm_kind,
               avg(h.sigma_max) AS value_norm,
               h.model_id IN (SELECT model_id FROM published_figure) AS in_paper,
               '' AS file, '' AS caveats
          FROM layer_head AS h
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = h.model_id
         WHERE h.matrix = 'OV'
           AND h.is_folded
           AND h.slicing = 'correct'
         GROUP BY ALL
         ORDER BY h.model_id
        """
    )
    theirs = _pairs(norms[norms["in_paper"]], by=("family", "suite"))
    pairs = theirs if len(theirs) else _pairs(norms, by=("family", "suite"))
    result = _deeper_is_smaller(
        Label("ours", "models measured here: folded OV map, median over heads, mean over blocks"),
        pairs,
        counts=len(theirs) > 0,
        evidence=(evidence.OURS,),
    )
    is_free = not pairs.empty and (pairs["norm_kind"] == "LayerNorm").any()
    return replace(result, note=f"{result.note} {OF_MEAN}") if is_free else result

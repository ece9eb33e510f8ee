"""Claims about depth: the correlation, the law G_max = 10^(1/L), the figures that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.inference.association import correlation, regression
from analysis.store import Store
from analysis.tidy import prose

CORRELATION = Label("quoted", "r = -0.81 and p = 0.014 between depth and gain")
BOX = Label("quoted", "r = -0.81 between depth and gain")
BOUND = Label("bound", "no model exceeds 10^(1/L)")
SLOPE = Label("slope", "gain follows the law: b = 1 in log10 G = b / L")
TOTAL = "total gain at most 10"

SWEEP = [evidence.PYTHIA]

#: Correlation and its p, as claims 4 and 29 quote them.
QUOTED = {"estimate": "-0.81", "p_value": "0.014"}
FALLS = Label("falls", "gain falls with depth")
BOTH = tuple(QUOTED)
MODELS_OF_A_CORRELATION = 4
TOO_FEW = "fewer than four Pythia models are in the store"
#: What is said of the law, by what its interval shows.
LAW = {True: "the law holds", False: "the law fails", None: "the law is undecided"}
#: How far from 1 the slope of the law may lie: nearer to the law than to no law at all.
MARGIN = 0.5
PYTHIA, BASE = Label("pythia", ", Pythia family"), Label("base", ", base models")
ONE_BREAKS_IT = "One violation breaks a bound; the share says how often it is broken."


@claim(4, Line(FALLS, "r", 0), Line(CORRELATION, "r", -0.81))
def quoted_correlation(store: Store) -> Sequence[Check]:
    """Check claim 4: gain falls with depth in Pythia; the printed r and p stand beside the law."""
    words = finding(store)
    printed = [evidence.beside(one, words) for one in correlations(store)]
    return [*_slope_checks(store), *printed]


@claim(29, Line(FALLS, "r", 0), Line(BOX, "r", -0.81))
def box(store: Store) -> Sequence[Check]:
    """Check claim 29: r = -0.81 between depth and gain; the law stands beside the number."""
    words = finding(store)
    law = [evidence.beside(one, words) for one in _slope_checks(store)]
    return [*correlations(store, BOX, ("estimate",)), *law]


def finding(store: Store) -> str:
    """Return whether gain falls with depth, and of which pair the printed r and p are."""
    plotted = next(iter(_depth_and_gain(store).values()))
    if len(plotted) < MODELS_OF_A_CORRELATION:
        return f"{TOO_FEW}"
    depth, density = (
        correlation.correlate(plotted, x=name, y="gain_mean").iloc[0]
        for name in ("n_layers", "rho")
    )
    r = f"r = {prose.number(depth['estimate'])}"
    said = LAW[decision.below(float(depth["conf_low"]), float(depth["conf_high"]), 0)]
    if _is_quoted(depth, BOTH):
        return f"{said} ({r})"
    pair = "another pair, head density and gain" if _is_quoted(density, BOTH) else "no pair found"
    return f"{said} ({r}); the printed r = −0.81 and p = 0.014 belong to {pair}"


def correlations(
    store: Store, part: str = CORRELATION, printed: Sequence[str] = BOTH
) -> list[Check]:
    """Check that depth and gain correlate as printed, with the p or without."""
    return [
        _printed_check(part, condition, rows, printed)
        for condition, rows in _depth_and_gain(store).items()
    ]


def _slope_checks(store: Store) -> list[Check]:
    return [_falls(condition, rows) for condition, rows in _depth_and_gain(store).items()]


def _depth_and_gain(store: Store) -> dict[Label, pd.DataFrame]:
    plotted = Label("penultimate", "depth and gain of the penultimate block, as plotted")
    stated = Label("largest", "depth and largest block gain, as the law says")
    return {
        plotted: evidence.published_gains(store, "gain_penultimate_block", SWEEP),
        stated: evidence.published_gains(store, "gain_maximum", SWEEP),
    }


@claim(5, Line(BOUND, "share above", 0), Line(SLOPE, "exponent", 1, 0.5, 1.5))
def bound(store: Store) -> Sequence[Check]:
    """Check claim 5: the maximum gain scales as 10^(1/L).

    The law speaks of the largest gain, which therefore comes first; the paper plots another.
    """
    named = {
        Label("largest", "largest block gain after block 0"): "gain_maximum",
        Label("penultimate", "gain of the penultimate block"): "gain_penultimate_block",
        Label("last", "gain of the last block"): "gain_last_block",
    }
    readings: dict[str, pd.DataFrame] = {}
    for words, metric in named.items():
        gains = evidence.base_gains(store, metric)
        # The abstract and section 4.1 state the law of the Pythia family, so that comes first.
        if metric != "gain_last_block":
            readings[words + PYTHIA] = gains[gains["suite"] == "Pythia"]
        readings[words + BASE] = evidence.without_post_norm(gains)
    return [
        *(_violations(name, rows) for name, rows in readings.items()),
        *(_exponent(name, rows) for name, rows in readings.items()),
    ]


@claim(6, Line(TOTAL, "share", 1))
def total_gain(store: Store) -> Sequence[Check]:
    """Check claim 6: total network gain stays within 10."""
    measured = evidence.figures(store, "total_amplification")
    base = measured[measured["base_model_id"].isna()].drop_duplicates("model_id")
    profiles, from_input = _profile_totals(store, first=1), _profile_totals(store, first=0)
    readings = {
        Label("total", "published total amplification, base models"): base.rename(
            columns={"mean": "total"}
        ),
        Label(
            "product", "product of the block gains from block 1 to the penultimate, base models"
        ): profiles,
        Label("product_pythia", "the same product, Pythia family"): profiles[
            profiles["suite"] == "Pythia"
        ],
        Label("product_block0", "the same product with block 0, Pythia family"): from_input[
            from_input["suite"] == "Pythia"
        ],
    }
    return [_ten_percent_check(condition, rows) for condition, rows in readings.items()]


def _profile_totals(store: Store, *, first: int) -> pd.DataFrame:
    """Return one row per base model: the product of its published gains from a first block on."""
    return store.query(
        """
        SELECT p.model_id, m.suite, p.file, p.caveats, exp(sum(ln(p.value))) AS total
          FROM published_profile AS p
          JOIN raw.model AS m USING (model_id)
         WHERE p.metric = 'gain_block'
           AND p.layer >= $first
           AND p.file IN ($sweep, $hunt)
         GROUP BY p.model_id, m.suite, p.file, p.caveats
        QUALIFY row_number() OVER (PARTITION BY p.model_id ORDER BY p.file DESC) = 1
         ORDER BY p.model_id
        """,
        first=first,
        sweep=evidence.PYTHIA,
        hunt=evidence.HUNT,
    )


def _ten_percent_check(condition: str, rows: pd.DataFrame) -> Check:
    within = rows["total"] <= 10
    worst = rows.sort_values("total").iloc[-1]
    return evidence.share_check(
        TOTAL,
        condition,
        int(within.sum()),
        rows,
        holds=bool(within.all()),
        method="share of models within the bound",
        note=f"The largest is {worst['model_id']} with a factor of {worst['total']:.1f}.",
    )


@claim(26)
def plotted_values(store: Store) -> Sequence[Check]:
    """Check claim 26: Fig. 1 plots the mean residual gain, dampeners below 1, expanders above."""
    part = "the plotted value is the model's mean residual gain"
    plotted = evidence.published_gains(store, "gain_penultimate_block", SWEEP)
    stated = evidence.figures(store, "gain_penultimate_block_stated", SWEEP)
    profiles = store.query(
        """
        SELECT model_id, exp(avg(ln(value))) AS mean_over_blocks
          FROM published_profile
         WHERE metric = 'gain_block' AND layer > 0 AND file = $file
         GROUP BY model_id
        """,
        file=evidence.PYTHIA,
    )
    both = plotted.merge(profiles, on="model_id").merge(
        stated[["model_id", "mean"]].rename(columns={"mean": "stated"}), on="model_id"
    )
    again = (both["stated"] / both["gain_mean"] - 1).abs() < 1e-9
    same_side = (both["gain_mean"] < 1) == (both["mean_over_blocks"] < 1)
    return [
        evidence.share_check(
            part,
            Label(
                "again",
                "mean over prompts of the gain of the penultimate block: "
                "the file's value comes again",
            ),
            int(again.sum()),
            both,
            holds=bool(again.all()),
            method="share of models whose stated mean is the mean of their raw gains",
            is_sample=False,
            note=f"So it does for {int(again.sum())} of {len(both)} models.",
        ),
        evidence.share_check(
            part,
            Label(
                "side", "mean over blocks 1 to the penultimate: same side of 1 as the plotted value"
            ),
            int(same_side.sum()),
            both,
            holds=bool(same_side.all()),
            decides=False,
            method="share of models on the same side of 1",
            is_sample=False,
            note=f"{int((both['mean_over_blocks'] < 1).sum())} of {len(both)} models shrink their "
            "stream on average over these blocks.",
        ),
    ]


def _falls(condition: str, rows: pd.DataFrame) -> Check:
    """Decide from the interval of a correlation whether gain falls with depth."""
    if len(rows) < MODELS_OF_A_CORRELATION:
        return evidence.missing(FALLS, condition, TOO_FEW)
    row = correlation.correlate(rows, x="n_layers", y="gain_mean").iloc[0]
    return evidence.check(
        FALLS,
        condition,
        decision.below(float(row["conf_low"]), float(row["conf_high"]), 0),
        rows,
        kind="difference",
        **_estimate(row),
        measure="r",
    )


def _printed_check(part: str, condition: str, rows: pd.DataFrame, printed: Sequence[str]) -> Check:
    if len(rows) < MODELS_OF_A_CORRELATION:
        return evidence.missing(part, condition, TOO_FEW)
    depth = correlation.correlate(rows, x="n_layers", y="gain_mean").iloc[0]
    density = correlation.correlate(rows, x="rho", y="gain_mean").iloc[0]
    note = (
        "The quoted r and p are those of head density ρ with the same gain, not of depth."
        if _is_quoted(density, BOTH)
        else ""
    )
    return evidence.check(
        part,
        condition,
        _is_quoted(depth, printed),
        rows,
        kind="value",
        **(_estimate(depth) | {"note": note}),
        measure="r",
    )


def _is_quoted(row: pd.Series[Any], printed: Sequence[str]) -> bool:
    return all(evidence.prints_as(row[name], QUOTED[name]) for name in printed)


def _violations(condition: str, rows: pd.DataFrame) -> Check:
    above = rows["gain_mean"] > rows["bound"]
    named = ", ".join(rows.loc[above, "model_id"])
    known = evidence.with_interval(rows)
    clear = int((known["conf_low"] > known["bound"]).sum())
    by_interval = (
        f" For {clear} of them the 95 % interval over prompts lies above it."
        if known["conf_low"].notna().any()
        else ""
    )
    return evidence.share_check(
        BOUND,
        condition,
        int(above.sum()),
        rows,
        holds=not above.any(),
        method="share of models above the bound",
        note=f"Above the bound: {named}.{by_interval} {ONE_BREAKS_IT}" if named else "",
        measure="share above",
    )


def _exponent(condition: str, rows: pd.DataFrame) -> Check:
    """Fit log10 G = b / L through the origin: the law says b = 1, no law says b = 0."""
    inverse = rows.assign(
        log10_gain=np.log10(rows["gain_mean"]), inverse_depth=1 / rows["n_layers"]
    )
    cluster = "suite" if len(set(inverse["suite"])) > 1 else None
    fitted = regression.fit(inverse, "log10_gain ~ 0 + inverse_depth", cluster=cluster)
    row = fitted.tidy().iloc[0]
    decided = decision.within(row["conf_low"], row["conf_high"], 1 - MARGIN, 1 + MARGIN)
    open_ = "The interval reaches over the margin: these data cannot tell. "
    note = f"{open_ if decided is None else ''}{row.get('note', '')}".strip()
    numbers = _estimate(row, "suites" if cluster else "models") | {"note": note}
    return evidence.check(
        SLOPE, condition, decided, rows, kind="equality", **numbers, measure="exponent"
    )


def _estimate(row: pd.Series[Any], units: str = "models") -> dict[str, Any]:
    method = f"{row['method']}, {units} as independent"
    return evidence.numbers(row) | {"method": method, "note": row.get("note", "")}

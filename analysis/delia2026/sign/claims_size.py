"""Claims of the plain-language summary about model size: that it hardly matters."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, ceil, log, sqrt
from statistics import NormalDist

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign import claims_popular as popular
from analysis.delia2026.sign import readings
from analysis.inference.association import correlation, regression
from analysis.inference.effects import equivalence
from analysis.store import Store

SMALL, LARGE = "EleutherAI/pythia-160m", "EleutherAI/pythia-12b"
#: Ratios of gain within which two models count as almost identical, the stricter first.
MARGINS = (1.05, 1.10)
#: Correlation that explains a tenth of the variance: below it, almost nothing.
ALMOST_NOTHING = sqrt(0.1)
#: Rows below which the interval of r = 0 itself is wider than the margin.
FEWEST = ceil(3 + (NormalDist().inv_cdf(0.975) / atanh(ALMOST_NOTHING)) ** 2)
TOO_FEW = f"With fewer than {FEWEST} models the interval is wider than the margin even at r = 0."
IDENTICAL = "Pythia-160M and Pythia-12B behave almost identically"
NO_SIZE = "size explains less than a tenth of the variance"


@claim(56, Line(IDENTICAL, "ratio", 1, 0.95, 1.05))
def twins_in_size(store: Store) -> Sequence[Check]:
    """Check claim 56: a model of 160 million and one of 12 billion parameters are alike."""
    gains = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    rows = evidence.with_interval(gains[gains["model_id"].isin([SMALL, LARGE])])
    margins = {_margin_label(margin): margin for margin in MARGINS}
    return [
        *(
            _alike(Label("penultimate", "gain of the penultimate block, ") + words, rows, margin)
            for words, margin in margins.items()
        ),
        _same_side(Label("same_side", "gain of the penultimate block, same side of 1"), rows),
        _mean_over_blocks(store),
        *_prompt_checks(store),
        *_measured_checks(store),
    ]


@claim(58, Line(NO_SIZE, "r", 0, -0.32, 0.32))
def nothing_to_do_with_size(store: Store) -> Sequence[Check]:
    """Check claim 58: whether a model dampens has almost nothing to do with its size."""
    base = evidence.base_gains(store, "gain_penultimate_block")
    models = evidence.without_post_norm(base)
    with_last = evidence.without_post_norm(evidence.penultimate_or_last(store))
    sided = models.assign(dampens=(models["gain_mean"] < 1).astype(float))
    return [
        _pooled_check(
            Label("sign", "side of 1 over all base models, penultimate block"), sided, "dampens"
        ),
        _pooled_check(
            Label("gain", "gain over all base models, penultimate block"), models, "log_gain"
        ),
        _pooled_check(
            Label("pythia", "gain in the Pythia family"),
            models[models["suite"] == "Pythia"],
            "log_gain",
        ),
        _suite_correlation(
            Label("within", "gain within suites, penultimate block, base models"), models
        ),
        _suite_correlation(
            Label("within_joined", "the same, penultimate or else last block"), with_last
        ),
        _suite_slope(
            Label("by_suite", "gain within suites, standardised slope with suites as units"), models
        ),
        evidence.descriptive(
            _depth_adjusted_check(
                Label("beyond_depth", "gain within suites, depth held constant"), models
            )
        ),
    ]


def suite_deviations(models: pd.DataFrame) -> pd.DataFrame:
    """Return models of suites with two sizes or more; logs of gain and size less suite means."""
    sized = models[models.groupby("suite")["log_parameters"].transform("nunique") > 1]
    columns = ["log_gain", "log_parameters"]
    return sized.assign(
        **{name: sized[name] - sized.groupby("suite")[name].transform("mean") for name in columns}
    )


def _margin_label(margin: float) -> Label:
    percent = round(100 * (margin - 1))
    return Label(f"within_{percent}", f"within {percent} %")


def _alike(condition: str, rows: pd.DataFrame, margin: float) -> Check:
    """Test equivalence of two mean gains as a ratio; both models answered the same prompts."""
    if len(rows) < 2:
        return evidence.missing(IDENTICAL, condition, "the two models are not in the store")
    small, large = evidence.only(rows, SMALL), evidence.only(rows, LARGE)
    shares = [
        (model["gain_sd"] / model["gain_mean"]) ** 2 / model["n_prompts"]
        for model in (small, large)
    ]
    variance = sum(shares)
    free = [model["n_prompts"] - 1 for model in (small, large)]
    estimate = pd.DataFrame(
        {
            "term": ["log ratio"],
            "estimate": [log(large["gain_mean"] / small["gain_mean"])],
            "std_error": [sqrt(variance)],
            "df": [variance**2 / sum(s**2 / n for s, n in zip(shares, free, strict=True))],
        }
    )
    method = "Welch, delta method on logarithms, prompts as independent"
    n_prompts = int(rows["n_prompts"].sum())
    return _equivalent(condition, rows, estimate, margin, method=method, n_obs=n_prompts)


def _equivalent(
    condition: str,
    rows: pd.DataFrame,
    estimate: pd.DataFrame,
    margin: float,
    *,
    method: str,
    n_obs: int,
) -> Check:
    """Decide a log ratio against a margin: inside, outside, or the interval holds both."""
    row = equivalence.estimates(estimate, low=-log(margin), high=log(margin), alpha=0.025).iloc[0]
    low, high = float(row["conf_low"]), float(row["conf_high"])
    inside = -log(margin) < low and high < log(margin)
    outside = high < -log(margin) or low > log(margin)
    return evidence.check(
        IDENTICAL,
        condition,
        inside if inside or outside else None,
        rows,
        estimate=float(np.exp(row["estimate"])),
        conf_low=float(np.exp(low)),
        conf_high=float(np.exp(high)),
        p_value=row["p_value"],
        n_obs=n_obs,
        method=f"ratio of gains, 12B over 160M; {method}; two one-sided tests",
        note=f"{'The whole interval lies outside the margin. ' if outside else ''}"
        "The test is one of equivalence: a small p would show that the two are alike.",
        measure="ratio",
    )


def _same_side(condition: str, rows: pd.DataFrame) -> Check:
    if len(rows) < 2:
        return evidence.missing(IDENTICAL, condition, "the two models are not in the store")
    below = rows["gain_mean"] < 1
    clear = (rows["conf_low"] > 1) | (rows["conf_high"] < 1)
    named = ", ".join(
        f"{str(row['model_id']).partition('/')[2]} {row['gain_mean']:.3f} "
        f"[{row['conf_low']:.3f}, {row['conf_high']:.3f}]"
        for row in rows.to_dict("records")
    )
    return evidence.check(
        IDENTICAL,
        condition,
        bool(below.all() or not below.any()) if clear.all() else None,
        rows,
        estimate=float(below.mean()),
        method="share of the two models below 1; t intervals over prompts must exclude 1",
        note=f"{named}.",
        measure="share",
    )


def _mean_over_blocks(store: Store) -> Check:
    """Show the ratio of the means over blocks, for which no spread was published."""
    condition = Label("body", "mean over blocks 1 to the penultimate")
    means = popular.mean_over_blocks(store)
    rows = means[means["model_id"].isin([SMALL, LARGE])]
    if len(rows) < 2:
        return evidence.missing(IDENTICAL, condition, "the two profiles are not in the store")
    small, large = (float(evidence.only(rows, name)["gain_mean"]) for name in (SMALL, LARGE))
    return evidence.check(
        IDENTICAL,
        condition,
        None,
        rows,
        estimate=large / small,
        method="ratio of gains, 12B over 160M",
        note=f"{small:.4f} and {large:.4f} per block. No spread over prompts was published, so "
        "equivalence cannot be shown.",
        measure="ratio",
    )


def _prompt_checks(store: Store) -> list[Check]:
    """Compare the two models prompt by prompt; nothing without the raw files."""
    values = evidence.raw_values(store, "gain_penultimate_block", [evidence.PYTHIA])
    rows = values[values["model_id"].isin([SMALL, LARGE])]
    if rows["model_id"].nunique() < 2:
        return []
    logs = np.log(rows.set_index(["model_id", "prompt_id"])["value"])
    differences = (logs[LARGE] - logs[SMALL]).dropna()
    estimate = pd.DataFrame(
        {
            "term": ["log ratio"],
            "estimate": [differences.mean()],
            "std_error": [differences.std() / sqrt(len(differences))],
            "df": [len(differences) - 1],
        }
    )
    condition = Label("raw", "raw files: prompt by prompt, ") + _margin_label(MARGINS[-1])
    method = "paired by prompt, logarithms"
    return [_equivalent(condition, rows, estimate, MARGINS[-1], method=method, n_obs=len(rows))]


def _measured_checks(store: Store) -> list[Check]:
    rows = evidence.measured_gains(store, "gain_penultimate_block")
    chosen = evidence.base_models(rows[rows["model_id"].isin([SMALL, LARGE])])
    if len(chosen) < 2:
        return []
    condition = Label("ours", "models measured here, ") + _margin_label(MARGINS[-1])
    read = evidence.definitions(chosen, ["gain_mean", "gain_sd"])
    return [
        evidence.on_ours(_alike(condition + words, pair, MARGINS[-1]), pair)
        for words, pair in read.items()
    ]


def _suite_correlation(condition: str, models: pd.DataFrame) -> Check:
    """Correlate size and gain, each suite with a level of its own."""
    rows = suite_deviations(models)
    n_suites = rows["suite"].nunique()
    # One more row than suites leaves no degree of freedom; Fisher's z needs two more.
    if len(rows) - n_suites < 3:
        return evidence.missing(NO_SIZE, condition, "too few models share a suite")
    row = readings.within_suites(rows, x="log_parameters", y="log_gain")
    falling = [
        suite
        for suite, group in rows.groupby("suite")
        if np.polyfit(group["log_parameters"], group["log_gain"], 1)[0] < 0
    ]
    note = f"Gain falls with size in {len(falling)} of {n_suites} suites."
    method = (
        "Pearson correlation within suites; t test; Fisher z interval, models of a suite as "
        "independent"
    )
    return _small(condition, rows, row, note, method=method)


def _depth_adjusted_check(condition: str, models: pd.DataFrame) -> Check:
    """Correlate size and gain within suites, depth held constant: what size says beyond depth."""
    rows = suite_deviations(models)
    if len(rows) - rows["suite"].nunique() < 4:
        return evidence.missing(NO_SIZE, condition, "too few models share a suite")
    logged = rows.assign(depth=np.log(rows["n_layers"].astype("float64")))
    if logged.groupby("suite")["depth"].nunique().max() == 1:
        return evidence.missing(NO_SIZE, condition, "depth does not vary within suites")
    row = readings.within_suites(logged, x="log_parameters", y="log_gain", covariates=["depth"])
    is_shown = row["conf_low"] > 0 or row["conf_high"] < 0
    note = "" if is_shown else "Beyond depth these data show nothing of size, and exclude little."
    method = (
        "partial correlation within suites, logarithm of depth held constant; Fisher z interval"
    )
    return _small(condition, rows, row, note, method=method, measure="partial r")


def _suite_slope(condition: str, models: pd.DataFrame) -> Check:
    """Put the slope within suites on the scale of r, with an interval that clusters by suite.

    The slope is one of standardised columns and equals r; its interval, made from standard errors
    by suite, is not one of a correlation and may reach beyond 1.
    """
    rows = suite_deviations(models)
    if rows["suite"].nunique() < 3:
        return evidence.missing(NO_SIZE, condition, "fewer than three suites have several sizes")
    fitted = regression.fit(rows, "log_gain ~ 0 + log_parameters", cluster="suite").tidy().iloc[0]
    scale = float(rows["log_parameters"].std() / rows["log_gain"].std())
    ends = {name: scale * fitted[name] for name in ("estimate", "conf_low", "conf_high")}
    result = pd.Series(ends | {"p_value": fitted["p_value"]})
    method = f"standardised slope, whose interval may reach beyond 1; {fitted['method']}"
    return _small(condition, rows, result, str(fitted["note"]), method=method, measure="slope")


def _pooled_check(condition: str, rows: pd.DataFrame, response: str) -> Check:
    if len(rows) < 4 or rows[response].nunique() < 2:
        return evidence.missing(NO_SIZE, condition, "fewer than four models, or all are alike")
    row = correlation.correlate(rows, x="log_parameters", y=response).iloc[0]
    return _small(condition, rows, row, "", method=f"{row['method']}, models as if independent")


def _small(
    condition: str,
    rows: pd.DataFrame,
    row: pd.Series[float],
    note: str,
    *,
    method: str,
    measure: str = "r",
) -> Check:
    """Decide a correlation against the margin: inside, outside, or the interval holds both."""
    low, high = float(row["conf_low"]), float(row["conf_high"])
    inside = low > -ALMOST_NOTHING and high < ALMOST_NOTHING
    outside = high < -ALMOST_NOTHING or low > ALMOST_NOTHING
    undecided = "" if inside or outside else f"The interval reaches from little to much. {TOO_FEW}"
    return evidence.check(
        NO_SIZE,
        condition,
        inside if inside or outside else None,
        rows,
        estimate=row["estimate"],
        conf_low=low,
        conf_high=high,
        p_value=row["p_value"],
        method=method,
        measure=measure,
        note=f"{note} {undecided}".strip(),
    )

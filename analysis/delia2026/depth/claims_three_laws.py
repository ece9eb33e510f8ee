"""Claims about two further laws: deviation and entropy (Bentov), and expansion against size."""

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
from analysis.inference.effects import multiplicity
from analysis.store import Store
from analysis.tidy import prose

LAW = "|G - 1| goes with the entropy of the output"
GROWS = Label("grows", "grows with it; ")
NO_CONSTANT = Label("constant", "in proportion, no constant term; ")
MEANS = Label("means", "means of the base models, last block")
ALPHA = 0.35
#: What counts as about 0.35: a fifth of it on either side.
ABOUT = (0.28, 0.42)
EXPONENT = "the exponent is about 0.35"
#: Raw files with gain and entropy of single prompts, those of base models.
BY_PROMPT = [
    "thermodynamic_benchmark_20260105_141034.json",
    "gpt2_layernorm_validation_20260105_150306.json",
    "gptj_parallel_test_20260105_152333.json",
]


@claim(60, Line(LAW, "r", 0), Line(LAW, "mean r", 0))
def bentov(store: Store) -> Sequence[Check]:
    """Check claim 60: |G - 1| is proportional to the entropy of the next token."""
    means = model_means(store)
    prompts = prompt_values(store)
    return [
        _grows_between(means),
        *_law_within(Label("raw", "raw files: prompts within each base model"), prompts),
        _proportional_between(means),
        *_measured_law(store),
    ]


def model_means(store: Store) -> pd.DataFrame:
    """Return one row per base model: |mean gain - 1| and mean entropy [nat] over its prompts."""
    gains = evidence.base_gains(store, "gain_last_block")
    entropies = evidence.figures(store, "output_entropy")[["model_id", "file", "mean"]]
    return gains.merge(entropies, on=["model_id", "file"]).assign(
        deviation=lambda rows: (rows["gain_mean"] - 1).abs(), entropy=lambda rows: rows["mean"]
    )


def prompt_values(store: Store) -> pd.DataFrame:
    """Return one row per base model and prompt: |gain - 1| and entropy [nat]; raw files only.

    `unit` is what varies independently: the suite.
    """
    gains = evidence.raw_values(store, "gain_last_block", BY_PROMPT)
    entropies = evidence.raw_values(store, "output_entropy", BY_PROMPT)
    joined = gains.merge(
        entropies[["model_id", "prompt_id", "file", "value"]],
        on=["model_id", "prompt_id", "file"],
        suffixes=("", "_entropy"),
    )
    return joined.assign(
        deviation=(joined["value"] - 1).abs(),
        entropy=joined["value_entropy"],
        unit=joined["suite"],
    )


@claim(61, Line(EXPONENT, "exponent", 0.35, 0.28, 0.42))
def exponents(store: Store) -> Sequence[Check]:
    """Check claim 61: expansion grows with size to the power 0.35."""
    models = expansions(store)
    readings = {
        Label("last", "feed-forward part of the last block, as the notebook fits it"): "last",
        Label("largest", "feed-forward part of the block where it is largest"): "largest",
    }
    return [
        *(_compatible(condition, models, column) for condition, column in readings.items()),
        *(_exponent_check(condition, models, column) for condition, column in readings.items()),
        *_file_checks(store),
    ]


def expansions(store: Store) -> pd.DataFrame:
    """Return one row per Pythia model: gain of the feed-forward part, last and largest [ratio].

    It is the length of what that part writes over that of its normalised input, no gain of the
    stream.
    """
    return store.query(
        """
        SELECT p.model_id, m.suite, m.n_parameters, p.file,
               string_agg(DISTINCT p.caveats, ',')                      AS caveats,
               log10(m.n_parameters)                                    AS log_parameters,
               max(log10(p.value)) FILTER (WHERE p.layer = m.n_layers - 1) AS last,
               max(log10(p.value))                                      AS largest
          FROM published_profile AS p
          JOIN raw.model AS m USING (model_id)
         WHERE p.metric = 'gain_sublayer_ffn'
           AND p.file = $file
         GROUP BY p.model_id, m.suite, m.n_parameters, p.file
        HAVING count(*) FILTER (WHERE p.layer = m.n_layers - 1) = 1
         ORDER BY p.model_id
        """,
        file=evidence.SCALING,
    )


def _grows_between(means: pd.DataFrame) -> Check:
    condition = GROWS + MEANS
    if len(means) < 4:
        return evidence.missing(LAW, condition, "fewer than four models have both means")
    row = correlation.correlate(means, x="entropy", y="deviation").iloc[0]
    decided = _positive(row["conf_low"], row["conf_high"])
    return evidence.check(
        LAW,
        condition,
        decided,
        means,
        **_estimate(row),
        note=_explain("The interval contains 0.", decided)
        + " Tokenisers differ, so entropies are not quite comparable.",
        measure="r",
    )


def _proportional_between(means: pd.DataFrame) -> Check:
    condition = NO_CONSTANT + MEANS
    if len(means) < 4:
        return evidence.missing(LAW, condition, "fewer than four models have both means")
    slope, constant = _line(means)
    return evidence.check(
        LAW,
        condition,
        _proportional(slope, constant),
        means,
        **_estimate(constant),
        note=f"The slope is {slope['estimate']:.3f} per nat "
        f"[{slope['conf_low']:.3f}, {slope['conf_high']:.3f}].",
        measure="exponent",
    )


def _law_within(condition: str, prompts: pd.DataFrame) -> list[Check]:
    """Judge the law over prompts of one model at a time; nothing without such rows."""
    if prompts["unit"].nunique() < 3:
        return []
    return [_grows_within(condition, prompts), _proportional_within(condition, prompts)]


def _grows_within(condition: str, prompts: pd.DataFrame) -> Check:
    """Average Fisher's z over the models of a unit, then over units."""
    r = {
        str(model_id): float(rows["entropy"].corr(rows["deviation"]))
        for model_id, rows in prompts.groupby("model_id")
    }
    models = prompts.drop_duplicates("model_id")
    transformed = models.assign(z=np.arctanh(models["model_id"].map(r)))
    z = transformed.groupby("unit")["z"].mean()
    result = evidence.mean_of(z, 0)
    named = ", ".join(f"{name.partition('/')[2]} {value:.2f}" for name, value in r.items())
    decided = _positive(result["conf_low"], result["conf_high"])
    return evidence.check(
        LAW,
        GROWS + condition,
        decided,
        prompts,
        estimate=float(np.tanh(result["estimate"])),
        conf_low=float(np.tanh(result["conf_low"])),
        conf_high=float(np.tanh(result["conf_high"])),
        p_value=result["p_value"],
        method=f"mean correlation over {len(z)} suites or models, Fisher z, t interval",
        note=f"{_explain('The interval contains 0.', decided)} By model: {named}.".strip(),
        measure="mean r",
    )


def _proportional_within(condition: str, prompts: pd.DataFrame) -> Check:
    """Fit a line in each model; a constant term that Holm's test finds contradicts the law."""
    lines = {str(model_id): _line(rows) for model_id, rows in prompts.groupby("model_id")}
    p_values = np.array([constant["p_value"] for _, constant in lines.values()])
    adjusted = multiplicity.adjusted_values(p_values)
    refuted = [model_id for model_id, p in zip(lines, adjusted, strict=True) if p < 0.05]
    rising = sum(slope["conf_low"] > 0 for slope, _ in lines.values())
    names = ", ".join(name.partition("/")[2] for name in refuted)
    return evidence.check(
        LAW,
        NO_CONSTANT + condition,
        False if refuted else True if rising == len(lines) else None,
        prompts,
        estimate=len(refuted) / len(lines),
        p_value=float(adjusted.min()),
        method="share of models whose line has a constant term, Holm over models; smallest p; "
        "prompts as independent",
        note=f"Constant term in {prose.share_of(len(refuted), len(lines))} models"
        f"{': ' + names if names else ''}; the slope is clear of 0 and positive in {rising}.",
        measure="share",
    )


def _measured_law(store: Store) -> list[Check]:
    """Judge the law on models measured here, the sample's among them."""
    prompts = evidence.measured_prompts(store, "gain_last_block")
    return [
        evidence.on_ours(item, rows)
        for words, rows in evidence.definitions(prompts, ["value"]).items()
        for item in _law_within(
            Label("ours", "models measured here: prompts within each") + words,
            rows.assign(unit=rows["model_id"], deviation=(rows["value"] - 1).abs()),
        )
    ]


def _line(rows: pd.DataFrame) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return the rows of slope and constant of deviation on entropy."""
    terms = regression.fit(rows, "deviation ~ entropy").tidy()
    constant, slope = (row for _, row in terms.iterrows())
    return slope, constant


def _proportional(slope: pd.Series[Any], constant: pd.Series[Any]) -> bool | None:
    """Tell whether a line is one through the origin that rises; None when it may be flat."""
    if not constant["conf_low"] <= 0 <= constant["conf_high"]:
        return False
    return True if slope["conf_low"] > 0 else None


def _positive(low: float, high: float) -> bool | None:
    return True if low > 0 else False if high < 0 else None


def _explain(why: str, decided: bool | None) -> str:
    return why if decided is None else ""


def _exponent_check(block: str, models: pd.DataFrame, column: str) -> Check:
    condition = Label("printed", "as a printed number; ") + block
    if len(models) < 3:
        return evidence.missing(EXPONENT, condition, "fewer than three models have the profile")
    row = _exponent(models, column)
    return evidence.check(
        EXPONENT,
        condition,
        evidence.prints_as(row["estimate"], f"{ALPHA:.2f}"),
        models,
        kind="value",
        **_estimate(row),
        note=f"It is {abs(row['estimate'] - ALPHA) / row['std_error']:.2f} standard errors from "
        "0.35; the notebook asks for less than one.",
        measure="exponent",
    )


def _compatible(block: str, models: pd.DataFrame, column: str) -> Check:
    condition = Label("estimate", f"as an estimate within {ABOUT[0]} to {ABOUT[1]}; ") + block
    if len(models) < 3:
        return evidence.missing(EXPONENT, condition, "fewer than three models have the profile")
    row = _exponent(models, column)
    decided = decision.within(row["conf_low"], row["conf_high"], *ABOUT)
    return evidence.check(
        EXPONENT,
        condition,
        decided,
        models,
        **_estimate(row),
        kind="equality",
        note="Models of one suite: depth, width and size grow together."
        + (" The interval reaches over the margin." if decided is None else ""),
        measure="exponent",
    )


def _exponent(models: pd.DataFrame, column: str) -> pd.Series[Any]:
    return _term(regression.fit(models, f"{column} ~ log_parameters").tidy(), "log_parameters")


def _term(terms: pd.DataFrame, name: str) -> pd.Series[Any]:
    return terms[terms["term"] == name].iloc[0]


def _file_checks(store: Store) -> list[Check]:
    """Compare the exponent that the raw file itself states; nothing without the raw files."""
    rows = store.query(
        """
        SELECT v.value, v.file, v.caveats, v.path, '' AS model_id, '' AS suite
          FROM raw_value AS v
         WHERE v.metric = 'scaling_exponent'
           AND v.path = '$.scaling_law.exponent_alpha'
        """
    )
    if rows.empty:
        return []
    value = float(rows["value"].iloc[0])
    return [
        evidence.check(
            EXPONENT,
            Label("stated", "raw files: the exponent as the file states it"),
            evidence.prints_as(value, f"{ALPHA:.2f}"),
            rows,
            estimate=value,
            kind="value",
            n_models=0,
            n_suites=0,
            method="number in the file",
        )
    ]


def _estimate(row: pd.Series[Any]) -> dict[str, Any]:
    return evidence.numbers(row) | {"method": f"{row['method']}, {evidence.INDEPENDENT}"}

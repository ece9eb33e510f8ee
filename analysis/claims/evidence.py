"""The published evidence that claims are judged on, as frames named for their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis import fisher
from analysis.claims.claim import Check, caveats_of
from analysis.store import Store

UNIFIED = "thermodynamic_benchmark_20260105_141034.json"
GPT2 = "gpt2_layernorm_validation_20260105_150306.json"
GPTJ = "gptj_parallel_test_20260105_152333.json"
TWINS = "twin_test_results_20260105_160237.json"
CLEAN = "clean_residual_NO_FINAL_LN_20260105_173546.json"
PYTHIA = "pythia_family_NO_FINAL_LN_20260105_174820.json"
HUNT = "high_rho_hunt_NO_FINAL_LN_20260105_184728.json"
TRACES = "H4_v2_validation_20260106_015547.json"
SCALING = "scaling_law_multi_pythia_results.json"

#: What a check on our own measurements names as its evidence.
OURS = "our measurements"
NOT_THEIRS = "These are not the paper's models: shown, not counted."
#: Ends the name of a method that takes models as independent, which those of a suite are not.
INDEPENDENT = "models as independent"


def published_gains(
    store: Store, metric: str | None = None, files: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return one row per published gain: model, definition and file, with the model's design.

    Columns are those of the view `gain_by_model`. ``metric`` and ``files`` narrow it.
    """
    return store.query(
        """
          FROM gain_by_model
         WHERE source = 'published'
           AND ($metric IS NULL OR metric = $metric)
           AND ($files IS NULL OR list_contains($files, file))
         ORDER BY model_id, metric, file, prompt_set
        """,
        metric=metric,
        files=list(files) if files is not None else None,
    )


def base_models(gains: pd.DataFrame) -> pd.DataFrame:
    """Return one row per base model: the figure over the most prompts; no fine-tuned models."""
    base = gains[gains["base_model_id"].isna()]
    ranked = base.sort_values(["model_id", "n_prompts", "file"], ascending=[True, False, True])
    return ranked.drop_duplicates("model_id").reset_index(drop=True)


def penultimate_or_last(store: Store) -> pd.DataFrame:
    """Return one row per base model: gain of the penultimate block, of the last if none else."""
    penultimate = base_models(published_gains(store, "gain_penultimate_block"))
    last = base_models(published_gains(store, "gain_last_block"))
    added = last[~last["model_id"].isin(penultimate["model_id"])]
    return pd.concat([penultimate, added], ignore_index=True)


def away_from_one(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose gain is farther from 1 than half precision rounds, 1 percent."""
    return gains[gains["sign_banded"] != "neutral"].reset_index(drop=True)


def with_interval(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the 95 % t interval of the mean gain over prompts [ratio].

    Adds `conf_low` and `conf_high`, missing where the standard deviation is.
    """
    reach = stats.t.ppf(0.975, gains["n_prompts"] - 1) * gains["gain_sd"]
    half = reach / np.sqrt(gains["n_prompts"])
    return gains.assign(conf_low=gains["gain_mean"] - half, conf_high=gains["gain_mean"] + half)


def without_post_norm(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models whose gain is not 1 by construction (caveat in definitions)."""
    return gains[gains["norm_position"] != "post"].reset_index(drop=True)


def measured_gains(store: Store, metric: str) -> pd.DataFrame:
    """Return one row per primary run of a model measured here: its gain, as `published_gains`.

    Adds `is_theirs`, which tells whether the paper has figures of the same checkpoint. Only such
    models decide a claim about the paper's models.
    """
    return store.query(
        """
        SELECT g.*, g.model_id IN (SELECT model_id FROM published_figure) AS is_theirs
          FROM gain_by_model AS g
          JOIN primary_run AS r
            ON r.run_id = g.file
         WHERE g.source = 'measured'
           AND g.metric = $metric
         ORDER BY g.model_id, g.prompt_set
        """,
        metric=metric,
    )


def block_gains(store: Store) -> pd.DataFrame:
    """Return one row per model and block after block 0: the published gain, last token [ratio].

    The last block is missing: the files keep it with the final norm in it. Of several files
    that hold a model the sweep over most prompts counts.
    """
    return store.query(
        """
        SELECT p.model_id, m.lab, m.suite, m.norm_position, p.layer, p.value, p.file, p.caveats
          FROM published_profile AS p
          JOIN model AS m USING (model_id)
         WHERE p.metric = 'gain_block'
           AND p.layer > 0
           AND p.file IN ($sweep, $hunt)
       QUALIFY dense_rank() OVER (PARTITION BY p.model_id ORDER BY p.file DESC) = 1
         ORDER BY p.model_id, p.layer
        """,
        sweep=PYTHIA,
        hunt=HUNT,
    )


def raw_values(store: Store, metric: str, files: Sequence[str]) -> pd.DataFrame:
    """Return one row per model, prompt and raw file: a single measurement of a metric.

    Empty unless the raw files have been imported (``python -m collect published``).
    """
    return store.query(
        """
        SELECT v.model_id, v.prompt_id, v.value, v.file, v.caveats,
               m.lab, m.suite, m.base_model_id
          FROM published_value AS v
          JOIN model AS m USING (model_id)
         WHERE v.metric = $metric
           AND v.statistic = 'value'
           AND v.prompt_id IS NOT NULL
           AND list_contains($files, v.file)
         ORDER BY v.model_id, v.prompt_id, v.file
        """,
        metric=metric,
        files=list(files),
    )


def figures(store: Store, metric: str, files: Sequence[str] | None = None) -> pd.DataFrame:
    """Return one row per published model-level figure of a metric, with lab and suite."""
    return store.query(
        """
        SELECT f.*, m.lab, m.suite, m.base_model_id, m.n_layers
          FROM published_figure AS f
          JOIN model AS m USING (model_id)
         WHERE f.metric = $metric
           AND ($files IS NULL OR list_contains($files, f.file))
         ORDER BY f.model_id, f.file, f.prompt_set
        """,
        metric=metric,
        files=list(files) if files is not None else None,
    )


def only(rows: pd.DataFrame, model_id: str) -> pd.Series[Any]:
    """Return the single row of one model.

    Raises
    ------
    LookupError
        If the model has no row: the evidence is not in the store.
    """
    matching = rows[rows["model_id"] == model_id]
    if matching.empty:
        raise LookupError(f"no published figure of {model_id}")
    return matching.iloc[0]


def check(
    part: str, condition: str, holds: bool | None, rows: pd.DataFrame, **result: Any
) -> Check:
    """Return a check whose counts, files and caveats are read off the rows it used.

    ``rows`` has one row per figure, with `model_id`, `suite`, `file` and `caveats`.
    """
    caveats = [name for joined in rows["caveats"] for name in str(joined).split(",") if name]
    counted: dict[str, Any] = {
        "n_obs": len(rows),
        "n_models": rows["model_id"].nunique(),
        "n_suites": rows["suite"].nunique(),
        "evidence": tuple(sorted({name for file in rows["file"] for name in file.split(" ")})),
        "caveats": caveats_of(caveats),
    }
    return Check(part, condition, holds, **(counted | result))


def both_sides(pairs: pd.DataFrame, other: str) -> dict[str, Any]:
    """Return how many distinct models and suites the two sides of pairs have.

    The columns of the second model of a pair end in ``other``; where only its `model_id` is there,
    both are of one suite.
    """
    second = pairs[f"suite{other}"] if f"suite{other}" in pairs else pairs["suite"]
    return {
        "n_models": len({*pairs["model_id"], *pairs[f"model_id{other}"]}),
        "n_suites": len({*pairs["suite"], *second}),
    }


def share_check(
    part: str,
    condition: str,
    hits: int,
    rows: pd.DataFrame,
    *,
    holds: bool | None,
    method: str,
    units: str = "models",
    is_sample: bool = True,
    note: str = "",
    **result: Any,
) -> Check:
    """Return a check that rests on a share of the rows: ``hits`` of them, with exact interval.

    ``units`` says what the rows are, which the interval takes as independent. There is no interval
    unless ``is_sample``: whether a printed value comes again is a fact about each row, and no
    sample of anything.
    """
    share = fisher.proportion(hits, len(rows)).iloc[0]
    interval = {name: share[name] for name in ("conf_low", "conf_high")} if is_sample else {}
    how = f", Clopper-Pearson interval as if {units} were independent" if is_sample else ""
    return check(
        part,
        condition,
        holds,
        rows,
        estimate=share["estimate"],
        **interval,
        method=f"{method}{how}",
        note=note,
        **result,
    )


def mean_of(values: pd.Series[float], null: float) -> dict[str, float]:
    """Return mean, 95 % t interval and p of the test against ``null``.

    Interval and p are NaN for a single value, and p for values without spread.
    """
    n, mean = len(values), float(values.mean())
    std_error = float(values.std()) / n**0.5
    reach = float(stats.t.ppf(0.975, n - 1)) * std_error if n > 1 else float("nan")
    statistic = abs(mean - null) / std_error if std_error > 0 else float("nan")
    return {
        "estimate": mean,
        "conf_low": mean - reach,
        "conf_high": mean + reach,
        "p_value": float(2 * stats.t.sf(statistic, n - 1)),
    }


def on_ours(found: Check, rows: pd.DataFrame) -> Check:
    """Return a check on models measured here; it decides only if all are the paper's too.

    ``rows`` come from `measured_gains` and tell it by `is_theirs`.
    """
    is_theirs = bool(rows["is_theirs"].all())
    return replace(
        found,
        holds=found.holds if is_theirs else None,
        note=found.note if is_theirs else f"{found.note} {NOT_THEIRS}".strip(),
        evidence=(OURS,),
    )


def missing(part: str, condition: str, reason: object) -> Check:
    """Return a check that could not be made, and why."""
    return Check(part, condition, None, note=f"Not computable: {reason}.")


def rounds_to(value: float, quoted: str) -> bool:
    """Tell whether a value prints as quoted when rounded to as many decimals.

    >>> rounds_to(-0.8116, "-0.81"), rounds_to(26.48, "26"), rounds_to(26.6, "26")
    (True, True, False)
    """
    decimals = len(quoted.partition(".")[2])
    return f"{value:.{decimals}f}" == quoted

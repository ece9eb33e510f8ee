"""The published evidence that claims are judged on, as frames named for their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.store import Store, shared

UNIFIED = "thermodynamic_benchmark_20260105_141034.json"
GPT2 = "gpt2_layernorm_validation_20260105_150306.json"
GPTJ = "gptj_parallel_test_20260105_152333.json"
TWINS = "twin_test_results_20260105_160237.json"
CLEAN = "clean_residual_NO_FINAL_LN_20260105_173546.json"
PYTHIA = "pythia_family_NO_FINAL_LN_20260105_174820.json"
HUNT = "high_rho_hunt_NO_FINAL_LN_20260105_184728.json"
TRACES = "H4_v2_validation_20260106_015547.json"
SCALING = "scaling_law_multi_pythia_results.json"


def published_gains(
    store: Store, metric: str | None = None, files: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return one row per published gain: model, definition and file, with the model's design.

    Columns are those of the view `gain_by_model`, which ``thermoscope columns gain_by_model``
    explains. ``metric`` and ``files`` narrow it.
    """
    every = store.facts(
        """
          FROM gain_by_model
         WHERE source = 'published'
         ORDER BY model_id, metric, file, prompt_set
        """
    )
    chosen = every if metric is None else every[every["metric"] == metric]
    chosen = chosen if files is None else chosen[chosen["file"].isin(list(files))]
    return chosen.reset_index(drop=True)


def base_models(gains: pd.DataFrame) -> pd.DataFrame:
    """Return one row per base model: the figure over the most prompts; no fine-tuned models."""
    base = gains[gains["base_model_id"].isna()]
    ranked = base.sort_values(["model_id", "n_prompts", "file"], ascending=[True, False, True])
    return ranked.drop_duplicates("model_id").reset_index(drop=True)


@shared
def base_gains(store: Store, metric: str, file: str | None = None) -> pd.DataFrame:
    """Return one row per base model with a published gain of one definition; see `base_models`.

    ``file`` names the only file that counts.
    """
    return base_models(published_gains(store, metric, file and [file]))


@shared
def penultimate_or_last(store: Store) -> pd.DataFrame:
    """Return one row per base model: gain of the penultimate block, of the last if none else."""
    penultimate = base_gains(store, "gain_penultimate_block")
    last = base_gains(store, "gain_last_block")
    added = last[~last["model_id"].isin(penultimate["model_id"])]
    return pd.concat([penultimate, added], ignore_index=True)


def away_from_one(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose gain is farther from 1 than half precision rounds, 1 percent."""
    return gains[gains["sign_banded"] != "neutral"].reset_index(drop=True)


def with_interval(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the 95 % t interval of the mean gain over prompts [ratio].

    Adds `conf_low` and `conf_high`, missing where the standard deviation is.
    """
    reach = scipy.special.stdtrit(gains["n_prompts"] - 1, 0.975) * gains["gain_sd"]
    half = reach / np.sqrt(gains["n_prompts"])
    return gains.assign(conf_low=gains["gain_mean"] - half, conf_high=gains["gain_mean"] + half)


def without_post_norm(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models whose gain is not 1 by construction (caveat in definitions)."""
    return gains[gains["norm_position"] != "post"].reset_index(drop=True)


def block_gains(store: Store) -> pd.DataFrame:
    """Return one row per model and block after block 0: the published gain, last token [ratio].

    The last block is missing: the files keep it with the final norm in it. Of several files
    that hold a model the sweep over most prompts counts.
    """
    return store.facts(
        """
        SELECT p.model_id, m.lab, m.suite, m.norm_position, p.layer, p.value, p.file, p.caveats
          FROM published_profile AS p
          JOIN raw.model AS m USING (model_id)
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

    Empty unless the raw files have been imported (``thermoscope collect published``).
    """
    return store.facts(
        """
        SELECT v.model_id, v.prompt_id, v.value, v.file, v.caveats,
               m.lab, m.suite, m.base_model_id
          FROM raw_value AS v
          JOIN raw.model AS m USING (model_id)
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
    """Return one row per published model-level figure of a metric, with its model's design.

    Beside the columns of ``published_figure``: `lab`, `suite`, `base_model_id`, `n_layers`,
    `n_parameters`, `log_parameters` (base 10) and `rho` (head density, heads over their width).
    """
    return store.facts(
        """
        SELECT f.*, m.lab, m.suite, m.base_model_id, m.n_layers, m.n_parameters,
               log10(m.n_parameters) AS log_parameters,
               head_density(m.n_heads, m.d_head) AS rho
          FROM published_figure AS f
          JOIN raw.model AS m USING (model_id)
         WHERE f.metric = $metric
           AND ($files IS NULL OR list_contains($files, f.file))
         ORDER BY f.model_id, f.file, f.prompt_set
        """,
        metric=metric,
        files=list(files) if files is not None else None,
    )


def units(store: Store) -> pd.DataFrame:
    """Return one row per unit of ``unit.csv``: its columns, and those that a check reads.

    Where the file has ``observation_id`` a unit has a row for each of its observations; a check
    counts it once, and its rows in `n_obs`. A test that takes rows as independent needs one row a
    unit. A check counts `model_id`, which is `unit_id` here, and `suite`, which is `group_id`.
    """
    rows = store.facts("FROM unit ORDER BY ALL")
    groups = rows["group_id"] if "group_id" in rows else pd.Series(None, rows.index, dtype="str")
    return rows.assign(model_id=rows["unit_id"], suite=groups, file="unit.csv", caveats="")


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

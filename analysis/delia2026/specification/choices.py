"""The choices between published figures and one estimate of the heritage claim.

Every choice is a set of defensible levels; a specification takes one level of each. Token
position and the final norm are part of the definition of gain, because the figures come no
finer: `last block, all tokens` and `last block with final norm`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.audit.evidence import HUNT
from analysis.store import Store
from analysis.tidy.defaults import BAND

#: Level of `gain` to the metrics it may come from; of two, the first that a model has counts.
GAINS: Mapping[str, tuple[str, ...]] = {
    "penultimate block": ("gain_penultimate_block",),
    "penultimate, else last": ("gain_penultimate_block", "gain_last_block"),
    "last block": ("gain_last_block",),
    "last block with final norm": ("gain_with_final_norm",),
    "last block, all tokens": ("gain_whole_matrix",),
    "mean of blocks": ("gain_body",),
    "mean before last block": ("gain_inner",),
    "largest block": ("gain_maximum",),
}
FIGURES = ("most prompts", "most precise format", "mean of all", "float16 alone")
MODELS = ("base", "base and instruct", "the hunt")
LEFT_OUT = ("none", "post-norm", "within 1 % of 1")
SIZE = "size of log gain"
OUTCOMES = ("mean below 1", "mean below 0.99", "interval below 1", SIZE)
UNITS = ("model", "suite", "lab")
GROUPS = (
    "EleutherAI / other labs",
    "Pythia / other suites",
    "EleutherAI / Meta, OpenAI",
)
ESTIMATORS = ("difference", "log odds ratio", "adjusted difference")

#: What the adjusted difference holds constant: density of heads, depth, size.
COVARIATES = ("rho", "n_layers", "log_parameters")

#: Number formats from the finest grid to the coarsest.
PRECISION = ("fp64", "float64", "fp32", "float32", "fp16", "float16", "bf16", "bfloat16")
HALF = ("fp16", "float16")

#: Each choice with its levels.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "gain": tuple(GAINS),
    "figure": FIGURES,
    "models": MODELS,
    "left_out": LEFT_OUT,
    "outcome": OUTCOMES,
    "unit": UNITS,
    "groups": GROUPS,
    "estimator": ESTIMATORS,
}


def figures(store: Store) -> pd.DataFrame:
    """Return one row per model, definition of gain and file, with the model's design.

    Returns
    -------
    One row per model, metric and file: `lab`, `suite`, `is_base`, `norm_position`, `dtype`,
    `file`, `log_gain` [nat], its standard error over prompts `log_error` [nat] and `n_prompts`,
    and the covariates.
    """
    gains = pd.concat([store.query(_GAINS), store.query(_INNER)], ignore_index=True)
    error = gains["gain_sd"] / (gains["gain_mean"] * np.sqrt(gains["n_prompts"]))
    return gains.assign(log_error=error.where(gains["n_prompts"] > 1)).sort_values(
        ["model_id", "metric", "file", "prompt_set"], ignore_index=True
    )


def select(figures: pd.DataFrame, gain: str, figure: str, models: str) -> pd.DataFrame:
    """Return one row per model that a definition of gain, a rule and a set of models leave.

    Parameters
    ----------
    figures
        As `figures` returns them.
    gain, figure, models
        One level each.

    Returns
    -------
    One row per model, sorted by `model_id`: the columns of `figures` and `log_low`,
    `log_high`, the 95 % t interval of the log gain over prompts [nat].
    """
    metrics = GAINS[gain]
    rank = figures["metric"].map({metric: place for place, metric in enumerate(metrics)})
    admitted = figures["is_base"] if models != "base and instruct" else figures["is_base"].notna()
    if models == "the hunt":
        admitted = admitted & (figures["file"] == HUNT)
    if figure == "float16 alone":
        admitted = admitted & figures["dtype"].isin(HALF)
    meant = figures.assign(rank=rank)[rank.notna() & admitted]
    meant = meant[meant["rank"] == meant.groupby("model_id")["rank"].transform("min")]
    if figure == "mean of all":
        chosen = _mean_of_all(meant)
    else:
        format_rank = meant["dtype"].map({name: place for place, name in enumerate(PRECISION)})
        order = ["format_rank", "fewer"] if figure == "most precise format" else ["fewer"]
        ranked = meant.assign(format_rank=format_rank, fewer=-meant["n_prompts"])
        chosen = ranked.sort_values(["model_id", *order, "file"]).drop_duplicates("model_id")
    return _add_interval(chosen.sort_values("model_id", ignore_index=True))


def leave_out(models: pd.DataFrame, left_out: str) -> pd.DataFrame:
    """Return the rows of `select` without those that a level of `left_out` names."""
    if left_out == "post-norm":
        return models[models["norm_position"] != "post"]
    if left_out == "within 1 % of 1":
        return models[models["log_gain"].abs() >= BAND]
    return models


def outcome(models: pd.DataFrame, name: str) -> pd.Series[float]:
    """Return the outcome of each model, larger for more dampening; missing where undecided.

    The sign is 1 or 0; the size is minus the log gain [nat].
    """
    log_gain = models["log_gain"]
    if name == "mean below 1":
        return (log_gain < 0).astype(float)
    if name == "mean below 0.99":
        return (log_gain < -BAND).astype(float)
    if name == "interval below 1":
        decided = (models["log_high"] < 0) | (models["log_low"] > 0)
        return (models["log_high"] < 0).astype(float).where(decided)
    return -log_gain


def group(labs: pd.Series[str], suites: pd.Series[str], name: str) -> pd.Series[float]:
    """Return 1 for the group said to dampen, 0 for the one it is compared with, else missing."""
    if name == "Pythia / other suites":
        return (suites == "Pythia").astype(float)
    ours = (labs == "EleutherAI").astype(float)
    if name == "EleutherAI / Meta, OpenAI":
        return ours.where(labs.isin(["EleutherAI", "Meta", "OpenAI"]))
    return ours


def _mean_of_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model: the mean of its log gains over files, and what follows."""
    weighted = rows.assign(
        variance=rows["log_error"] ** 2,
    )
    summed: dict[str, Any] = {
        "log_gain": ("log_gain", "mean"),
        "n_prompts": ("n_prompts", "sum"),
        "variance": ("variance", lambda values: values.sum(skipna=False)),
        "n_figures": ("log_gain", "size"),
    }
    one = weighted.groupby("model_id", as_index=False).agg(**summed)
    one = one.assign(log_error=np.sqrt(one["variance"]) / one["n_figures"])
    same = ["model_id", "lab", "suite", "is_base", "norm_position", *COVARIATES]
    merged: pd.DataFrame = one.merge(rows[same].drop_duplicates("model_id"), on="model_id")
    return merged


def _add_interval(models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the t interval of the log gain, by the delta method."""
    df = (models["n_prompts"] - 1).clip(lower=1).to_numpy(dtype=np.float64)
    reach = scipy.stats.t.ppf(0.975, df) * models["log_error"]
    return models.assign(log_low=models["log_gain"] - reach, log_high=models["log_gain"] + reach)


_DESIGN = """
       lab, suite, base_model_id IS NULL AS is_base, norm_position, rho, n_layers, log_parameters
"""

_GAINS = f"""
SELECT model_id, metric, prompt_set, dtype, file, log_gain, gain_mean, gain_sd, n_prompts, {_DESIGN}
  FROM gain_by_model
 WHERE source = 'published'
   AND rendering = 'plain'
   AND is_conforming IS NOT FALSE
   AND lab IS NOT NULL
   AND suite IS NOT NULL
"""

#: Blocks 1 to L-2: the profiles of the files lack the last block.
_INNER = """
SELECT model_id, 'gain_inner' AS metric, p.prompt_set, p.dtype, p.file,
       avg(ln(p.value)) AS log_gain, exp(avg(ln(p.value))) AS gain_mean,
       CAST(NULL AS DOUBLE) AS gain_sd, any_value(f.n) AS n_prompts,
       any_value(m.lab) AS lab, any_value(m.suite) AS suite,
       any_value(m.base_model_id) IS NULL AS is_base,
       any_value(m.norm_position) AS norm_position,
       any_value(head_density(m.n_heads, m.d_head)) AS rho,
       any_value(m.n_layers) AS n_layers,
       any_value(log10(m.n_parameters)) AS log_parameters
  FROM published_profile AS p
  JOIN raw.model AS m USING (model_id)
  JOIN published_figure AS f USING (model_id, file)
 WHERE p.metric = 'gain_block'
   AND f.metric = 'gain_penultimate_block'
   AND p.layer > 0
 GROUP BY ALL
"""

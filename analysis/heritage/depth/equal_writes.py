"""Equal writes: the law of depth without a parameter, and what it fails to say.

Block 0 sets the scale and every later block adds an update as long, at right angles to what is
there: |x_l|^2 = (l + 1) w^2. The log gains of blocks 1 to k then sum to 1/2 ln(k + 1). Totals
are compared first: means over blocks share a factor 1/k with the law, whatever the data.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.frame import Floats

#: What is compared: the sum over blocks, its mean, each block.
TOTAL, MEAN, BLOCK = "total over blocks", "mean over blocks", "each block"

#: Laws, by name.
EQUAL, CONSTANT_TOTAL, CONSTANT_RATE, SUITE = (
    "equal writes",
    "constant total",
    "constant rate",
    "suite",
)

#: The published model that carries much of the law's success, being by far the shallowest.
SHALLOWEST = "EleutherAI/pythia-70m"


def published_blocks(store: Store) -> pd.DataFrame:
    """Return the published gain of every block after block 0 of each base model.

    Post-norm models are left out; a model with several profiles has that of the file its
    penultimate gain is taken from.

    Returns
    -------
    One row per model and block: `model_id`, `lab`, `suite`, `n_layers` [blocks], `layer`, `gain`
    [ratio], `log_gain` [nat], `equal_writes` [nat]: 1/2 ln((l + 1) / l).
    """
    models = evidence.base_gains(store, "gain_penultimate_block")
    return _blocks(store, evidence.without_post_norm(models))


def _blocks(store: Store, models: pd.DataFrame) -> pd.DataFrame:
    blocks = store.query(
        """
        SELECT model_id, file, layer, value AS gain
          FROM published_profile
         WHERE metric = 'gain_block'
           AND layer > 0
         ORDER BY model_id, layer
        """
    )
    selection = models[["model_id", "lab", "suite", "n_layers", "file"]]
    rows = blocks.merge(selection, on=["model_id", "file"]).drop(columns="file")
    layers = rows["layer"].to_numpy(dtype=np.float64)
    return rows.assign(
        log_gain=np.log(rows["gain"]), equal_writes=np.log((layers + 1) / layers) / 2
    )


def totals(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model: growth over its published blocks, and that of equal writes.

    Returns
    -------
    `model_id`, `lab`, `suite`, `n_layers`, `n_blocks` (k), `later_log_gain` [nat],
    `equal_writes` [nat] and `excess` [nat].
    """
    keys = ["model_id", "lab", "suite", "n_layers"]
    rows = blocks.groupby(keys, as_index=False, sort=True).agg(
        n_blocks=("layer", "size"),
        later_log_gain=("log_gain", "sum"),
        equal_writes=("equal_writes", "sum"),
    )
    return rows.assign(excess=rows["later_log_gain"] - rows["equal_writes"])


def laws(models: pd.DataFrame) -> pd.DataFrame:
    """Return how well each law says the totals, and the means, of all models and without one.

    R squared is 1 - SSE / SST with SST about the mean of the models; nothing is fitted by equal
    writes, one number by each constant, a number per suite by ``suite``.

    Parameters
    ----------
    models
        As `totals` returns them.

    Returns
    -------
    One row per quantity, law and selection: `term` (total or mean over blocks), `law`,
    `left_out`, `r_squared`, `rmse` [nat], `n_coefficients`, `n_obs`, `note`.
    """
    rows = []
    for term in (TOTAL, MEAN):
        for left, remaining in (
            ("none", models),
            (SHALLOWEST, models[models["model_id"] != SHALLOWEST]),
        ):
            divisor = 1.0 if term == TOTAL else remaining["n_blocks"].to_numpy(dtype=np.float64)
            observed = remaining["later_log_gain"].to_numpy(dtype=np.float64) / divisor
            for law, (predicted, n_coefficients) in _said(remaining, observed, divisor).items():
                rows.append(
                    {"term": term, "law": law, "left_out": left, "n_coefficients": n_coefficients}
                    | _score(observed, predicted)
                )
    result = pd.DataFrame(rows).assign(
        method="Sums of squares about the law over those about the mean",
        note=["Descriptive: law and data share 1/k." if r["term"] == MEAN else "" for r in rows],
    )
    glossary.checked(result.columns)
    return result


def _said(
    models: pd.DataFrame, observed: Floats, divisor: Floats | float
) -> dict[str, tuple[Floats, int]]:
    """Return what each law says of every model, and how many numbers it fits."""
    blocks = models["n_blocks"].to_numpy(dtype=np.float64)
    per_total = 1 / (np.ones(len(models)) * divisor)
    per_block = blocks / divisor
    by_suite = pd.Series(observed, models.index).groupby(models["suite"]).transform("mean")
    return {
        EQUAL: (models["equal_writes"].to_numpy(dtype=np.float64) / divisor, 0),
        CONSTANT_TOTAL: (per_total * float(per_total @ observed / (per_total @ per_total)), 1),
        CONSTANT_RATE: (per_block * float(per_block @ observed / (per_block @ per_block)), 1),
        SUITE: (by_suite.to_numpy(dtype=np.float64), models["suite"].nunique()),
    }


def _score(observed: Floats, entries: Floats) -> dict[str, float]:
    errors = observed - entries
    about = observed - observed.mean()
    return {
        "r_squared": 1 - float(errors @ errors / (about @ about)),
        "rmse": float(np.sqrt(errors @ errors / len(errors))),
        "n_obs": len(observed),
    }


def by_block(blocks: pd.DataFrame) -> float:
    """Return the correlation of the gains of single blocks with what equal writes say of them."""
    return float(np.corrcoef(blocks["log_gain"], blocks["equal_writes"])[0, 1])


def by_quarter(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return the mean excess of a block's log gain in each quarter of depth.

    Returns
    -------
    One row per quarter of l / (L - 1): `level` (first to last), `estimate` [nat], `n_obs`,
    `n_models`.
    """
    place = blocks["layer"] / (blocks["n_layers"] - 1)
    quarter = np.minimum((place * 4).astype(int), 3)
    names = np.array(["first", "second", "third", "last"])
    grouped = blocks.assign(
        level=names[quarter], excess=blocks["log_gain"] - blocks["equal_writes"], order=quarter
    ).groupby(["order", "level"], as_index=False)
    result = grouped.agg(
        estimate=("excess", "mean"), n_obs=("excess", "size"), n_models=("model_id", "nunique")
    ).drop(columns="order")
    result = result.assign(method="Mean over blocks of log gain less that of equal writes", note="")
    glossary.checked(result.columns)
    return result


def far_above(store: Store) -> pd.DataFrame:
    """Return base models with a published total over all blocks, their excess descending.

    Returns
    -------
    One row per model (mean over files): `model_id`, `n_layers`, `later_log_gain` [nat],
    `equal_writes` [nat], `excess` [nat].
    """
    return store.query(
        """
        SELECT g.model_id, g.n_layers,
               avg(g.later_log_gain) AS later_log_gain,
               avg(g.equal_writes)   AS equal_writes,
               avg(g.excess_simple)  AS excess
          FROM published_growth AS g
          JOIN model AS m USING (model_id)
         WHERE g.n_blocks = g.n_layers - 1
           AND m.base_model_id IS NULL
         GROUP BY g.model_id, g.n_layers
         ORDER BY excess DESC
        """
    )


def shrinking_blocks(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return how many published inner blocks shrink the stream, by suite.

    Returns
    -------
    One row per suite: `level` (the suite), `n_hits` (blocks with a gain below 1), `n_obs` (blocks
    1 to L - 2), `n_models`, `share`, `note`. Blocks of one model are no independent draws, so
    there is no interval.
    """
    grouped = blocks.assign(below=blocks["gain"] < 1).groupby("suite", as_index=False)
    result = grouped.agg(
        n_hits=("below", "sum"), n_obs=("below", "size"), n_models=("model_id", "nunique")
    ).rename(columns={"suite": "level"})
    result = result.assign(
        share=result["n_hits"] / result["n_obs"], method="Count of published blocks", note=""
    ).sort_values("share", ascending=False, ignore_index=True)
    glossary.checked(result.columns)
    return result


def measured_writes(store: Store) -> pd.DataFrame:
    """Return the size and direction of the write of every measured block; see `block_write`.

    Returns
    -------
    One row per model of the primary runs and block: `model_id`, `family`, `suite`, `n_layers`,
    `layer`, `ratio` [ratio], `cosine` [1], `share_shrinking` [share of tokens], `n_tokens`.
    """
    return store.query(
        """
        SELECT w.model_id, m.family, m.suite, m.n_layers, w.layer,
               w.ratio, w.cosine, w.share_shrinking, w.n_tokens
          FROM block_write AS w
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = w.model_id
         WHERE w.part = 'block'
         ORDER BY m.family, w.model_id, w.layer
        """
    )

"""Every real model of which a gain is known, by lab: published, measured here, and by others.

And how far one prompt moves a gain: the spread over prompts of the models that have several.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.public.tokens import MAIN_SET
from analysis.delia2026.public.words import name
from analysis.delia2026.reported import models
from analysis.store import Store
from analysis.tidy import prose

#: Gains of which the spread over prompts is told.
SPREAD_OF = ("gain_body", "gain_penultimate_block", "gain_last_block")

#: How far two standard deviations reach on both sides of a mean: 95 % of prompts.
REACH = 1.96


def every_model(store: Store) -> pd.DataFrame:
    """Return one row per source and model with a gain of the blocks after the first.

    Of published models the figure over most prompts counts, of those measured here the main prompt
    set. Networks that were trained here are left out. Where a source lacks the last block, the
    gain is that of the blocks before it (`is_without_last`).

    Parameters
    ----------
    store
        The paper's figures, measurements of public models, and the tables of ``collect reported``.

    Returns
    -------
    `source`, `file`, `model_id`, `model` (its short name), `lab`, `suite`, `n_layers`, `bound`,
    `pooling`, `n_prompts`, `gain` [ratio], `is_without_last`; and of a single prompt `conf_low` and
    `conf_high`, where 95 % of other prompts would put it (`prompt_band`); labs by name.
    """
    rows = store.query(
        """
        SELECT source, file, g.model_id, lab, suite, n_layers, bound, pooling, n_prompts,
               gain_mean AS gain, metric = 'gain_inner' AS is_without_last
          FROM gain_by_model AS g
         WHERE metric IN ('gain_body', 'gain_inner')
           AND lab <> 'thermoscope'
           AND norm_position IS DISTINCT FROM 'post'
           AND (source <> 'measured'
                OR prompt_set = $main AND run_id IN (SELECT run_id FROM primary_run))
       QUALIFY row_number() OVER (
                   PARTITION BY source, g.model_id, IF(source = 'reported', file, '')
                       ORDER BY metric, n_prompts DESC, file) = 1
         ORDER BY lab, suite, n_layers, g.model_id, source, file
        """,
        main=MAIN_SET,
    )
    band = prompt_band(prompt_spread(store))
    body = band.loc[band["metric"] == "gain_body", "estimate"].sum()
    single = rows["n_prompts"].eq(1).fillna(False).map({True: body, False: np.nan})
    return rows.assign(
        model=prose.short_name(rows["model_id"]).where(
            rows["source"] != "measured", rows["model_id"].map(name)
        ),
        conf_low=rows["gain"] * np.exp(-REACH * single),
        conf_high=rows["gain"] * np.exp(REACH * single),
    )


def prompt_spread(store: Store) -> pd.DataFrame:
    """Return how log gains vary over the prompts of each real model that has several.

    Returns
    -------
    One row per source, model and metric of `SPREAD_OF`: `source`, `model_id`, `metric`,
    `n_prompts` and `estimate`, the standard deviation of the log gain over prompts [nat]; to first
    order where the source has it of the gain.
    """
    return store.query(
        """
        SELECT 'measured' AS source, g.model_id, g.metric, g.n_prompts,
               g.log_gain_sd AS estimate
          FROM raw.model_gain AS g
          JOIN primary_run AS p USING (run_id)
          JOIN raw.model AS m ON m.model_id = g.model_id
         WHERE list_contains($metrics, g.metric) AND g.prompt_set = $main AND m.lab <> 'thermoscope'
         UNION ALL
        SELECT source, model_id, metric, max(n_prompts), avg(gain_sd / gain_mean)
          FROM gain_by_model
         WHERE list_contains($metrics, metric) AND source <> 'measured'
           AND pooling = $pooling AND n_prompts > 5 AND gain_sd IS NOT NULL
           AND norm_position IS DISTINCT FROM 'post'
         GROUP BY source, model_id, metric
         ORDER BY ALL
        """,
        metrics=list(SPREAD_OF),
        main=MAIN_SET,
        pooling=models.AS_PUBLISHED,
    )


def prompt_band(spread: pd.DataFrame) -> pd.DataFrame:
    """Return how far one prompt moves a gain: the root mean square over models, by metric.

    Returns
    -------
    `metric`, `estimate` [nat], `n_models`.
    """
    squares = spread.assign(square=spread["estimate"] ** 2).groupby("metric", sort=False)
    table = squares.agg(estimate=("square", "mean"), n_models=("model_id", "nunique"))
    return table.assign(estimate=np.sqrt(table["estimate"])).reset_index()

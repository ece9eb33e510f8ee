"""The models measured here: their design, their gains, and the frames behind their table."""

from __future__ import annotations

import pandas as pd

from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column


def models(store: Store) -> pd.DataFrame:
    """Return one row per model measured here: design and gains under three definitions."""
    return store.query(
        """
        WITH gains AS (
            PIVOT (SELECT g.model_id, g.metric, g.gain_mean
                     FROM gain_by_model AS g
                     JOIN primary_run AS r
                       ON r.run_id = g.run_id)
               ON metric IN ('gain_body', 'gain_last_block', 'gain_penultimate_block')
            USING avg(gain_mean)
            GROUP BY model_id
        )
        SELECT m.model_id, m.family, m.suite, m.n_layers, m.n_parameters,
               g.gain_body, g.gain_penultimate_block, g.gain_last_block
          FROM gains AS g
          JOIN raw.model AS m USING (model_id)
         ORDER BY m.family, m.suite, m.n_layers
        """
    )


def telescoping_error(store: Store) -> float:
    """Return the largest difference between summed log gains and the log of the total [nat]."""
    return float(
        store.query(
            """
            WITH summed AS (
                SELECT run_id, prompt_id, position, sum(log_gain) AS total
                  FROM block_gain
                 GROUP BY run_id, prompt_id, position
            ), ends AS (
                SELECT run_id, prompt_id, position,
                       ln(arg_max(norm, layer)) - ln(arg_min(norm, layer)) AS total
                  FROM raw.stream
                 GROUP BY run_id, prompt_id, position
            )
            SELECT max(abs(summed.total - ends.total)) AS worst
              FROM summed
              JOIN ends USING (run_id, prompt_id, position)
            """
        )["worst"].item()
    )


def first_block_shares(store: Store) -> tuple[str, str]:
    """Return the smallest and largest share of the total log gain that block 0 makes."""
    row = store.query(
        """
        WITH blocks AS (
            SELECT g.model_id, g.layer, avg(g.log_gain) AS log_gain
              FROM last_token_gain AS g
              JOIN primary_run AS r USING (run_id)
             GROUP BY g.model_id, g.layer
        ), shares AS (
            SELECT model_id, max(log_gain) FILTER (WHERE layer = 0) / sum(log_gain) AS share
              FROM blocks
             GROUP BY model_id
        )
        SELECT min(share) AS smallest, max(share) AS largest FROM shares
        """
    ).iloc[0]
    return prose.percent(row["smallest"]), prose.percent(row["largest"])


def sign_counts(measured: pd.DataFrame) -> dict[str, str]:
    """Return how many measured models shrink the stream, by two definitions, in words."""
    body, last = measured["gain_body"] < 1, measured["gain_last_block"] < 1
    counted = {"body": body, "last": last, "disagree": body != last}
    return {
        name: prose.share_of(int(which.sum()), len(measured)) for name, which in counted.items()
    }


#: The table of `models`.
COLUMNS = {
    "model": Column("Model", "model_id", lambda it: it.rpartition("/")[2]),
    "recipe": Column("Recipe", "suite"),
    "depth": Column("L", "n_layers", prose.count),
    "parameters": Column("Parameters", "n_parameters", prose.count),
    "body": Column("Mean over blocks", "gain_body", prose.number),
    "penultimate": Column("Penultimate block", "gain_penultimate_block", prose.number),
    "last": Column("Last block", "gain_last_block", prose.number),
}

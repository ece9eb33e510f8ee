"""What was measured here as evidence: the paper's definition, and the mean-centred gain.

A change of the weights that leaves every prediction moves the raw length of a stream that is read
through LayerNorms. There the gain without the mean over features is the property of the network,
and a claim is read by it first; see views ``primary_gain`` and ``gauge_partner``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit.evidence.checks import Label
from analysis.store import Store

#: Ends the condition of a check that reads the mean-centred gain.
INVARIANT = Label("centred", ", centred under LayerNorm")
#: The definitions of gain that the claims ask of measured models.
BLOCKS = ("gain_last_block", "gain_penultimate_block")
#: Relative differences below this are rounding.
ROUNDING = 1e-9


def measured_gains(store: Store, metric: str) -> pd.DataFrame:
    """Return one row per primary run of a model measured here: its gain, as `published_gains`.

    Adds `in_paper`, which tells whether the paper has figures of the same checkpoint. Only such
    models decide a claim about the paper's models. Beside the published definition stand
    `norm_kind`, `gain_mean_primary` and `gain_sd_primary`, mean and standard deviation over
    prompts of the partner that is a property of what the network computes (centred under
    LayerNorm, see view ``primary_gain``), and `gain_primary`, its geometric mean [ratio]; missing
    where a definition has no such partner.
    """
    # The engine makes both from the same profiles: asked for apart they cost twice as much.
    one, other = BLOCKS if metric in BLOCKS else (metric, metric)
    rows = store.facts(
        """
        SELECT g.*, g.model_id IN (SELECT model_id FROM published_figure) AS in_paper,
               s.norm_kind, s.gain_primary, s.gain_mean_primary, s.gain_sd_primary
          FROM gain_by_model AS g
          JOIN primary_run AS r
            ON r.run_id = g.run_id
          LEFT JOIN primary_sign AS s
            ON s.run_id = g.run_id
           AND s.metric = g.metric
           AND s.metric IN ($one, $other)
         WHERE g.source = 'measured'
           AND g.metric IN ($one, $other)
         ORDER BY g.model_id, g.prompt_set
        """,
        one=one,
        other=other,
    )
    return rows[rows["metric"] == metric].reset_index(drop=True)


def measured_blocks(store: Store) -> pd.DataFrame:
    """Return one row per model measured here and block after block 0: mean gain, last token.

    Columns `model_id`, `suite`, `layer`, `norm_kind`, `value` and `value_primary` (as published,
    and the mean-centred gain [ratio]), `file`, `caveats`, `in_paper` (as in `measured_gains`).
    """
    return store.facts(
        """
        SELECT g.model_id, m.suite, g.layer, g.norm_kind, avg(exp(g.log_gain)) AS value,
               avg(exp(g.log_gain_of_function)) AS value_primary, 'run' AS file, '' AS caveats,
               g.model_id IN (SELECT model_id FROM published_figure) AS in_paper
          FROM function_gain AS g
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = g.model_id
         WHERE g.layer > 0
         GROUP BY g.model_id, m.suite, g.layer, g.norm_kind
         ORDER BY g.model_id, g.layer
        """
    )


def measured_prompts(store: Store, metric: str) -> pd.DataFrame:
    """Return one row per model measured here and prompt: its gain and the output's entropy.

    Columns `model_id`, `suite`, `prompt_id`, `norm_kind`, `value` and `value_primary` (as
    published, and the mean-centred one, missing where there is none [ratio]), `entropy` [nat],
    `file`, `caveats`, `in_paper` (as in `measured_gains`).
    """
    return store.facts(
        """
        SELECT g.model_id, m.suite, g.prompt_id, m.norm_kind, g.gain AS value,
               exp(p.log_gain_primary) AS value_primary, n.entropy, 'run' AS file, '' AS caveats,
               g.model_id IN (SELECT model_id FROM published_figure) AS in_paper
          FROM raw.prompt_gain AS g
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = g.model_id
          JOIN next_token AS n
            ON n.run_id = g.run_id
           AND n.prompt_id = g.prompt_id
          LEFT JOIN primary_gain AS p
            ON p.run_id = g.run_id
           AND p.prompt_id = g.prompt_id
           AND p.metric = g.metric
         WHERE g.metric = $metric
         ORDER BY g.model_id, g.prompt_id
        """,
        metric=metric,
    )


def definitions(
    rows: pd.DataFrame, columns: Sequence[str], words: str = INVARIANT
) -> dict[str, pd.DataFrame]:
    """Return measured rows under each definition, by what a condition says of it.

    Parameters
    ----------
    rows
        With a column for each of ``columns``, and one more whose name ends in ``_primary``.
    columns
        What was measured, by the published definition.
    words
        What is said of the rows read by the mean-centred gain.

    Returns
    -------
    Under ``words`` the rows with the mean-centred gain in ``columns``, those without one left
    out; then, under the empty string, the rows as they are. Where the two agree in every row
    they are one definition, and the published one stands alone.
    """
    partners = {name: f"{name}_primary" for name in columns}
    known = rows.dropna(subset=list(partners.values())[:1])
    is_same = [
        np.isclose(known[name], known[partner], rtol=ROUNDING, atol=0, equal_nan=True).all()
        for name, partner in partners.items()
    ]
    if all(is_same):
        return {"": rows}
    invariant = known.assign(**{name: known[partner] for name, partner in partners.items()})
    shadows = ["gain_primary", "log_gain", "sign_strict", "sign_banded"]
    return {words: invariant.drop(columns=shadows, errors="ignore"), "": rows}

"""What the tokens that are counted do to the gain of public models.

The first token of a prompt can be many times as long as all others (a *spike*), and heads attend
to it whatever the prompt says (a *sink*). A norm over all tokens is then its norm.
"""

from __future__ import annotations

import pandas as pd

from analysis.store import Store

#: The prompt set that profiles are of: the largest.
MAIN_SET = "A_grand_unified"

#: Which tokens a length is of, by the column of `stream_length`.
COUNTED = {
    "last_token": "last token",
    "without_first": "all but the first",
    "whole_matrix": "all tokens",
}

#: Definitions of the gain of a model, in the order of tables.
DEFINITIONS = {
    "gain_last_block": "last block, last token",
    "gain_penultimate_block": "penultimate block, last token",
    "gain_body": "mean over blocks after the first, last token",
    "gain_without_first": "last block, all tokens but the first",
    "gain_whole_matrix": "last block, all tokens",
    "gain_with_final_norm": "last block and final norm, last token",
}

#: Quantities of claims into which the first token enters with all others, and how.
COUNTS_FIRST = {
    "gain_whole_matrix": "a norm over all tokens",
    "trace_multi_head": "attention summed over all tokens",
    "trace_first_head": "attention summed over all tokens",
    "l_star_trace_multi_head": "attention summed over all tokens",
    "attention_off_diagonal": "attention summed over all tokens",
    "token_mean_cosine": "a mean over all pairs of tokens",
    "expansion": "a mean over all tokens",
}


def models(store: Store) -> pd.DataFrame:
    """Return one row per measured model: its labels, its design and how it is quantised."""
    return store.query(
        """
        SELECT m.model_id, m.lab, m.title, m.licence, m.n_layers, m.d_model, m.n_heads,
               m.n_parameters, m.norm_kind, m.norm_position, m.quantisation,
               max(r.bits_per_weight) AS bits
          FROM raw.model AS m
          JOIN run AS r USING (model_id)
         GROUP BY ALL
         ORDER BY m.model_id
        """
    )


def lengths(store: Store, prompt_set: str = MAIN_SET) -> pd.DataFrame:
    """Return how long the stream is over depth, by the tokens that are counted.

    Returns
    -------
    One row per model, `counted` (a key of `COUNTED`) and `layer` from 0: `length`, over that after
    block 0, and `gain` of the block, geometric means over prompts [ratio].
    """
    return store.query(
        """
        WITH long AS (
            UNPIVOT (SELECT l.model_id, l.prompt_id, l.layer, l.last_token, l.without_first,
                            l.whole_matrix
                       FROM stream_length AS l
                       JOIN primary_run AS p USING (run_id)
                      WHERE p.prompt_set = $prompt_set)
                 ON last_token, without_first, whole_matrix
               INTO NAME counted VALUE norm
        ), steps AS (
            SELECT *,
                   ln(norm) - ln(lag(norm) OVER depth)                                AS log_gain,
                   ln(norm) - ln(max(norm) FILTER (WHERE layer = 0) OVER (
                       PARTITION BY model_id, prompt_id, counted))                    AS log_length
              FROM long
            WINDOW depth AS (PARTITION BY model_id, prompt_id, counted ORDER BY layer)
        )
        SELECT model_id, counted, layer, exp(avg(log_length)) AS length, exp(avg(log_gain)) AS gain
          FROM steps
         WHERE layer >= 0
         GROUP BY model_id, counted, layer
         ORDER BY ALL
        """,
        prompt_set=prompt_set,
    )


def gains(store: Store) -> pd.DataFrame:
    """Return the gains of every plain run of a public model, one row per run and definition.

    Columns: `model_id`, `lab`, `prompt_set`, `special_tokens`, `metric` and `gain`, the geometric
    mean over `n_prompts` prompts [ratio].
    """
    return store.query(
        """
        SELECT r.model_id, m.lab, r.prompt_set, r.special_tokens, g.metric,
               exp(g.log_gain_mean) AS gain, g.n_prompts
          FROM raw.model_gain AS g
          JOIN run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = r.model_id
         WHERE r.is_conforming AND r.rendering = 'plain' AND list_contains($metrics, g.metric)
         ORDER BY ALL
        """,
        metrics=list(DEFINITIONS),
    )


def published(store: Store, model_id: str = "EleutherAI/pythia-6.9b") -> pd.DataFrame:
    """Return the gains that the paper's files hold of one model, the set with most prompts each.

    Columns: `metric`, `gain` (mean over prompts, as published) and `n_prompts`.
    """
    return store.query(
        """
        SELECT metric, gain_mean AS gain, n_prompts
          FROM published_gain_by_file
         WHERE model_id = $model_id AND list_contains($metrics, metric)
       QUALIFY row_number() OVER (PARTITION BY metric ORDER BY n_prompts DESC, file) = 1
         ORDER BY metric
        """,
        model_id=model_id,
        metrics=list(DEFINITIONS),
    )


def largest_deviation(store: Store) -> float:
    """Return how far any check of the hooks was from the model's own code, at most [1].

    Over the runs that count and the properties of table ``conformance`` that name a deviation.
    """
    row = store.query(
        """
        SELECT max(deviation) AS deviation
          FROM conformance
          JOIN run USING (run_id, model_id)
         WHERE is_conforming AND property NOT IN ('finite', 'tensors_used', 'library_code')
        """
    )
    return float(row["deviation"].iloc[0])


def sinks(store: Store) -> pd.DataFrame:
    """Return length of and attention to the first token over depth, one row per run and block.

    Columns: `model_id`, `prompt_set`, `special_tokens`, `is_primary`, `layer`, `spike` (length of
    the first token before the block over the median of all tokens, geometric mean over prompts)
    and `sink_share` (share of the block's attention that the first token gets).
    """
    return store.query(
        """
        WITH spikes AS (
            SELECT s.run_id, s.layer + 1 AS layer,
                   exp(avg(ln(s.norm) - ln(l.token_median))) AS spike
              FROM raw.stream AS s
              JOIN stream_length AS l USING (run_id, model_id, prompt_id, layer)
             WHERE s.position = 0
             GROUP BY s.run_id, s.layer
        )
        SELECT r.model_id, r.prompt_set, r.special_tokens, p.run_id IS NOT NULL AS is_primary,
               a.layer, k.spike, a.sink_share
          FROM attention_profile AS a
          JOIN run AS r USING (run_id)
          JOIN spikes AS k ON k.run_id = a.run_id AND k.layer = a.layer
          LEFT JOIN primary_run AS p ON p.run_id = a.run_id
         WHERE r.is_conforming AND r.rendering = 'plain'
         ORDER BY r.model_id, r.prompt_set, r.special_tokens, a.layer
        """
    )


def counting_claims(store: Store) -> pd.DataFrame:
    """Return the claims that rest on a quantity into which the first token enters with the rest.

    One row per claim: `claim_id`, `quantity` (those quantities, comma-separated) and `how`.
    """
    rows = store.query(
        """
        SELECT claim_id, unnest(string_split(quantity, ',')) AS quantity
          FROM claim_quantity
         ORDER BY claim_id
        """
    )
    rows = rows[rows["quantity"].isin(COUNTS_FIRST)]
    rows = rows.assign(how=rows["quantity"].map(COUNTS_FIRST))
    return rows.groupby("claim_id", as_index=False).agg(
        quantity=("quantity", ",".join), how=("how", "first")
    )

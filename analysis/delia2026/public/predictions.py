"""What was predicted of public models before they were measured into the store.

The commit that holds this file first is the registration: it names no outcome. A row is `seen`
where the outcome on its prompt set had been read in an earlier, independent measurement of the
same weights; all other rows were unknown when the predictions were written. The paper's laws
are taken at their word, and what we expect ourselves stands beside them.

Gains are geometric means over the prompts of a run, as in `signs`. They are never above the
arithmetic ones, so an upper bound is given the benefit of the doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pandas as pd

from analysis.delia2026.public import registration
from analysis.delia2026.public.registration import OURS, PAPER, Prediction
from analysis.delia2026.public.tokens import MAIN_SET, sinks
from analysis.delia2026.transition import l_star
from analysis.store import Store

#: Order of the labs, from the largest gain, that every definition and prompt set should give.
ORDER = ("Google", "Alibaba", "Hugging Face")

#: Definitions under which the order is looked at.
ORDERED = (
    "gain_body", "gain_penultimate_block", "gain_last_block", "gain_without_first",
    "gain_whole_matrix",
)  # fmt: skip

#: The published threshold of head density: it dampens above the upper end, expands below the lower.
DENSITY = (0.15, 0.20)

#: Mean error of the formula for L* that the paper reports within a heritage.
STATED_ERROR = 0.048

#: Largest gain over smallest of the labs' last blocks that still counts as one value.
ONE_VALUE = 1.05


def outcomes(store: Store) -> pd.DataFrame:
    """Return every registered prediction with what came of it.

    Parameters
    ----------
    store
        Measurements of public models, their weights among them.

    Returns
    -------
    Rows of `registration.outcomes`, one per prediction, model and prompt set (and policy of special
    tokens, where other runs than the primary ones count), by `metric`: `model_id` (missing where
    models are compared), `prompt_set`, `special_tokens`.
    """
    about = {"model_id": None, "prompt_set": None, "special_tokens": "default"}
    return registration.outcomes(PREDICTIONS, store, subject="metric", about=about)


def _read(rows: pd.DataFrame) -> pd.Series[bool]:
    """Tell the prompt set on which all outcomes had been read.

    True stands for outcomes read on every set: given as counts over all sets, one by one, or by
    the shape of the models alone.
    """
    return rows["prompt_set"] == MAIN_SET


def gains(store: Store, *metrics: str) -> pd.DataFrame:
    """Return geometric mean gains of primary runs, with the design of their models."""
    return store.query(
        """
        SELECT g.model_id, g.prompt_set, g.metric, exp(g.log_gain_mean) AS estimate,
               m.lab, m.n_layers, head_density(m.n_heads, m.d_head) AS rho
          FROM raw.model_gain AS g
          JOIN primary_run AS p USING (run_id)
          JOIN raw.model AS m ON m.model_id = g.model_id
         WHERE list_contains($metrics, g.metric)
         ORDER BY ALL
        """,
        metrics=list(metrics),
    )


def _depth_bound(metric: str) -> Callable[[Store], pd.DataFrame]:
    return lambda store: gains(store, metric).assign(bound=lambda g: 10 ** (1 / g["n_layers"]))


def _gains_and_bound(metric: str, bound: float) -> Callable[[Store], pd.DataFrame]:
    return lambda store: gains(store, metric).assign(bound=bound)


def _dense(store: Store) -> pd.DataFrame:
    return gains(store, "gain_penultimate_block").query("rho >= @DENSITY[1]").assign(bound=1.0)


def _sparse(store: Store) -> pd.DataFrame:
    return gains(store, "gain_penultimate_block").query("rho < @DENSITY[0]").assign(bound=1.0)


def _spread(store: Store) -> pd.DataFrame:
    sets = gains(store, "gain_last_block").groupby("prompt_set")["estimate"]
    spread = (sets.max() / sets.min())[sets.size() >= len(ORDER)]
    return spread.reset_index().assign(bound=ONE_VALUE)


def _order(store: Store) -> pd.DataFrame:
    """Return, per definition and prompt set, how many pairs of labs lie in the expected order."""
    table = gains(store, *ORDERED).pivot_table(
        index=["metric", "prompt_set"], columns="lab", values="estimate"
    )
    table = table.reindex(columns=list(ORDER)).dropna()
    pairs = list(combinations(ORDER, 2))
    right = sum((table[first] > table[second]).astype(int) for first, second in pairs)
    return pd.DataFrame({"estimate": right, "bound": len(pairs)}).reset_index()


def _size_correlations(store: Store, table: pd.DataFrame) -> pd.DataFrame:
    """Return, per prompt set, the rank correlation over models of `size` and their gain."""
    models = gains(store, "gain_penultimate_block").merge(table)
    return _rank(models, ["prompt_set"])


def _rank(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return Spearman's correlation of `size` and `estimate` in each group of 3 rows or more."""
    entries = [
        dict(zip(by, key, strict=True))
        | {"estimate": part["size"].corr(part["estimate"], "spearman")}
        for key, part in rows.groupby(by)
        if len(part) >= len(ORDER) and part[["size", "estimate"]].nunique().min() > 1
    ]
    return pd.DataFrame(entries, columns=[*by, "estimate"]).assign(bound=0.0)


def _value_over_output(store: Store) -> pd.DataFrame:
    """Return the order of the models by |W_V| / |W_O| against that by their gain."""
    ratios = store.query(
        """
        SELECT n.model_id,
               avg(n.sigma_max) FILTER (WHERE n.matrix = 'V')
                 / avg(n.sigma_max) FILTER (WHERE n.matrix = 'O') AS size
          FROM matrix_norm AS n
          JOIN primary_run AS p USING (run_id)
         WHERE n.slicing = 'correct'
         GROUP BY n.model_id
        """
    )
    return _size_correlations(store, ratios)


def traces(store: Store) -> pd.DataFrame:
    """Return the trace summed over heads and the log gain of each block, means over prompts."""
    return store.query(
        """
        WITH block AS (
            SELECT run_id, layer, avg(log_gain) AS estimate FROM last_token_gain GROUP BY ALL
        )
        SELECT p.model_id, p.prompt_set, t.layer, t.trace AS size, b.estimate, m.n_layers, m.n_heads
          FROM trace_profile AS t
          JOIN primary_run AS p USING (run_id)
          JOIN raw.model AS m ON m.model_id = p.model_id
          JOIN block AS b ON b.run_id = t.run_id AND b.layer = t.layer
         WHERE t.metric = 'trace_multi_head'
         ORDER BY p.model_id, p.prompt_set, t.layer
        """
    )


def _trace_between(store: Store) -> pd.DataFrame:
    runs = traces(store).groupby(["model_id", "prompt_set"], as_index=False)
    return _size_correlations(store, runs.agg(size=("size", "mean")))


def _trace_over_depth(store: Store) -> pd.DataFrame:
    return _rank(traces(store), ["model_id", "prompt_set"])


def _turns(store: Store) -> pd.DataFrame:
    """Return per run the block that L* names and the one that the formula gives."""
    runs = traces(store).groupby(["model_id", "prompt_set", "n_layers", "n_heads"])["size"]
    turns = runs.agg(l_star.argmax_interior_gradient).rename("measured").reset_index()
    shapes = zip(turns["n_layers"], turns["n_heads"], strict=True)
    return turns.assign(formula=[l_star.formula(*shape) for shape in shapes])


def _turns_and_depth(store: Store) -> pd.DataFrame:
    return _turns(store).assign(estimate=lambda t: t["formula"], bound=lambda t: t["n_layers"] - 1)


def _formula_error(store: Store) -> pd.DataFrame:
    turns = _turns(store)
    error = (turns["formula"] - turns["measured"]).abs() / turns["measured"]
    return turns.assign(estimate=error, bound=STATED_ERROR)


def _hidden(store: Store) -> pd.DataFrame:
    """Return the largest log ratio of both gains over prompts with a massive first token."""
    return store.query(
        """
        SELECT p.model_id, p.prompt_set, 0.0 AS bound,
               max(ln(g.gain) - ln(g.gain_without_first)) AS estimate
          FROM matrix_gain AS g
          JOIN primary_run AS p USING (run_id)
          JOIN raw.model AS m ON m.model_id = p.model_id AND m.n_layers - 1 = g.layer
          JOIN massive_activation AS a
            ON a.run_id = g.run_id AND a.prompt_id = g.prompt_id
           AND a.position = 0 AND a.layer = g.layer - 1
         GROUP BY p.model_id, p.prompt_set
         ORDER BY ALL
        """
    )


def _elsewhere(store: Store) -> pd.DataFrame:
    """Return how many tokens are massive that are neither first nor special."""
    return store.query(
        """
        SELECT r.model_id, r.prompt_set, r.special_tokens, 0.0 AS bound,
               count(o.position) FILTER (WHERE o.position > 0 AND NOT o.is_special) AS estimate
          FROM run AS r
          LEFT JOIN raw.outlier_token AS o USING (run_id)
         WHERE r.kind = 'prompts' AND r.is_conforming AND r.rendering = 'plain'
           AND r.perturbation IS NULL
         GROUP BY r.model_id, r.prompt_set, r.special_tokens
         ORDER BY ALL
        """
    )


def _spikeless_gains(store: Store) -> pd.DataFrame:
    """Return the gain over all tokens of runs in which no first token is massive before the end."""
    return store.query(
        """
        SELECT r.model_id, r.prompt_set, r.special_tokens, 1.0 AS bound,
               exp(g.log_gain_mean) AS estimate
          FROM run AS r
          JOIN raw.model AS m ON m.model_id = r.model_id
          JOIN raw.model_gain AS g ON g.run_id = r.run_id AND g.metric = 'gain_whole_matrix'
          ANTI JOIN massive_activation AS a
            ON a.run_id = r.run_id AND a.position = 0 AND a.layer = m.n_layers - 2
         WHERE r.is_conforming AND r.rendering = 'plain'
         ORDER BY ALL
        """
    )


def _sinks(store: Store) -> pd.DataFrame:
    """Return the rank correlation over blocks of the attention to and the length of token 0."""
    rows = (
        sinks(store).query("is_primary").rename(columns={"spike": "size", "sink_share": "estimate"})
    )
    return _rank(rows, ["model_id", "prompt_set"])


PREDICTIONS = (
    Prediction(
        "bound_last_block", "gain_last_block", PAPER,
        "The gain of the last block is at most 10^(1/L).",
        "<=", _depth_bound("gain_last_block"), True,
    ),
    Prediction(
        "bound_mean_block", "gain_body", PAPER,
        "The mean gain of the blocks after the first is at most 10^(1/L).",
        "<=", _depth_bound("gain_body"), _read,
    ),
    Prediction(
        "total_of_ten", "total_amplification", PAPER,
        "All blocks after the first together lengthen the stream at most tenfold.",
        "<=", _gains_and_bound("total_amplification", 10.0), _read,
    ),
    Prediction(
        "dense_dampens", "gain_penultimate_block", PAPER,
        "A model whose head density is at least 0.20 dampens.",
        "<", _dense, True,
    ),
    Prediction(
        "sparse_expands", "gain_penultimate_block", PAPER,
        "A model whose head density is below 0.15 expands.",
        ">", _sparse, True,
    ),
    Prediction(
        "value_over_output", "weight_spectral_ratio", PAPER,
        "The larger the spectral norm of W_V over that of W_O, the smaller a model's gain.",
        "<", _value_over_output, _read,
    ),
    Prediction(
        "trace_between_models", "trace_multi_head", PAPER,
        "The larger the trace of the sheaf Laplacian, the smaller a model's gain.",
        "<", _trace_between, _read,
    ),
    Prediction(
        "trace_over_depth", "trace_multi_head", PAPER,
        "Within a model, the blocks with the larger trace have the smaller gain.",
        "<", _trace_over_depth,
    ),
    Prediction(
        "l_star_inside", "l_star", PAPER,
        "The formula for L* names a block that the model has.",
        "<=", _turns_and_depth, True,
    ),
    Prediction(
        "l_star_error", "l_star", PAPER,
        "The formula for L* misses the block where the trace turns by 4.8 % or less.",
        "<=", _formula_error, _read,
    ),
    Prediction(
        "order_of_labs", "gain", OURS,
        "The labs have one order under each definition: Google, Alibaba, Hugging Face.",
        "=", _order, _read,
    ),
    Prediction(
        "last_block_expands", "gain_last_block", OURS,
        "The last block lengthens the stream of the last token.",
        ">", _gains_and_bound("gain_last_block", 1.0), True,
    ),
    Prediction(
        "one_gain", "gain_last_block", OURS,
        "The last blocks of the three labs have one gain, to 5 %.",
        "<=", _spread, _read,
    ),
    Prediction(
        "expands_without_first", "gain_without_first", OURS,
        "Without the first token the last block lengthens the stream.",
        ">", _gains_and_bound("gain_without_first", 1.0), _read,
    ),
    Prediction(
        "first_token_hides", "gain_whole_matrix", OURS,
        "Where the first token is massive before the last block, it lowers each prompt's gain.",
        "<", _hidden, _read,
    ),
    Prediction(
        "massive_is_first_or_special", "outlier_token", OURS,
        "No token is massive but the first and those that the tokenizer adds.",
        "=", _elsewhere,
    ),
    Prediction(
        "no_spike_expands", "gain_whole_matrix", OURS,
        "With no massive first token before the last block, the gain over all tokens exceeds 1.",
        ">", _spikeless_gains, True,
    ),
    Prediction(
        "sink_follows_spike", "sink_share", OURS,
        "Blocks that read a longer first token attend to it more.",
        ">", _sinks,
    ),
)  # fmt: skip

"""The quantities whose invariance is audited: names, and the queries that give their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collect.measures.register import FILLED

if TYPE_CHECKING:
    import duckdb

#: Definitions of gain in view ``prompt_gain``.
_GAINS = (
    "gain_last_block",
    "gain_penultimate_block",
    "gain_with_final_norm",
    "gain_whole_matrix",
    "gain_without_first",
    "gain_embedding",
    "gain_embedding_whole_matrix",
    "gain_geometric_mean",
    "gain_body",
    "gain_maximum",
    "total_amplification",
)

#: Those of them that view ``prompt_gain_centred`` has as well.
_CENTRED_GAINS = tuple(
    gain for gain in _GAINS if gain not in ("gain_with_final_norm", "gain_embedding_whole_matrix")
)

#: Columns of view ``layer_trace``; what is rounding by construction (caveat B5) is left out.
_TRACES = (
    "trace_folded",
    "trace_normalised",
    "trace_multi_head",
    "trace_multi_head_contiguous",
    "trace_first_head",
    "trace_first_head_contiguous",
    "trace_mean_map_contiguous",
    "trace_spectral_proxy",
    "trace_spectral_proxy_contiguous",
    "attention_factor",
    "weight_factor",
    "weight_factor_folded",
)

_GEOMETRY = ("mean_cosine", "mean_cosine_body", "uniformity", "effective_rank")
_GEOMETRY_OF_PROMPTS = ("mean_cosine", "uniformity", "effective_rank")


def _gain_query(metric: str) -> str:
    return (
        f"SELECT run_id, gain AS value FROM prompt_gain WHERE metric = '{metric}' "  # noqa: S608
        "ORDER BY prompt_id"
    )


def _centred_gain_query(metric: str) -> str:
    return (
        "SELECT run_id, exp(log_gain_centred) AS value FROM prompt_gain_centred "  # noqa: S608
        f"WHERE metric = '{metric}' ORDER BY prompt_id"
    )


def _profile_query(column: str, view: str) -> str:
    return f"SELECT run_id, {column} AS value FROM {view} ORDER BY prompt_id, layer"  # noqa: S608


def _ratio_of_matrices(column: str) -> str:
    return (
        f"SELECT run_id, v.{column} / o.{column} AS value FROM matrix_norm AS v "  # noqa: S608
        "JOIN matrix_norm AS o USING (run_id, layer) WHERE v.matrix = 'V' AND o.matrix = 'O' "
        "AND v.slicing = 'correct' AND o.slicing = 'correct' ORDER BY layer"
    )


def _l_star(metric: str) -> str:
    """Return the query of the layer with the largest change of a trace between its neighbours."""
    return (
        "SELECT run_id, arg_max(layer, change) AS value FROM (SELECT run_id, layer, "  # noqa: S608
        "abs(coalesce(lead(trace) OVER w, trace) - coalesce(lag(trace) OVER w, trace)) AS change "
        f"FROM trace_profile WHERE metric = '{metric}' "
        "WINDOW w AS (PARTITION BY run_id ORDER BY layer)) AS changes GROUP BY run_id"
    )


#: The query of every quantity; its rows come in an order that does not depend on the values.
QUERIES: dict[str, str] = {
    **{name: query for table in FILLED.values() for name, query in table.queries().items()},
    **{metric: _gain_query(metric) for metric in _GAINS},
    **{f"{metric}_centred": _centred_gain_query(metric) for metric in _CENTRED_GAINS},
    "gain_block": "SELECT run_id, gain AS value FROM block_gain "
    "ORDER BY prompt_id, layer, position",
    "gain_block_centred": "SELECT run_id, exp(log_gain_centred) AS value FROM block_gain "
    "ORDER BY prompt_id, layer, position",
    **{
        f"update_{column}_centred": f"SELECT run_id, {column}_centred AS value "  # noqa: S608
        "FROM centred_update ORDER BY prompt_id, layer, position"
        for column in ("ratio", "cosine")
    },
    **{
        f"token_{column}_centred": _profile_query(column, "centred_geometry")
        for column in _GEOMETRY
    },
    **{
        f"prompt_{column}_centred": f"SELECT run_id, {column} AS value "  # noqa: S608
        "FROM centred_prompt_geometry ORDER BY layer"
        for column in _GEOMETRY_OF_PROMPTS
    },
    "locality": "SELECT run_id, locality AS value FROM attention_profile ORDER BY layer",
    "restriction_norm": "SELECT l.run_id, l.value * w.sigma_max AS value FROM legacy_value AS l "
    "JOIN weights_of_run AS r USING (run_id) JOIN weight_norm AS w "
    "ON w.run_id = r.weights_run_id AND w.layer = l.layer "
    "WHERE l.metric = 'legacy_contraction_ratio' AND w.matrix = 'V' AND NOT w.is_folded "
    "AND w.slicing = 'correct' AND w.head = 0 "
    "ORDER BY l.prompt_id, l.layer",
    "weight_spectral_ratio": _ratio_of_matrices("sigma_max"),
    "weight_frobenius_ratio": _ratio_of_matrices("frobenius"),
    "circuit_spectral": "SELECT run_id, sigma_max AS value FROM circuit ORDER BY layer, head",
    "circuit_frobenius": "SELECT run_id, frobenius AS value FROM circuit ORDER BY layer, head",
    "circuit_share": "SELECT run_id, "
    "frobenius / avg(frobenius) OVER (PARTITION BY run_id) AS value FROM circuit "
    "ORDER BY layer, head",
    **{column: _profile_query(column, "layer_trace") for column in _TRACES},
    "l_star_trace_folded": _l_star("trace_folded"),
    "l_star_trace_multi_head": _l_star("trace_multi_head"),
    "logit_lens_entropy": "SELECT run_id, entropy AS value FROM lens ORDER BY prompt_id, layer",
}


def values(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return, by network, the values of every quantity that it has; from `measured.measured`.

    A value that is not defined there is left out; a quantity without any is absent.
    """
    by_network: dict[str, dict[str, NDArray[np.float64]]] = {}
    for quantity, query in QUERIES.items():
        rows = connection.sql(query).df().dropna()
        for run_id, of_run in rows.groupby("run_id", sort=False)["value"]:
            network = str(run_id).partition("/")[0]
            by_network.setdefault(network, {})[quantity] = of_run.to_numpy(np.float64)
    return by_network


def change(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the largest change of a value, over the largest value in size [1].

    >>> change(np.array([1.0, 4.0]), np.array([1.0, 2.0]))
    0.5
    """
    if before.shape != after.shape:
        return float("inf")
    largest = max(np.abs(before).max(), np.abs(after).max())
    return float(np.abs(after - before).max() / largest) if largest > 0 else 0.0

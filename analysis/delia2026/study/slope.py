"""A slope on depth, split into depth's own part and that of a learning rate that falls with it.

Every public suite lowers its peak rate with size, so depth and rate are one variable there. Where
they are crossed, the response is linear in both,

    y = a + b_L ln L + b_r ln rate + b_k ln kappa + error,

and a suite whose ln rate falls by s per unit of ln L shows the slope b_L + s b_r (+ s b_k if its
decay turns fall alike): the first part is depth's own, the second the rate's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy

from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Slope of ln(rate) on ln L within the public suites, which follow GPT-3's table.
RATE_ON_DEPTH = -1.2

#: Published slope of the penultimate ln(gain) on ln L within suites.
PUBLISHED_SLOPE = -0.153

CONF_LEVEL = 0.95

_TERMS = ("ln depth", "ln learning rate", "ln decay turns")


def slopes(
    runs: pd.DataFrame,
    response: str,
) -> pd.DataFrame:
    """Return the slopes of a crossed study, and what a suite would show of them.

    Parameters
    ----------
    runs
        One row per run: `n_layers`, `learning_rate`, `decay_turns` (above 0) and the response.
    response
        Column of it [nat].

    Returns
    -------
    One row per term: the three slopes; ``depth's own part`` (b_L); ``rate's part``
    (`RATE_ON_DEPTH` b_r); ``slope a suite would show`` (their sum). `term`, `estimate`,
    `std_error`, `df`, `statistic`, `p_value`, `conf_low`, `conf_high`, `conf_level`, `n_obs`.

    Raises
    ------
    DesignError
        If depth, rate and decay are not told apart by the runs.
    """
    known = runs.dropna(subset=[response])
    columns = [np.log(known[name].astype(float)) for name in _COLUMNS]
    design = np.column_stack([np.ones(len(known)), *columns])
    n_obs, n_terms = design.shape
    if n_obs <= n_terms or np.linalg.matrix_rank(design) < n_terms:
        raise DesignError(
            "Depth, learning rate and decay must vary apart from each other; they do not.",
            "Train the runs that are missing.",
        )
    values = known[response].to_numpy(dtype=float)
    coefficients, *_ = np.linalg.lstsq(design, values, rcond=None)
    df = n_obs - n_terms
    error = float(((values - design @ coefficients) ** 2).sum()) / df
    covariance = error * np.linalg.inv(design.T @ design)
    weights = _weights()
    combined = np.array(list(weights.values()))
    estimate = combined @ coefficients
    std_error = np.sqrt(np.einsum("ij,jk,ik->i", combined, covariance, combined))
    half = scipy.stats.t.ppf((1 + CONF_LEVEL) / 2, df) * std_error
    statistic = estimate / std_error
    return glossary.table(
        {
            "term": list(weights),
            "estimate": estimate,
            "std_error": std_error,
            "df": df,
            "statistic": statistic,
            "p_value": 2 * scipy.stats.t.sf(np.abs(statistic), df),
            "conf_low": estimate - half,
            "conf_high": estimate + half,
            "conf_level": CONF_LEVEL,
            "n_obs": n_obs,
        }
    )


_COLUMNS = ("n_layers", "learning_rate", "decay_turns")


def _weights() -> Mapping[str, Floats]:
    """Return what each row adds up of intercept and slopes."""
    alone = {term: np.eye(4)[place] for place, term in enumerate(_TERMS, start=1)}
    of_depth = np.array([0.0, 1.0, 0.0, 0.0])
    of_rate = np.array([0.0, 0.0, RATE_ON_DEPTH, 0.0])
    return {
        **alone,
        "depth's own part": of_depth,
        "rate's part": of_rate,
        "slope a suite would show": of_depth + of_rate,
    }

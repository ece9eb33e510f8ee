"""One difference, every test: EleutherAI against the other labs, with models or suites as units.

The tests agree when they count the same things as independent. What moves p is the unit: a lab
chooses the recipe of a suite, and the models of a suite share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.audit.evidence import quoted
from analysis.delia2026.sign.exchange import NAMED_LAB, OTHER, cluster_means, exchange, heritage
from analysis.inference.association import regression
from analysis.inference.counts import fisher
from analysis.inference.effects.noncentral import noncentrality_t
from analysis.store import Store
from analysis.tidy import glossary, prose
from analysis.tidy.columns import Column
from analysis.tidy.extra import extra

#: How near to 1 a gain is near.
NEAR = 0.01
SIGN, SIZE = "share below 1", "log gain"

_COLUMNS = [
    *("term", "unit", "method", "n_obs", "estimate", "conf_low", "conf_high", "p_value", "df"),
    *("smallest_p", "bayes_factor"),
]


def every_test(models: pd.DataFrame) -> pd.DataFrame:
    """Return the same comparison by several tests.

    Parameters
    ----------
    models
        One row per model: `model_id`, `lab`, `suite`, `log_gain` [nat] and `sign_strict`.

    Returns
    -------
    One row per test: `term` (share of models below 1, or log gain), `unit` (model or suite),
    `method`, `n_obs` (units), `estimate` (odds ratio for the share; nat, or standard deviations
    where `method` says so), interval, `p_value`, `df` of its reference, `smallest_p`,
    `bayes_factor`; missing where a method has none.
    """
    compared = _label_models(models)
    compared["eleuther"] = (models["lab"] == NAMED_LAB).astype(float)
    units = cluster_means(compared)
    clustered = regression.fit(compared, "log_gain ~ eleuther", cluster="suite").tidy()
    rows = [
        (SIGN, "model", "Fisher", _fisher(compared)),
        (SIGN, "model", "Boschloo", _boschloo(compared)),
        (SIZE, "model", "t test, Hedges' g [SD]", _two_samples(compared)),
        (
            SIGN,
            "suite",
            "suites permuted, difference of shares",
            _answer(exchange(units, "dampens")),
        ),
        (
            SIZE,
            "suite",
            "suites permuted, difference of means",
            _answer(exchange(units, "log_gain")),
        ),
        (SIZE, "suite", "least squares, CR2 errors", _answer(clustered.iloc[-1])),
    ]
    n_units = {"model": len(models), "suite": models["suite"].nunique()}
    named = [
        {**row, "term": term, "unit": unit, "method": method, "n_obs": n_units[unit]}
        for term, unit, method, row in rows
    ]
    return glossary.table(pd.DataFrame(named).reindex(columns=_COLUMNS))


def other_signs(models: pd.DataFrame, within: float = NEAR) -> pd.DataFrame:
    """Return Fisher's p if one model whose gain is near 1 had the other sign, a row per model.

    Parameters
    ----------
    models
        As for `every_test`.
    within
        How near to 1 a gain is near.

    Returns
    -------
    `model_id`, `gain` [ratio] and `p_value`.
    """
    compared = _label_models(models)
    gain = np.exp(models["log_gain"])
    rows = []
    for at in models.index[(gain - 1).abs() <= within]:
        other = compared.copy()
        other.loc[at, "dampens"] = 1 - other.loc[at, "dampens"]
        rows.append(
            {
                "model_id": models.loc[at, "model_id"],
                "gain": float(gain[at]),
                "p_value": float(_fisher(other)["p_value"]),
            }
        )
    return pd.DataFrame(rows, columns=["model_id", "gain", "p_value"])


def out_of_reach(store: Store, smallest: float) -> str:
    """Return in a sentence whether Fisher's test of the paper's file can give its reported p.

    ``smallest`` is the least p that the counts of that file admit.
    """
    reported = quoted.text(store, "§4.2", "p_value")  # "< 0.001"
    if smallest < float(reported.removeprefix("<")):
        return ""
    return (
        "With as many models below 1 and as many of EleutherAI as in the paper's file, Fisher's "
        f"test gives no p under {prose.number(smallest, 4)}. So the reported p {reported} cannot "
        "come from Fisher's test of these counts."
    )


def _label_models(models: pd.DataFrame) -> pd.DataFrame:
    return models.assign(
        heritage=heritage(models["lab"]),
        dampens=(models["sign_strict"] == "dampen").astype(float),
    )


def _is_log(term: str, method: str) -> bool:
    """Return whether an estimate is a difference of natural logarithms."""
    return term == SIZE and "[SD]" not in method


def _estimate(term: str, method: str, estimate: float) -> str:
    return prose.change(estimate) if _is_log(term, method) else prose.number(estimate)


def _interval(term: str, method: str, low: float, high: float) -> str:
    return (prose.change_interval if _is_log(term, method) else prose.interval)(low, high)


#: The table of `every_test`.
COLUMNS = {
    "unit": Column("Unit", "unit"),
    "term": Column("Of", "term"),
    "method": Column("Test", "method"),
    "estimate": Column("Estimate", ["term", "method", "estimate"], _estimate),
    "interval": Column("95 % interval", ["term", "method", "conf_low", "conf_high"], _interval),
    "p": Column("p", "p_value", lambda it: prose.number(it, 3)),
    "bayes_factor": Column("Bayes factor", "bayes_factor", prose.number),
    "smallest_p": Column("Smallest p", "smallest_p", lambda it: prose.number(it, 4)),
}


def p_range(tests: pd.DataFrame, unit: str) -> str:
    """Return the smallest and the largest p of the tests with a unit, in words."""
    rows = tests.loc[tests["unit"] == unit, "p_value"].dropna()
    return f"{prose.number(rows.min(), 3)} and {prose.number(rows.max(), 3)}"


def _answer(row: pd.Series) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}


def _fisher(models: pd.DataFrame) -> Mapping[str, Any]:
    signs = models.assign(sign=np.where(models["dampens"] == 1, "dampen", "not"))
    return _answer(fisher.fisher_exact(signs, row="heritage", column="sign").iloc[0])


def _boschloo(models: pd.DataFrame) -> Mapping[str, float]:
    """Return Boschloo's test; the columns of scipy's table are the groups whose sizes are fixed."""
    table = pd.crosstab(models["dampens"], models["heritage"])
    counts = table.reindex(index=[1.0, 0.0], columns=[NAMED_LAB, OTHER]).to_numpy()
    extreme = np.diag(counts.sum(axis=0))
    return {
        "estimate": scipy.stats.contingency.odds_ratio(counts, kind="sample").statistic,
        "p_value": float(scipy.stats.boschloo_exact(counts).pvalue),
        "smallest_p": float(scipy.stats.boschloo_exact(extreme).pvalue),
    }


def _two_samples(models: pd.DataFrame) -> Mapping[str, float]:
    """Return the t test, its Bayes factor and Hedges' g with its noncentral interval."""
    pingouin = extra("pingouin", "stats", "The t test with its Bayes factor")

    ours, others = (
        models.loc[models["heritage"] == name, "log_gain"] for name in (NAMED_LAB, OTHER)
    )
    test = pingouin.ttest(ours, others, correction=False).iloc[0]
    d = float(pingouin.compute_effsize(ours, others, eftype="cohen"))
    g = float(pingouin.compute_effsize(ours, others, eftype="hedges"))
    per_unit = sqrt(1 / len(ours) + 1 / len(others))
    low, high = noncentrality_t(d / per_unit, float(test["dof"]), 0.95)
    return {
        "estimate": g,
        "conf_low": low * per_unit * g / d,
        "conf_high": high * per_unit * g / d,
        "p_value": float(test["p_val"]),
        "df": float(test["dof"]),
        "bayes_factor": float(test["BF10"]),
    }

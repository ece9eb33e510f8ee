"""The mixed models with each gain's own standard error: a meta-regression of the models.

    y_i = x_i' beta + u_suite(i) + m_i + e_i,   u ~ N(0, s^2), m ~ N(0, t^2), e_i ~ N(0, v_i),

with v_i known, the square of the standard error over prompts, and s, t by restricted maximum
likelihood. With all v_i zero it is the mixed model with a random intercept of the suite.
statsmodels and PyMARE have meta-regressions of one variance alone; `metafor::rma.mv` in R is this
model. Viechtbauer (2010), Journal of Statistical Software 36(3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from analysis.delia2026.hierarchy.sensitivity import BLOCKS, LEVEL, TERMS, fit_name
from analysis.tidy import glossary, prose
from analysis.tidy.frame import Floats

#: What the errors of the gains are taken to be.
OWN, ALIKE = "own error of each gain", "one error for all"

#: Starting deviations of suites and models, in standard deviations of the response.
_STARTS = ((0.5, 0.5), (0.1, 0.9), (0.9, 0.1))

HEADERS = {"term": "Coefficient", "block": "Fit", "alike": "One error for all", "own": "Own errors"}


def meta_regression(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients of every block with known errors, and with none known.

    Parameters
    ----------
    rows
        As `sensitivity.models` returns them; models without a standard error are left out of both.

    Returns
    -------
    One row per block, error and term: `block`, `method`, `term`, `estimate` [nat], `std_error`,
    `df` (models less coefficients), `p_value` (t), the interval, `tau_squared` [nat^2, suites and
    models together], `i_squared` (share of it in all variance, the typical error as in metafor),
    `n_models`.
    """
    known = rows.dropna(subset=["std_error"])
    return glossary.table(
        pd.concat(
            [
                _fit(known, block, known["std_error"].to_numpy() * is_own).assign(method=method)
                for block in BLOCKS
                for method, is_own in ((OWN, 1.0), (ALIKE, 0.0))
            ],
            ignore_index=True,
        )
    )


def _fit(rows: pd.DataFrame, block: str, errors: Floats) -> pd.DataFrame:
    """Return the coefficients of one block with these standard errors."""
    y = rows["log_gain"].to_numpy(dtype=np.float64)
    terms = ["Intercept", *BLOCKS[block]]
    x = np.column_stack([np.ones(len(y)), rows[list(BLOCKS[block])].to_numpy(dtype=np.float64)])
    suites = pd.get_dummies(rows["suite"], dtype=float).to_numpy()
    known, together = np.diag(errors**2), suites @ suites.T
    unit = y.std()

    def solved(deviations: Floats) -> tuple[float, Floats, Floats]:
        suite, model = deviations * unit
        covariance = known + suite**2 * together + model**2 * np.eye(len(y))
        inverse = np.linalg.inv(covariance)
        precision = x.T @ inverse @ x
        beta = np.linalg.solve(precision, x.T @ inverse @ y)
        residual = y - x @ beta
        logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(precision)[1]
        return float(logs + residual @ inverse @ residual), beta, np.linalg.inv(precision)

    def criterion(deviations: Floats) -> float:
        return solved(deviations)[0]

    bounds = scipy.optimize.Bounds(np.array([0.0, 1e-6]))
    options: Any = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    found = [
        scipy.optimize.minimize(
            criterion, np.array(start), bounds=bounds, method="Nelder-Mead", options=options
        )
        for start in _STARTS
    ]
    best = min(found, key=lambda each: float(each.fun))
    _, beta, covariance = solved(best.x)
    tau_squared = float(np.square(best.x * unit).sum())
    return _tidy(terms, beta, covariance, len(y) - len(terms)).assign(
        block=block,
        tau_squared=tau_squared,
        i_squared=tau_squared / (tau_squared + _typical(errors, x)),
        n_models=len(y),
    )


def _tidy(terms: list[str], beta: Floats, covariance: Floats, df: int) -> pd.DataFrame:
    std_error = np.sqrt(np.diag(covariance))
    reach = scipy.stats.t.ppf(1 - LEVEL / 2, df) * std_error
    return pd.DataFrame(
        {
            "term": terms,
            "estimate": beta,
            "std_error": std_error,
            "df": float(df),
            "p_value": 2 * scipy.stats.t.sf(np.abs(beta / std_error), df),
            "conf_low": beta - reach,
            "conf_high": beta + reach,
        }
    )


def _typical(errors: Floats, x: Floats) -> float:
    """Return the error variance of a typical gain: (n - p) / trace(W - W x (x'W x)^-1 x'W).

    >>> round(_typical(np.array([0.1, 0.1, 0.1]), np.ones((3, 1))), 12)
    0.01
    """
    if not errors.any():
        return 0.0
    weights = np.diag(1 / errors**2)
    weighted = weights @ x
    inside = np.linalg.solve(x.T @ weighted, weighted.T)
    return float((len(x) - x.shape[1]) / (np.trace(weights) - np.trace(weighted @ inside)))


def said(rows: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return in a few sentences how large the errors are and what they change."""
    errors = rows["std_error"].dropna()
    wide = _wide(table)
    crossed = wide[(wide["p_value", OWN] < LEVEL) != (wide["p_value", ALIKE] < LEVEL)]
    together = table[(table["method"] == OWN) & (table["block"] == "all")].iloc[0]
    rest = prose.percent(float(together["i_squared"]), 1)
    changes = [
        f"{TERMS[term]} ({fit_name(block)}: p from {prose.number(row['p_value', ALIKE], 3)} to "
        f"{prose.number(row['p_value', OWN], 3)})"
        for (block, term), row in zip(crossed.index, crossed.to_dict("records"), strict=True)
    ]
    last = (
        f"With these errors one result crosses p = .05: {prose.listing(changes)}."
        if len(changes) == 1
        else f"With these errors these results cross p = .05: {prose.listing(changes) or 'none'}."
    )
    return (
        f"{len(errors)} of {len(rows)} models have a standard error over prompts. Its median is "
        f"{prose.percent(float(errors.median()), 1)} of the gain. "
        f"Of the residual variance, {rest} lies between models and suites, "
        f"so more prompts would change little. {last}"
    )


def printable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients of both kinds side by side, in percent of gain, as text."""
    wide = _wide(table)
    rows = []
    for (block, term), row in zip(wide.index, wide.to_dict("records"), strict=True):
        cells = {
            name: f"{prose.change(row['estimate', method])} "
            f"{prose.change_interval(row['conf_low', method], row['conf_high', method])}"
            for name, method in (("alike", ALIKE), ("own", OWN))
        }
        rows.append({"term": TERMS[term], "block": fit_name(block), **cells})
    return pd.DataFrame(rows)


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per block and term of the ranking, a column per number and method."""
    some = table[table["term"].isin(list(TERMS))]
    numbers = ["estimate", "p_value", "conf_low", "conf_high"]
    wide = some.pivot_table(numbers, ["block", "term"], "method")
    order = [(block, term) for block, terms in BLOCKS.items() for term in terms if term in TERMS]
    return wide.loc[order]

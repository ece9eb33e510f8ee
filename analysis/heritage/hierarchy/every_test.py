"""One difference, every test: EleutherAI against the other labs, with models or suites as units.

The tests agree when they count the same things as independent. What moves p is the unit: a lab
chooses the recipe of a suite, and the models of a suite share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.heritage.sign.exchange import NAMED_LAB, OTHER, exchange, of_units
from analysis.inference.association import firth, regression, wild_bootstrap
from analysis.inference.counts import fisher, unconditional
from analysis.inference.effects import bayes_factor, effect_size
from analysis.tidy import glossary, prose
from analysis.tidy.errors import AnalysisError

SIGN, SIZE = "share that dampens", "log gain"

_KEPT = (
    *("estimate", "conf_low", "conf_high", "p_value", "df", "smallest_p", "bayes_factor"),
    "note",
)

Test = Callable[[pd.DataFrame], Mapping[str, Any]]


def every_test(models: pd.DataFrame) -> pd.DataFrame:
    """Return the same comparison by every test of the toolbox.

    Parameters
    ----------
    models
        One row per model: `model_id`, `lab`, `suite`, `log_gain` [nat] and `sign_strict`.

    Returns
    -------
    One row per test: `term` (share that dampens, or log gain), `unit` (model or suite),
    `method`, `estimate` (odds ratio for the share; nat, or standard deviations where `method` says
    so), interval, `p_value` or `bayes_factor`, `df` of its reference, `smallest_p`, `n_obs`
    (units), `note`. A test that cannot be made has the reason as its note.
    """
    compared = models.assign(
        heritage=np.where(models["lab"] == NAMED_LAB, NAMED_LAB, OTHER),
        eleuther=(models["lab"] == NAMED_LAB).astype(float),
        dampens=(models["sign_strict"] == "dampen").astype(float),
        sign=np.where(models["sign_strict"] == "dampen", "dampen", "not"),
    )
    rows = [_row(compared, *entry) for entry in _tests()]
    table = pd.DataFrame(rows)
    glossary.checked(table.columns)
    return table


def printable(tests: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `every_test` as text for a table."""
    rows = tests.to_dict("records")
    return pd.DataFrame(
        {
            "unit": tests["unit"],
            "term": tests["term"],
            "method": tests["method"],
            "estimate": [prose.number(row["estimate"]) for row in rows],
            "interval": [prose.interval(row["conf_low"], row["conf_high"]) for row in rows],
            "p": [prose.number(row["p_value"], 3) for row in rows],
            "bayes_factor": [prose.number(row["bayes_factor"]) for row in rows],
            "smallest_p": [prose.number(row["smallest_p"], 4) for row in rows],
        }
    )


def p_range(tests: pd.DataFrame, unit: str) -> str:
    """Return the smallest and the largest p of the tests with a unit, in words."""
    rows = tests.loc[tests["unit"] == unit, "p_value"].dropna()
    return f"{prose.number(rows.min(), 3)} and {prose.number(rows.max(), 3)}"


def _row(models: pd.DataFrame, term: str, unit: str, method: str, test: Test) -> dict[str, Any]:
    head = {"term": term, "unit": unit, "method": method, "n_obs": _n_units(models, unit)}
    missing = dict.fromkeys(_KEPT[:-1], float("nan"))
    try:
        made = test(models)
    except AnalysisError as error:
        return {**head, **missing, "note": error.problem}
    by_name = {name: made[name] for name in _KEPT if name in made}
    return {**head, **missing, "note": "", **by_name}


def _n_units(models: pd.DataFrame, unit: str) -> int:
    return len(models) if unit == "model" else int(models["suite"].nunique())


def _tests() -> Iterator[tuple[str, str, str, Test]]:
    yield SIGN, "model", "Fisher", _table(fisher.fisher_exact)
    yield SIGN, "model", "Boschloo", _table(unconditional.boschloo)
    yield SIGN, "model", "Barnard", _table(unconditional.barnard)
    yield SIGN, "model", "Firth, profile likelihood", _firth
    yield SIZE, "model", "Hedges' g [SD]", _hedges
    yield SIZE, "model", "JZS Bayes factor [SD]", _jzs
    yield SIGN, "suite", "exchange of suites, difference of shares", _exchange("dampens")
    yield SIZE, "suite", "exchange of suites, difference of means", _exchange("log_gain")
    yield SIZE, "suite", "least squares, CR2 errors", _clustered
    yield SIZE, "suite", "wild cluster bootstrap", _wild


def _table(test: Callable[..., pd.DataFrame]) -> Test:
    def run(models: pd.DataFrame) -> Mapping[str, Any]:
        return _as_mapping(test(models, row="heritage", column="sign").iloc[0])

    return run


def _firth(models: pd.DataFrame) -> Mapping[str, Any]:
    """Return Firth's odds ratio; its interval is that of the log odds, put on the ratio's scale."""
    row = _as_mapping(firth.firth(models, "dampens ~ eleuther").iloc[-1])
    ratios = {name: float(np.exp(row[name])) for name in ("estimate", "conf_low", "conf_high")}
    return {**row, **ratios}


def _hedges(models: pd.DataFrame) -> Mapping[str, Any]:
    rows = effect_size.standardised_difference(models, value="log_gain", group="heritage")
    return _as_mapping(rows.iloc[-1])


def _jzs(models: pd.DataFrame) -> Mapping[str, Any]:
    return _as_mapping(bayes_factor.t_test(models, value="log_gain", group="heritage").iloc[0])


def _exchange(value: str) -> Test:
    def run(models: pd.DataFrame) -> Mapping[str, Any]:
        return _as_mapping(exchange(of_units(models), value))

    return run


def _clustered(models: pd.DataFrame) -> Mapping[str, Any]:
    fitted = regression.fit(models, "log_gain ~ eleuther", cluster="suite")
    return _as_mapping(fitted.tidy().iloc[-1])


def _wild(models: pd.DataFrame) -> Mapping[str, Any]:
    rows = wild_bootstrap.wild_cluster_bootstrap(
        models, "log_gain ~ eleuther", term="eleuther", cluster="suite"
    )
    return _as_mapping(rows.iloc[0])


def _as_mapping(row: pd.Series) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}

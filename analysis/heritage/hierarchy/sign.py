"""The sign of the gain, dampening or not, against heritage, geometry and scale.

The paper speaks of a sign; the family of `heritage.hierarchy` explains the gain itself, which says
more. Here the same members are fitted to the sign, as logistic mixed models (`analysis.mixed`,
extra ``[glmm]``), one row per model: prompts of a model hardly ever disagree about its sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis import mixed
from analysis.heritage.hierarchy.frames import DataSet, data_sets
from analysis.heritage.hierarchy.models import BLOCKS
from analysis.heritage.sign.exchange import NAMED_LAB
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, MissingExtraError

#: Suites share a recipe, so their models do not answer alone.
GROUP = "suite"

#: Stands in the note on a fit whose suites' variance is zero, so that suites are taken as alike.
SINGULAR = "The fit is singular"


def sign_effects(store: Store) -> pd.DataFrame:
    """Return what each predictor says of dampening, by data set, with a random suite.

    Returns
    -------
    One row per data set and predictor: `data_set`, `metric`, `term`, `estimate` [log odds of
    dampening per standard deviation over models; of heritage, of EleutherAI less all others, or
    of the recipe last in the alphabet less the rest],
    `std_error`, `statistic`, `p_value` (Wald z), the interval, `n_models`, `n_suites`, `method`,
    `note`. A predictor that cannot be estimated, because it tells the signs apart without error
    or all signs are alike, has a row with the reason. Where a predictor parts the signs within
    every suite the estimate is not to be trusted, and the note begins with "Separated".

    Raises
    ------
    MissingExtraError
        If the package glmm is not installed.
    """
    rows = [
        _effect(data_set, models, predictor)
        for data_set in data_sets(store)
        for models in [_models(data_set)]
        for predictor in _predictors(models)
    ]
    table = pd.DataFrame(rows)
    glossary.checked(table.columns)
    return table


def _models(data_set: DataSet) -> pd.DataFrame:
    """Return one row per model: its predictors, and whether its mean log gain is below 0."""
    names = [name for name in ("heritage", *_numeric()) if name in data_set.rows]
    keys = ["model_id", GROUP, "lab", *names]
    means = data_set.rows.groupby(keys, as_index=False, observed=True)["log_gain"].mean()
    standard = {name: (means[name] - means[name].mean()) / means[name].std() for name in names[1:]}
    levels = sorted(means["heritage"].unique())
    named = NAMED_LAB if NAMED_LAB in levels else levels[-1]
    described: pd.DataFrame = means.assign(
        dampens=(means["log_gain"] < 0).astype(int),
        heritage=(means["heritage"] == named).astype(float),
        **standard,
    )
    return described


def _numeric() -> Sequence[str]:
    return (*BLOCKS["geometry"], *BLOCKS["scale"])


def _predictors(models: pd.DataFrame) -> list[str]:
    """Return the predictors that differ between models."""
    return [name for name in ("heritage", *_numeric()) if models[name].std() > 0]


def _effect(data_set: DataSet, models: pd.DataFrame, predictor: str) -> dict[str, object]:
    row: dict[str, object] = {
        "data_set": data_set.name,
        "metric": data_set.metric,
        "term": predictor,
        "n_models": len(models),
        "n_suites": models[GROUP].nunique(),
    }
    try:
        fitted = mixed.fit_binomial(f"dampens ~ {predictor} + (1 | {GROUP})", models)
    except MissingExtraError:
        raise
    except AnalysisError as error:
        return {**row, "note": error.problem}
    effects = fitted.tidy(("fixed",))
    named = effects[effects["term"] == predictor].iloc[0]
    items = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    return {**row, **{str(name): named[name] for name in [*items, "method", "note"]}}

"""Heritage against geometry against scale, as a fitted family of mixed models.

The paper ranks who trained a model above its shape, and its shape above its size. Two views of
one family of fits per data set say what the data know of that: the fixed effects with degrees of
freedom that count labs and suites (`fixed_effects`), and the shares of variance of lab, suite,
model and prompt before and after shape and size enter (`variance_components`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.heritage.hierarchy import variance as hierarchy_variance
from analysis.heritage.hierarchy.frames import data_sets
from analysis.heritage.hierarchy.models import (
    GEOMETRY_AND_SCALE,
    NOTHING,
    Family,
    Member,
    Specification,
    fit_family,
    standardised,
)
from analysis.mixed.frames.guards import TOO_CLOSE
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Floats

#: Of the permutations, where there are too many to enumerate.
SEED = 20260106

#: Above this much inflation of its variance a coefficient says little of its own predictor.
INFLATED = 10

#: With fewer Kenward-Roger degrees of freedom no t distribution has a mean.
LEAST_DF = 1

#: Why a fit has no row of coefficients.
UNTESTED = (
    "The groups leave nothing to estimate the uncertainty of the variances from: Kenward and "
    "Roger's test has no value."
)

#: Groups whose conditional modes are shown.
HERITAGE_GROUPS = ("lab", "suite", "family")


def fit(store: Store) -> list[Family]:
    """Return the fitted family of every data set that a store has rows for.

    Raises
    ------
    DesignError
        If the store has no gains.
    """
    sets = data_sets(store)
    if not sets:
        raise DesignError(
            "A hierarchy must have gains to explain; the store has none.",
            "Open data/published, or measurements of the stream.",
        )
    return [fit_family(each) for each in sets]


def fixed_effects(families: Sequence[Family], *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the coefficients of every member with predictors, Kenward-Roger intervals.

    Parameters
    ----------
    families
        Fitted data sets.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per data set, member and predictor: `data_set`, `metric`, `block` (of the member),
    `term`, `estimate` [nat per standard deviation over models; of heritage, nat between its
    levels], `std_error`, `statistic`, `df`, `p_value`, the interval, `predictor_sd` and
    `estimate_per_unit` [nat per unit of the predictor], `variance_inflation` (by the member's
    other predictors, over models), `n_obs`, `n_models`, `n_suites`, `n_labs`, `method`, `note`.
    With less than one degree of freedom, or where the effects fit nearly every row, p is missing
    and the interval is the whole line. A member that cannot be estimated has one row with the
    reason.
    """
    parts = [
        _effects(family, member, conf_level)
        for family in families
        for member in family.members.values()
        if member.block not in (NOTHING, GEOMETRY_AND_SCALE)
    ]
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result


def heritage_permutations(families: Sequence[Family]) -> pd.DataFrame:
    """Return the exact test of heritage that supposes least: its exchange between labs or suites.

    The units are exchanged whole, with the t of the mixed model as statistic
    (`analysis.mixed.permutation_test`). With labs as units, one named lab among five can give no
    p below 0.2; with suites, labs are supposed to be no more alike than their predictors make
    them.

    Returns
    -------
    One row per data set, member with heritage, and unit: `data_set`, `metric`, `block`, `group`
    (the unit), `estimate` [nat], `statistic`, `p_value`, `smallest_p`, `n_permutations`,
    `n_groups`, `n_obs`, `n_models`, `n_suites`, `n_labs`, `method`, `note`. What cannot be
    tested has missing numbers, and `note` says why.
    """
    parts = [
        _labelled(_permuted(member, unit), family, member.block)
        for family in families
        for member in family.members.values()
        if "heritage" in member.block
        for unit in ("lab", "suite")
    ]
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result


def variance_components(
    families: Sequence[Family],
    *,
    rng: np.random.Generator,
    n_resamples: int = 199,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the shares of variance of all data sets, as `hierarchy_variance` does of one."""
    return pd.concat(
        [
            hierarchy_variance.variance_components(
                family, rng=rng, n_resamples=n_resamples, conf_level=conf_level
            )
            for family in families
        ],
        ignore_index=True,
    )


def conditional_modes(families: Sequence[Family], block: str = NOTHING) -> pd.DataFrame:
    """Return how far labs, suites and families lie from the mean, under one member.

    Returns
    -------
    One row per data set, group and level: `data_set`, `metric`, `block`, `group`, `level`,
    `estimate` [nat] with `std_error`, `conf_low`, `conf_high` of the conditional distribution
    (variances as if known), `n_groups`, `note`. A data set without a fit has one row with the
    reason.
    """
    parts = []
    for family in families:
        member = family.members[block]
        shown = pd.DataFrame({"note": [member.reason]})
        if member.model is not None:
            modes = member.model.ranef()
            shown = modes[modes["group"].isin(HERITAGE_GROUPS)].drop(columns=["effect", "term"])
            singular = member.model.optimum.singular
            shown = shown.assign(
                note="A variance is zero: what it would explain is drawn to zero." * singular
            )
        parts.append(_labelled(shown, family, block))
    result = pd.concat(parts, ignore_index=True)
    glossary.checked(result.columns)
    return result


def _effects(family: Family, member: Member, conf_level: float) -> pd.DataFrame:
    refused = pd.DataFrame({"term": [""], "note": [member.reason or UNTESTED]})
    tidy = _tested(member, conf_level)
    if member.model is None or tidy is None:
        return _labelled(refused, family, member.block)
    names = family.specification.terms(member.block)
    rows = tidy[tidy["term"].map(_predictor).isin(names)].drop(columns=["effect", "group", "level"])
    predictors = rows["term"].map(_predictor)
    inflation = variance_inflation(family.data_set.rows, family.specification, names)
    deviations = predictors.map(family.specification.deviations)
    about = [*_model_notes(member.model), *filter(None, family.specification.notes)]
    notes = [
        " ".join(filter(None, [note, _inflation_note(inflation[predictor]), *about]))
        for note, predictor in zip(rows["note"], predictors, strict=True)
    ]
    shown = rows.assign(
        predictor_sd=deviations,
        estimate_per_unit=rows["estimate"] / deviations,
        variance_inflation=predictors.map(inflation),
        note=notes,
    )
    return _labelled(_without_too_close(_without_too_thin(shown)), family, member.block)


def _tested(member: Member, conf_level: float) -> pd.DataFrame | None:
    """Return the coefficients with Kenward-Roger tests, None where those have no value."""
    if member.model is None:
        return None
    try:
        return member.model.tidy(["fixed"], conf_level=conf_level)
    except DesignError:
        return None


def _without_too_thin(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, an interval that less than one degree of freedom gives made the line."""
    is_known = rows["df"] >= LEAST_DF
    reason = f"Fewer than {LEAST_DF} degree of freedom: no p, and no interval is estimable."
    return rows.assign(
        p_value=rows["p_value"].where(is_known),
        conf_low=rows["conf_low"].where(is_known, -np.inf),
        conf_high=rows["conf_high"].where(is_known, np.inf),
        note=rows["note"].where(is_known, reason + " " + rows["note"]),
    )


def _without_too_close(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, an interval that a fit of nearly every row gives made the line."""
    is_known = ~rows["note"].str.contains(TOO_CLOSE, regex=False)
    return rows.assign(
        p_value=rows["p_value"].where(is_known),
        conf_low=rows["conf_low"].where(is_known, -np.inf),
        conf_high=rows["conf_high"].where(is_known, np.inf),
    )


def variance_inflation(
    rows: pd.DataFrame, specification: Specification, names: Sequence[str]
) -> dict[str, float]:
    """Return 1 / (1 - R squared) of every predictor on the others, over models.

    Fox and Monette (1992), Journal of the American Statistical Association 87, 178; of a factor
    with several levels, the largest of its columns.
    """
    models = standardised(rows.drop_duplicates("model_id"), specification)
    columns = {name: _columns(models[name]) for name in names}
    result = {}
    for name, block in columns.items():
        others = [np.ones((len(models), 1)), *(columns[other] for other in names if other != name)]
        result[name] = max(_inflation(column, np.column_stack(others)) for column in block.T)
    return result


def _columns(predictor: pd.Series[float]) -> Floats:
    """Return a predictor as columns, dummies of a factor, shape (models, columns)."""
    if pd.api.types.is_numeric_dtype(predictor):
        return np.asarray(predictor, dtype=np.float64)[:, None]
    dummies = pd.get_dummies(predictor, drop_first=True)
    return np.asarray(dummies, dtype=np.float64)


def _inflation(column: Floats, others: Floats) -> float:
    coefficients, _, _, _ = np.linalg.lstsq(others, column)
    left = column - others @ coefficients
    about = column - column.mean()
    return float((about @ about) / (left @ left))


def _predictor(term: str) -> str:
    """Return the predictor of a coefficient such as ``heritage[T.EleutherAI]``."""
    return term.partition("[")[0]


def _permuted(member: Member, unit: str) -> pd.DataFrame:
    """Return the test of heritage exchanged between units, or the reason why there is none."""
    refused = pd.DataFrame({"group": [unit], "note": [member.reason]})
    if member.model is None:
        return refused
    term = next((name for name in member.model.terms if _predictor(name) == "heritage"), None)
    if term is None:
        return refused.assign(note="Heritage does not vary between these models.")
    rng = np.random.default_rng(SEED)
    try:
        tested = mixed.permutation_test(member.model, term, "heritage", unit, rng=rng)
    except AnalysisError as error:
        return refused.assign(note=error.problem)
    return tested.drop(columns=["term", "n_obs"]).assign(group=unit)


def _inflation_note(inflation: float) -> str:
    if inflation < INFLATED:
        return ""
    return (
        f"The other predictors inflate its variance {inflation:.0f} times: it is hardly told "
        "from them."
    )


def _model_notes(model: mixed.MixedModel) -> list[str]:
    """Return what the engine's guards say of the model as a whole."""
    warned = model.warnings()
    return list(dict.fromkeys(warned.loc[warned["term"] == "", "note"]))


def _labelled(rows: pd.DataFrame, family: Family, block: str) -> pd.DataFrame:
    models = family.data_set.rows
    return rows.assign(
        data_set=family.data_set.name,
        metric=family.data_set.metric,
        block=block,
        n_obs=len(models),
        n_models=models["model_id"].nunique(),
        n_suites=models["suite"].nunique(),
        n_labs=models["lab"].nunique(),
    )

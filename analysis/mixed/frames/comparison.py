"""Likelihood-ratio tests of nested mixed models, with the boundary allowed for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import is_factor
from analysis.mixed.inference.fitted import Fitted, Tested
from analysis.mixed.inference.fixed_effects import chi_squared_p_value
from analysis.mixed.reading.formula import term_name, term_parts, terms
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Sums over the same rows differ by less, relatively; sums of two orders of rows may.
ROUNDING = 1e-9


def compare(models: Sequence[Tested]) -> pd.DataFrame:
    """Return one row per model, each tested against the one before it.

    Models whose fixed parts differ are fitted again by maximum likelihood first. When only
    variances are added, zero lies on the boundary of what is allowed: `p_value_boundary` is the
    half-and-half mixture of chi-squared with df and with df less the new variances (Self and
    Liang 1987, Journal of the American Statistical Association 82; Stram and Lee 1994,
    Biometrics 50, case of one new random effect); `p_value` is the plain one, too large then.

    Parameters
    ----------
    models
        Fits to the same rows, from the smallest to the largest; all linear, or all of a binary
        response, by the Laplace approximation, whose chi-squared is rough where levels hold few
        rows.

    Returns
    -------
    One row per model: `term` (its formula), `log_likelihood`, `aic`, `bic`, and `statistic`,
    `df`, `p_value`, `p_value_boundary` of the test against the model before.

    Raises
    ------
    DesignError
        If the models differ in their rows, weights, response or offset, a larger one has no more
        parameters, or does not contain the one before.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> formulas = ("invest ~ 1 + (1 | firm)", "invest ~ value + (1 | firm)")
    >>> pair = [mixed.fit(it, rows, reml=False) for it in formulas]
    >>> mixed.compare(pair)["statistic"].round(2).iloc[-1].item()
    114.19
    """
    _require_same_rows(models)
    for before, model in itertools.pairwise(models):
        _require_nested(before, model)
    linear = [model for model in models if isinstance(model, Fitted)]
    fitted: Sequence[Tested] = models
    estimator = "Laplace approximation"
    if linear:
        same_fixed = len({model.terms for model in linear}) == 1
        refit = not (same_fixed and len({model.reml for model in linear}) == 1)
        fitted = [model.refit(reml=False) if refit else model for model in linear]
        estimator = "maximum likelihood" if refit or not linear[0].reml else "REML"
    rows = [_row(fitted[0], None), *(_row(b, a) for a, b in itertools.pairwise(fitted))]
    return glossary.table(rows, method=f"Likelihood ratio, {estimator}")


def drop_terms(model: Fitted) -> pd.DataFrame:
    """Return the likelihood ratio of dropping each fixed term; see `Answers.drop1`.

    All columns of a basis such as ``poly(x, 2)`` are dropped together.
    """
    whole = model.refit(reml=False) if model.reml else model
    fixed_terms = terms(model.formula.fixed)
    parts = {term: term_parts(term) for term in fixed_terms}
    droppable = dict.fromkeys(
        term_name(term)
        for term in fixed_terms
        if parts[term] and not any(parts[term] < each for each in parts.values())
    )
    if not droppable:
        raise DesignError(
            "The model must have a fixed term beside the intercept to drop; it has none.",
            "Compare models by `compare`.",
        )
    rows = [_row(whole, None) | {"term": ""}]
    for name in droppable:
        others = [each.name() for each in fixed_terms if term_name(each) != name and parts[each]]
        intercept = "1" if any(not parts[each] for each in fixed_terms) else "0"
        formula = replace(model.formula, fixed=" + ".join([intercept, *others]))
        smaller = replace(whole, formula=formula).refit(reml=False)
        rows.append(_row(smaller, None) | {"term": name} | _test(smaller, whole))
    return glossary.table(
        pd.DataFrame(rows)
        .drop(columns="p_value_boundary")
        .assign(method="Likelihood ratio without the term, maximum likelihood")
    )


def _require_same_rows(models: Sequence[Tested]) -> None:
    sizes = {model.statistics.n_obs for model in models}
    if len(models) < 2 or len(sizes) > 1:
        raise DesignError(
            "A likelihood ratio must compare at least two models on the same rows; found "
            f"{len(models)} models, rows {sorted(sizes)}.",
            "Fit them to the same source.",
        )
    if len({isinstance(model, Fitted) for model in models}) > 1:
        raise DesignError(
            "A likelihood ratio must compare models of one kind; found linear ones and ones of a "
            "binary response.",
            "Their likelihoods cannot be compared.",
        )
    responses = {_response(model) for model in models}
    if len(responses) > 1:
        raise DesignError(
            f"Models must explain the same response; found {sorted(responses)}.",
            "Likelihoods of different responses, or with other offsets, cannot be compared.",
        )
    for model in models[1:]:
        if not np.allclose(_totals(models[0]), _totals(model), rtol=ROUNDING, atol=0):
            raise DesignError(
                "A likelihood ratio must compare models on the same rows with the same weights; "
                f"{model.formula.text!r} was fitted to other rows than {models[0].formula.text!r}.",
                "Fit them to the same source.",
            )


def _response(model: Tested) -> str:
    offset = f" less {model.statistics.offset}" if model.statistics.offset else ""
    return model.statistics.response + offset


def _require_nested(before: Tested, model: Tested) -> None:
    df = model.n_parameters - before.n_parameters
    if df <= 0:
        raise DesignError(
            f"Models must be ordered from the smallest; {model.formula.text!r} has "
            f"{-df} fewer parameters than the one before.",
            "Reorder them.",
        )
    outside = _terms_outside(before.formula.fixed, model.formula.fixed, before)
    for term in before.formula.random:
        same_group = (each for each in model.formula.random if each.group == term.group)
        if not any(not _terms_outside(term.left, each.left, before) for each in same_group):
            outside.append(f"({term.left} | {term.group_name})")
    if outside:
        raise DesignError(
            f"The smaller model must lie in the larger; {model.formula.text!r} does not contain "
            f"{', '.join(outside)}.",
            "Compare models of which one only adds terms; others by AIC, which is in `glance`.",
        )


def _totals(model: Tested) -> Floats:
    """Return the size, the mean and deviation of the response, and the weights, of the rows."""
    statistics = model.statistics
    if not isinstance(model, Fitted):  # trials and successes
        return np.array([float(statistics.product(0, place).sum()) for place in (0, 1)])
    place = len(statistics.basis)
    size = float(statistics.product(0, 0).sum())
    about = float(statistics.product(0, place).sum())
    square = float(statistics.product(place, place).sum()) - about**2 / size
    deviation = np.sqrt(square / size)
    mean = about / size + float(statistics.shift[place])
    # The mean is compared on the scale of the deviation, so that a large one hides nothing.
    weights = float(statistics.log_weights.sum())
    return np.array([size, 1 + abs(mean) / deviation, deviation, 1 + weights**2])


def _terms_outside(smaller: str, larger: str, model: Tested) -> list[str]:
    """Return terms of one right side that no term of another contains: same numbers, its labels."""

    def parts(term: Any) -> tuple[set[str], set[str]]:
        codes = {factor.code for factor in term.factors}
        labels = {code for code in codes if is_factor(code, model.statistics)}
        return codes - labels, labels

    known = [parts(term) for term in terms(larger)]
    return [
        term.name()
        for term in terms(smaller)
        if not any(
            numbers == of and labels <= within
            for numbers, labels in [parts(term)]
            for of, within in known
        )
    ]


def _row(model: Tested, before: Tested | None) -> dict[str, object]:
    glance = model.glance().iloc[0]
    row: dict[str, object] = {
        "term": model.formula.text,
        "log_likelihood": glance["log_likelihood"],
        "aic": glance["aic"],
        "bic": glance["bic"],
        "n_obs": glance["n_obs"],
        "statistic": np.nan,
        "df": np.nan,
        "p_value": np.nan,
        "p_value_boundary": np.nan,
        "note": "",
    }
    if before is None:
        return row
    row |= (test := _test(before, model))
    n_variances = _n_variances(model) - _n_variances(before)
    if model.terms == before.terms and n_variances == 1:
        row["p_value_boundary"] = boundary_p_value(test["statistic"], int(test["df"]))
    elif model.terms == before.terms and n_variances > 1:
        row["note"] = f"{n_variances} new variances: the p-value is too large (boundary)."
    return row


def _test(smaller: Tested, larger: Tested) -> dict[str, float]:
    """Return the likelihood ratio of two models, chi-squared whatever they add."""
    df = larger.n_parameters - smaller.n_parameters
    statistic = max(0.0, smaller.criterion - larger.criterion)
    return {
        "statistic": statistic,
        "df": float(df),
        "p_value": chi_squared_p_value(statistic, df) if df else np.nan,
    }


def _n_variances(model: Tested) -> int:
    return sum(block.width for block in model.design.blocks)


def boundary_p_value(statistic: float, df: int) -> float:
    """Return the p-value of a test of one new variance, with df - 1 new covariances.

    Half the weight lies on chi-squared with df, half with df - 1; with no df that is zero.
    """
    smaller = chi_squared_p_value(statistic, df - 1) if df > 1 else float(statistic <= 0)
    return (chi_squared_p_value(statistic, df) + smaller) / 2

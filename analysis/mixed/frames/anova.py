"""F tests of the fixed terms: what each adds to the others (type II), or beside all (type III).

A type III test of a term asks whether its columns in sum-to-zero contrasts have coefficients of
zero: every combination of the other factors' levels counts the same, whatever contrasts the fit
has. A type II test asks it among models without the terms that contain it (Fox 2016, Applied
Regression Analysis, section 8.2; R's `car::Anova`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Column, design_columns, is_factor, matrix_of
from analysis.mixed.inference.fitted import Fitted, Tested
from analysis.mixed.inference.fixed_effects import NAMES
from analysis.mixed.reading.formula import term_name, term_parts, terms
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_option

TYPES = ("II", "III")

#: Share of a column outside the span of the others' below which it lies in it.
ROUNDING = 1e-8

#: How the method is named.
WORDS = {
    "II": "type II, each term beside all that do not contain it",
    "III": "type III, sum-to-zero contrasts",
}


def anova(model: Tested, kind: str, df: str) -> pd.DataFrame:
    """Return one row per fixed term: F test by type II or III; see `Answers.anova`.

    By Wald the statistic is chi-squared over its df.
    """
    from patsy import Sum

    require_option("type", kind, TYPES)
    hypotheses = _type_two(model, df) if kind == "II" else _coefficients_in(model, Sum)
    hypotheses.pop("Intercept", None)
    rows = []
    if isinstance(model, Fitted):
        hypotheses = _lmertest_rows(model, hypotheses)
    for term, contrasts in hypotheses.items():
        test = model.fixed_tests.joint(contrasts, df)
        rows.append(
            {
                "term": term,
                "statistic": test.statistic,
                "df": float(test.df),
                "df_residual": test.df_residual,
                "p_value": test.p_value,
                "note": _test_place(model, term) if kind == "III" else _means_note(model, term),
            }
        )
    columns = ["term", "statistic", "df", "df_residual", "p_value", "note"]
    name = "Wald chi-squared over its df" if df == "wald" else f"{NAMES[df][:-2]} F"
    return glossary.table(
        rows, columns=columns, n_obs=model.statistics.n_obs, method=f"{name}; {WORDS[kind]}"
    )


def _lmertest_rows(model: Fitted, hypotheses: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return by term the rows that lmerTest writes the same hypothesis in.

    Fai and Cornelius's degrees of freedom differ among the rows that one hypothesis can be written
    in. lmerTest's have the identity at the term's columns in treatment contrasts, first level as
    reference, whatever contrasts the fit has; in a model of one term they are those of type I, each
    row orthogonal to the next over the rows of data.
    """
    by_term = _coefficients_in_treatment(model)
    turn = np.vstack(list(by_term.values()))
    back = np.linalg.inv(turn)
    starts = np.cumsum([0, *(len(rows) for rows in by_term.values())])
    alone = len({term_name(term) for term in terms(model.formula.fixed) if term.factors}) == 1
    result: dict[str, Floats] = {}
    for term, start in zip(by_term, starts[:-1], strict=True):
        if term not in hypotheses:
            continue
        columns = slice(int(start), int(start) + len(by_term[term]))
        rows = hypotheses[term]
        result[term] = np.asarray(np.linalg.solve(rows @ back[:, columns], rows), dtype=np.float64)
        if alone:
            root = np.linalg.cholesky(back.T @ _squares(model) @ back)
            result[term] = (root / np.diag(root))[columns, columns].T @ result[term]
    return {term: result[term] for term in hypotheses}


def _coefficients_in_treatment(model: Fitted) -> dict[str, Floats]:
    """Return the turn into treatment contrasts by term; none where these span another space."""
    from patsy import Treatment

    try:
        return _coefficients_in(model, Treatment)
    except DesignError:
        identity: Floats = np.eye(len(model.terms))
        places = model.design.term_columns
        return {term: identity[list(columns)] for term, columns in places.items()}


def _squares(model: Fitted) -> Floats:
    """Return X'X over rows; weighted only where rows have weights and predictors vary in cells."""
    fixed = model.design.fixed
    if not any(column.basis for column in fixed):
        matrix = matrix_of(fixed)
        return np.asarray(matrix.T @ (model.statistics.counts[:, None] * matrix))
    cross = model.cross
    into = np.linalg.inv(cross.centring)
    return np.asarray(into.T @ cross.fixed_products[:-1, :-1] @ into)


def _coefficients_in(model: Tested, contrast: Any) -> dict[str, Floats]:
    """Return by term the rows that turn the fit's coefficients into those of a contrast."""
    stated: Mapping[str, Any] = dict.fromkeys(model.statistics.factors, contrast)
    columns, places = design_columns(model.formula.fixed, model.statistics, stated)
    gone = _terms_left_out(model, places)
    estimable = [place for term, rows in places.items() if term not in gone for place in rows]
    turn = np.zeros((len(columns), len(model.design.fixed)))
    turn[sorted(estimable)] = _turn(
        [columns[k] for k in sorted(estimable)], list(model.design.fixed)
    )
    return {term: turn[list(rows)] for term, rows in places.items() if term not in gone}


def _terms_left_out(model: Tested, places: Mapping[str, tuple[int, ...]]) -> set[str]:
    """Return the terms of which no column was estimable; refuse one that was in part."""
    in_part = [
        term
        for term, fitted in model.design.term_columns.items()
        if len(fitted) < len(places.get(term, ()))
    ]
    if in_part:
        raise DesignError(
            "A type III test must have all columns of a term; some of "
            f"{', '.join(in_part)} are combinations of others and were left out. What it would "
            "test depends on which.",
            "Ask for type='II', or merge the levels that never occur together.",
        )
    return places.keys() - model.design.term_columns.keys()


def _turn(columns: list[Column], fitted: list[Column]) -> Floats:
    """Return T with fitted = columns T: coefficients of `fitted` times T are those of `columns`."""
    turn = np.zeros((len(columns), len(fitted)))
    for basis in {column.basis for column in fitted}:
        ours = [place for place, column in enumerate(columns) if column.basis == basis]
        theirs = [place for place, column in enumerate(fitted) if column.basis == basis]
        into = matrix_of(fitted[place] for place in theirs)
        if ours:
            of = matrix_of(columns[place] for place in ours)
            scale = np.abs(of).max(axis=0)
            weights = np.linalg.lstsq(of / scale, into, rcond=None)[0] / scale[:, None]
            turn[np.ix_(ours, theirs)] = weights
            into = into - of @ weights
        if np.abs(into).max() > ROUNDING * max(np.abs(fitted[k].coefficient).max() for k in theirs):
            raise DesignError(
                "A type III test must have a design that its contrasts do not change; with "
                "sum-to-zero contrasts this one spans another space.",
                "Add the terms that every interaction contains, or ask for type='II'.",
            )
    return turn


def _type_two(model: Tested, df: str) -> dict[str, Floats]:
    """Return by term the contrasts of it and what contains it that are independent of the latter.

    Independent by the covariance of the estimates: a test of the term with its relatives left out,
    at the variances of the fit.
    """
    covariance, parts = model.fixed_tests.covariance(df), _parts(model)
    contrasts = {}
    for term, places in model.design.term_columns.items():
        if term == "Intercept":
            continue
        relatives = [
            place
            for other, theirs in model.design.term_columns.items()
            if other != term and parts[term] < parts[other]
            for place in theirs
        ]
        rows = np.zeros((len(places), len(model.terms)))
        rows[:, list(places)] = np.eye(len(places))
        scale = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(scale, scale)
        among, across = correlation[relatives][:, relatives], correlation[relatives][:, places]
        weights = np.linalg.solve(among, across).T
        rows[:, relatives] = -weights * scale[list(places), None] / scale[relatives]
        contrasts[term] = rows
    return contrasts


def _parts(model: Tested) -> dict[str, frozenset[str]]:
    """Return the factors and numbers that each fixed term multiplies, by its name."""
    return {term_name(term): term_parts(term) for term in terms(model.formula.fixed)}


def _test_place(model: Tested, name: str) -> str:
    """Return what a type III test asks, where that is not what its name says."""
    return " ".join(each for each in (_zero_note(model, name), _means_note(model, name)) if each)


def _means_note(model: Tested, name: str) -> str:
    """Return a note on the factor that stands for the intercept: its test is of all its means."""
    if "Intercept" in model.design.term_columns:
        return ""
    fixed = model.design.fixed
    matrix = matrix_of([fixed[place] for place in model.design.term_columns[name]])
    if not np.allclose(matrix.sum(axis=1), 1.0) or any(
        fixed[place].basis for place in model.design.term_columns[name]
    ):
        return ""
    return f"Without an intercept: that all means of {name} are zero, not that they are equal."


def _zero_note(model: Tested, name: str) -> str:
    """Return a note when a term is tested where a number that it interacts with is zero."""
    parts = _parts(model)
    others = (parts[other] for other in model.design.term_columns if parts[name] < parts[other])
    numbers = {
        code
        for other in others
        for code in other - parts[name]
        if not is_factor(code, model.statistics)
    }
    return f"Tested where {' and '.join(sorted(numbers))} is zero." if numbers else ""

"""Least squares by formula, with standard errors that know about clusters.

Given a cluster, standard errors are CR2 with Satterthwaite degrees of freedom: with few labs the
usual ones are too small and the normal reference is too thin-tailed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from analysis.inference.association.sandwich import Sandwich, cr2
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.formula import ModelMatrices, model_matrices
from analysis.tidy.frame import (
    FEW_GROUPS,
    Floats,
    group_codes,
    require_conf_level,
    require_rows,
)

#: A column whose part outside the span of those before it is smaller than this is aliased (R: lm).
ALIASED = 1e-7

#: CR2's expected share below which comparing clusters does not show a coefficient's variance.
TESTABLE = 1 - 1e-6

#: Below this the t reference of a cluster-robust test is unreliable (Pustejovsky and Tipton 2018).
RELIABLE_DF = 4

#: Degrees of freedom this close to a whole number are that number.
ROUNDING = 1e-9

#: Residual over total sum of squares below which the fit is perfect up to rounding.
PERFECT = 1e-20


@dataclass(frozen=True, slots=True)
class Regression:
    """A least-squares fit; arrays run over n rows and p terms."""

    terms: tuple[str, ...]  #: Names of the coefficients, length p.
    design: Floats  #: Design matrix, shape (n, p).
    response: Floats  #: Response, shape (n,).
    coefficients: Floats  #: Least-squares estimates, shape (p,).
    sandwich: Sandwich  #: Covariance and degrees of freedom of the coefficients.
    n_groups: int  #: Independent groups: clusters, or rows without a cluster.
    method: str  #: Estimator, standard errors and reference distribution.
    clustered: bool  #: Whether the standard errors allow for clusters.
    note: str  #: What a reader must know.

    def tidy(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """Return one row per term: estimate, standard error, t test, interval.

        A term that one cluster alone determines has no standard error, and says so in `note`.
        """
        require_conf_level(conf_level)
        return glossary.table(_coefficients(self, conf_level))


def fit(frame: pd.DataFrame, formula: str, *, cluster: str | None = None) -> Regression:
    """Return the least-squares fit of a formula.

    Parameters
    ----------
    frame
        One row per observation. Text columns become factors with sorted levels, categorical
        ones keep their order; the first level present is the reference.
    formula
        Such as ``gain ~ lab + np.log10(parameters)``. Only columns and ``np`` are known to it.
    cluster
        Column naming the independent units, for CR2 standard errors with Satterthwaite degrees of
        freedom; without it rows are taken as independent.

    Returns
    -------
    A `Regression`: ask it to tidy.

    Raises
    ------
    ColumnError
        If the formula cannot be read, names no column, or a column it uses has missing or
        infinite values.
    DesignError
        If a term is a linear combination of others, a factor has one level, the response is
        constant, fewer rows than terms plus one remain, or there are fewer than two clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
    >>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
    >>> ts.least_squares(frame, "y ~ x").tidy()["estimate"].round(2).tolist()
    [0.09, 0.98]
    >>> ts.least_squares(frame, "y ~ x", cluster="g").tidy()["df"].round(1).tolist()
    [1.1, 1.2]
    """
    require_rows(frame, 2, "A regression")
    matrices = model_matrices(frame, formula)
    design, response = matrices.design, matrices.response
    require_estimable(matrices)
    # As statsmodels' OLS(...).fit(method="qr"), which costs a second to import.
    q, r = np.linalg.qr(design)
    coefficients = np.linalg.solve(r, q.T @ response)
    residuals = response - design @ coefficients
    notes = [f"Reference level: {reference}." for reference in matrices.references]
    if (residuals**2).sum() <= PERFECT * (response**2).sum():
        notes.append("The fit is perfect up to rounding: its standard errors mean nothing.")
    if cluster is None:
        sandwich, n_groups = _classical(design, residuals), len(frame)
        method = "Least squares; classical standard errors; t(n - p)"
    else:
        clusters = group_codes(frame, cluster)
        n_groups = int(clusters.max()) + 1
        sandwich = cr2(design, residuals, clusters)
        method = f"Least squares; CR2 standard errors by {cluster}; Satterthwaite t"
        if n_groups < FEW_GROUPS:
            notes.append(f"Only {n_groups} clusters: read the degrees of freedom.")
    return Regression(
        terms=matrices.terms,
        design=design,
        response=response,
        coefficients=coefficients,
        sandwich=sandwich,
        n_groups=n_groups,
        method=method,
        clustered=cluster is not None,
        note=" ".join(notes),
    )


def require_estimable(matrices: ModelMatrices) -> None:
    """Raise DesignError unless every term adds something, rows suffice and the response varies."""
    terms, design, response = matrices.terms, matrices.design, matrices.response
    aliased = [terms[position] for position in aliased_columns(design)]
    if aliased:
        raise DesignError(
            f"Every term must add something; {aliased} are linear combinations of the terms "
            "before them.",
            "Drop them, or the terms they repeat: a lab's own traits cannot be separated from the "
            "lab.",
        )
    if len(response) <= len(terms):
        raise DesignError(
            f"{len(terms)} terms need at least {len(terms) + 1} rows; found {len(response)}.",
            "Use fewer terms.",
        )
    if np.ptp(response) == 0:
        raise DesignError(
            f"The response must vary; all {len(response)} rows hold {float(response[0])!r}.",
            "There is nothing to explain.",
        )


def aliased_columns(design: Floats) -> list[int]:
    """Return positions of the columns that are linear combinations of those before them."""
    basis = np.empty((len(design), 0))
    aliased = []
    for position, column in enumerate(design.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length <= ALIASED * float(np.linalg.norm(column)):
            aliased.append(position)
        else:
            basis = np.column_stack([basis, rest / length])
    return aliased


def _classical(design: Floats, residuals: Floats) -> Sandwich:
    """Return the textbook covariance, every coefficient with n - p degrees of freedom."""
    n_rows, n_terms = design.shape
    triangular = np.linalg.qr(design, mode="r")
    root = np.linalg.inv(triangular)
    variance = float(residuals @ residuals) / (n_rows - n_terms)
    df = np.full(n_terms, float(n_rows - n_terms))
    return Sandwich(variance * root @ root.T, df, np.ones(n_terms))


def _coefficients(fitted: Regression, conf_level: float) -> pd.DataFrame:
    sandwich = fitted.sandwich
    testable = sandwich.expected_share > TESTABLE
    std_error = np.where(testable, np.sqrt(np.diag(sandwich.covariance)), np.nan)
    df = np.where(testable, sandwich.df, np.nan)
    statistic = np.divide(
        fitted.coefficients,
        std_error,
        out=np.full(len(std_error), np.nan),
        where=std_error > 0,
    )
    reach = scipy.stats.t.isf((1 - conf_level) / 2, df) * std_error
    return pd.DataFrame(
        {
            "term": fitted.terms,
            "estimate": fitted.coefficients,
            "std_error": std_error,
            "statistic": statistic,
            "df": df,
            "p_value": 2 * scipy.stats.t.sf(np.abs(statistic), df),
            "conf_low": fitted.coefficients - reach,
            "conf_high": fitted.coefficients + reach,
            "conf_level": conf_level,
            "n_obs": len(fitted.response),
            "n_groups": fitted.n_groups,
            "method": fitted.method,
            "note": [_term_note(fitted, *known) for known in zip(testable, df, strict=True)],
        }
    )


def _term_note(fitted: Regression, testable: bool, df: float) -> str:
    remark = ""
    if not testable:
        remark = "One cluster alone determines this term, wholly or in part: it cannot be tested."
    elif fitted.clustered and df < RELIABLE_DF - ROUNDING:
        remark = f"Fewer than {RELIABLE_DF} degrees of freedom: the p-value is unreliable."
    return f"{fitted.note} {remark}".strip()

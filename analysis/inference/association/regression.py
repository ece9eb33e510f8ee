"""Least squares by formula, with standard errors that know about clusters.

Given a cluster, CR2 standard errors with Satterthwaite degrees of freedom are the default:
with few labs the usual ones are too small and the normal reference is too thin-tailed.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import regression
>>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
>>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
>>> regression.fit(frame, "y ~ x").tidy()["estimate"].round(2).tolist()
[0.09, 0.98]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.association.sandwich import Sandwich, cr1, cr2
from analysis.tidy import glossary
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.formula import ModelMatrices, model_matrices
from analysis.tidy.frame import (
    FEW_GROUPS,
    Floats,
    Integers,
    group_codes,
    require_conf_level,
    require_option,
    require_rows,
)

COVARIANCES = ("CR2", "CR1")

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
    """A least-squares fit; arrays run over n rows and p terms.

    Attributes
    ----------
    frame
        The caller's frame, one row per observation.
    formula
        The formula fitted.
    terms
        Names of the coefficients, length p.
    design
        Design matrix, shape (n, p).
    response
        Response, shape (n,).
    coefficients
        Least-squares estimates, shape (p,).
    sandwich
        Covariance and degrees of freedom of the coefficients.
    n_groups
        Independent groups: clusters, or rows without a cluster.
    method
        Estimator, standard errors and reference distribution.
    clustered
        Whether the standard errors allow for clusters.
    note
        What a reader must know.
    """

    frame: pd.DataFrame
    formula: str
    terms: tuple[str, ...]
    design: Floats
    response: Floats
    coefficients: Floats
    sandwich: Sandwich
    n_groups: int
    method: str
    clustered: bool
    note: str

    def tidy(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """Return one row per term: estimate, standard error, t test, interval.

        A term that one cluster alone determines has no standard error, and says so in `note`.
        """
        require_conf_level(conf_level)
        result = _coefficients(self, conf_level)
        glossary.checked(result.columns)
        return result

    def glance(self) -> pd.DataFrame:
        """Return one row: shares of variance, residual scale, F test, likelihood, criteria.

        The F test supposes independent rows, so it is missing when there are clusters; the
        likelihood supposes them too. AIC and BIC count the residual variance, as in R.
        """
        result = _summary(self)
        glossary.checked(result.columns)
        return result

    def augment(self) -> pd.DataFrame:
        """Return the caller's frame with `fitted`, `residual`, `leverage`, `cooks_distance`.

        Raises
        ------
        ColumnError
            If the frame already has a column of such a name.
        """
        added = _diagnostics(self)
        taken = [name for name in added.columns if name in self.frame.columns]
        if taken:
            raise ColumnError(
                f"The frame must not already have the columns augment adds; it has {taken}.",
                "Rename them before the fit.",
            )
        result = pd.concat([self.frame, added], axis="columns")
        glossary.checked(result.columns, also=[str(name) for name in self.frame.columns])
        return result


def fit(
    frame: pd.DataFrame, formula: str, *, cluster: str | None = None, covariance: str = "CR2"
) -> Regression:
    """Return the least-squares fit of a formula.

    Parameters
    ----------
    frame
        One row per observation. Text columns become factors with sorted levels, categorical
        ones keep their order; the first level present is the reference.
    formula
        Such as ``gain ~ lab + np.log10(parameters)``. Only columns and ``np`` are known to it.
    cluster
        Column naming the independent units; without it rows are taken as independent.
    covariance
        With a cluster: ``CR2`` with Satterthwaite degrees of freedom, or ``CR1`` with G - 1.

    Returns
    -------
    A `Regression`: ask it to tidy, glance or augment.

    Raises
    ------
    ColumnError
        If the formula cannot be read, names no column, or a column it uses has missing or
        infinite values.
    DesignError
        If a term is a linear combination of others, a factor has one level, the response is
        constant, fewer rows than terms plus one remain, or there are fewer than two clusters.
    """
    require_option("covariance", covariance, COVARIANCES)
    require_rows(frame, 2, "A regression")
    matrices = model_matrices(frame, formula)
    design, response = matrices.design, matrices.response
    require_estimable(matrices)
    # statsmodels.api would load all of that library, which costs more than the fit.
    from statsmodels.regression.linear_model import OLS

    coefficients = np.asarray(OLS(response, design).fit(method="qr").params, dtype=np.float64)
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
        sandwich, method = _clustered(design, residuals, clusters, cluster, covariance)
        if n_groups < FEW_GROUPS:
            notes.append(_few_groups(n_groups, covariance))
    return Regression(
        frame=frame,
        formula=formula,
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
            "Drop them, or the terms they repeat: a lab's own traits cannot be told from the lab.",
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


def _clustered(
    design: Floats, residuals: Floats, clusters: Integers, cluster: str, covariance: str
) -> tuple[Sandwich, str]:
    if covariance == "CR1":
        method = f"Least squares; CR1 standard errors by {cluster}; t(G - 1)"
        return cr1(design, residuals, clusters), method
    method = f"Least squares; CR2 standard errors by {cluster}; Satterthwaite t"
    return cr2(design, residuals, clusters), method


def _few_groups(n_groups: int, covariance: str) -> str:
    if covariance == "CR1":
        return f"Only {n_groups} clusters: CR1 standard errors are too small; prefer CR2."
    return f"Only {n_groups} clusters: read the degrees of freedom."


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
    reach = stats.t.isf((1 - conf_level) / 2, df) * std_error
    return pd.DataFrame(
        {
            "term": fitted.terms,
            "estimate": fitted.coefficients,
            "std_error": std_error,
            "statistic": statistic,
            "df": df,
            "p_value": 2 * stats.t.sf(np.abs(statistic), df),
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
    own = ""
    if not testable:
        own = "One cluster alone determines this term, wholly or in part: it cannot be tested."
    elif fitted.clustered and df < RELIABLE_DF - ROUNDING:
        own = f"Fewer than {RELIABLE_DF} degrees of freedom: the p-value is unreliable."
    return f"{fitted.note} {own}".strip()


def _summary(fitted: Regression) -> pd.DataFrame:
    n_rows, n_terms = fitted.design.shape
    residuals = fitted.response - fitted.design @ fitted.coefficients
    intercept = _spans_intercept(fitted.design)
    centre = fitted.response.mean() if intercept else 0.0
    residual_ss = float(residuals @ residuals)
    total_ss = float(((fitted.response - centre) ** 2).sum())
    df_model, df_residual = n_terms - intercept, n_rows - n_terms
    r_squared = 1 - residual_ss / total_ss
    statistic, p_value = np.nan, np.nan
    if not fitted.clustered and df_model and residual_ss > 0:
        statistic = (total_ss - residual_ss) / df_model / (residual_ss / df_residual)
        p_value = float(stats.f.sf(statistic, df_model, df_residual))
    log_variance = np.log(residual_ss / n_rows) if residual_ss > 0 else -np.inf
    log_likelihood = -n_rows / 2 * (np.log(2 * np.pi) + log_variance + 1)
    return pd.DataFrame(
        {
            "r_squared": [r_squared],
            "adj_r_squared": [1 - (1 - r_squared) * (n_rows - intercept) / df_residual],
            "sigma": [np.sqrt(residual_ss / df_residual)],
            "statistic": [statistic],
            "df": [float(df_model)],
            "df_residual": [float(df_residual)],
            "p_value": [p_value],
            "log_likelihood": [log_likelihood],
            "aic": [2 * (n_terms + 1) - 2 * log_likelihood],
            "bic": [np.log(n_rows) * (n_terms + 1) - 2 * log_likelihood],
            "n_obs": [n_rows],
            "n_groups": [fitted.n_groups],
            "method": [fitted.method],
            "note": [fitted.note],
        }
    )


def _spans_intercept(design: Floats) -> bool:
    with_constant = np.column_stack([design, np.ones(len(design))])
    return design.shape[1] in aliased_columns(with_constant)


def _diagnostics(fitted: Regression) -> pd.DataFrame:
    """Return fitted value, residual, leverage and Cook's distance (missing where leverage is 1)."""
    n_rows, n_terms = fitted.design.shape
    fitted_values = fitted.design @ fitted.coefficients
    residuals = fitted.response - fitted_values
    leverage = (np.linalg.qr(fitted.design).Q ** 2).sum(axis=1)
    variance = float(residuals @ residuals) / (n_rows - n_terms)
    free = 1 - leverage
    numerator, denominator = residuals**2 * leverage, n_terms * variance * free**2
    cooks_distance = np.divide(
        numerator,
        denominator,
        out=np.full(n_rows, np.nan),
        where=(free > ALIASED) & (denominator > 0),
    )
    return pd.DataFrame(
        {
            "fitted": fitted_values,
            "residual": residuals,
            "leverage": leverage,
            "cooks_distance": cooks_distance,
        },
        index=fitted.frame.index,
    )

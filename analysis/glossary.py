"""Every column a result frame may have, defined once.

A test fails when any function of this package returns a column that is not here.
Names follow broom: lower case, spelt out, usable as attributes.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.errors import ColumnError

GLOSSARY: dict[str, str] = {
    "term": "What the row estimates: a coefficient, a statistic, a difference",
    "effect": "Part of a mixed model: fixed, ran_pars (variances), ran_vals (conditional modes)",
    "group": "Group the row belongs to; of a mixed model, the grouping factor",
    "level": "Level of the grouping factor",
    "guard": "What the warning is about",
    "contrast": "The two levels compared, first minus second or first over second",
    "estimate": "Point estimate of the term",
    "std_error": "Standard error of the estimate",
    "df": "Degrees of freedom of the reference distribution",
    "statistic": "Test statistic",
    "p_value": "Two-sided p unless `alternative` says otherwise",
    "p_value_boundary": "p value of a likelihood ratio that allows for a variance of zero",
    "conf_low": "Lower end of the confidence interval",
    "conf_high": "Upper end of the confidence interval",
    "conf_level": "Nominal coverage of the interval",
    "alternative": "Direction of the alternative hypothesis: two-sided, less, greater",
    "method": "Method, named so that it can be looked up",
    "n_obs": "Rows that entered",
    "n_groups": "Independent groups that entered",
    "n_models": "Distinct models that entered",
    "n_suites": "Distinct training suites that entered",
    "n_resamples": "Resamples drawn",
    "n_permutations": "Label assignments evaluated to obtain the p value",
    "n_failed": "Resamples whose statistic could not be computed",
    "null_value": "Value of the estimate under the null hypothesis",
    "smallest_p": "Smallest p this test can return for these data",
    "r_squared": "Share of variance explained",
    "rmse": "Root mean squared error of prediction",
    "rmse_null": "Root mean squared error of predicting the mean",
    "adj_r_squared": "Share of variance explained, adjusted for the number of terms",
    "r_squared_marginal": "Share of variance explained by the fixed part of a mixed model",
    "r_squared_conditional": "Share of variance explained by its fixed and random parts",
    "icc": "Share of the random part in the variance that the fixed part leaves",
    "criterion": "Minus twice the (restricted) log-likelihood at the estimate",
    "gradient": "Largest absolute derivative of the criterion by the relative covariance factor",
    "converged": "Whether one more step would change the criterion by less than 1e-8",
    "singular": "Whether a variance is zero or a correlation of random effects is one",
    "sigma": "Residual standard deviation",
    "log_likelihood": "Log-likelihood at the estimate",
    "aic": "Akaike's information criterion",
    "bic": "Bayesian information criterion",
    "df_residual": "Residual degrees of freedom",
    "fitted": "Fitted value of the row",
    "fitted_fixed": "Fitted value of the row from the fixed part alone",
    "residual": "Observed minus fitted",
    "quantile_residual": "Share of simulated responses that lie below the observed one",
    "row": "Place of the row among the rows, from zero",
    "theoretical": "Quantile that the model supposes",
    "observed": "Quantile found in the data",
    "bin_low": "Smallest value in the bin",
    "bin_high": "Largest value in the bin",
    "predicted_low": "Lower end of the interval for a new observation",
    "predicted_high": "Upper end of the interval for a new observation",
    "leverage": "Diagonal of the hat matrix",
    "cooks_distance": "Influence of the row, or of the level left out, on all coefficients",
    "change": "Estimate without the level less the estimate with it",
    "block": "Set of predictors taken together: lab, geometry, scale",
    "share": "Part of the explained variance attributed to the block, summing to r_squared",
    "chance_share": "Share the block would get on average were the response shuffled",
    "layer": "Block of the model, from 0",
    "probability": "Share of the resamples with the row's outcome, or level of a quantile",
    "prediction": "What L* is compared with: formula, a_priori or half_depth",
    "error_over_depth": "Mean of |predicted - found layer| over the number of layers",
    "error_over_layer": "Mean of |predicted - found layer| over the found layer",
    "sign": "dampen, expand or not identified",
    "claim_id": "Number of the claim",
    "statement": "The claim as quoted",
    "place": "Where the claim stands",
    "estimand": "The quantity that would make the claim true or false",
    "rule": "The rule that turns the checks into the verdict",
    "verdict": "reproduced, reproduced under a condition, contradicted, or not computable",
    "evidence": "Tables and files the numbers come from",
    "caveats": "Known defects that touch the evidence, B1 to B16",
    "condition": "How the words of the claim were read: definition, models, files",
    "holds": "Whether the part holds under the condition; missing when it cannot be told",
    "note": "What a reader must know before using the row",
}


def checked(columns: Iterable[str], *, also: Iterable[str] = ()) -> None:
    """Raise ColumnError unless every column is in the glossary or named in ``also``.

    ``also`` names columns that belong to the caller's data (augment adds to them).
    """
    unknown = [name for name in columns if name not in GLOSSARY and name not in set(also)]
    if unknown:
        raise ColumnError(
            f"Result columns must be defined in analysis/glossary.py; {unknown} are not.",
            "Use the glossary's name for the quantity, or define a new one there.",
        )

"""Names that users of R, statsmodels and glmm look for, and where their answers are."""

from __future__ import annotations

#: What each name is here, as a sentence goes on.
NAMES = {
    "fixef": 'tidy("fixed"), the estimates by term',
    "coef": 'tidy("fixed") of the fixed effects and ranef() of what the levels add',
    "params": 'tidy("fixed"), the estimates by term',
    "VarCorr": 'tidy("ran_pars"), standard deviations and correlations by group',
    "varcorr": 'tidy("ran_pars"), standard deviations and correlations by group',
    "aic": 'glance()["aic"]',
    "AIC": 'glance()["aic"]',
    "bic": 'glance()["bic"]',
    "BIC": 'glance()["bic"]',
    "logLik": 'glance()["log_likelihood"]',
    "loglik": 'glance()["log_likelihood"]',
    "llf": 'glance()["log_likelihood"]',
    "nobs": 'glance()["n_obs"]',
    "sigma": 'glance()["sigma"]',
    "isSingular": 'glance()["singular"]',
    "fitted": 'augment()["fitted"]',
    "fittedvalues": 'augment()["fitted"]',
    "resid": 'augment()["residual"]',
    "residuals": 'augment()["residual"]',
    "hatvalues": "leverage(), column leverage",
    "cooks_distance": "influence(group), column cooks_distance",
    "dfbeta": "influence(group), column change",
    "emmeans": "means()",
    "emtrends": "trends()",
    "contrasts_of": "contrast() of coefficients, means(contrasts=...) of means",
    "glht": "contrast() of coefficients, means(contrasts=...) of means",
    "cov_params": "vcov()",
    "vcovAdj": 'vcov(df="kenward-roger")',
    "profile": 'confint("profile")',
    "bootMer": 'confint("bootstrap")',
    "r2": 'glance()["r_squared_marginal"] and ["r_squared_conditional"]',
    "conf_int": "confint()",
}

_LEVELS = "not here, nor in glmm: fit without each level, or take influence.ME in R"

#: The same of a binary response, where it differs, and what it has nowhere here.
OF_SIGN = {
    "fitted": "predict(rows, groups='known')",
    "fittedvalues": "predict(rows, groups='known')",
    "resid": "the response less predict(rows, groups='known')",
    "residuals": "the response less predict(rows, groups='known')",
    "augment": "predict(rows, groups='known') beside the rows",
    "update": "fit_binomial() of the other formula",
    "drop1": "compare([smaller, larger]), the likelihood ratio",
    "influence": _LEVELS,
    "leverage": _LEVELS,
    "hatvalues": _LEVELS,
    "cooks_distance": _LEVELS,
    "dfbeta": _LEVELS,
    "plot": "not here: glmm.fit(...).residuals has the residuals; read them in bins, such as "
    "performance::binned_residuals in R",
    "nagq": "glmm.fit(rows, formula, family='binomial', nagq=9), adaptive quadrature",
    "quadrature": "glmm.fit(rows, formula, family='binomial', nagq=9), adaptive quadrature",
    "profile": "not here: the interval is Wald's; parametrically, simulate() and fit again",
    "bootMer": "simulate() and fit_binomial() again",
}


def absence(model: object, name: str, pointers: dict[str, str]) -> AttributeError:
    """Return the error for a name that a model does not have, with where its answer is."""
    kind = type(model).__name__
    if name in pointers:
        return AttributeError(f"{kind} has no {name}: it is {pointers[name]}.")
    return AttributeError(f"{kind!r} object has no attribute {name!r}")

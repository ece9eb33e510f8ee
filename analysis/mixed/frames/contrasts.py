"""Planned contrasts of the fixed effects, their joint test, and the effects' covariance.

As R's `multcomp::glht` and `emmeans::contrast` of coefficients; contrasts of marginal means are in
`means`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.mixed.frames.means import Comparison, family_tests, weight_rows
from analysis.mixed.inference.fitted import Tested
from analysis.mixed.inference.fixed_effects import NAMES
from analysis.tidy import glossary
from analysis.tidy.frame import require_conf_level

Weights = Mapping[str, Mapping[str, float]]


def contrasts(
    model: Tested, weights: Weights, *, adjust: str, df: str | None, conf_level: float
) -> pd.DataFrame:
    """Return one row per contrast of coefficients; see `Answers.contrast`."""
    require_conf_level(conf_level)
    Comparison(weights=weights, adjust=adjust)
    method, instead = model.df_method(df)
    rows = weight_rows(weights, model.terms)
    return family_tests(
        model, rows, list(weights), method, adjust=adjust, conf_level=conf_level, notes=[instead]
    )


def together(model: Tested, weights: Weights, *, df: str | None) -> pd.DataFrame:
    """Return the F test that all contrasts are zero; see `Answers.contrast`."""
    method, instead = model.df_method(df)
    test = model.fixed_tests.joint(weight_rows(weights, model.terms), method)
    return glossary.table(
        {
            "contrast": [" and ".join(weights)],
            "statistic": [test.statistic],
            "df": [float(test.df)],
            "df_residual": [test.df_residual],
            "p_value": [test.p_value],
            "n_obs": [model.statistics.n_obs],
            "method": [f"Linear contrasts together; F, {NAMES[method]}"],
            "note": [instead],
        }
    )


def covariance(model: Tested, method: str) -> pd.DataFrame:
    """Return the covariance of the fixed effects that a method uses; see `Answers.vcov`."""
    terms = pd.Index(model.terms)
    return pd.DataFrame(np.asarray(model.fixed_tests.covariance(method)), terms, terms)

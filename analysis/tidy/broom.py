"""The glossary's columns under the names that R's broom and broom.mixed give them."""

from __future__ import annotations

import pandas as pd

__all__ = ["BROOM", "renamed"]

#: Broom's name of every column of the glossary that broom has under another name.
BROOM = {
    "std_error": "std.error",
    "p_value": "p.value",
    "p_adjusted": "adj.p.value",
    "null_value": "null.value",
    "conf_low": "conf.low",
    "conf_high": "conf.high",
    "conf_level": "conf.level",
    "n_obs": "nobs",
    "r_squared": "r.squared",
    "log_likelihood": "logLik",
    "aic": "AIC",
    "bic": "BIC",
    "df_residual": "df.residual",
    "fitted": ".fitted",
    "fitted_fixed": ".fixed",
    "residual": ".resid",
}


def renamed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a result frame with broom's column names, such as ``std.error``.

    Columns that broom calls the same (`term`, `estimate`, `statistic`, `df`, `method`) or does not
    have (`note`) stay as they are, and so does everything but the names.

    Parameters
    ----------
    frame
        A result of the toolbox or of a mixed model.

    Returns
    -------
    The same rows under the names of `BROOM`.
    """
    return frame.rename(columns=BROOM)

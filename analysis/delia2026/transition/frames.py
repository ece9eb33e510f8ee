"""L* of profiles as frames: by every estimator, and as a share of depth learnt elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.delia2026.transition.l_star import ESTIMATORS
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, numbers, require_columns


def estimates(profiles: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return L* of each profile by each estimator that reads a profile.

    Parameters
    ----------
    profiles
        One row per profile and layer: the columns `by`, `layer` (from 0, or from 1 where a
        published profile leaves out the first block) and `value`.
        A missing value makes every estimate of its profile NaN.
    value
        Column of the profile, any unit.
    by
        Columns that tell the profiles apart.

    Returns
    -------
    One row per profile and estimator: the columns `by`, `method` (a name in `ESTIMATORS`),
    `estimate` [layers], `n_obs` (layers), `note`.

    Raises
    ------
    ColumnError
        If a column is absent.
    DesignError
        If a profile has a hole, or a layer twice.
    """
    require_columns(profiles, [*by, "layer", value])
    rows = []
    for key, layers in profiles.groupby(list(by), sort=True, dropna=False):
        ordered = layers.sort_values("layer")
        first = int(ordered["layer"].iloc[0])
        if ordered["layer"].tolist() != list(range(first, first + len(ordered))):
            raise DesignError(
                f"A profile must have each layer once; {key!s} has {ordered['layer'].tolist()}.",
                "Keep missing layers as rows without a value, and name every column that tells "
                "profiles apart.",
            )
        profile = np.asarray(ordered[value].to_numpy(dtype=np.float64, na_value=np.nan))
        named = dict(zip(by, key, strict=True))
        for method, estimator in ESTIMATORS.items():
            number = estimator(profile) + first
            note = "" if math.isfinite(number) else _reason(profile)
            rows.append(
                named | {"method": method, "estimate": number, "n_obs": len(profile), "note": note}
            )
    columns = [*by, "method", "estimate", "n_obs", "note"]
    glossary.checked(columns, also=by)
    return pd.DataFrame(rows, columns=columns)


def constant_share(models: pd.DataFrame) -> pd.DataFrame:
    """Predict L* of each model as a constant share of its depth, learnt from other suites.

    Parameters
    ----------
    models
        One row per model: `suite`, `n_layers`, `estimate` (its L*).

    Returns
    -------
    The rows with `fitted`: n_layers times the mean of estimate / n_layers over the models of
    all other suites [layers].

    Raises
    ------
    DesignError
        If there are fewer than two suites.
    """
    share = pd.Series(numbers(models, "estimate") / numbers(models, "n_layers"), models.index)
    suites = models["suite"]
    if suites.nunique() < 2:
        raise DesignError(
            f"A share learnt from other suites needs at least 2 suites; found {suites.nunique()}.",
            "Measure models of another suite.",
        )
    learnt = {suite: share[suites != suite].mean() for suite in suites.unique()}
    return models.assign(fitted=models["n_layers"] * suites.map(learnt))


def _reason(profile: Floats) -> str:
    """Return why a profile has no L* by some estimator."""
    missing = int((~np.isfinite(profile)).sum())
    if missing:
        return f"{missing} of {len(profile)} values are missing."
    return "The profile has no such layer."

"""Whether suites, or labs, have a variance, and what share of the whole it can be.

Each group is tested alone, where the distribution of the restricted likelihood ratio is known
exactly, and beside the other, where it is approximated; the share of each has an interval, and so
has their sum, which stays away from zero where neither does because the other can take over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.suites.models import DEPTH, SCALE, SHAPE
from analysis.mixed.model import MixedModel
from analysis.tidy import glossary

#: Of the draws from the null distributions.
SEED = 20261122
DRAWS = 19_999

#: Coverage of each interval.
CONF_LEVEL = 0.95

#: What the fixed part holds, by its name.
FIXED: dict[str, tuple[str, ...]] = {
    "depth": (DEPTH,),
    "shape, depth, scale": (*SHAPE, DEPTH, SCALE),
}

#: Groups that may have an intercept, lab above suite.
LAB, SUITE = "lab", "suite"


def variance_tests(models: pd.DataFrame) -> pd.DataFrame:
    """Return the restricted likelihood ratio tests of lab and suite, alone and together.

    Parameters
    ----------
    models
        As `models.base_models` returns them.

    Returns
    -------
    One row per fixed part, set of groups and group tested: `condition` (the fixed part), `groups`
    (all that have an intercept), and the columns of `mixed.variance_test`.
    """

    def tests(model: MixedModel, groups: Sequence[str]) -> pd.DataFrame:
        return pd.concat(
            mixed.variance_test(model, group, rng=np.random.default_rng(SEED), n_resamples=DRAWS)
            for group in groups
        )

    return _fit_rows(models, tests)


def variance_shares(models: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of lab, suite and both together, with profile intervals.

    Returns
    -------
    One row per fixed part, set of groups and share: `condition`, `groups`, and the columns of
    `mixed.share_intervals`; `group` of the sum is ``lab + suite``.
    """

    def intervals(model: MixedModel, groups: Sequence[str]) -> pd.DataFrame:
        together = [groups] if len(groups) > 1 else []
        wanted = [*([group] for group in groups), *together]
        return mixed.share_intervals(model, wanted, conf_level=CONF_LEVEL)

    return _fit_rows(models, intervals)


def _fit_rows(
    models: pd.DataFrame, ask: Callable[[MixedModel, Sequence[str]], pd.DataFrame]
) -> pd.DataFrame:
    """Return what is asked of the fit with each fixed part and set of groups, which it names."""
    return glossary.table(
        pd.concat(
            (
                ask(fitted(models, names, groups), groups).assign(
                    condition=condition, groups=" + ".join(groups)
                )
                for condition, names in FIXED.items()
                for groups in ((SUITE,), (LAB,), (LAB, SUITE))
            ),
            ignore_index=True,
        )
    )


def deviations(models: pd.DataFrame) -> pd.DataFrame:
    """Return the standard deviation among suites, and among labs beside suites, given depth.

    Returns
    -------
    One row per group: `group`, `condition` (what is beside it), `estimate` [nat] by restricted
    maximum likelihood, `conf_low`, `conf_high` by the profile of it, `n_groups`.
    """
    rows = []
    for group, groups in ((SUITE, (SUITE,)), (LAB, (LAB, SUITE))):
        model = fitted(models, (DEPTH,), groups)
        profiles = mixed.profile_intervals(model, conf_level=CONF_LEVEL, reml=True)
        ends = profiles[(profiles["group"] == group) & (profiles["effect"] == "ran_pars")].iloc[0]
        pars = model.tidy(["ran_pars"])
        row = pars[pars["group"] == group].iloc[0]
        rows.append(
            {
                "group": group,
                "condition": " + ".join(["depth", *(each for each in groups if each != group)]),
                "estimate": float(row["estimate"]),
                "conf_low": float(ends["conf_low"]),
                "conf_high": float(ends["conf_high"]),
                "conf_level": CONF_LEVEL,
                "n_groups": models[group].nunique(),
                "n_obs": len(models),
                "method": "Restricted maximum likelihood; interval by its profile",
                "note": "",
            }
        )
    return glossary.table(rows)


def deviation_without_each_suite(models: pd.DataFrame) -> dict[str, float]:
    """Return the standard deviation among suites given depth [nat], by the suite left out."""
    return {
        suite: _deviation(models[models["suite"] != suite].reset_index(drop=True))
        for suite in sorted(models["suite"].unique())
    }


def _deviation(models: pd.DataFrame) -> float:
    """Return the standard deviation among suites given depth [nat]."""
    pars = fitted(models, (DEPTH,), (SUITE,)).tidy(["ran_pars"])
    return float(pars.loc[pars["group"] == SUITE, "estimate"].item())


def fitted(models: pd.DataFrame, names: Sequence[str], groups: Sequence[str]) -> mixed.MixedModel:
    """Return the fit of log gain by REML, predictors standardised over the models.

    Raises
    ------
    AnalysisError
        If it cannot be estimated.
    """
    scaled = models.assign(
        **{name: (models[name] - models[name].mean()) / models[name].std() for name in names}
    )
    fixed = " + ".join(["log_gain ~ 1", *names])
    return mixed.fit(" + ".join([fixed, *(f"(1 | {group})" for group in groups)]), scaled)

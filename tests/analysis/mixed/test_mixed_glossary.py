"""Every frame that the mixed models give has columns of the glossary, and is called here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis.mixed
from analysis import glossary, mixed
from analysis.mixed import (
    bootstrap,
    comparison,
    contrasts,
    diagnostics,
    guards,
    influence,
    permutation,
    prediction,
    profile_interval,
    robust,
    tables,
)

rows = pd.read_csv(Path(__file__).parents[2] / "r/mixed_data_crossed.csv")
larger = mixed.fit("gain ~ rho + kind + (1 | model) + (1 | lab)", rows)
model = mixed.fit_statistics("gain ~ rho + kind + (1 | model)", larger.statistics)
fitted = mixed.fit("gain ~ rho + kind + (1 | model)", rows, units=["lab"])
KR = "kenward-roger"


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


CALLS: dict[str, Callable[[], pd.DataFrame | None]] = {
    "bootstrap.cluster_bootstrap": lambda: bootstrap.cluster_bootstrap(
        fitted, "lab", rng=rng(), n_resamples=45
    ),
    "bootstrap.likelihood_ratio_bootstrap": lambda: bootstrap.likelihood_ratio_bootstrap(
        model, larger, rng=rng(), n_resamples=3
    ),
    "bootstrap.parametric_bootstrap": lambda: bootstrap.parametric_bootstrap(
        fitted, rng=rng(), n_resamples=39
    ),
    "bootstrap.r_squared_intervals": lambda: bootstrap.r_squared_intervals(
        fitted, rng=rng(), n_resamples=39
    ),
    "comparison.compare": lambda: comparison.compare([model, larger]),
    "contrasts.contrast": lambda: contrasts.contrast(fitted, {"a": {"rho": 1.0}}, KR, 0.95),
    "contrasts.means": lambda: contrasts.means(fitted, "kind", True, KR, 0.95),
    "contrasts.predict": lambda: contrasts.predict(fitted, rows.head(3), KR, 0.95),
    "diagnostics.binned_residuals": lambda: diagnostics.binned_residuals(fitted, "depth"),
    "diagnostics.quantile_residuals": lambda: diagnostics.quantile_residuals(
        fitted, rng=rng(), n_simulations=5
    ),
    "diagnostics.random_effect_quantiles": lambda: diagnostics.random_effect_quantiles(fitted),
    "diagnostics.residual_quantiles": lambda: diagnostics.residual_quantiles(fitted),
    "diagnostics.residuals_by_level": lambda: diagnostics.residuals_by_level(fitted, "kind"),
    "guards.warnings": lambda: guards.warnings(fitted, "wald"),
    "influence.leave_one_out": lambda: influence.leave_one_out(fitted, "lab"),
    "model.MixedModel.anova": fitted.anova,
    "model.MixedModel.augment": fitted.augment,
    "model.MixedModel.contrast": lambda: fitted.contrast({"a": {"rho": 1.0}}),
    "model.MixedModel.glance": fitted.glance,
    "model.MixedModel.groups": fitted.groups,
    "model.MixedModel.means": lambda: fitted.means("kind"),
    "model.MixedModel.predict": lambda: fitted.predict(rows.head(3)),
    "model.MixedModel.ranef": fitted.ranef,
    "model.MixedModel.tidy": lambda: fitted.tidy(["fixed", "ran_pars", "ran_vals"]),
    "model.MixedModel.warnings": fitted.warnings,
    "augment.augment": fitted.augment,
    "permutation.permutation_test": lambda: permutation.permutation_test(
        fitted, "rho", "rho", "model", rng=rng(), n_permutations=5
    ),
    "prediction.leave_one_out_prediction": lambda: prediction.leave_one_out_prediction(
        fitted, "lab"
    ),
    "profile_interval.profile_intervals": lambda: profile_interval.profile_intervals(fitted),
    "robust.cluster_robust": lambda: robust.cluster_robust(fitted, "lab"),
    "robust.wild_cluster_bootstrap": lambda: robust.wild_cluster_bootstrap(fitted, "rho", "lab"),
    "tables.anova": lambda: tables.anova(fitted, KR),
    "tables.glance": lambda: tables.glance(fitted),
    "tables.groups": lambda: tables.groups(fitted),
    "tables.tidy": lambda: tables.tidy(fitted, ("fixed",), KR, 0.95),
}

#: Text columns; every other column is a number.
WORDS = {"effect", "group", "level", "term", "contrast", "method", "note", "guard"}


def frame_functions() -> set[str]:
    """Names of the public functions and methods that return a frame."""
    found = set()
    for info in pkgutil.iter_modules(analysis.mixed.__path__):
        module = importlib.import_module(f"analysis.mixed.{info.name}")
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            functions = {name: value} if inspect.isfunction(value) else {}
            if inspect.isclass(value):
                functions = {f"{name}.{key}": each for key, each in vars(value).items()}
            found |= {
                f"{info.name}.{called}"
                for called, function in functions.items()
                if inspect.isfunction(function)
                and str(function.__annotations__.get("return")).startswith("pd.DataFrame")
                and not called.rpartition(".")[2].startswith("_")
            }
    return found


def test_every_public_function_that_returns_a_frame_is_called_below() -> None:
    assert frame_functions() == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_columns_are_of_the_glossary_and_hold_numbers_or_words(name: str) -> None:
    result = CALLS[name]()
    assert result is not None
    also = set(rows.columns) if name.endswith("augment") else set()
    assert set(result.columns) - also <= set(glossary.GLOSSARY)
    for column in set(result.columns) - also - WORDS:
        assert pd.api.types.is_numeric_dtype(result[column]), column


def test_no_argument_is_changed() -> None:
    statistics = fitted.statistics
    before = statistics.sums.copy(), statistics.shift.copy(), fitted.cross.rest.copy()
    for call in CALLS.values():
        call()
    assert np.array_equal(statistics.sums, before[0])
    assert np.array_equal(statistics.shift, before[1])
    assert np.array_equal(fitted.cross.rest, before[2])

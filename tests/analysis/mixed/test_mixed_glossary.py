"""Every frame that the mixed models give has columns of the glossary, and is called here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis.mixed
from analysis import mixed
from analysis.mixed import answers, binomial
from analysis.mixed.frames import anova, comparison, guards, means, tables
from analysis.mixed.prediction import linear, logistic, new_rows
from analysis.mixed.refitting import (
    bootstrap,
    permutation,
    profile_interval,
    share_interval,
    variance_test,
)
from analysis.mixed.second_engine import StatsmodelsModel
from analysis.tidy import glossary

rows = pd.read_csv(Path(__file__).parents[2] / "r/mixed_data_crossed.csv")
KR = "kenward-roger"


@dataclass(frozen=True)
class Fits:
    """A model, one that contains it, and one of a sign."""

    model: mixed.MixedModel
    larger: mixed.MixedModel
    binary: mixed.BinomialModel
    second: StatsmodelsModel


@pytest.fixture(scope="module")
def fits() -> Fits:
    larger = mixed.fit("gain ~ rho + kind + (1 | model) + (1 | lab)", rows)
    smaller = "gain ~ rho + kind + (1 | model)"
    model = mixed.fit(smaller, rows, units=["lab"])
    binary = binomial.fit_binomial("(gain > 1) ~ rho + (1 | model)", rows)
    second = mixed.fit(smaller, rows, engine="statsmodels")
    return Fits(model, larger, binary, second)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


CALLS: dict[str, Callable[[Fits], pd.DataFrame | None]] = {
    "anova.anova": lambda f: anova.anova(f.model, "II", KR),
    "second_engine.StatsmodelsModel.glance": lambda f: f.second.glance(),
    "second_engine.StatsmodelsModel.tidy": lambda f: f.second.tidy(),
    "binomial.BinomialModel.glance": lambda f: f.binary.glance(),
    "binomial.BinomialModel.predict": lambda f: f.binary.predict(rows.head(3), groups="known"),
    "logistic.predict": lambda f: logistic.predict(
        f.binary, rows.head(3), 0.95, kind="link", groups="new"
    ),
    "binomial.BinomialModel.ranef": lambda f: f.binary.ranef(),
    "binomial.BinomialModel.tidy": lambda f: f.binary.tidy(["fixed", "ran_pars", "ran_vals"]),
    "binomial.BinomialModel.warnings": lambda f: f.binary.warnings(),
    "bootstrap.parametric_bootstrap": lambda f: bootstrap.parametric_bootstrap(
        f.model, rng=rng(), n_resamples=39
    ),
    "generics.Generics.confint": lambda f: f.model.confint("bootstrap", rng=rng(), n_resamples=39),
    "generics.Generics.drop1": lambda f: f.model.drop1(),
    "comparison.drop_terms": lambda f: comparison.drop_terms(f.model),
    "comparison.compare": lambda f: comparison.compare([f.model, f.larger]),
    "means.means": lambda f: means.means(
        f.model, ["kind"], pairs=True, adjust="tukey", df=KR, conf_level=0.95
    ),
    "means.trends": lambda f: means.trends(
        f.model, "rho", ["kind"], pairs=False, adjust="none", df=KR, conf_level=0.95
    ),
    "answers.Answers.trends": lambda f: f.model.trends("rho"),
    "linear.predict": lambda f: linear.predict(f.model, rows.head(3), KR, 0.95),
    "new_rows.predictions": lambda f: new_rows.predictions(
        f.model,
        rows.head(3).assign(rho=[0.1, np.nan, 0.2]),
        lambda whole: pd.DataFrame({"estimate": whole["rho"].to_numpy(), "note": ""}),
        groups="known",
        conf_level=0.95,
        reference="normal",
    ),
    "guards.frame_of": lambda f: guards.frame_of(guards.of_terms(f.model, "wald")),
    "guards.warnings": lambda f: guards.warnings(f.model, "wald"),
    "answers.noted": lambda f: answers.noted(f.model.groups().assign(note=""), "a note"),
    "answers.Answers.anova": lambda f: f.model.anova(),
    "answers.Answers.augment": lambda f: f.model.augment(),
    "answers.Answers.glance": lambda f: f.model.glance(),
    "answers.Answers.groups": lambda f: f.model.groups(),
    "answers.Answers.means": lambda f: f.model.means("kind"),
    "generics.Generics.predict": lambda f: f.model.predict(rows.head(3)),
    "answers.Answers.ranef": lambda f: f.model.ranef(),
    "answers.Answers.tidy": lambda f: f.model.tidy(["fixed", "ran_pars", "ran_vals"]),
    "answers.Answers.warnings": lambda f: f.model.warnings(),
    "augment.augment": lambda f: f.model.augment(),
    "permutation.permutation_test": lambda f: permutation.permutation_test(
        f.model, "rho", "rho", "model", rng=rng(), n_permutations=5
    ),
    "profile_interval.profile_intervals": lambda f: profile_interval.profile_intervals(f.model),
    "share_interval.share_intervals": lambda f: share_interval.share_intervals(
        f.model, [["model"]]
    ),
    "variance_test.variance_test": lambda f: variance_test.variance_test(
        f.model, "model", rng=rng(), n_resamples=9
    ),
    "tables.fixed_table": lambda f: tables.fixed_table(
        f.model,
        f.model.inference.tests(np.eye(len(f.model.terms)), KR),
        guards.warnings(f.model, KR),
        "a method",
        0.95,
    ),
    "tables.glance": lambda f: tables.glance(f.model),
    "tables.groups": lambda f: tables.groups(f.model),
    "tables.tidy": lambda f: tables.tidy(f.model, ("fixed",), KR, 0.95),
}

#: Text columns; every other column is a number.
WORDS = {"adjustment", "effect", "group", "level", "term", "contrast", "method", "note", "guard"}


#: Simulations of designs, which `test_power` calls.
POWER = {"power"}


def frame_functions() -> set[str]:
    """Names of the public functions and methods that return a frame."""
    found = set()
    for info in pkgutil.walk_packages(analysis.mixed.__path__, "analysis.mixed."):
        leaf = info.name.rpartition(".")[2]
        if leaf in POWER:
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            functions = {name: value} if inspect.isfunction(value) else {}
            if inspect.isclass(value):
                functions = {f"{name}.{key}": each for key, each in vars(value).items()}
            found |= {
                f"{leaf}.{called}"
                for called, function in functions.items()
                if inspect.isfunction(function)
                and str(function.__annotations__.get("return")).startswith("pd.DataFrame")
                and not called.rpartition(".")[2].startswith("_")
            }
    return found


def test_every_public_function_that_returns_a_frame_is_called_below() -> None:
    assert frame_functions() == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_columns_are_of_the_glossary_and_hold_numbers_or_words(fits: Fits, name: str) -> None:
    result = CALLS[name](fits)
    assert result is not None
    also = set(rows.columns) if name.endswith("augment") else set()
    assert set(result.columns) - also <= set(glossary.GLOSSARY)
    for column in set(result.columns) - also - WORDS:
        assert pd.api.types.is_numeric_dtype(result[column]), column


def test_no_argument_is_changed(fits: Fits) -> None:
    statistics = fits.model.statistics
    before = statistics.sums.copy(), statistics.shift.copy(), fits.model.cross.rest.copy()
    for call in CALLS.values():
        call(fits)
    assert np.array_equal(statistics.sums, before[0])
    assert np.array_equal(statistics.shift, before[1])
    assert np.array_equal(fits.model.cross.rest, before[2])

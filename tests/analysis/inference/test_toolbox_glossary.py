"""Every frame of the inference toolbox has columns of the glossary, and is called here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from analysis.inference.association import firth, wild_bootstrap
from analysis.inference.counts import contingency, unconditional
from analysis.inference.effects import (
    bayes_factor,
    effect_size,
    equivalence,
    multiplicity,
)
from analysis.tidy import glossary

METHODS = (
    bayes_factor,
    effect_size,
    equivalence,
    firth,
    multiplicity,
    unconditional,
    wild_bootstrap,
)

#: What every estimate carries; a Bayes factor has no interval.
ESTIMATE = {"term", "estimate", "method", "n_obs", "note"}
INTERVAL = {"conf_low", "conf_high", "conf_level"}

models = pd.read_csv(Path(__file__).parents[2] / "r" / "models.csv")
dampens = models.assign(dampens=models["gain"] < models["gain"].median())
counts = pd.DataFrame([[7, 1], [2, 8]])
tests = pd.DataFrame({"family": "a", "p_value": [0.01, 0.2]})
terms = pd.DataFrame({"term": ["a"], "estimate": [0.1], "std_error": [0.1], "df": [5.0]})
terms = terms.assign(n_obs=24)


CALLS: dict[str, Callable[[], pd.DataFrame]] = {
    "bayes_factor.t_test": lambda: bayes_factor.t_test(models, value="gain", group="heritage"),
    "effect_size.standardised_difference": lambda: effect_size.standardised_difference(
        models, value="gain", group="heritage"
    ),
    "equivalence.estimates": lambda: equivalence.estimates(terms, low=-1, high=1),
    "firth.firth": lambda: firth.firth(dampens, "dampens ~ heritage + density"),
    "multiplicity.adjust": lambda: multiplicity.adjust(tests, family="family"),
    "unconditional.boschloo": lambda: unconditional.boschloo(counts),
    "unconditional.barnard": lambda: unconditional.barnard(counts),
    "wild_bootstrap.wild_cluster_bootstrap": lambda: wild_bootstrap.wild_cluster_bootstrap(
        models, "gain ~ density", term="density", cluster="lab"
    ),
}

WORDS = {"term", "contrast", "method", "note", "alternative", "adjustment", "family"}


def frame_functions(module: ModuleType) -> set[str]:
    name = module.__name__.rpartition(".")[2]
    return {
        f"{name}.{called}"
        for called, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not called.startswith("_")
        and function.__annotations__["return"] == "pd.DataFrame"
    }


def test_every_public_function_that_returns_a_frame_is_called_below() -> None:
    assert set().union(*(frame_functions(module) for module in METHODS)) == set(CALLS)
    # The counts of a table are no result: their columns are the caller's levels.
    assert frame_functions(contingency) == {"contingency.two_by_two"}


@pytest.mark.parametrize("name", CALLS)
def test_every_column_is_in_the_glossary_and_numbers_are_numbers(name: str) -> None:
    result = CALLS[name]()
    assert set(result.columns) - {"family"} <= set(glossary.GLOSSARY)
    assert name == "multiplicity.adjust" or set(result.columns) >= ESTIMATE
    if name != "multiplicity.adjust" and not name.startswith("bayes_factor"):
        assert set(result.columns) >= INTERVAL
    for column in set(result.columns) - WORDS:
        assert pd.api.types.is_numeric_dtype(result[column]), column


def test_no_argument_is_changed() -> None:
    frames = (models, dampens, counts, tests, terms)
    before = [frame.copy() for frame in frames]
    for call in CALLS.values():
        call()
    for frame, copy in zip(frames, before, strict=True):
        pd.testing.assert_frame_equal(frame, copy)

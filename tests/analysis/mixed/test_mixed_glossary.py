"""Every frame that mixed models give has columns of the glossary; a fit imports what it needs."""

import inspect
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.second_engine import StatsmodelsModel
from analysis.tidy import glossary
from tests.analysis.places import ROOT, R

rows = pd.read_csv(R / "mixed_data_crossed.csv")


@dataclass(frozen=True)
class Fits:
    """A model, one that contains it, and one of a sign."""

    model: mixed.MixedModel
    larger: mixed.MixedModel
    binary: mixed.BinomialModel
    second: StatsmodelsModel


@pytest.fixture(scope="module")
def fits():
    larger = mixed.fit("gain ~ rho + kind + (1 | model) + (1 | lab)", rows)
    smaller = "gain ~ rho + kind + (1 | model)"
    model = mixed.fit(smaller, rows, units=["lab"])
    binary = mixed.fit_binomial("(gain > 1) ~ rho + (1 | model)", rows)
    second = mixed.fit(smaller, rows, engine="statsmodels")
    return Fits(model, larger, binary, second)


def rng():
    return np.random.default_rng(1)


CALLS = {
    "MixedModel.anova": lambda f: f.model.anova(type="II"),
    "MixedModel.augment": lambda f: f.model.augment(),
    "MixedModel.confint": lambda f: f.model.confint("bootstrap", rng=rng(), n_resamples=39),
    "MixedModel.drop1": lambda f: f.model.drop1(),
    "MixedModel.glance": lambda f: f.model.glance(),
    "MixedModel.groups": lambda f: f.model.groups(),
    "MixedModel.means": lambda f: f.model.means("kind", pairs=True, adjust="tukey"),
    "MixedModel.predict": lambda f: f.model.predict(rows.head(3).assign(rho=[0.1, np.nan, 0.2])),
    "MixedModel.ranef": lambda f: f.model.ranef(),
    "MixedModel.tidy": lambda f: f.model.tidy(["fixed", "ran_pars", "ran_vals"]),
    "MixedModel.trends": lambda f: f.model.trends("rho", "kind"),
    "MixedModel.warnings": lambda f: f.model.warnings(df="wald"),
    "BinomialModel.glance": lambda f: f.binary.glance(),
    "BinomialModel.predict": lambda f: f.binary.predict(rows.head(3), groups="known"),
    "BinomialModel.ranef": lambda f: f.binary.ranef(),
    "BinomialModel.tidy": lambda f: f.binary.tidy(["fixed", "ran_pars", "ran_vals"]),
    "BinomialModel.warnings": lambda f: f.binary.warnings(),
    "StatsmodelsModel.glance": lambda f: f.second.glance(),
    "StatsmodelsModel.tidy": lambda f: f.second.tidy(),
    "compare": lambda f: mixed.compare([f.model, f.larger]),
    "parametric_bootstrap": lambda f: mixed.parametric_bootstrap(
        f.model, rng=rng(), n_resamples=39
    ),
    "permutation_test": lambda f: mixed.permutation_test(
        f.model, "rho", "rho", "model", rng=rng(), n_permutations=5
    ),
    "profile_intervals": lambda f: mixed.profile_intervals(f.model),
    "share_intervals": lambda f: mixed.share_intervals(f.model, [["model"]]),
    "variance_test": lambda f: mixed.variance_test(f.model, "model", rng=rng(), n_resamples=9),
}

#: Text columns; every other column is a number.
WORDS = {"adjustment", "effect", "group", "level", "term", "contrast", "method", "note", "guard"}


def frame_functions():
    """Names of the public functions and of the models' methods that return a frame."""
    functions = {name: getattr(mixed, name) for name in mixed.__all__}
    for model in (mixed.MixedModel, mixed.BinomialModel, StatsmodelsModel):
        functions |= {f"{model.__name__}.{name}": each for name, each in inspect.getmembers(model)}
    return {
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and str(function.__annotations__.get("return")).startswith("pd.DataFrame")
    }


def test_every_function_that_returns_a_frame_is_called_and_changes_no_argument(fits):
    assert frame_functions() == set(CALLS)
    statistics = fits.model.statistics
    before = statistics.sums.copy(), statistics.shift.copy(), fits.model.cross.rest.copy()
    for call in CALLS.values():
        call(fits)
    assert np.array_equal(statistics.sums, before[0])
    assert np.array_equal(statistics.shift, before[1])
    assert np.array_equal(fits.model.cross.rest, before[2])


@pytest.mark.parametrize("name", CALLS)
def test_columns_are_of_the_glossary_and_hold_numbers_or_words(fits, name):
    result = CALLS[name](fits)
    also = set(rows.columns) if name.endswith("augment") else set()
    assert set(result.columns) - also <= set(glossary.GLOSSARY)
    for column in set(result.columns) - also - WORDS:
        assert pd.api.types.is_numeric_dtype(result[column]), column


PROGRAM = """
import sys
from analysis import mixed
rows = {"y": [1, 2, 4, 3, 6, 5], "x": [1, 2, 3, 1, 3, 2], "g": list("aabbcc")}
mixed.fit("y ~ x + (1 | g)", rows).tidy()
print("\\n".join(sys.modules))
"""

#: scipy.stats and scipy.optimize cost more than the fit.
NOT_NEEDED = (
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "analysis.mixed.binomial",
    "analysis.mixed.refitting",
    "analysis.store",
)


def test_a_first_fit_leaves_the_rest_unimported():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = done.stdout.split()
    assert "analysis.mixed.model" in loaded
    assert [name for name in NOT_NEEDED if name in loaded] == []
    assert all(callable(getattr(mixed, name)) for name in mixed.__all__)
    assert not hasattr(mixed, "something_else")

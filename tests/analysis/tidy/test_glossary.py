import inspect

import numpy as np
import pandas as pd
import pytest
from tests.analysis.places import R

from analysis import mixed
from analysis.heritage.transition import frames as l_star_frames
from analysis.inference.association import correlation, regression
from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation
from analysis.tidy import broom, glossary
from analysis.tidy.errors import ColumnError

METHODS = (correlation, fisher, l_star_frames, permutation, regression)

#: What every estimate carries.
ESTIMATE = {"conf_low", "conf_high", "conf_level", "method", "n_obs", "note"}

models = pd.read_csv(R / "models.csv")
profiles = pd.DataFrame(
    {
        "group": np.repeat(["a", "b"], 5),
        "layer": [0, 1, 2, 3, 4] * 2,
        "residual": [0.0, 0.0, 4.0, 4.0, 4.0, 0.0, 1.0, 3.0, 3.5, 4.0],
    }
)


def mean_gain(rows):
    return float(rows["gain"].mean())


CALLS = {
    "correlation.correlate": lambda: correlation.correlate(models, x="density", y="gain"),
    "correlation.partial": lambda: correlation.partial(
        models, x="density", y="gain", covariates=["layers"]
    ),
    "correlation.from_summary": lambda: correlation.from_summary(-0.81, 8),
    "fisher.fisher_exact": lambda: fisher.fisher_exact(pd.DataFrame([[7, 1], [2, 8]])),
    "fisher.proportion": lambda: fisher.proportion(7, 10),
    "frames.estimates": lambda: l_star_frames.estimates(profiles, value="residual", by=["group"]),
    "frames.constant_share": lambda: l_star_frames.constant_share(
        models.assign(n_layers=models["layers"], estimate=models["layers"] / 2)
    ),
    "permutation.permutation_test": lambda: permutation.permutation_test(
        models, mean_gain, label="heritage", unit="lab"
    ),
    "regression.Regression.tidy": lambda: regression.fit(models, "gain ~ density").tidy(),
}

#: Results that add columns to the rows they were given.
AUGMENTED = {"frames.constant_share"}

NO_ESTIMATE = {"frames.estimates", *AUGMENTED}


def frame_functions(module):
    """Names of the public functions and methods of a module that return a frame."""
    name = module.__name__.rpartition(".")[2]
    own = [value for value in vars(module).values() if _is_own(value, module)]
    functions = [(value.__name__, value) for value in own if inspect.isfunction(value)]
    for value in own:
        if inspect.isclass(value):
            functions += [
                (f"{value.__name__}.{method}", function)
                for method, function in vars(value).items()
                if inspect.isfunction(function)
            ]
    return [
        f"{name}.{called}"
        for called, function in functions
        if not called.rpartition(".")[2].startswith("_")
        and function.__annotations__.get("return") == "pd.DataFrame"
    ]


def _is_own(value, module):
    return getattr(value, "__module__", None) == module.__name__


def test_every_public_function_that_returns_a_frame_is_called_below():
    found = {name for module in METHODS for name in frame_functions(module)}
    assert found == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_every_column_returned_is_in_the_glossary(name):
    result = CALLS[name]()
    also = [*models.columns, "n_layers"] if name in AUGMENTED else []
    assert set(result.columns) - set(also) <= set(glossary.GLOSSARY)
    assert name in NO_ESTIMATE or set(result.columns) >= ESTIMATE


def test_no_call_formats_numbers_or_changes_its_argument():
    words = {"term", "contrast", "group", "method", "note", "alternative", "block"}
    for name in set(CALLS) - AUGMENTED:
        result = CALLS[name]()
        for column in set(result.columns) - words:
            assert pd.api.types.is_numeric_dtype(result[column]), (name, column)
    before = models.copy()
    for call in CALLS.values():
        call()
    pd.testing.assert_frame_equal(models, before)


def test_columns_are_defined_once_and_undefined_ones_refused():
    assert len(set(glossary.GLOSSARY.values())) == len(glossary.GLOSSARY)
    for name, meaning in glossary.GLOSSARY.items():
        assert name.isidentifier(), name
        assert name == name.lower()
        assert len(meaning.split()) >= 2, name
        assert meaning == meaning.strip(" .")
    glossary.checked(["estimate", "model_id"], also=["model_id"])
    with pytest.raises(ColumnError, match=r"\['p_val'\] are not"):
        glossary.checked(["estimate", "p_val"])
    assert set(broom.BROOM) <= set(glossary.GLOSSARY)
    assert len(set(broom.BROOM.values())) == len(broom.BROOM)
    assert not set(broom.BROOM.values()) & set(glossary.GLOSSARY)


#: What broom's tidy, glance and augment return in R of lm, or broom.mixed's of lmer.
OF_BROOM = {
    "tidy": {"term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"},
    "glance": {"sigma", "logLik", "AIC", "BIC", "nobs", "df.residual"},
    "augment": {".fitted", ".fixed", ".resid"},
}


@pytest.mark.parametrize("verb", OF_BROOM)
def test_a_renamed_frame_has_brooms_names_and_the_same_values(verb):
    frame = getattr(mixed.fit("gain ~ density + (1 | lab)", models), verb)()
    named = broom.renamed(frame)
    assert set(named) >= OF_BROOM[verb]
    assert not set(named) & set(broom.BROOM)
    pd.testing.assert_frame_equal(named.set_axis(frame.columns, axis=1), frame)

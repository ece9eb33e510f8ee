"""Every frame has columns of the glossary, whose words are numbers or names; broom's names too."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.delia2026.transition import frames as l_star_frames
from analysis.inference.association import correlation, regression
from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation
from analysis.mixed.second_engine import StatsmodelsModel
from analysis.tidy import broom, glossary
from analysis.tidy.errors import ColumnError
from tests.analysis.places import R

METHODS = (correlation, fisher, l_star_frames, permutation, regression)
models = pd.read_csv(R / "models.csv")
rows = pd.read_csv(R / "mixed_data_crossed.csv")
profiles = pd.DataFrame(
    {"group": np.repeat(["a", "b"], 5), "layer": [0, 1, 2, 3, 4] * 2}
    | {"residual": [0.0, 0.0, 4.0, 4.0, 4.0, 0.0, 1.0, 3.0, 3.5, 4.0]}
)


@pytest.fixture(scope="module")
def fits():
    """Return a model, one that contains it, one of a sign, and one by another program."""
    smaller = "gain ~ rho + kind + (1 | model)"
    return SimpleNamespace(
        model=mixed.fit(smaller, rows, units=["lab"]),
        larger=mixed.fit(f"{smaller} + (1 | lab)", rows),
        binary=mixed.fit_binomial("(gain > 1) ~ rho + (1 | model)", rows),
        second=mixed.fit(smaller, rows, engine="statsmodels"),
    )


def drawn(n):
    return {"rng": np.random.default_rng(1), "n_resamples": n}


EFFECTS = ["fixed", "ran_pars", "ran_vals"]
EXCHANGED = {"label": "heritage", "unit": "lab"}
CALLS = {
    "MixedModel.anova": lambda f: f.model.anova(type="II"),
    "MixedModel.augment": lambda f: f.model.augment(),
    "MixedModel.confint": lambda f: f.model.confint("bootstrap", **drawn(39)),
    "MixedModel.drop1": lambda f: f.model.drop1(),
    "MixedModel.glance": lambda f: f.model.glance(),
    "MixedModel.groups": lambda f: f.model.groups(),
    "MixedModel.influence": lambda f: f.model.influence("lab"),
    "MixedModel.leverage": lambda f: f.model.leverage(),
    "MixedModel.means": lambda f: f.model.means("kind", pairs=True, adjust="tukey"),
    "MixedModel.contrast": lambda f: f.model.contrast({"sum": {"rho": 1, "Intercept": 1}}),
    "MixedModel.predict": lambda f: f.model.predict(rows.head(3).assign(rho=[0.1, np.nan, 0.2])),
    "MixedModel.ranef": lambda f: f.model.ranef(),
    "MixedModel.tidy": lambda f: f.model.tidy(EFFECTS),
    "MixedModel.trends": lambda f: f.model.trends("rho", "kind"),
    "MixedModel.vcov": lambda f: f.model.vcov(),
    "MixedModel.warnings": lambda f: f.model.warnings(df="wald"),
    "BinomialModel.anova": lambda f: f.binary.anova(),
    "BinomialModel.confint": lambda f: f.binary.confint(),
    "BinomialModel.contrast": lambda f: f.binary.contrast({"sum": {"rho": 1, "Intercept": 1}}),
    "BinomialModel.glance": lambda f: f.binary.glance(),
    "BinomialModel.means": lambda f: f.binary.means([], at={"rho": 0.2}),
    "BinomialModel.predict": lambda f: f.binary.predict(rows.head(3), groups="known"),
    "BinomialModel.ranef": lambda f: f.binary.ranef(),
    "BinomialModel.tidy": lambda f: f.binary.tidy(EFFECTS),
    "BinomialModel.trends": lambda f: f.binary.trends("rho"),
    "BinomialModel.vcov": lambda f: f.binary.vcov(),
    "BinomialModel.warnings": lambda f: f.binary.warnings(),
    "StatsmodelsModel.glance": lambda f: f.second.glance(),
    "StatsmodelsModel.tidy": lambda f: f.second.tidy(),
    "compare": lambda f: mixed.compare([f.model, f.larger]),
    "parametric_bootstrap": lambda f: mixed.parametric_bootstrap(f.model, **drawn(39)),
    "profile_intervals": lambda f: mixed.profile_intervals(f.model),
    "share_intervals": lambda f: mixed.share_intervals(f.model, [["model"]]),
    "variance_test": lambda f: mixed.variance_test(f.model, "model", **drawn(9)),
    "frames.estimates": lambda _: l_star_frames.estimates(profiles, value="residual", by=["group"]),
    "frames.constant_share": lambda _: l_star_frames.constant_share(
        models.assign(n_layers=models["layers"], estimate=models["layers"] / 2)
    ),
}
#: Those of the toolbox carry all of an estimate.
ESTIMATE = {"conf_low", "conf_high", "conf_level", "method", "n_obs", "note"}
ESTIMATES = {
    "correlation.correlate": lambda _: correlation.correlate(models, x="density", y="gain"),
    "correlation.partial": lambda _: correlation.partial(
        models, x="density", y="gain", covariates=["layers"]
    ),
    "correlation.from_summary": lambda _: correlation.from_summary(-0.81, 8),
    "fisher.fisher_exact": lambda _: fisher.fisher_exact(pd.DataFrame([[7, 1], [2, 8]])),
    "fisher.proportion": lambda _: fisher.proportion(7, 10),
    "permutation.permutation_test": lambda _: permutation.permutation_test(
        models, lambda frame: float(frame["gain"].mean()), **EXCHANGED
    ),
    "Regression.tidy": lambda _: regression.fit(models, "gain ~ density").tidy(),
}
#: What a frame has of the rows it was given.
ALSO = {
    "frames.constant_share": {*models, "n_layers"},
    "MixedModel.augment": {*rows},
    "MixedModel.leverage": {*rows},
    "BinomialModel.vcov": {"Intercept", "rho"},
    "MixedModel.vcov": {"Intercept", "rho", "kind[T.chat]", "kind[T.code]"},
}
#: Text columns; every other column is a number.
WORDS = {"adjustment", "effect", "group", "level", "term", "contrast", "method", "note", "guard"}
WORDS |= {"alternative", "block", "seed"}


def frame_functions():
    """Names of the public functions and of the models' methods that return a frame."""
    functions = {name: getattr(mixed, name) for name in mixed.__all__}
    classes = [mixed.MixedModel, mixed.BinomialModel, StatsmodelsModel]
    for module in METHODS:
        known = vars(module).items()
        own = {name: it for name, it in known if getattr(it, "__module__", "") == module.__name__}
        place = module.__name__.rpartition(".")[2]
        functions |= {f"{place}.{name}": each for name, each in own.items()}
        classes += [each for each in own.values() if inspect.isclass(each)]
    for each in classes:
        functions |= {f"{each.__name__}.{name}": it for name, it in inspect.getmembers(each)}
    return {
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and not name.rpartition(".")[2].startswith("_")
        and str(function.__annotations__.get("return")).startswith("pd.DataFrame")
    }


def test_every_function_that_returns_a_frame_is_called_and_changes_no_argument(fits):
    assert frame_functions() == {*CALLS, *ESTIMATES}
    statistics, plain = fits.model.statistics, models.copy()
    before = statistics.sums.copy(), statistics.shift.copy(), fits.model.cross.rest.copy()
    for call in (*CALLS.values(), *ESTIMATES.values()):
        call(fits)
    assert np.array_equal(statistics.sums, before[0])
    assert np.array_equal(statistics.shift, before[1])
    assert np.array_equal(fits.model.cross.rest, before[2])
    pd.testing.assert_frame_equal(models, plain)


@pytest.mark.parametrize("name", [*CALLS, *ESTIMATES])
def test_columns_are_of_the_glossary_and_hold_numbers_or_words(fits, name):
    result = (CALLS | ESTIMATES)[name](fits)
    columns = set(result.columns) - ALSO.get(name, set())
    assert columns <= set(glossary.GLOSSARY)
    assert name in CALLS or columns >= ESTIMATE
    for column in columns - WORDS:
        assert pd.api.types.is_numeric_dtype(result[column]), column


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

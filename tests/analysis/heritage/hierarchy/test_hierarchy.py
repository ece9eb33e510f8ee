"""Simulated hierarchies give back what they were made of; published ones agree with lme4."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.hierarchy import hierarchy
from analysis.heritage.hierarchy.frames import DataSet, data_sets, published_prompts, with_heritage
from analysis.heritage.hierarchy.models import (
    BLOCKS,
    EVERYTHING,
    GEOMETRY_AND_SCALE,
    NOTHING,
    Family,
    fit_family,
    specify,
)
from analysis.store import Store, open_store
from analysis.tidy import glossary
from collect.commands.cli import main
from tests.analysis.heritage.hierarchy.simulated import (
    HERITAGE_EFFECT,
    LAB_SD,
    LAYERS_EFFECT,
    MODEL_SD,
    RESIDUAL_SD,
    SUITE_SD,
    of,
    simulated,
)

R = Path(__file__).parents[3] / "r"
ROOT = Path(__file__).parents[4]
RAW = ROOT / "../shared/published/Results"

#: lme4's optimum against ours, on coefficients and their errors.
AGREEMENT = 1e-5

#: pbkrtest differentiates nothing, but sums in another order and starts from lme4's optimum.
KENWARD_ROGER = 1e-3


@pytest.fixture(scope="module")
def made() -> Family:
    return fit_family(simulated())


@pytest.fixture(scope="module")
def made_components(made: Family) -> pd.DataFrame:
    return hierarchy.variance_components(
        [made], rng=np.random.default_rng(1), n_resamples=19, conf_level=0.9
    )


@pytest.fixture(scope="module")
def effects(families: list[Family]) -> pd.DataFrame:
    return hierarchy.fixed_effects(families)


def test_the_effects_that_made_the_data_are_found_and_no_others(made: Family) -> None:
    # Five intervals of 99 % hold together in at least 95 %.
    effects = hierarchy.fixed_effects([made], conf_level=0.99)
    found = of(effects, block=EVERYTHING).set_index("term")
    truth = {"n_layers": LAYERS_EFFECT, "heritage[T.EleutherAI]": HERITAGE_EFFECT}
    for term in ("rho", "d_head", "log_parameters"):
        truth[term] = 0.0
    for term, value in truth.items():
        assert found["conf_low"][term] < value < found["conf_high"][term], term
    assert found["p_value"]["n_layers"] < 1e-10
    # Heritage is compared between 40 labs, depth between 320 models in 80 suites.
    assert 30 < found["df"]["heritage[T.EleutherAI]"] < 40
    assert 200 < found["df"]["n_layers"] < 320


@pytest.mark.slow
def test_the_variances_that_made_the_data_are_found(made_components: pd.DataFrame) -> None:
    after = of(made_components, block=GEOMETRY_AND_SCALE).set_index("group")
    truth = {
        # Heritage has no fixed effect here: its two levels lie 0.6 apart, half of the labs each.
        "lab": LAB_SD**2 + (HERITAGE_EFFECT / 2) ** 2,
        "suite": SUITE_SD**2,
        "model_id": MODEL_SD**2,
        "residual": RESIDUAL_SD**2,
    }
    for group, value in truth.items():
        assert after["variance"][group] == pytest.approx(value, rel=0.35), group
    assert after["variance_share"].sum() == pytest.approx(1)
    assert (after["conf_low"] <= after["variance_share"]).all()
    assert (after["variance_share"] <= after["conf_high"]).all()


@pytest.mark.slow
def test_geometry_takes_from_the_models_what_it_explains(made_components: pd.DataFrame) -> None:
    model = of(made_components, group="model_id").set_index("block")["variance"]
    fall = model[NOTHING] - model[GEOMETRY_AND_SCALE]
    assert fall == pytest.approx(LAYERS_EFFECT**2, rel=0.2)


def test_a_unit_of_a_predictor_has_the_estimate_over_its_deviation(made: Family) -> None:
    models = made.data_set.rows.drop_duplicates("model_id")
    row = of(hierarchy.fixed_effects([made]), block=EVERYTHING, term="n_layers").iloc[0]
    assert row["predictor_sd"] == pytest.approx(models["n_layers"].std())
    assert row["estimate_per_unit"] * row["predictor_sd"] == pytest.approx(row["estimate"])


def test_inflation_is_one_for_predictors_that_do_not_overlap() -> None:
    rows = pd.DataFrame(
        {
            "model_id": list("abcd"),
            "rho": [-1.0, -1, 1, 1],
            "n_layers": [-1.0, 1, -1, 1],
            "d_head": [-1.0, 0, 0, 1],
        }
    )
    specification = specify(
        DataSet(
            "published figures",
            "gain_body",
            rows.assign(heritage="x", log_parameters=0.0, lab="x", suite="x", log_gain=0.0),
            ("lab",),
        )
    )
    found = hierarchy.variance_inflation(rows, specification, ["rho", "n_layers"])
    assert found == pytest.approx({"rho": 1.0, "n_layers": 1.0})
    # d_head = (rho + n_layers) / 2 exactly, so nothing of it is left.
    found = hierarchy.variance_inflation(rows, specification, ["rho", "n_layers", "d_head"])
    assert min(found.values()) > 1e10


@pytest.mark.parametrize("block", ["heritage", "geometry", "scale", EVERYTHING])
def test_published_figures_agree_with_lme4(families: list[Family], block: str) -> None:
    answer = of(pd.read_csv(R / "hierarchy_figures.csv"), block=block)
    model = families[0].members[block].model
    assert model is not None
    ours = model.tidy(["fixed"], df="wald")
    np.testing.assert_allclose(ours["estimate"], answer["estimate"], rtol=AGREEMENT, atol=1e-7)
    np.testing.assert_allclose(ours["std_error"], answer["std_error"], rtol=AGREEMENT)
    assert model.solution.criterion <= answer["criterion"][0] + 1e-7
    assert np.sqrt(model.solution.variance) == pytest.approx(answer["sigma"][0], rel=1e-3)


@pytest.mark.parametrize("block", ["heritage", "geometry", "scale", EVERYTHING])
def test_means_of_models_agree_with_lmer_and_pbkrtest(families: list[Family], block: str) -> None:
    answer = of(pd.read_csv(R / "hierarchy_models.csv"), block=block)
    data_set = families[0].data_set
    assert data_set.weights is not None
    rows = data_set.rows.assign(
        log_gain=data_set.rows["log_gain"] * data_set.rows[data_set.weights],
    )
    sums = rows.groupby("model_id")[["log_gain", data_set.weights]].sum()
    means = sums["log_gain"] / sums[data_set.weights]
    models = rows.drop_duplicates("model_id").sort_values("model_id", ignore_index=True)
    models = models.assign(log_gain=models["model_id"].map(means))
    averaged = replace(data_set, rows=models, groups=("lab", "suite"), weights=None)
    model = fit_family(averaged).members[block].model
    assert model is not None
    ours = model.tidy(["fixed"])
    np.testing.assert_allclose(ours["estimate"], answer["estimate"], rtol=AGREEMENT, atol=1e-7)
    np.testing.assert_allclose(ours["std_error"], answer["std_error"], rtol=KENWARD_ROGER)
    np.testing.assert_allclose(ours["df"], answer["df"], rtol=KENWARD_ROGER)
    np.testing.assert_allclose(ours["p_value"], answer["p_value"], rtol=KENWARD_ROGER, atol=1e-6)


def test_a_data_set_has_one_definition_of_gain(shipped_store: Store) -> None:
    sets = data_sets(shipped_store)
    assert len({each.name for each in sets}) == len(sets)
    for each in sets:
        assert set(each.rows["metric"]) == {each.metric}


def test_number_formats_of_the_same_prompts_are_one_row(shipped_store: Store) -> None:
    last = next(each for each in data_sets(shipped_store) if each.metric == "gain_last_block")
    gemma = last.rows[last.rows["model_id"] == "google/gemma-7b"]
    # Published in bfloat16 and float16.
    wanted = (np.log(2.3158992258981477) + np.log(2.31435905621165)) / 2
    assert gemma["log_gain"].tolist() == pytest.approx([wanted])
    assert last.weights is None


def test_post_norm_and_fine_tuned_models_are_left_out(shipped_store: Store) -> None:
    entered = {name for each in data_sets(shipped_store) for name in each.rows["model_id"]}
    assert "facebook/opt-125m" in entered
    assert not entered & {"facebook/opt-350m", "google/gemma-7b-it"}


def test_models_of_one_lab_are_compared_by_recipe_and_say_so(effects: pd.DataFrame) -> None:
    rows = effects[effects["data_set"].str.startswith("measured")]
    assert set(rows["n_labs"]) == {1}
    heritage = rows[rows["term"].str.startswith("heritage")]
    assert set(heritage["term"]) == {"heritage[T.muon]"}
    assert heritage["note"].str.contains("nothing can be said of labs").all()


def test_exchanging_heritage_between_few_units_cannot_give_a_small_p(
    families: list[Family],
) -> None:
    found = of(hierarchy.heritage_permutations(families), block="heritage")
    named = of(found, metric="gain_penultimate_block").set_index("group")
    # One lab of 5; 3 suites of 7.
    assert named["smallest_p"].to_dict() == pytest.approx({"lab": 1 / 5, "suite": 1 / 35})
    assert (named["p_value"] >= named["smallest_p"]).all()
    recipes = of(found, metric="gain_block").set_index("group")
    # Two recipes exchanged give the same |t|.
    assert recipes["p_value"]["suite"] == 1
    assert "at least two levels" in recipes["note"]["lab"]


def test_less_than_one_degree_of_freedom_gives_no_p_and_the_whole_line(
    effects: pd.DataFrame,
) -> None:
    row = of(effects, block="heritage", metric="gain_penultimate_block").iloc[0]
    assert row["df"] < 1
    assert np.isnan(row["p_value"])
    assert (row["conf_low"], row["conf_high"]) == (-np.inf, np.inf)
    assert row["note"].startswith("Fewer than 1 degree of freedom")


def test_too_few_models_give_a_row_with_the_reason(effects: pd.DataFrame) -> None:
    row = of(effects, block=EVERYTHING, metric="gain_last_block").iloc[0]
    assert np.isnan(row["estimate"])
    assert row["note"] == (
        "6 coefficients need 10 models, so that 4 are left for the variance between them; found 8."
    )


def test_heritage_is_the_named_lab_against_all_others() -> None:
    rows = pd.DataFrame({"lab": ["EleutherAI", "Meta", "Google"], "suite": list("abc")})
    labelled, note = with_heritage(rows)
    assert labelled["heritage"].tolist() == ["EleutherAI", "other", "other"]
    assert note == ""


def test_the_same_seed_gives_the_same_intervals(families: list[Family]) -> None:
    one, two = (
        hierarchy.variance_components(
            families[:1], rng=np.random.default_rng(7), n_resamples=9, conf_level=0.8
        )
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.slow
def test_every_column_is_in_the_glossary(families: list[Family], effects: pd.DataFrame) -> None:
    frames = [
        effects,
        hierarchy.variance_components(
            families[:1], rng=np.random.default_rng(1), n_resamples=9, conf_level=0.8
        ),
        hierarchy.conditional_modes(families),
    ]
    for frame in frames:
        glossary.checked(frame.columns)
        assert {"data_set", "metric", "block", "n_obs", "note"} <= set(frame.columns)


def test_all_predictors_belong_to_one_block() -> None:
    names = [name for block in BLOCKS.values() for name in block]
    assert len(names) == len(set(names))


def test_imported_prompts_have_the_means_of_the_published_figures(tmp_path: Path) -> None:
    if not RAW.exists():
        pytest.skip(f"the paper's raw files are not at {RAW}")
    assert main(["published", str(RAW), "--out", str(tmp_path)]) == 0
    store = open_store(ROOT / "data/published", tmp_path)
    sets = {each.metric: each.rows for each in published_prompts(store)}
    rows = sets["gain_penultimate_block"]
    pythia = rows[rows["model_id"] == "EleutherAI/pythia-70m"]
    figure = store.query(
        """
        SELECT mean, n FROM published_figure
         WHERE model_id = 'EleutherAI/pythia-70m' AND metric = 'gain_penultimate_block'
        """
    ).iloc[0]
    assert len(pythia) == figure["n"]
    assert np.exp(pythia["log_gain"]).mean() == pytest.approx(figure["mean"])
    for each in sets.values():
        assert not each.duplicated(["model_id", "prompt_id"]).any()

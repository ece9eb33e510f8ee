"""Simulated effects are recovered; those of the published figures agree with lme4."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.hierarchy import effects
from tests.analysis.places import R

BLOCKS = (*effects.BLOCKS, effects.EVERYTHING)

LAB_SD, SUITE_SD, MODEL_SD, RESIDUAL_SD = 0.3, 0.2, 0.15, 0.2
LAYERS_EFFECT, HERITAGE_EFFECT = -0.25, 0.6


def simulated(n_labs=40):
    """Two suites per lab, four models per suite, six rows each; every other lab is the named one.

    Depth lowers the gain by a quarter per standard deviation; the other predictors do nothing.
    """
    rng = np.random.default_rng(3)
    models = pd.DataFrame({"suite": np.repeat(np.arange(2 * n_labs), 4)})
    n_models = len(models)
    models = models.assign(
        lab=models["suite"] // 2,
        model_id=[f"m{place:04d}" for place in range(n_models)],
        rho=rng.uniform(0.1, 0.5, n_models),
        d_head=rng.choice([64, 80, 128], n_models),
        n_layers=rng.integers(6, 48, n_models),
        log_parameters=rng.uniform(7, 10, n_models),
    )
    models["heritage"] = np.where(models["lab"] % 2 == 0, "EleutherAI", "other")
    depth = (models["n_layers"] - models["n_layers"].mean()) / models["n_layers"].std()
    level = LAYERS_EFFECT * depth + HERITAGE_EFFECT * (models["heritage"] == "EleutherAI")
    level += LAB_SD * rng.standard_normal(n_labs)[models["lab"]]
    level += SUITE_SD * rng.standard_normal(2 * n_labs)[models["suite"]]
    models["level"] = level + MODEL_SD * rng.standard_normal(n_models)
    rows = models.merge(pd.DataFrame({"prompt": range(6)}), how="cross")
    rows["log_gain"] = rows["level"] + RESIDUAL_SD * rng.standard_normal(len(rows))
    return rows.assign(lab="lab" + rows["lab"].astype(str), suite="s" + rows["suite"].astype(str))


@pytest.fixture(scope="module")
def figures(shipped_store):
    return effects.figures(shipped_store)


@pytest.fixture(scope="module")
def fits(figures):
    return effects.fit(figures)


@pytest.fixture(scope="module")
def table(figures, fits):
    return effects.fixed_effects(figures, fits)


def of(rows, block):
    return rows[rows["block"] == block].reset_index(drop=True)


def test_the_effects_that_made_the_data_are_recovered_and_no_others():
    rows = simulated()
    # Five intervals of 99 % hold together in at least 95 %.
    fitted = effects.fixed_effects(rows, effects.fit(rows, weights=None), conf_level=0.99)
    recovered = of(fitted, effects.EVERYTHING).set_index("term")
    truth = dict.fromkeys(recovered.index, 0.0)
    truth |= {"n_layers": LAYERS_EFFECT, "heritage": HERITAGE_EFFECT}
    for term, value in truth.items():
        assert recovered["conf_low"][term] < value < recovered["conf_high"][term], term
    # Heritage is compared between 40 labs, depth between 320 models in 80 suites.
    assert 30 < recovered["df"]["heritage"] < 40
    assert 200 < recovered["df"]["n_layers"] < 320


@pytest.mark.parametrize("block", BLOCKS)
def test_published_figures_agree_with_lme4(fits, block):
    answer = of(pd.read_csv(R / "hierarchy_figures.csv"), block)
    ours = fits[block].tidy(["fixed"], df="wald")
    np.testing.assert_allclose(ours["estimate"], answer["estimate"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours["std_error"], answer["std_error"], rtol=1e-5)


@pytest.fixture(scope="module")
def averaged(figures):
    rows = figures.assign(log_gain=figures["log_gain"] * figures["n_prompts"])
    sums = rows.groupby("model_id")[["log_gain", "n_prompts"]].sum()
    means = sums["log_gain"] / sums["n_prompts"]
    models = rows.drop_duplicates("model_id").sort_values("model_id", ignore_index=True)
    models = models.assign(log_gain=models["model_id"].map(means))
    return effects.fit(models, groups=("lab", "suite"), weights=None)


@pytest.mark.parametrize("block", BLOCKS)
def test_means_of_models_agree_with_lmer_and_pbkrtest(averaged, block):
    answer = of(pd.read_csv(R / "hierarchy_models.csv"), block)
    ours = averaged[block].tidy(["fixed"])
    np.testing.assert_allclose(ours["estimate"], answer["estimate"], rtol=1e-5, atol=1e-7)
    # pbkrtest differentiates nothing, but sums in another order and starts from lme4's optimum.
    for column in ("std_error", "df", "p_value"):
        np.testing.assert_allclose(ours[column], answer[column], rtol=1e-3, atol=1e-6)


def test_what_is_left_out_and_what_has_no_p(figures, table):
    entered = set(figures["model_id"])
    assert "facebook/opt-125m" in entered
    assert not entered & {"facebook/opt-350m", "google/gemma-7b-it"}
    row = of(table, "heritage").iloc[0]
    assert row["df"] < 1
    assert np.isnan(row["p_value"])
    assert (row["conf_low"], row["conf_high"]) == (-np.inf, np.inf)
    assert effects.printable(table)["interval"].iloc[0] == "not estimable"


def test_a_unit_and_an_inflation_follow_from_the_models(figures, table):
    models = figures.drop_duplicates("model_id")
    geometry = of(table, "geometry").set_index("term")
    assert geometry["estimate_per_unit"]["n_layers"] * models["n_layers"].std() == pytest.approx(
        geometry["estimate"]["n_layers"]
    )
    others = np.column_stack([np.ones(len(models)), models["rho"], models["d_head"]])
    depth = models["n_layers"].to_numpy(dtype=float)
    left = depth - others @ np.linalg.lstsq(others, depth)[0]
    about = depth - depth.mean()
    assert geometry["variance_inflation"]["n_layers"] == pytest.approx(
        about @ about / (left @ left)
    )
    assert of(table, "scale")["variance_inflation"].tolist() == [1.0]

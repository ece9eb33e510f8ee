"""Effects against lme4, the difference of labs by every test and exchange, recipes."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.hierarchy import effects, exchanges, recipes
from analysis.delia2026.hierarchy import every_test as heritage_tests
from analysis.delia2026.sign.readings import models
from analysis.tidy import prose
from analysis.tidy.columns import texts
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
    assert texts(table, effects.COLUMNS)["interval"].iloc[0] == "not estimable"


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


@pytest.fixture
def drawn():
    """Six suites of two labs, three models each; EleutherAI's lie 0.1 lower."""
    rng = np.random.default_rng(8)
    suites = np.repeat(np.arange(6), 3)
    ours = suites < 3
    gains = 0.05 - 0.1 * ours + rng.normal(0, 0.05, 18)
    return pd.DataFrame(
        {"model_id": [f"m{number}" for number in range(18)], "log_gain": gains}
        | {"lab": np.where(ours, "EleutherAI", "Meta"), "suite": [f"s{place}" for place in suites]}
        | {"sign_strict": np.where(gains < 0, "dampen", "expand")}
    )


def test_every_test_answers_counts_its_own_units_and_is_printed(drawn):
    result = heritage_tests.every_test(drawn)
    assert len(result) == 6
    assert result["estimate"].notna().all()
    assert set(result.loc[result["unit"] == "model", "n_obs"]) == {18}
    assert set(result.loc[result["unit"] == "suite", "n_obs"]) == {6}
    assert result[["p_value", "bayes_factor", "conf_low"]].notna().any(axis=1).all()
    rows = texts(heritage_tests.every_test(drawn), heritage_tests.COLUMNS).set_index("method")
    assert rows.loc["Fisher", "bayes_factor"] == prose.MISSING
    assert rows.loc["t test, Hedges' g [SD]", "bayes_factor"] != prose.MISSING
    tests = pd.DataFrame({"unit": ["model"] * 3, "p_value": [0.01, 0.02, float("nan")]})
    assert heritage_tests.p_range(tests, "model") == "0.010 and 0.020"


def test_a_reported_p_is_impossible_only_above_the_least_possible(shipped_store):
    said = heritage_tests.out_of_reach(shipped_store, 11 / 8008)
    assert "0.0014" in said
    assert "p < 0.001 cannot" in said
    assert heritage_tests.out_of_reach(shipped_store, 0.0009) == ""


def test_a_sign_near_one_is_turned_alone():
    """7 of 12 against 1 of 10; by R's fisher.test with one count moved."""
    ours, others = [0.9] * 6 + [0.995] + [1.1] * 5, [0.998] + [1.1] * 9
    gain = np.array(ours + others)
    models = pd.DataFrame(
        {
            "model_id": [str(n) for n in range(22)],
            "lab": ["EleutherAI"] * 12 + ["Meta"] * 10,
            "log_gain": np.log(gain),
            "sign_strict": np.where(gain < 1, "dampen", "expand"),
        }
    )
    found = heritage_tests.other_signs(models)
    assert found["model_id"].tolist() == ["6", "12"]
    assert found["p_value"].tolist() == pytest.approx([0.0743034, 0.0053476], rel=1e-5)


def test_fisher_and_the_exchange_of_suites_are_those_of_a_hand_count(drawn):
    result = heritage_tests.every_test(drawn).set_index("method")
    ours = drawn["lab"] == "EleutherAI"
    below = drawn["log_gain"] < 0
    counts = [[(ours & below).sum(), (ours & ~below).sum()]]
    counts += [[(~ours & below).sum(), (~ours & ~below).sum()]]
    assert result.loc["Fisher", "p_value"] == pytest.approx(stats.fisher_exact(counts).pvalue)
    exchanged = result.loc["suites permuted, difference of means"]
    assert exchanged["smallest_p"] == pytest.approx(2 / 20)
    assert exchanged["estimate"] == pytest.approx(
        drawn.loc[ours, "log_gain"].mean() - drawn.loc[~ours, "log_gain"].mean()
    )


@pytest.fixture(scope="module")
def exchanged(shipped_store):
    return exchanges.exchanges(shipped_store).set_index("specification")


def test_p_of_the_hunt_by_suites_is_that_of_all_ways_to_choose_them(exchanged, shipped_store):
    rows = models(shipped_store, "hunt")
    dampens = (rows["sign_strict"] == "dampen").astype(float)
    means = dampens.groupby(rows["suite"]).mean()
    ours = rows.groupby("suite")["lab"].first() == "EleutherAI"
    ways = [
        means.iloc[list(some)].mean() - means.drop(means.index[list(some)]).mean()
        for some in combinations(range(len(means)), int(ours.sum()))
    ]
    observed = means[ours].mean() - means[~ours].mean()
    expected = np.mean(np.abs(ways) >= abs(observed) - 1e-12)
    assert exchanged.loc["hunt_suite_share_of_units", "p_value"] == pytest.approx(expected)
    known = {"share_of_units": 6, "share_pooled": 3, "gain_of_units": 10}
    for statistic, ways in known.items():
        assert exchanged.loc[f"hunt_suite_{statistic}", "p_value"] == pytest.approx(ways / 35)
    told = exchanges.bounds(exchanged.reset_index())
    assert float(told["least"]) == pytest.approx(exchanged["p_value"].min(), abs=0.0006)
    assert float(told["most"]) == pytest.approx(exchanged["p_value"].max(), abs=0.006)
    assert (exchanged["p_value"] >= exchanged["smallest_p"] - 1e-12).all()


@pytest.fixture(scope="module")
def with_recipe(published_store):
    return recipes.gains_with_recipe(published_store)


def test_every_fact_names_its_source_and_pythia_is_two_recipes(published_store):
    facts = published_store.query("FROM training_recipe")
    assert len(facts) > 200
    for column in ("repository", "path", "revision", "quoted"):
        assert (facts[column].str.len() > 0).all(), column
    known = set(published_store.query("SELECT model_id FROM raw.model")["model_id"])
    assert set(facts["model_id"]) <= known
    known = recipes.recipes(published_store)
    result = known.set_index("model_id")["decay_turns"]
    assert result["EleutherAI/pythia-70m"] == pytest.approx(0.1 * 1e-3 * 143000 * 0.55, rel=0.01)
    assert np.isnan(result["bigscience/bloom-560m"])
    assert result["EleutherAI/gpt-neo-2.7B"] == 0
    starts = known[known["suite"] == "Pythia"].groupby("inner_rule")["model_id"].apply(sorted)
    assert starts["normal"] == ["EleutherAI/pythia-12b", "EleutherAI/pythia-6.9b"]
    assert len(starts["small_init"]) == 6
    # N(0, 2 / (5 d)), with d = 512.
    spread = known.set_index("model_id")["inner_spread"]
    assert spread["EleutherAI/pythia-70m"] == pytest.approx((2 / 5 / 512) ** 0.5)
    scaled = known.loc[known["inner_rule"] == "small_init", "inner_spread_scaled"]
    assert scaled.to_numpy() == pytest.approx(0.4**0.5)  # whatever the width
    exchanged = recipes.start_rows(known)
    pythias = exchanged[exchanged["models"].str.startswith("Pythia")]
    assert list(pythias["inner"]) == ["normal", "small_init"]


@pytest.mark.parametrize(("decay", "steps"), [(100, 100), (60, 100)])
def test_the_sum_of_rates_is_that_of_the_schedule(published_store, decay, steps):
    peak, final, warmup = 0.3, 0.03, 10
    at = np.arange(steps) + 0.5
    fall = final + (peak - final) * (1 + np.cos(np.pi * (at - warmup) / (decay - warmup))) / 2
    rates = np.where(at < warmup, peak * at / warmup, np.where(at < decay, fall, final))
    result = published_store.query(
        f"SELECT rate_sum({peak}, {final}, {warmup}, {decay}, {steps}) AS total"
    )
    assert result["total"].iloc[0] == pytest.approx(rates.sum(), rel=1e-4)


def test_correlations_within_suites_are_those_of_deviations_from_the_suite(with_recipe):
    result = recipes.within_suites(with_recipe).set_index(["term", "condition"])["estimate"]
    several = with_recipe[with_recipe.groupby("suite")["suite"].transform("size") > 1]
    logs = ["log_rate", "log_depth", "log_width", "log_gain"]
    apart = several[logs] - several.groupby("suite")[logs].transform("mean")
    for (one, other), estimate in result.items():
        assert estimate == pytest.approx(apart[one].corr(apart[other]), abs=1e-12)
    assert result["log_depth", "log_rate"] < -0.9

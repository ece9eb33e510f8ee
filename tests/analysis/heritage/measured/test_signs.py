"""Signs of measured gains, interval and band together; one network in four gauges."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.heritage.measured import gauge as questions
from analysis.heritage.measured.signs import MINIMUM_PROMPTS, signs
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError


def test_the_interval_is_students(shipped_store):
    rows = signs(shipped_store, "gain_last_block").set_index("model_id")
    model = "thermoscope/llama-l8-muon"
    gains = shipped_store.query(
        "SELECT log_gain FROM prompt_gain WHERE metric = 'gain_last_block' AND model_id = $model",
        model=model,
    )["log_gain"]
    expected = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    row = rows.loc[model]
    assert row["n_obs"] == 25
    assert (row["rendering"], row["special_tokens"]) == ("plain", "default")
    assert row[["conf_low", "conf_high"]].tolist() == pytest.approx([*expected], rel=1e-12)
    assert {"dampen", "expand", "not identified"} >= {*rows["sign"]}
    decided = rows["sign"] != "not identified"
    assert (np.sign(rows["conf_low"]) == np.sign(rows["conf_high"]))[decided].all()
    assert decided.any()


def test_few_prompts_give_no_interval_and_no_sign(tiny_store):
    # Gains of the last block are 3/6 and 4; block 0 doubles the last token of both prompts.
    row = signs(tiny_store, "gain_last_block").iloc[0]
    assert row["estimate"] == pytest.approx((np.log(0.5) + np.log(4)) / 2)
    assert row["n_obs"] == 2 < MINIMUM_PROMPTS
    row = signs(tiny_store, "gain_embedding").iloc[0]
    assert row[["conf_low", "conf_high"]].isna().all()
    assert row["sign"] == "not identified"


def test_a_band_can_hide_a_small_gain(shipped_store):
    rows = signs(shipped_store, "gain_body", band=0)
    expands = rows[rows["sign"] == "expand"].iloc[0]
    for band, sign in ((expands["estimate"] * 0.99, "expand"), (expands["estimate"], "not")):
        again = signs(shipped_store, "gain_body", band=band).set_index("model_id")
        assert again.loc[expands["model_id"], "sign"].startswith(sign)


@pytest.mark.parametrize("band", [-0.01, float("nan"), float("inf")])
def test_a_band_that_is_no_length_is_refused(tiny_store, band):
    with pytest.raises(AnalysisError, match="band"):
        signs(tiny_store, "gain_embedding", band=band)


def test_an_unmeasured_gain_and_runs_in_chat_do_not_enter(tiny_store, published_store, add_run):
    with pytest.raises(AnalysisError, match="'gain_bdy'") as refusal:
        signs(tiny_store, "gain_bdy")
    assert "'gain_body'" in refusal.value.hint
    with pytest.raises(AnalysisError, match="'gain_body'"):
        signs(published_store, "gain_body")
    assert len(signs(open_store(add_run("chat", rendering="chat")), "gain_body")) == 1


PUBLISHED = Path(__file__).parents[4] / "data" / "published"


def test_the_gauges_have_the_shapes_of_their_names_and_one_centred_profile(shipped_store):
    layers = questions.profiles(shipped_store)
    gains = layers.dropna().pivot_table("log_gain", "layer", "gauge")
    assert (gains["shrinking"] < -0.1).all()
    assert gains["flat"].abs().max() < 1e-9
    assert (gains["growing"] > 0.1).all()
    centred = layers.dropna().pivot_table("log_gain_centred", "layer", "gauge")
    assert np.ptp(centred.to_numpy(), axis=1).max() < 1e-9
    assert layers["largest_logit_change"].max() < 1e-10


def test_free_signs_count_the_norms_of_the_published_models(shipped_store):
    figures = pd.read_csv(PUBLISHED / "published_figure.csv")
    metrics = ("gain_last_block", "gain_penultimate_block")
    shown = figures.loc[figures["metric"].isin(metrics), "model_id"]
    models = pd.read_csv(PUBLISHED / "model.csv").set_index("model_id").loc[shown.unique()]
    layer_norm = models[models["norm_kind"] == "LayerNorm"]
    behind = layer_norm[layer_norm["norm_position"] == "post"]
    assert set(layer_norm["norm_position"]) == {"pre", "post"}
    # Its printed gain is of block 22 of 0 to 23, whose output a norm's bias shifts.
    assert list(behind.index) == ["facebook/opt-350m"]
    counted = questions.norm_kinds(shipped_store).iloc[0]
    assert counted[["n_free", "n_models", "n_behind"]].tolist() == [len(layer_norm), len(models), 1]

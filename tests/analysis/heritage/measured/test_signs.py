"""Signs of measured gains: interval and band together, primary runs only."""

import numpy as np
import pytest
from scipy import stats

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


def test_runs_in_chat_do_not_enter(add_run):
    assert len(signs(open_store(add_run("chat", rendering="chat")), "gain_body")) == 1


def test_an_unmeasured_gain_is_refused(tiny_store, published_store):
    with pytest.raises(AnalysisError, match="'gain_bdy'") as refusal:
        signs(tiny_store, "gain_bdy")
    assert "'gain_body'" in refusal.value.hint
    with pytest.raises(AnalysisError, match="'gain_body'"):
        signs(published_store, "gain_body")

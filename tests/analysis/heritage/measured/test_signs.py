"""Signs of measured gains: interval and band together, primary runs only."""

import numpy as np
import pytest

from analysis.heritage.measured.signs import signs, without_gain
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError


def rng():
    return np.random.default_rng(4)


def only(store, metric, **options):
    return signs(store, metric, rng=rng(), n_resamples=399, **options).iloc[0]


def test_prompts_that_disagree_leave_the_sign_open(tiny_store):
    # Gains of the last block are 3/6 and 4.
    row = only(tiny_store, "gain_last_block")
    assert row["estimate"] == pytest.approx((np.log(0.5) + np.log(4)) / 2)
    # Resamples of two prompts hold either twice, or both.
    assert row["conf_low"] == pytest.approx(np.log(0.5))
    assert row["conf_high"] == pytest.approx(np.log(4))
    assert row["n_obs"] == 2
    assert row["sign"] == "not identified"


def test_prompts_that_agree_have_a_sign(tiny_store, add_run):
    # Block 0 doubles the last token of both prompts.
    assert only(tiny_store, "gain_embedding")["sign"] == "expand"
    directory = add_run("z", last_norm=0.5)
    (directory / "run" / "test--tiny@S.parquet").unlink()
    # The last block takes 6 and 1 to 0.5.
    assert only(open_store(directory), "gain_last_block")["sign"] == "dampen"


def test_a_band_can_hide_a_small_gain(tiny_store):
    assert only(tiny_store, "gain_embedding", band=0.69)["sign"] == "expand"
    assert only(tiny_store, "gain_embedding", band=0.70)["sign"] == "not identified"


@pytest.mark.parametrize("band", [-0.01, float("nan"), float("inf")])
def test_a_band_that_is_no_length_is_refused(tiny_store, band):
    with pytest.raises(AnalysisError, match="must be a finite log gain of at least 0; found"):
        only(tiny_store, "gain_embedding", band=band)


def test_runs_in_chat_do_not_enter(add_run):
    rows = signs(open_store(add_run("chat", rendering="chat")), "gain_body", rng=rng())
    assert len(rows) == 1


def test_an_unmeasured_gain_is_refused(tiny_store, published_store):
    with pytest.raises(AnalysisError, match="'gain_bdy' is not") as refusal:
        signs(tiny_store, "gain_bdy", rng=rng())
    assert refusal.value.hint == "Did you mean 'gain_body'?"
    with pytest.raises(AnalysisError, match="must be one that was measured"):
        signs(published_store, "gain_body", rng=rng())


def test_a_model_of_one_block_is_left_out_and_named(one_block_copy):
    store = open_store(one_block_copy)
    for metric, left_out in [("gain_body", ["test/one"]), ("gain_last_block", [])]:
        given = set(signs(store, metric, rng=rng())["model_id"])
        assert without_gain(store, metric) == left_out
        assert given | {*left_out} == {"test/tiny", "test/one"}
        assert given.isdisjoint(left_out)

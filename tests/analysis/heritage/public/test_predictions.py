"""Registered predictions on a store whose numbers are counted by hand, and on the sample."""

import pandas as pd
import pytest

from analysis.heritage.public import predictions, rounding
from tests.analysis.places import ROOT

KEYS = ["prediction", "metric", "model_id", "prompt_set", "special_tokens"]


def test_the_tiny_model_meets_what_its_norms_say(tiny_store):
    rows = predictions.outcomes(tiny_store).set_index("prediction")
    # Last token: gains 3/6 and 4 of the last block, geometric mean sqrt 2; three blocks.
    last = rows.loc["bound_last_block"]
    assert last["estimate"] == pytest.approx(2**0.5)
    assert last["bound"] == pytest.approx(10 ** (1 / 3))
    assert last["is_met"]
    assert rows.loc["last_block_expands", "is_met"]
    # Two query heads over heads of width d_head: L (0.11 + 0.012 L + 4.9 / H) is beyond block 2.
    inside = rows.loc["l_star_inside"]
    assert inside["estimate"] == pytest.approx(3 * (0.11 + 0.012 * 3 + 4.9 / 2))
    assert (inside["bound"], inside["is_met"]) == (2, False)
    seen = rows["seen"]
    assert seen["last_block_expands"]  # its prompt set is S, not A
    assert seen["l_star_inside"]
    assert not seen["bound_mean_block"]


def test_rows_are_unique_and_what_was_known_is_marked(shipped_store, monkeypatch):
    rows = predictions.outcomes(shipped_store)
    assert not rows.duplicated(KEYS).any()
    known = rows.groupby("prediction")["seen"].all()
    assert known["last_block_expands"]
    assert not rows.loc[rows["prompt_set"] != "A_grand_unified", "seen"].any()
    assert not rows.loc[rows["prediction"] == "trace_over_depth", "seen"].any()
    expected = rows.apply(
        lambda row: predictions.RELATIONS[row["relation"]](row["estimate"], row["bound"]), axis=1
    )
    pd.testing.assert_series_equal(rows["is_met"].astype(bool), expected, check_names=False)
    labs = dict(zip(predictions.ORDER, (1.2, 0.9, 1.0), strict=True))
    table = pd.DataFrame({"lab": labs.keys(), "estimate": labs.values()})
    table = table.assign(metric="gain_body", prompt_set="B")
    monkeypatch.setattr(predictions, "gains", lambda *_: table)
    row = predictions._order(None).iloc[0]
    assert (row["estimate"], row["bound"]) == (2, 3)


PUBLIC = ROOT / "data" / "public"


def test_the_body_is_safe_and_the_first_token_is_not():
    table = rounding.read(PUBLIC)
    rows = table.set_index(["model_id", "quantity"])
    assert (table["n_seeds"] == 3).all()
    for model_id in table["model_id"].unique():
        body = rows.loc[(model_id, "gain_body")]
        assert abs(body["mean"] - body["estimate"]) < 0.002
        assert rows.loc[(model_id, "share_pairs_turned"), "maximum"] < 0.05
    small = "local/SmolLM2-135M-Instruct.Q4_1"
    # As an independent script found it: `gain_body` 1.1066, all tokens .652.
    assert rows.loc[(small, "gain_body"), "estimate"] == pytest.approx(1.1066, abs=1e-4)
    assert rows.loc[(small, "gain_whole_matrix"), "estimate"] == pytest.approx(0.652, abs=5e-4)
    assert rows.loc[(small, "gain_whole_matrix"), "std_dev"] > 0.03
    printed = rounding.rows(table)
    assert list(printed["quantity"]) == list(rounding.QUANTITIES.values())
    assert printed.shape[1] == 1 + table["model_id"].nunique()
    assert printed.notna().all(axis=None)

"""The table of one more rounding error, and the sentences it fills."""

from pathlib import Path

import pytest

from analysis.heritage.public import rounding

PUBLIC = Path(__file__).parents[4] / "data" / "public"


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


def test_the_page_has_a_column_per_model_and_a_row_per_quantity():
    table = rounding.read(PUBLIC)
    printed = rounding.rows(table)
    assert list(printed["quantity"]) == list(rounding.QUANTITIES.values())
    assert printed.shape[1] == 1 + table["model_id"].nunique()
    assert printed.notna().all(axis=None)

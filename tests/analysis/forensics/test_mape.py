"""Which error a quoted mean absolute percentage error is."""

import pandas as pd
import pytest

from analysis.forensics import mape
from analysis.tidy.errors import ColumnError, DesignError

CASES = pd.DataFrame({"predicted": [6.0, 6.0, 9.0], "observed": [3.0, 6.0, 10.0], "size": 12.0})


def test_each_definition_is_what_a_hand_computes():
    found = mape.definitions(CASES, "36.67 %").set_index("term")
    assert found["estimate"].to_dict() == pytest.approx(
        {
            mape.MAPE: 100 * (1 + 0 + 0.1) / 3,
            "mean of |error| / size": 100 * (3 + 0 + 1) / 36,
            "median of |error| / found": 10,
            "sum of |error| / sum of found": 100 * 4 / 19,
            "sum of |error| / sum of size": 100 * 4 / 36,
        }
    )
    assert found.index[found["consistent"]].tolist() == [mape.MAPE]
    assert (found["n_obs"] == 3).all()


def test_an_error_over_size_is_not_taken_for_a_percentage_error():
    found = mape.definitions(CASES, "11.1 %").set_index("term")["consistent"]
    assert not found[mape.MAPE]
    assert found["mean of |error| / size"]


def test_refusals_say_what_must_hold():
    with pytest.raises(DesignError, match="other than 0; found 3 cases"):
        mape.definitions(CASES.assign(observed=0.0), "1 %")
    with pytest.raises(DesignError, match="found 0 cases"):
        mape.definitions(CASES.iloc[:0], "1 %")
    with pytest.raises(ColumnError, match="must have a column 'size'"):
        mape.definitions(CASES.drop(columns="size"), "1 %")

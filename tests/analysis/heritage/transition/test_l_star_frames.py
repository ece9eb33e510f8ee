"""L* as frames: every estimator on every profile, other suites asked."""

import math

import pandas as pd
import pytest

from analysis.heritage.transition import frames as l_star_frames
from analysis.heritage.transition import l_star
from analysis.tidy.errors import ColumnError, DesignError


def profiles(**named):
    return pd.DataFrame(
        [
            {"prompt_id": name, "layer": layer, "trace": value}
            for name, values in named.items()
            for layer, value in enumerate(values)
        ]
    )


STEP_AT_1 = [0.0, 0.0, 4.0, 4.0, 4.0]


def test_every_profile_meets_every_estimator():
    rows = profiles(a=STEP_AT_1, b=[2.0, 1.0, 3.0, 3.0, 7.0])
    result = l_star_frames.estimates(rows.iloc[::-1], value="trace", by=["prompt_id"])
    assert result.groupby("prompt_id")["method"].agg(list).tolist() == [list(l_star.ESTIMATORS)] * 2
    primary = result[result["method"] == "argmax_interior_gradient"]
    assert primary["estimate"].tolist() == [1, 3]
    assert set(result["n_obs"]) == {5}
    none = result[(result["prompt_id"] == "a") & (result["method"] == "first_sign_change")].iloc[0]
    assert math.isnan(none["estimate"])
    assert none["note"] == "The profile has no such layer."


def test_a_gap_in_a_profile_is_no_layer_and_says_so():
    rows = profiles(a=[1.0, None, 4.0, 4.0])
    result = l_star_frames.estimates(rows, value="trace", by=["prompt_id"])
    assert result["estimate"].isna().all()
    assert set(result["note"]) == {"1 of 4 values are missing."}


def test_a_profile_with_a_layer_missing_or_twice_is_refused():
    rows = profiles(a=STEP_AT_1)
    with pytest.raises(DesignError, match=r"each layer once; \('a',\) has \[0, 1, 3, 4\]"):
        l_star_frames.estimates(rows[rows["layer"] != 2], value="trace", by=["prompt_id"])
    with pytest.raises(DesignError, match="each layer once"):
        l_star_frames.estimates(profiles(a=STEP_AT_1, b=STEP_AT_1), value="trace", by=["layer"])
    with pytest.raises(ColumnError, match="'depth'"):
        l_star_frames.estimates(rows, value="depth", by=["prompt_id"])


def test_a_constant_share_is_learnt_from_the_other_suites_only():
    models = pd.DataFrame(
        {"suite": ["x", "x", "y"], "n_layers": [10, 20, 40], "estimate": [1.0, 4.0, 20.0]}
    )
    # Suite x has shares 0.1 and 0.2, suite y has 0.5.
    fitted = l_star_frames.constant_share(models)["fitted"]
    assert fitted.tolist() == pytest.approx([5.0, 10.0, 6.0])
    with pytest.raises(DesignError, match="at least 2 suites; found 1"):
        l_star_frames.constant_share(models[:2])

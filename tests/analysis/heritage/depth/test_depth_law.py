"""Laws of depth compared, against nls() and by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.depth import depth_law, depth_law_tables
from analysis.tidy.errors import AnalysisError, DesignError

R = Path(__file__).parents[3] / "r"

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "depth_law.csv")
COLUMNS = {"gain": "gain", "depth": "layers"}


def test_aicc_likelihood_and_prediction_agree_with_nls():
    result = depth_law.compare(models, **COLUMNS)
    errors = depth_law.prediction_errors(models, **COLUMNS)
    assert result["law"].tolist() == errors["law"].tolist() == answers["law"].tolist()
    # nls() stops when steps are small; criteria are flat at the minimum, predictions are not.
    np.testing.assert_allclose(result["aicc"], answers["aicc"], atol=1e-9)
    np.testing.assert_allclose(result["log_likelihood"], answers["log_likelihood"], atol=1e-9)
    np.testing.assert_allclose(errors["rmse"], answers["rmse"], rtol=1e-6)


def test_akaike_weights_sum_to_one_and_the_best_has_no_delta():
    result = depth_law.compare(models, **COLUMNS)
    assert result["weight"].sum() == pytest.approx(1)
    assert result["delta_aicc"].min() == 0
    assert result["n_coefficients"].tolist() == [0, 0, 1, 1, 2]


def test_leaving_out_models_one_at_a_time_by_hand():
    rows = pd.DataFrame(
        {
            "n_layers": [1, 2, 3, 4, 5],
            "gain_mean": np.exp([0.0, 0, 0, 0, 1]),
            "suite": list("abcde"),
        }
    )
    result = depth_law.prediction_errors(rows).set_index("law")
    # Left out in turn, the zeros are predicted by 1/4 and the one by 0.
    assert result.loc["constant", "rmse"] == pytest.approx(((4 / 16 + 1) / 5) ** 0.5)
    assert result.loc["1", "rmse"] == pytest.approx((1 / 5) ** 0.5)
    assert result.loc["1", "estimate"] == pytest.approx(1 / 5 - 1.25 / 5)
    assert result.loc["constant", ["estimate", "conf_low", "conf_high"]].tolist() == [0, 0, 0]


def test_gains_that_are_not_positive_computed_or_too_few_are_refused():
    with pytest.raises(AnalysisError, match="'gain'"):
        depth_law.compare(models.assign(gain=np.r_[0.0, models["gain"][1:]]), **COLUMNS)
    with pytest.raises(DesignError, match="5 rows"):
        depth_law.compare(models.head(4), **COLUMNS)
    computed = pd.DataFrame({"n_layers": [2, 4, 8, 16, 32]})
    with pytest.raises(DesignError, match="exactly"):
        depth_law.compare(computed.assign(gain_mean=7 ** (1 / computed["n_layers"])))
    one_depth = pd.DataFrame(
        {"n_layers": [12] * 4 + [24], "gain_mean": [1, 1.1, 1.2, 1.3, 0.9], "suite": list("aabbc")}
    )
    with pytest.raises(DesignError, match="2 depths"):
        depth_law.prediction_errors(one_depth)


def test_the_report_compares_all_laws_for_both_gains(shipped_store):
    table = depth_law_tables.laws(shipped_store)
    assert table.groupby("metric").size().tolist() == [len(depth_law.LAWS)] * 2
    rows = depth_law_tables.law_rows(table)
    assert rows["delta"].tolist().count("0.0") == 2
    assert set(depth_law_tables.LAWS) == set(depth_law.LAWS)

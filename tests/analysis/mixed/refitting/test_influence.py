"""Levels left out and leverage against lme4; pictures hold the numbers of the frames."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R

crossed = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ rho + depth + (1 | model) + (1 | lab)"


@pytest.fixture(scope="module")
def model():
    return mixed.fit(FORMULA, crossed)


def test_estimates_without_each_level_are_lme4s(model):
    theirs = pd.read_csv(R / "mixed_influence.csv")
    ours = model.influence("lab")
    assert ours["level"].tolist() == theirs["level"].tolist()
    assert (ours["note"] == "").all()
    for column in ("estimate", "change", "cooks_distance"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-4, atol=1e-6)
    rows = crossed[crossed["lab"] != "alpha"]
    direct = mixed.fit(FORMULA, rows).tidy(["fixed"])["estimate"]
    np.testing.assert_allclose(ours["estimate"].head(3), direct, rtol=1e-6)
    assert ours["n_obs"].iloc[0] == len(rows)


def test_leverage_is_lme4s_and_sums_to_the_effective_parameters(model):
    theirs = pd.read_csv(R / "mixed_influence_leverage.csv")["leverage"]
    np.testing.assert_allclose(model.leverage()["leverage"], theirs, rtol=1e-5)
    with pytest.raises(DesignError, match="weights"):
        mixed.fit(FORMULA, crossed, weights="precision").leverage()


def test_a_level_that_cannot_be_left_out_is_told(model):
    alone = crossed.assign(one=np.where(crossed["lab"] == "alpha", "a", "b"))
    frame = mixed.fit("gain ~ one + (1 | model) + (1 | lab)", alone).influence("lab")
    lost = frame[frame["level"] == "alpha"]
    assert lost["estimate"].isna().all()
    assert (lost["note"] != "").all()
    assert frame[frame["level"] == "beta"]["estimate"].notna().all()
    with pytest.raises(DesignError, match="'lab'"):
        model.influence("labb")


def test_pictures_are_of_the_frames(model):
    for kind in ("residuals", "quantiles", "random"):
        assert model.plot(kind).to_dict()["$schema"]
    drawn = model.plot("residuals").data
    pd.testing.assert_series_equal(drawn["residual"], model.augment()["residual"])
    quantiles = model.plot("quantiles").to_dict()["datasets"]
    assert any(len(rows) == len(crossed) for rows in quantiles.values())
    bars = model.plot("influence", group="lab").data
    assert len(bars) == crossed["lab"].nunique()
    with pytest.raises(AnalysisError, match="group"):
        model.plot("influence")
    with pytest.raises(AnalysisError, match="'labb'"):
        model.plot("random", group="labb")
    with pytest.raises(AnalysisError, match="`kind`"):
        model.plot("qq")

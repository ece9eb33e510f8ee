"""Laws of depth compared, against nls() and by hand; phases of anisotropy, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from analysis.delia2026.depth import claims_anisotropy as anisotropy
from analysis.delia2026.depth import depth_law, depth_law_tables
from analysis.store import open_store
from analysis.tidy.columns import texts
from analysis.tidy.errors import AnalysisError, DesignError
from collect.record.writer import write_table
from tests.analysis.places import R

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
    rows = texts(table, depth_law_tables.COLUMNS)
    assert rows["delta"].tolist().count("0.0") == 2
    assert set(depth_law_tables.LAWS) == set(depth_law.LAWS)


def prompts(profile, wobble=(-0.01, 0.0, 0.03)):
    """Return one row per prompt that follows a profile with steps a little larger or smaller."""
    shifts = np.array(wobble)[:, None] * np.arange(len(profile))
    return pd.DataFrame(np.array(profile) + shifts)


def test_a_step_counts_where_the_prompts_agree():
    # The flat step is -0.01, 0 and 0.03: its mean is above 0, its interval is not.
    assert anisotropy.directions(prompts([0, 1, 1, 0])).tolist() == [1, 0, -1]
    assert anisotropy.directions(pd.DataFrame([[0.0, 1.0]])).tolist() == [0]
    assert anisotropy.runs(np.array([1, 1, 0, 1, -1, -1, 0, 1])) == 3
    assert anisotropy.runs(np.array([])) == 0


def as_theirs(folder, profile):
    """Make the tiny model one of the paper's, with a profile of anisotropy over its depth."""
    depth = len(profile) - 1
    path = folder / "token_geometry/test--tiny@S.parquet"
    row = pd.read_parquet(path).iloc[[0]]
    sites = [("block_input", 0), *(("block_output", layer) for layer in range(depth))]
    rows = [
        row.assign(prompt_id=f"S:{prompt:02}", site=site, layer=layer, mean_cosine=value)
        for prompt in range(2)
        for (site, layer), value in zip(sites, profile, strict=True)
    ]
    geometry = pd.concat(rows)
    geometry["mean_cosine"] += np.where(geometry["prompt_id"] == "S:01", 1e-6, 0) * np.arange(
        len(geometry)
    )
    write_table("token_geometry", geometry, path)
    for model in folder.glob("model/*.parquet"):
        write_table("model", pd.read_parquet(model).assign(n_layers=depth), model)
    pd.DataFrame(
        {"model_id": ["test/tiny"], "metric": ["weight_spectral_v"], "prompt_set": ["none"]}
        | {"dtype": ["none"], "file": ["f"], "path": ["p"], "mean": [1.0], "sd": [""], "n": [1]}
        | {"unit": ["u"], "caveats": [""]}
    ).to_csv(folder / "published_figure.csv", index=False)
    return open_store(folder)


@pytest.mark.parametrize(
    ("profile", "holds"),
    [
        ([0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3], True),
        ([0.1, 0.2, 0.3, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5], False),
        ([0.1, 0.2, 0.1, 0.2, 0.1, 0.2], None),
    ],
)
def test_the_paper_s_models_decide_when_they_are_deep_enough(tiny_copy, profile, holds):
    store = as_theirs(tiny_copy, profile)
    row = anisotropy.five_phases(store)[1]
    assert row.holds is holds
    assert row.n_models == 1

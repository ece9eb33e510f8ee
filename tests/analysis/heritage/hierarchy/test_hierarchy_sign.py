"""The sign of the gain as a logistic mixed model: found again in simulation, refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.hierarchy import hierarchy_tables as hierarchy_exhibits
from analysis.heritage.hierarchy import sign as hierarchy_sign
from analysis.heritage.hierarchy.frames import DataSet
from analysis.tidy.errors import MissingExtraError

ROOT = Path(__file__).parents[4]
pytest.importorskip("glmm", reason="The extra [glmm] is not installed.")


@pytest.fixture(scope="module")
def shipped(shipped_store):
    return hierarchy_sign.sign_effects(shipped_store)


def simulated(slope, *, n_suites=60, per_suite=8, seed=3):
    """Return a data set whose log odds of dampening rise with the density."""
    rng = np.random.default_rng(seed)
    suites = np.repeat(np.arange(n_suites), per_suite)
    rho = rng.normal(size=suites.size)
    odds = slope * (rho - rho.mean()) / rho.std(ddof=1) + rng.normal(size=n_suites)[suites]
    dampens = rng.random(suites.size) < 1 / (1 + np.exp(-odds))
    rows = pd.DataFrame(
        {
            "log_gain": np.where(dampens, -0.1, 0.1),
            "model_id": [f"m{number}" for number in range(suites.size)],
            "suite": [f"s{number}" for number in suites],
            "lab": [f"l{number % 5}" for number in suites],
            "family": "f",
            "heritage": np.where(suites % 5 == 0, "EleutherAI", "other"),
            "rho": rho,
            "d_head": 64,
            "n_layers": rng.integers(6, 48, suites.size),
            "log_parameters": rng.normal(9, 1, suites.size),
        }
    )
    return DataSet("published figures", "gain_penultimate_block", rows, ("lab", "suite"))


def test_a_known_slope_is_found_again(monkeypatch):
    monkeypatch.setattr(hierarchy_sign, "data_sets", lambda store: [simulated(1.2)])
    found = hierarchy_sign.sign_effects(None).set_index("term")
    assert found.loc["rho", "conf_low"] < 1.2 < found.loc["rho", "conf_high"]
    assert found.loc["rho", "p_value"] < 1e-6
    assert found.loc["heritage", "conf_low"] < 0 < found.loc["heritage", "conf_high"]
    assert "d_head" not in found.index


def test_the_fit_of_one_predictor_is_that_of_the_engine(shipped, published_store):
    from analysis import mixed

    sets = hierarchy_sign.data_sets(published_store)
    (data_set,) = [each for each in sets if each.metric == "gain_penultimate_block"]
    models = data_set.rows.groupby(["model_id", "suite", "rho"], as_index=False)["log_gain"].mean()
    models["rho"] = (models["rho"] - models["rho"].mean()) / models["rho"].std()
    by_hand = mixed.fit_binomial("(log_gain < 0) ~ rho + (1 | suite)", models).tidy(("fixed",))
    found = shipped[(shipped["metric"] == data_set.metric) & (shipped["term"] == "rho")].iloc[0]
    assert found["estimate"] == pytest.approx(by_hand["estimate"].iloc[1], rel=1e-6)
    assert found["n_models"] == len(models)


def test_where_all_signs_are_alike_the_row_says_so(shipped):
    alike = shipped[shipped["metric"] == "gain_body"]
    assert alike["estimate"].isna().all()
    assert alike["note"].str.contains("all 8 rows have the same").all()


def test_without_the_package_the_extra_is_named(monkeypatch, published_store):
    import sys

    monkeypatch.setitem(sys.modules, "glmm", None)
    with pytest.raises(MissingExtraError, match="needs the package 'glmm'") as refusal:
        hierarchy_sign.sign_effects(published_store)
    assert refusal.value.exit_code == 3


def test_density_and_depth_part_the_signs_within_suites_and_print_no_number(shipped):
    rows = hierarchy_exhibits.sign_rows(shipped).set_index("predictor")
    separated = rows.index[rows["estimate"] == "separated"].tolist()
    assert separated == ["head density", "depth"]
    assert set(rows.loc[separated, ["interval", "p"]].to_numpy().ravel()) == {"–"}


def test_a_singular_fit_says_so_and_prints_no_test(shipped):
    rows = hierarchy_exhibits.sign_rows(shipped).set_index("predictor")
    # The variance between suites is zero, so that models would be independent: p = 0.036 is Wald's.
    heritage = shipped[shipped["term"].eq("heritage") & shipped["p_value"].notna()].iloc[0]
    assert heritage["p_value"] == pytest.approx(0.0356, abs=5e-5)
    assert hierarchy_sign.SINGULAR in heritage["note"]
    assert rows.loc["heritage", "estimate"] == "2.53"
    assert rows.loc["heritage", ["interval", "p"]].tolist() == ["–", "–"]
    assert rows.loc["heritage", "note"] == "singular: suites taken as alike"

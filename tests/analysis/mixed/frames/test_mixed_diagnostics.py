"""Diagnostics: right on data that follow the model, loud on data that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.mixed.frames.diagnostics import (
    binned_residuals,
    quantile_residuals,
    random_effect_quantiles,
    residual_quantiles,
    residuals_by_level,
)
from analysis.mixed.model import MixedModel
from analysis.tidy.errors import ColumnError, DesignError

rows = pd.read_csv(Path(__file__).parents[3] / "r/mixed_data_crossed.csv")


@pytest.fixture(scope="module")
def model() -> MixedModel:
    return mixed.fit("gain ~ rho + depth + (1 + depth | model) + (1 | prompt)", rows)


def test_quantiles_of_residuals_are_those_of_the_rows(model: MixedModel) -> None:
    augmented = model.augment()
    assert augmented is not None
    sigma = model.glance()["sigma"].iloc[0]
    found = residual_quantiles(model, n_points=3)
    assert found["probability"].tolist() == [0.25, 0.5, 0.75]
    expected = np.quantile(augmented["residual"] / sigma, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(found["observed"], expected, atol=1e-12)
    np.testing.assert_allclose(found["theoretical"], stats.norm.ppf([0.25, 0.5, 0.75]), atol=1e-12)


def test_bins_hold_all_rows_and_their_means(model: MixedModel) -> None:
    augmented = model.augment()
    assert augmented is not None
    found = binned_residuals(model, "depth", n_bins=5)
    assert found["n_obs"].sum() == len(rows)
    first = augmented[augmented["depth"] <= found["bin_high"].iloc[0]]
    assert len(first) == found["n_obs"].iloc[0]
    assert found["estimate"].iloc[0] == pytest.approx(first["residual"].mean())
    assert found["std_error"].iloc[0] == pytest.approx(first["residual"].sem())


def test_a_forgotten_curve_shows_in_the_bins() -> None:
    curved = rows.assign(gain=rows["gain"] + 4 * (rows["depth"] - 0.5) ** 2)
    found = binned_residuals(
        mixed.fit("gain ~ depth + (1 | model) + (1 | prompt)", curved), "depth", n_bins=6
    )
    far = (found["estimate"] / found["std_error"]).abs()
    assert far.max() > 4


def test_levels_have_the_mean_residual_of_their_rows(model: MixedModel) -> None:
    augmented = model.augment()
    assert augmented is not None
    found = residuals_by_level(model, "kind").set_index("level")
    expected = augmented.groupby("kind")["residual"]
    np.testing.assert_allclose(found["estimate"], expected.mean(), atol=1e-12)
    np.testing.assert_allclose(found["sigma"], expected.std(), atol=1e-12)
    with pytest.raises(DesignError, match="'knid' is none"):
        residuals_by_level(model, "knid")


def test_every_level_has_a_place_among_normal_quantiles(model: MixedModel) -> None:
    found = random_effect_quantiles(model)
    assert len(found) == 2 * 12 + 15
    for _, each in found.groupby(["group", "term"]):
        assert each["observed"].is_monotonic_increasing
        assert each["theoretical"].is_monotonic_increasing


def test_ranks_are_uniform_under_the_model_and_not_under_another() -> None:
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(200), 5)
    y = rng.normal(size=200)[group] + rng.normal(size=1000)
    many = mixed.fit("y ~ 1 + (1 | group)", pd.DataFrame({"y": y, "group": group}))
    right = quantile_residuals(many, rng=np.random.default_rng(1))
    assert right["row"].tolist() == list(range(1000))
    assert stats.kstest(right["quantile_residual"], "uniform").pvalue > 0.01
    heavy = np.random.default_rng(2).standard_t(1.5, len(rows))
    wrong = mixed.fit("gain ~ depth + (1 | model)", rows.assign(gain=heavy))
    ranks = quantile_residuals(wrong, rng=np.random.default_rng(1))["quantile_residual"]
    assert stats.kstest(ranks, "uniform").pvalue < 1e-4


def test_a_large_table_is_thinned_to_evenly_spaced_rows(model: MixedModel) -> None:
    found = quantile_residuals(model, rng=np.random.default_rng(1), n_rows=100, n_simulations=10)
    assert found["row"].tolist() == list(range(0, len(rows), 4))


def test_weights_scale_the_simulated_errors() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=len(rows)) / np.sqrt(rows["precision"]) * 3
    model = mixed.fit(
        "gain ~ depth + (1 | model)", rows.assign(gain=rows["gain"] + noise), weights="precision"
    )
    heavy = rows["precision"] > 2
    ranks = quantile_residuals(model, rng=rng)["quantile_residual"]
    # Spread of uniform ranks is 0.289 whatever the weight.
    assert ranks[heavy].std() == pytest.approx(1 / np.sqrt(12), abs=0.04)
    assert ranks[~heavy].std() == pytest.approx(1 / np.sqrt(12), abs=0.04)


@pytest.mark.parametrize("name", ["residual", "Fitted", "fitted_fixed"])
def test_rows_with_a_residual_of_their_own_are_refused(name: str) -> None:
    # The rows' own column was read for the model's: quantiles and simulations were wrong.
    model = mixed.fit("gain ~ depth + (1 | model)", rows.assign(**{name: 100.0}))
    for asked in (
        lambda: residual_quantiles(model),
        lambda: binned_residuals(model),
        lambda: residuals_by_level(model, "model"),
        lambda: quantile_residuals(model, rng=np.random.default_rng(1)),
        lambda: model.simulate(2, rng=np.random.default_rng(1)),
    ):
        with pytest.raises(ColumnError, match=rf"must not already have .*\['{name}'\]"):
            asked()


def test_rows_may_have_a_column_called_level() -> None:
    model = mixed.fit("gain ~ depth + (1 | model)", rows)
    beside = mixed.fit("gain ~ depth + (1 | model)", rows.assign(level=range(len(rows)), bin=1))
    pd.testing.assert_frame_equal(
        residuals_by_level(beside, "model"), residuals_by_level(model, "model")
    )
    pd.testing.assert_frame_equal(binned_residuals(beside), binned_residuals(model))

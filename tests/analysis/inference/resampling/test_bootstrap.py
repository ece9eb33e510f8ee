from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.resampling import bootstrap
from analysis.tidy.errors import DesignError

R = Path(__file__).parents[3] / "r"

values = pd.read_csv(R / "bootstrap_replicates.csv")
answers = pd.read_csv(R / "bootstrap.csv").set_index("method")
replicates = values.loc[values["what"] == "replicate", "value"].to_numpy()


def test_the_percentile_interval_of_the_same_replicates_is_that_of_boot() -> None:
    ends = bootstrap.interval(replicates, 0.95)
    np.testing.assert_allclose(ends, answers.loc["percentile"], rtol=1e-14)


def test_a_quantile_is_the_counted_order_statistic() -> None:
    # (39 + 1) * 0.025 = 1 and (39 + 1) * 0.975 = 39: the first and the last.
    low, high = bootstrap.interval(np.arange(1.0, 40.0), 0.95)
    assert (low, high) == pytest.approx((1, 39), rel=1e-14)
    assert bootstrap.interval(np.arange(1.0, 20.0), 0.9) == pytest.approx((1, 19))


def test_missing_replicates_are_left_out() -> None:
    gaps = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60.0))
    assert bootstrap.interval(gaps, 0.95) == bootstrap.interval(gaps[~np.isnan(gaps)], 0.95)


def test_draws_are_of_all_clusters_and_the_same_for_a_seed() -> None:
    first, second = (bootstrap.draws(4, 500, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (500, 4)
    # A cluster is drawn as often as any other: two standard errors of a share of 2,000 draws.
    np.testing.assert_allclose(np.bincount(first.ravel()) / 2000, 0.25, atol=0.03)


def test_few_clusters_and_degenerate_intervals_are_noted() -> None:
    assert "Only 7 clusters" in bootstrap.interval_note(7, 0.5, 0.0, 1.0)
    assert bootstrap.interval_note(bootstrap.FEW_GROUPS, 0.5, 0.0, 1.0) == ""
    assert "outside" in bootstrap.interval_note(bootstrap.FEW_GROUPS, 1.5, 0.0, 1.0)
    assert "no width" in bootstrap.interval_note(bootstrap.FEW_GROUPS, 1.0, 1.0, 1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.integers(-5, 5), scale=st.integers(1, 5))
def test_the_interval_of_a_mean_moves_with_its_unit(seed: int, shift: int, scale: int) -> None:
    rng = np.random.default_rng(seed)
    means = rng.normal(size=12)[bootstrap.draws(12, 99, rng)].mean(axis=1)
    plain, moved = (bootstrap.interval(each, 0.95) for each in (means, shift + scale * means))
    np.testing.assert_allclose(moved, shift + scale * np.array(plain), atol=1e-9)


@pytest.mark.slow
def test_coverage_is_near_nominal_with_thirty_clusters_and_lower_with_five() -> None:
    rng = np.random.default_rng(9)
    coverage = {}
    for n_clusters in (5, 30):
        means = rng.normal(size=(400, n_clusters))
        ends = [
            bootstrap.interval(each[bootstrap.draws(n_clusters, 199, rng)].mean(axis=1), 0.9)
            for each in means
        ]
        coverage[n_clusters] = np.mean([low <= 0 <= high for low, high in ends])
    # The percentile interval of a mean of G clusters covers about
    # P(|t_{G-1}| < 1.645 sqrt((G-1)/G)): 0.885 for 30, 0.785 for 5. Two Monte-Carlo standard
    # errors are 0.032 and 0.041.
    assert coverage[30] == pytest.approx(0.885, abs=0.032)
    assert coverage[5] == pytest.approx(0.785, abs=0.041)


def test_too_few_resamples_for_the_level_are_refused() -> None:
    with pytest.raises(DesignError, match=r"at least 39 resamples; 20 of 21"):
        bootstrap.interval(np.append(np.arange(20.0), np.nan), 0.95)

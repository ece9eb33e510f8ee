from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.resampling import bootstrap
from analysis.tidy.errors import ColumnError, DesignError

R = Path(__file__).parents[3] / "r"

values = pd.read_csv(R / "bootstrap_replicates.csv")
answers = pd.read_csv(R / "bootstrap.csv").set_index("method")
replicates = values.loc[values["what"] == "replicate", "value"].to_numpy()


def mean_y(rows: pd.DataFrame) -> float:
    return float(rows["y"].mean())


def clustered(n_clusters: int, size: int, rng: np.random.Generator) -> pd.DataFrame:
    effect = np.repeat(rng.normal(size=n_clusters), size)
    return pd.DataFrame(
        {
            "lab": np.repeat([f"lab {code}" for code in range(n_clusters)], size),
            "y": effect + rng.normal(scale=0.3, size=n_clusters * size),
        }
    )


def test_the_percentile_interval_of_the_same_replicates_is_that_of_boot() -> None:
    ends = bootstrap.interval(replicates, 0.95)
    np.testing.assert_allclose(ends, answers.loc["percentile"], rtol=1e-14)


def test_a_quantile_is_the_counted_order_statistic() -> None:
    # (39 + 1) * 0.025 = 1 and (39 + 1) * 0.975 = 39: the first and the last.
    low, high = bootstrap.interval(np.arange(1.0, 40.0), 0.95)
    assert (low, high) == pytest.approx((1, 39), rel=1e-14)
    assert bootstrap.interval(np.arange(1.0, 20.0), 0.9) == pytest.approx((1, 19))


def test_two_clusters_give_the_three_means_that_can_be_counted() -> None:
    rows = pd.DataFrame({"lab": ["a", "b", "b"], "y": [0.0, 3.0, 3.0]})
    seen: list[float] = []

    def remember(resample: pd.DataFrame) -> float:
        seen.append(mean_y(resample))
        return seen[-1]

    found = bootstrap.cluster_bootstrap(
        rows, remember, cluster="lab", rng=np.random.default_rng(1), n_resamples=99
    )
    assert {round(mean, 12) for mean in seen} == {0.0, 2.0, 3.0}
    # The first one seen is that of the frame itself.
    assert found["std_error"].item() == pytest.approx(np.std(seen[1:], ddof=1), rel=1e-12)


def test_a_cluster_drawn_twice_counts_as_two() -> None:
    rows = clustered(4, 3, np.random.default_rng(2))

    def all_there(resample: pd.DataFrame) -> float:
        assert resample["lab"].nunique() == 4
        assert (resample["lab"].value_counts() == 3).all()
        return mean_y(resample)

    result = bootstrap.cluster_bootstrap(
        rows,
        all_there,
        cluster="lab",
        rng=np.random.default_rng(3),
        n_resamples=99,
    )
    assert result["n_failed"].iloc[0] == 0
    assert result["n_groups"].iloc[0] == 4


def test_without_a_cluster_every_row_is_its_own() -> None:
    rows = pd.DataFrame({"y": np.arange(30.0)})
    row = bootstrap.cluster_bootstrap(
        rows, mean_y, cluster=None, rng=np.random.default_rng(4)
    ).iloc[0]
    assert row["n_groups"] == 30
    # The standard deviation of the mean of n draws is sqrt(variance / n).
    assert row["std_error"] == pytest.approx(rows["y"].std(ddof=0) / np.sqrt(30), rel=0.06)


def test_the_same_seed_gives_the_same_row_and_the_frame_is_untouched() -> None:
    rows = clustered(12, 2, np.random.default_rng(5))
    before = rows.copy()
    first, second = (
        bootstrap.cluster_bootstrap(
            rows, mean_y, cluster="lab", rng=np.random.default_rng(6), n_resamples=199
        )
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)
    pd.testing.assert_frame_equal(rows, before)
    assert first["term"].iloc[0] == "mean_y"


def test_few_clusters_are_noted() -> None:
    rng = np.random.default_rng(7)
    few = bootstrap.cluster_bootstrap(clustered(7, 2, rng), mean_y, cluster="lab", rng=rng)
    many = bootstrap.cluster_bootstrap(clustered(12, 2, rng), mean_y, cluster="lab", rng=rng)
    assert few["note"].iloc[0] == "Only 7 clusters: the interval is likely too narrow."
    assert many["note"].iloc[0] == ""
    assert bootstrap.interval_note(bootstrap.FEW_GROUPS, 0.5, 0.0, 1.0) == ""


def test_resamples_that_fail_are_counted_and_left_out() -> None:
    rows = pd.DataFrame({"lab": list("aabb"), "heritage": [1, 1, 0, 0], "y": [3.0, 4.0, 1.0, 2.0]})

    def difference(resample: pd.DataFrame) -> float:
        means = resample.groupby("heritage")["y"].mean()
        if len(means) < 2:
            raise ValueError("one level only")
        return float(means[1] - means[0])

    row = bootstrap.cluster_bootstrap(
        rows, difference, cluster="lab", rng=np.random.default_rng(8), n_resamples=400
    ).iloc[0]
    # Both draws hit the same lab half of the time.
    assert row["n_failed"] == pytest.approx(200, abs=50)
    assert (row["conf_low"], row["conf_high"]) == (2, 2)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.integers(-5, 5), scale=st.integers(1, 5))
def test_the_interval_of_a_mean_moves_with_its_unit(seed: int, shift: int, scale: int) -> None:
    rows = clustered(12, 2, np.random.default_rng(seed))
    moved = rows.assign(y=shift + scale * rows["y"])
    plain, changed = (
        bootstrap.cluster_bootstrap(
            frame, mean_y, cluster="lab", rng=np.random.default_rng(seed), n_resamples=99
        ).iloc[0]
        for frame in (rows, moved)
    )
    for name in ("estimate", "conf_low", "conf_high"):
        assert changed[name] == pytest.approx(shift + scale * plain[name], abs=1e-9)


@pytest.mark.slow
def test_coverage_is_near_nominal_with_thirty_clusters_and_lower_with_five() -> None:
    rng = np.random.default_rng(9)
    n_simulations, n_resamples = 160, 39
    coverage = {}
    for n_clusters in (5, 30):
        covered = 0
        for _ in range(n_simulations):
            row = bootstrap.cluster_bootstrap(
                clustered(n_clusters, 3, rng),
                mean_y,
                cluster="lab",
                rng=rng,
                n_resamples=n_resamples,
                conf_level=0.9,
            ).iloc[0]
            covered += row["conf_low"] <= 0 <= row["conf_high"]
        coverage[n_clusters] = covered / n_simulations
    # The percentile interval of a mean of G clusters covers about
    # P(|t_{G-1}| < 1.645 sqrt((G-1)/G)): 0.885 for 30, 0.785 for 5. Two Monte-Carlo standard
    # errors are 0.05 and 0.065. Resampling rows would cover 0.6.
    assert coverage[30] == pytest.approx(0.885, abs=0.05)
    assert coverage[5] == pytest.approx(0.785, abs=0.065)


def test_one_cluster_is_refused() -> None:
    rows = pd.DataFrame({"lab": ["a", "a"], "y": [1.0, 2.0]})
    with pytest.raises(DesignError, match="At least two levels of 'lab' are needed; found 1"):
        bootstrap.cluster_bootstrap(rows, mean_y, cluster="lab", rng=np.random.default_rng(0))


def test_missing_cluster_labels_are_counted_and_refused() -> None:
    rows = pd.DataFrame({"lab": ["a", None, "b"], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ColumnError, match=r"level in every row; rows without: 1 of 3\."):
        bootstrap.cluster_bootstrap(rows, mean_y, cluster="lab", rng=np.random.default_rng(0))


def test_too_few_resamples_for_the_level_are_refused() -> None:
    rows = clustered(5, 2, np.random.default_rng(0))
    with pytest.raises(DesignError, match=r"0\.95 interval needs at least 39 resamples; 20 of 20"):
        bootstrap.cluster_bootstrap(
            rows, mean_y, cluster="lab", rng=np.random.default_rng(0), n_resamples=20
        )


def test_an_interval_that_degenerates_is_noted() -> None:
    def draw(values: list[float], statistic: bootstrap.Statistic) -> pd.Series:
        rows = pd.DataFrame({"y": values})
        rng = np.random.default_rng(1)
        return bootstrap.cluster_bootstrap(
            rows, statistic, cluster=None, rng=rng, n_resamples=999
        ).iloc[0]

    row = draw([float(value) for value in range(20)], lambda rows: float(rows["y"].max()))
    assert row["conf_high"] == 19
    assert "most extreme" in row["note"]
    same = draw([1.0] * 10, mean_y)
    assert same["conf_low"] == same["conf_high"] == 1
    assert "no width" in same["note"]


def test_a_column_that_the_statistic_reads_is_present_complete_and_of_numbers() -> None:
    rows = clustered(5, 2, np.random.default_rng(0)).assign(text="a")

    def refused(frame: pd.DataFrame, statistic: bootstrap.Statistic, named: str) -> None:
        with pytest.raises(ColumnError, match=named):
            bootstrap.cluster_bootstrap(
                frame, statistic, cluster="lab", rng=np.random.default_rng(0)
            )

    refused(rows, lambda frame: frame["yy"].mean(), "'yy'")
    refused(rows, lambda frame: frame["text"].mean(), "TypeError")
    refused(rows, lambda frame: frame.groupby("lab")["y"].mean(), "TypeError")
    gap = rows.assign(y=rows["y"].where(rows.index > 0))
    refused(gap, mean_y, "'y'")
    other = rows.assign(z=np.nan)
    plain, beside = (
        bootstrap.cluster_bootstrap(frame, mean_y, cluster="lab", rng=np.random.default_rng(0))
        for frame in (rows, other)
    )
    pd.testing.assert_frame_equal(plain, beside)

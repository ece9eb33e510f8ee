from __future__ import annotations

from math import factorial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.inference.association import correlation, correlation_resampled
from analysis.inference.resampling import bootstrap
from analysis.tidy.errors import AnalysisError, DesignError

models = pd.read_csv(Path(__file__).parents[3] / "r" / "models.csv")


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_a_perfect_line_of_five_is_reached_by_two_of_all_orders() -> None:
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [2.0, 4.0, 6.0, 8.0, 10.0]})
    row = correlation_resampled.permutation(rows, x="x", y="y").iloc[0]
    assert row["p_value"] == row["smallest_p"] == 2 / factorial(5)
    assert row["n_permutations"] == 120
    assert row["estimate"] == pytest.approx(1)


def test_seven_rows_agree_with_enumeration_by_scipy() -> None:
    rows = models.head(7)
    found = correlation_resampled.permutation(rows, x="density", y="gain").iloc[0]
    enumerated = stats.permutation_test(
        (rows["density"].to_numpy(),),
        lambda x: abs(stats.pearsonr(x, rows["gain"]).statistic),
        permutation_type="pairings",
        n_resamples=np.inf,
        alternative="greater",
    )
    assert found["p_value"] == pytest.approx(enumerated.pvalue, abs=1e-12)


def test_exact_ranks_agree_with_the_exact_spearman_test() -> None:
    rows = models.head(8)
    ours = correlation_resampled.permutation(rows, x="layers", y="gain", method="spearman")
    exact = correlation.correlate(rows, x="layers", y="gain", method="spearman")
    assert ours["p_value"].iloc[0] == pytest.approx(exact["p_value"].iloc[0], abs=1e-12)
    assert ours["estimate"].iloc[0] == pytest.approx(exact["estimate"].iloc[0], rel=1e-12)


def test_sampled_orders_come_near_the_t_test_and_never_give_zero() -> None:
    row = correlation_resampled.permutation(models, x="density", y="gain", rng=rng()).iloc[0]
    t_test = correlation.correlate(models, x="density", y="gain")["p_value"].iloc[0]
    assert row["p_value"] == pytest.approx(t_test, abs=0.02)
    assert row["smallest_p"] == 1 / 10_000
    line = models.assign(density=models["gain"])
    assert correlation_resampled.permutation(line, x="density", y="gain", rng=rng())[
        "p_value"
    ].iloc[0] == pytest.approx(1e-4)


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(
        st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=6
    ).filter(lambda v: all(len(set(c)) > 1 for c in zip(*v, strict=True)))
)
def test_p_is_at_least_the_smallest_possible(values: list[tuple[int, int]]) -> None:
    rows = pd.DataFrame(values, columns=["x", "y"])
    row = correlation_resampled.permutation(rows, x="x", y="y").iloc[0]
    assert 0 < row["smallest_p"] <= row["p_value"] <= 1


def test_the_bootstrap_is_that_of_the_bootstrap_module() -> None:
    def r(rows: pd.DataFrame) -> float:
        return float(rows["density"].corr(rows["gain"]))

    ours = correlation_resampled.bootstrap(
        models,
        x="density",
        y="gain",
        cluster="lab",
        interval="percentile",
        n_resamples=199,
        rng=rng(),
    )
    theirs = bootstrap.cluster_bootstrap(models, r, cluster="lab", n_resamples=199, rng=rng())
    for name in ("estimate", "std_error", "conf_low", "conf_high"):
        assert ours[name].iloc[0] == pytest.approx(theirs[name].iloc[0], rel=1e-9)
    assert ours["term"].iloc[0] == "gain ~ density"
    assert ours["n_groups"].iloc[0] == 7


def test_what_cannot_be_correlated_is_refused() -> None:
    with pytest.raises(AnalysisError, match="orders of 24 rows are sampled"):
        correlation_resampled.permutation(models, x="density", y="gain")
    constant = models.assign(density=1.0)
    with pytest.raises(DesignError, match="'density' must vary"):
        correlation_resampled.bootstrap(constant, x="density", y="gain", rng=rng())

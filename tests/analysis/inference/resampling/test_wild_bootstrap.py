from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from analysis.inference.association import wild_bootstrap
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import group_codes

models = pd.read_csv(Path(__file__).parents[3] / "r" / "models.csv")
FORMULA = "gain ~ heritage + density"


def brute_force(null_value: float, vectors: np.ndarray) -> tuple[float, np.ndarray]:
    """Return t and the bootstrap t's of heritage, each from a refit by statsmodels."""
    design = np.column_stack([np.ones(24), models["heritage"], models["density"]])
    clusters = group_codes(models, "lab")

    def fit(response: np.ndarray) -> tuple[float, float]:
        fitted = sm.OLS(response, design).fit(
            cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
        )
        return fitted.params[1], fitted.bse[1]

    response = models["gain"].to_numpy()
    restricted = design[:, [0, 2]]
    offset = null_value * design[:, 1]
    null_fit = sm.OLS(response - offset, restricted).fit()
    estimate, error = fit(response)
    drawn = []
    for vector in vectors:
        made = null_fit.fittedvalues + offset + null_fit.resid * vector[clusters]
        drawn_estimate, drawn_error = fit(made)
        drawn.append((drawn_estimate - null_value) / drawn_error)
    return (estimate - null_value) / error, np.array(drawn)


@pytest.mark.parametrize("null_value", [0.0, 0.4])
def test_all_sign_vectors_agree_with_a_refit_of_every_one(null_value: float) -> None:
    vectors = np.array(list(itertools.product([-1, 1], repeat=7)))
    observed, drawn = brute_force(null_value, vectors)
    row = wild_bootstrap.wild_cluster_bootstrap(
        models, FORMULA, term="heritage", cluster="lab", null_value=null_value
    ).iloc[0]
    assert row["statistic"] == pytest.approx(observed, rel=1e-10)
    expected = np.mean(np.abs(drawn) >= abs(observed) - 1e-9)
    assert row["p_value"] == expected
    assert row["smallest_p"] == 2 / 128
    assert row["n_resamples"] == 128


def test_webb_weights_agree_with_a_refit_of_every_draw() -> None:
    rng = np.random.default_rng(4)
    row = wild_bootstrap.wild_cluster_bootstrap(
        models, FORMULA, term="heritage", cluster="lab", weights="webb", rng=rng, n_resamples=99
    ).iloc[0]
    weights = [-np.sqrt(1.5), -1, -np.sqrt(0.5), np.sqrt(0.5), 1, np.sqrt(1.5)]
    order = [-np.sqrt(0.5), -1, -np.sqrt(1.5), np.sqrt(0.5), 1, np.sqrt(1.5)]
    assert sorted(wild_bootstrap.WEIGHTS["webb"]) == pytest.approx(sorted(weights))
    vectors = np.random.default_rng(4).choice(order, size=(99, 7))
    observed, drawn = brute_force(0.0, vectors)
    assert row["p_value"] == (np.sum(np.abs(drawn) >= abs(observed)) + 1) / 100


def test_the_interval_is_where_the_test_stops_rejecting() -> None:
    row = wild_bootstrap.wild_cluster_bootstrap(
        models, FORMULA, term="density", cluster="lab", conf_level=0.9
    ).iloc[0]

    def p_value(null_value: float) -> float:
        rows = wild_bootstrap.wild_cluster_bootstrap(
            models, FORMULA, term="density", cluster="lab", null_value=null_value, conf_level=0.9
        )
        return float(rows["p_value"].iloc[0])

    width = row["conf_high"] - row["conf_low"]
    assert np.isfinite(width)
    for end, outwards in ((row["conf_low"], -1), (row["conf_high"], 1)):
        assert p_value(end + outwards * 1e-6 * width) <= 0.1
        assert p_value(end - outwards * 1e-6 * width) > 0.1


def test_with_four_clusters_nothing_is_rejected_at_five_per_cent() -> None:
    rows = models[models["lab"].isin(models["lab"].unique()[:4])]
    row = wild_bootstrap.wild_cluster_bootstrap(
        rows, "gain ~ density", term="density", cluster="lab"
    ).iloc[0]
    assert row["smallest_p"] == 0.125
    assert (row["conf_low"], row["conf_high"]) == (-np.inf, np.inf)
    assert "p cannot fall below 0.125" in row["note"]


def test_what_cannot_be_tested_is_refused() -> None:
    def call(**changed: object) -> pd.DataFrame:
        known = {"term": "density", "cluster": "lab", **changed}
        return wild_bootstrap.wild_cluster_bootstrap(models, FORMULA, **known)

    with pytest.raises(DesignError, match="nearest is 'density'"):
        call(term="densty")
    with pytest.raises(AnalysisError, match="webb weights of 7 clusters are drawn"):
        call(weights="webb")
    with pytest.raises(AnalysisError, match="Did you mean 'webb'"):
        call(weights="web")
    with pytest.raises(AnalysisError, match="rademacher weights of 24 clusters are drawn"):
        call(cluster="model_id")


def test_a_term_that_one_cluster_determines_is_refused() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"lab": np.repeat(list("abcdef"), 8), "y": rng.normal(size=48)})
    frame["one"] = (frame["lab"] == "a").astype(float)
    with pytest.raises(DesignError, match="Several clusters must determine 'one'"):
        wild_bootstrap.wild_cluster_bootstrap(frame, "y ~ one", term="one", cluster="lab")

"""The bootstrap of a frame, a statistic and its clusters, against boot in R and scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from analysis.inference.resampling import bootstrap
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import SEED
from tests.analysis.places import R

rows = pd.read_csv(R / "cluster_bootstrap_rows.csv")
answers = pd.read_csv(R / "cluster_bootstrap.csv").set_index("quantity")["value"]
replicates = pd.read_csv(R / "cluster_bootstrap_replicates.csv.gz")["replicate"].to_numpy()


def mean_of(frame):
    return frame["value"].mean()


def test_intervals_are_those_of_boot_from_its_own_replicates():
    left_out = np.array([mean_of(rows[rows["cluster"] != c]) for c in rows["cluster"].unique()])
    low, high, note = bootstrap.bca_interval(mean_of(rows), replicates, left_out, conf_level=0.95)
    # boot interpolates between order statistics on the normal scale.
    assert [low, high] == pytest.approx(answers[["bca_low", "bca_high"]].to_list(), abs=5e-5)
    assert note == ""


def test_the_whole_function_agrees_with_boot_within_monte_carlo_error():
    row = bootstrap.bootstrap(rows, mean_of, cluster="cluster", n=9999).iloc[0]
    assert row["estimate"] == pytest.approx(answers["estimate"], rel=1e-12)
    assert row["std_error"] == pytest.approx(answers["std_error"], rel=0.03)
    for end in ("conf_low", "conf_high", "bca_low", "bca_high"):
        assert row[end] == pytest.approx(answers[end], abs=0.15 * answers["std_error"])
    assert (row["n_obs"], row["n_groups"], row["n_failed"], row["seed"]) == (48, 12, 0, str(SEED))
    assert "10 clusters" in row["note"]


@pytest.mark.parametrize(("n_clusters", "simulated"), [(4, "5"), (9, "5"), (24, "10"), (25, "")])
def test_the_note_tells_the_coverage_with_no_more_clusters(n_clusters, simulated):
    few = pd.DataFrame({"value": np.arange(n_clusters) % 7, "cluster": np.arange(n_clusters)})
    note = bootstrap.bootstrap(few, mean_of, cluster="cluster", n=99)["note"].iloc[0]
    assert ("simulations with" in note) == bool(simulated)
    assert f"with {simulated} clusters" in note or not simulated


def test_rows_alone_are_as_in_scipy():
    rng = np.random.default_rng(4)
    sample = pd.DataFrame({"value": rng.exponential(size=40)})
    row = bootstrap.bootstrap(sample, mean_of, n=9999, rng=rng).iloc[0]
    theirs = stats.bootstrap((sample["value"],), np.mean, n_resamples=9999, method="BCa", rng=rng)
    error = theirs.standard_error
    assert row["bca_low"] == pytest.approx(theirs.confidence_interval.low, abs=0.1 * error)
    assert row["bca_high"] == pytest.approx(theirs.confidence_interval.high, abs=0.1 * error)


@pytest.mark.parametrize(
    ("statistic", "terms"),
    [
        (lambda d: d["value"].agg(["mean", "max"]), ["mean", "max"]),
        (lambda d: {"mean": d["value"].mean()}, ["mean"]),
        (lambda d: [d["value"].mean(), 1.0], ["statistic 1", "statistic 2"]),
        (lambda d: pd.DataFrame({"term": ["a"], "estimate": d["value"].mean()}), ["a"]),
    ],
)
def test_every_kind_of_statistic_gives_a_row_per_component(statistic, terms):
    frame = bootstrap.bootstrap(rows, statistic, cluster="cluster", n=99)
    assert frame["term"].tolist() == terms
    assert frame.loc[0, "estimate"] == pytest.approx(rows["value"].mean())


def test_a_cluster_drawn_twice_can_be_told_apart():
    seen = []

    def statistic(frame):
        seen.append(frame.groupby("drawn_cluster")["cluster"].nunique().tolist())
        return frame["drawn_cluster"].nunique()

    row = bootstrap.bootstrap(rows, statistic, cluster="cluster", n=49).iloc[0]
    assert row["estimate"] == 12
    assert all(counts == [1] * 12 for counts in seen[:50])
    assert all(counts == [1] * 11 for counts in seen[50:])
    assert "says nothing" in row["note"]


def test_a_mixed_model_is_a_statistic():
    def fixed(frame):
        return mixed.fit("value ~ 1 + (1 | drawn_cluster)", frame).tidy(["fixed"])

    row = bootstrap.bootstrap(rows, fixed, cluster="cluster", n=49).iloc[0]
    assert row["term"] == "Intercept"
    assert 0.2 < row["std_error"] / answers["std_error"] < 5


def test_few_clusters_and_failures_are_told():
    few = rows[rows["cluster"] < "f"]

    def fails(frame):
        if not (frame["cluster"] == "a").any():
            raise DesignError("a is missing", "")
        return frame["value"].mean()

    row = bootstrap.bootstrap(few, fails, cluster="cluster", n=199).iloc[0]
    # All five miss one of five with probability .8^5 = .33.
    assert 40 < row["n_failed"] < 90
    assert np.isnan(row["bca_low"])
    for told in ("Only 5 clusters", f"{row['n_failed']} of 199 resamples failed", "No BCa"):
        assert told in row["note"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ColumnError, match="clutser"):
        bootstrap.bootstrap(rows, mean_of, cluster="clutser")
    with pytest.raises(ColumnError, match="drawn_cluster"):
        bootstrap.bootstrap(rows.assign(drawn_cluster=1), mean_of, cluster="cluster")
    with pytest.raises(DesignError, match="two levels"):
        bootstrap.bootstrap(rows[rows["cluster"] == "a"], mean_of, cluster="cluster")
    with pytest.raises(DesignError, match="finite"):
        bootstrap.bootstrap(rows, lambda _: np.nan, cluster="cluster")
    with pytest.raises(AnalysisError, match="`statistic`"):
        bootstrap.bootstrap(rows, lambda _: "mean", cluster="cluster")
    with pytest.raises(AnalysisError, match="`n`"):
        bootstrap.bootstrap(rows, mean_of, n=0)


def test_rounding_does_not_move_the_bca_interval():
    # Of four clusters, 4! of 4^4 resamples, one in eleven, hold each once, in any order.
    chosen = bootstrap.draws(4, 999)
    values = np.array([0.1, 0.2, 0.7, 1.9])
    left_out = (values.sum() - values) / 3
    exact = values[np.sort(chosen)].mean(axis=1)
    noise = 1 + 1e-15 * np.random.default_rng(1).standard_normal(999)
    ends = [
        bootstrap.bca_interval(values.mean(), each, left_out, conf_level=0.9)[:2]
        for each in (exact, exact * noise)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)

"""GRIM, GRIMMER and DEBIT against every data set that there is, and published cases."""

from itertools import combinations_with_replacement
from statistics import stdev

import pandas as pd
import pytest

from analysis.forensics import granularity
from analysis.forensics.rounding import read
from analysis.tidy.errors import AnalysisError, DesignError


def test_published_cases_of_grim_come_out_as_published():
    # Vignette of the R package scrutiny: 5.27 of 43, and the first rows of its data pigs1.
    means = pd.DataFrame(
        {"mean": ["5.27", "7.22", "4.74", "5.23", "2.57"], "n": [43, 32, 25, 29, 24]}
    )
    judged = granularity.grim(means)
    assert judged["consistent"].tolist() == [False, True, False, False, False]
    assert judged["note"][2] == "Nearest means of 25 whole numbers: 4.72 and 4.76."
    assert judged["note"][1] == ""


def test_grim_admits_exactly_the_means_that_exist():
    for n in (1, 3, 7, 13):
        possible = {f"{total / n:.2f}" for total in range(2 * n + 1)}
        every = [f"{hundredth / 100:.2f}" for hundredth in range(201)]
        judged = granularity.grim(pd.DataFrame({"mean": every, "n": n}))
        admitted = set(judged.loc[judged["consistent"], "mean"])
        assert possible <= admitted
        # Only a mean exactly half-way between two printed ones may be printed as either.
        assert all(
            any(abs(float(mean) * n - total) <= 0.005 * n + 1e-9 for total in range(2 * n + 2))
            for mean in admitted
        )


@pytest.fixture(scope="module")
def samples():
    """Return every sample of five whole numbers from 0 to 6, as printed."""
    rows = [
        {"mean": f"{sum(values) / 5:.2f}", "sd": f"{stdev(values):.2f}", "n": 5}
        for values in combinations_with_replacement(range(7), 5)
    ]
    return pd.DataFrame(rows).drop_duplicates(ignore_index=True)


def test_no_real_sample_fails_grimmer(samples):
    assert granularity.grimmer(samples)["consistent"].all()


def test_grimmer_refuses_most_of_what_no_sample_has(samples):
    real = set(zip(samples["mean"], samples["sd"], strict=True))
    claimed = pd.DataFrame(
        [
            {"mean": mean, "sd": f"{sd / 100:.2f}", "n": 5}
            for mean in ("2.00", "2.40", "3.20")
            for sd in range(50, 200)
        ]
    )
    unreal = claimed[
        [pair not in real for pair in zip(claimed["mean"], claimed["sd"], strict=True)]
    ]
    refused = ~granularity.grimmer(unreal)["consistent"]
    assert refused.mean() > 0.95


def test_the_parity_of_the_squares_decides():
    # Two numbers with the sum 2 have squares that sum to 2, 4, 10, ...: sd 0, 1.41, 2.83.
    cases = pd.DataFrame({"mean": "1.00", "sd": ["0.00", "1.41", "1.00", "0.71"], "n": 2})
    judged = granularity.grimmer(cases)
    assert judged["consistent"].tolist() == [True, True, False, False]
    assert judged["note"][2] == "The standard deviation is impossible for this mean and n."


def test_whole_numbers_with_half_a_mean_cannot_all_be_alike():
    # Ten with the sum 5 are nearest to each other as five 0 and five 1: sd 0.53.
    cases = pd.DataFrame({"mean": ["0.50", "0.50", "-0.50"], "sd": ["0.24", "0.53", "0.24"]})
    assert granularity.grimmer(cases.assign(n=10))["consistent"].tolist() == [False, True, False]


def test_debit_admits_exactly_the_samples_of_zeros_and_ones():
    for n in (4, 9, 16):
        real = {(f"{k / n:.2f}", f"{stdev([1] * k + [0] * (n - k)):.2f}") for k in range(n + 1)}
        cases = pd.DataFrame(
            [
                {"mean": f"{mean / 100:.2f}", "sd": f"{sd / 100:.2f}", "n": n}
                for mean in range(101)
                for sd in range(61)
            ]
        )
        judged = granularity.debit(cases)
        admitted = judged.loc[judged["consistent"], ["mean", "sd"]]
        found = set(admitted.itertuples(index=False, name=None))
        assert real <= found
        # A half may be rounded either way: 1/8 prints as 0.12 or 0.13.
        assert len(found - real) <= n


def test_debit_refuses_an_impossible_sum():
    judged = granularity.debit(pd.DataFrame({"mean": ["1.40"], "sd": ["0.50"], "n": [10]}))
    assert not judged["consistent"].item()


def test_a_share_names_the_numbers_of_units_it_can_be_of():
    assert granularity.denominators("43.75 %", 40)["n_obs"].tolist() == [16, 32]
    rows = granularity.denominators("80 %", 12)
    assert list(zip(rows["n_obs"], rows["n_hits"], strict=True)) == [(5, 4), (10, 8)]
    assert granularity.denominators("33 %", 3)["n_hits"].tolist() == [1]
    assert granularity.hits_of(read("> 50 %"), 4) == [3, 4]


def test_refusals_say_what_must_hold():
    with pytest.raises(DesignError, match="must be whole and at least 1; found 0"):
        granularity.grim(pd.DataFrame({"mean": ["1.0"], "n": [0]}))
    with pytest.raises(DesignError, match="at least 2; found 1"):
        granularity.grimmer(pd.DataFrame({"mean": ["1.0"], "sd": ["1.0"], "n": [1]}))
    with pytest.raises(AnalysisError, match="must be digits"):
        granularity.grim(pd.DataFrame({"mean": ["about 1"], "n": [3]}))

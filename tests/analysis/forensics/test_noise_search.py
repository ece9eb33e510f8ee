"""Estimators on noise, against laws that are known in closed form."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis import l_star
from analysis.errors import AnalysisError, DesignError
from analysis.forensics import noise_search


def rng():
    return np.random.default_rng(20260106)


def test_the_first_peak_of_white_noise_has_its_known_law():
    found = noise_search.distribution(
        l_star.first_sign_change, 40, rng=rng(), n_resamples=4000
    ).set_index("estimate")["probability"]
    for layer in range(1, 6):
        expected = l_star.sign_change_by_chance(layer)
        spread = math.sqrt(expected * (1 - expected) / 4000)
        assert abs(found[layer] - expected) < 4 * spread


def test_the_largest_value_of_white_noise_is_anywhere_alike():
    found = noise_search.distribution(l_star.argmax_gap, 5, rng=rng(), n_resamples=5000)
    assert found["estimate"].tolist() == [0, 1, 2, 3, 4]
    assert abs(found["probability"] - 0.2).max() < 4 * math.sqrt(0.16 / 5000)


def test_the_largest_value_of_a_random_walk_lies_at_the_ends():
    # Arcsine law: the two ends are likelier than any point between.
    found = noise_search.distribution(
        l_star.argmax_gap, 21, rng=rng(), kind=noise_search.WALK, n_resamples=3000
    )["probability"]
    assert found.iloc[0] > 2 * found.iloc[10]
    assert found.iloc[-1] > 2 * found.iloc[10]


def test_a_walk_is_the_running_sum_of_white_noise():
    walk = noise_search.noise(noise_search.WALK, (3, 7), rng())
    white = noise_search.noise(noise_search.WHITE, (3, 7), rng())
    np.testing.assert_array_equal(walk, np.cumsum(white, axis=1))


def test_profiles_without_an_estimate_are_counted():
    found = noise_search.distribution(l_star.first_sign_change, 3, rng=rng(), n_resamples=1000)
    assert found["estimate"].tolist() == [1]
    assert found["n_failed"].item() == 1000 - round(1000 * found["probability"].item())
    assert abs(found["probability"].item() - 1 / 3) < 0.06


def test_a_study_of_noise_has_the_mean_of_its_cases():
    cases = pd.DataFrame({"length": [5, 9], "n_averaged": [1, 400]})
    scores = noise_search.scores(
        cases, l_star.argmax_gap, lambda found: found[:, 1], rng=rng(), n_resamples=50
    )
    # The mean of 400 whole numbers drawn evenly from 0 to 8 is 4, give or take 0.13.
    assert scores.shape == (50,)
    assert abs(scores - 4).max() < 0.6
    first = noise_search.scores(
        cases, l_star.argmax_gap, lambda found: found[:, 0], rng=rng(), n_resamples=50
    )
    assert set(first) <= {0.0, 1.0, 2.0, 3.0, 4.0}


def test_the_p_counts_the_observed_study_too():
    by_chance = np.array([1.0, 2.0, 3.0, 4.0, math.nan])
    row = noise_search.compare(2.0, by_chance).iloc[0]
    assert row["p_value"] == 3 / 5
    assert (row["null_value"], row["n_failed"], row["n_resamples"]) == (2.5, 1, 5)
    assert noise_search.compare(2.0, by_chance, alternative="greater")["p_value"].item() == 4 / 5
    assert noise_search.compare(0.0, by_chance)["p_value"].item() == 1 / 5


def test_refusals_say_what_must_hold():
    with pytest.raises(AnalysisError, match="`kind` must be one of 'white noise', 'random walk'"):
        noise_search.noise("pink", (3,), rng())
    with pytest.raises(DesignError, match="must be at least 1; found 0"):
        noise_search.distribution(l_star.argmax_gap, 0, rng=rng())
    with pytest.raises(DesignError, match="observed score and scores of noise; found nan and 1"):
        noise_search.compare(math.nan, np.array([1.0]))
    with pytest.raises(AnalysisError, match="`alternative` must be one of"):
        noise_search.compare(1.0, np.array([1.0]), alternative="both")

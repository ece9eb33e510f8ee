"""R squared of many samples at once is that of each fitted alone."""

import numpy as np
import pytest

from analysis.inference.partition import explained


def alone(columns, response, rows):
    """Return 1 less the residual share of least squares with a constant."""
    outcome = response[rows] - response[rows].mean()
    design = np.column_stack([np.ones(len(rows)), columns[rows]])
    residual = outcome - design @ np.linalg.lstsq(design, outcome)[0]
    return 1 - residual @ residual / (outcome @ outcome)


def test_each_sample_has_the_r_squared_of_its_own_fit():
    rng = np.random.default_rng(3)
    numbers, dummies = rng.normal(size=(20, 2)), np.eye(4)[rng.integers(4, size=20)]
    blocks = [numbers, dummies, numbers @ [[1.0], [2.0]] + dummies[:, :1]]
    subsets = [
        np.column_stack([np.empty((20, 0)), *(blocks[block] for block in chosen)])
        for chosen in ([], [0], [1], [0, 1], [2], [0, 2], [1, 2], [0, 1, 2])
    ]
    response = rng.normal(size=20)
    samples = [rng.integers(20, size=size) for size in rng.integers(12, 20, size=50)]
    found = explained.r_squared(blocks, response, samples)
    expected = [[alone(columns, response, rows) for columns in subsets] for rows in samples]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


def test_a_sample_of_one_response_has_none():
    response = np.array([1.0, 2.0, 3.0])
    samples = [np.array([1, 1, 1]), np.array([0, 1, 2])]
    found = explained.r_squared([response[:, None]], response, samples)
    assert np.isnan(found[0]).all()
    assert found[1, 1] == pytest.approx(1)

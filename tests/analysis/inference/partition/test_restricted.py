"""The difference of two variances: level at a tie, direction, and what no unit or order moves."""

import numpy as np
import pytest

from analysis.inference.partition import restricted
from analysis.tidy.errors import DesignError

GROUPS = np.repeat(np.arange(6), 3)


def sources(rng):
    levels = np.eye(6)[GROUPS]
    return {"level": levels, "slope": rng.standard_normal((18, 2)) / np.sqrt(2)}


@pytest.fixture(scope="module")
def result():
    return restricted.lattice(sources(np.random.default_rng(1)))


def test_at_a_tie_the_p_is_uniform(result):
    rng = np.random.default_rng(2)
    ties = result.ties(["level"], ["slope"])
    drawn = restricted.drawn_at(result, map(int, ties), 399, rng)
    point = int(ties[np.abs(result.parts[ties, 0] - 6).argmin()])
    papers = result.draw(point, 2000, rng)
    _, above, below = restricted.differences(result, drawn, papers, ["level"], ["slope"])
    error = np.sqrt(0.05 * 0.95 / 2000)
    for p in (above, below):
        assert (p <= 0.05).mean() < 0.05 + 4 * error
        assert (p <= 0.5).mean() > 0.3


def test_what_rules_is_named(result):
    rng = np.random.default_rng(3)
    blocks = sources(np.random.default_rng(1))
    by_level = blocks["level"] @ rng.standard_normal(6) * 3 + 0.3 * rng.standard_normal(18)
    by_slope = blocks["slope"] @ np.array([3.0, -3.0]) + 0.3 * rng.standard_normal(18)
    one = restricted.difference(result, by_level, ["level"], ["slope"], rng=rng)
    other = restricted.difference(result, by_slope, ["level"], ["slope"], rng=rng)
    assert one.estimate > 0.8
    assert one.p_above < 0.05 < one.p_below
    assert other.estimate < -0.8
    assert other.p_below < 0.05 < other.p_above


def test_neither_unit_nor_origin_nor_company_moves_the_answer(result):
    rng = np.random.default_rng(4)
    response = rng.standard_normal(18)
    answers = [
        restricted.difference(
            result, y, ["level"], ["slope"], rng=np.random.default_rng(5), n_resamples=99
        )
        for y in (response, 1000 + 0.01 * response)
    ]
    assert answers[0] == answers[1]
    rng = np.random.default_rng(6)
    responses = rng.standard_normal((3, 18))
    ties = result.ties(["level"], ["slope"])
    drawn = restricted.drawn_at(result, map(int, ties), 99, rng)
    many = np.array(restricted.differences(result, drawn, responses, ["level"], ["slope"]))
    for place, one in enumerate(responses):
        alone = restricted.differences(result, drawn, one[None, :], ["level"], ["slope"])
        assert many[:, place].tolist() == [value[0] for value in alone]
    with pytest.raises(DesignError, match="numbers of rows"):
        restricted.lattice({"a": np.ones((3, 1)), "b": np.ones((4, 1))})

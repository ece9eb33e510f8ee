"""What an error bar can be, and which other values have the drawn mean and bar."""

from itertools import combinations
from statistics import mean, stdev

import numpy as np
import pytest

from analysis.forensics import error_bar
from analysis.tidy.errors import DesignError

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_kinds_are_what_a_hand_computes():
    kinds = error_bar.kinds(stdev(VALUES), 5, "0.71").set_index("term")
    assert kinds["estimate"].to_dict() == pytest.approx(
        {
            "standard deviation": 2.5**0.5,
            "standard deviation, divisor n": 2**0.5,
            "standard error": 0.5**0.5,
            "standard error, divisor n": 0.4**0.5,
            "half of the 95 % interval": 2.776445 * 0.5**0.5,
        },
        rel=1e-6,
    )
    assert kinds.index[kinds["consistent"]].tolist() == ["standard error"]


def test_an_accuracy_widens_what_fits():
    assert error_bar.kinds(1.0, 4, "0.55", accuracy=0.04)["consistent"].sum() == 0
    named = error_bar.kinds(1.0, 4, "0.55", accuracy=0.06).set_index("term")["consistent"]
    assert named[named].index.tolist() == ["standard error"]


def test_the_choices_are_those_that_counting_finds():
    values = np.random.default_rng(3).normal(1, 0.2, 9).tolist()
    drawn = [values[place] for place in (0, 3, 7, 8)]
    centre, length = f"{mean(drawn):.2f}", f"{stdev(drawn) / 2:.2f}"
    result = error_bar.subsets(values, 4, centre, length)
    counted = [
        places
        for places in combinations(range(9), 4)
        if abs(mean(values[place] for place in places) - float(centre)) <= 0.005
        and abs(stdev(values[place] for place in places) / 2 - float(length)) <= 0.005
    ]
    assert result["rows"].tolist() == counted
    assert (0, 3, 7, 8) in counted
    assert (result["n_choices"] == 126).all()


def test_matches_by_chance_are_the_neighbours_of_a_choice():
    values = np.random.default_rng(5).normal(1, 0.2, 8).tolist()
    choices = [[values[place] for place in places] for places in combinations(range(8), 3)]
    points = [(mean(chosen), stdev(chosen) / 3**0.5) for chosen in choices]
    neighbours = [
        sum(abs(a - c) <= 0.05 and abs(b - d) <= 0.05 for c, d in points) - 1 for a, b in points
    ]
    first = points[0]
    result = error_bar.subsets(values, 3, f"{first[0]:.6f}", f"{first[1]:.6f}", accuracy=0.05)
    assert result["expected_matches"].iloc[0] == pytest.approx(mean(neighbours))


def test_no_choice_may_match():
    assert error_bar.subsets(VALUES, 3, "9.00", "0.10").empty


def test_refusals_say_what_must_hold():
    with pytest.raises(DesignError, match="at least 2 values; found 1"):
        error_bar.kinds(1.0, 1, "0.5")
    with pytest.raises(DesignError, match="must be 2 to 5, with at most 1,000,000"):
        error_bar.subsets(VALUES, 6, "1", "1")
    with pytest.raises(DesignError, match="choices; found 20"):
        error_bar.subsets(list(range(40)), 20, "1", "1")

"""What every statistic asks of a frame at the door."""

import numpy as np
import pandas as pd
import pytest

from analysis.tidy import frame
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError


def test_numbers_whose_powers_overflow_are_refused():
    with pytest.raises(ColumnError, match=r"up to 1e\+75.*one of size 1e\+200"):
        frame.numbers(pd.DataFrame({"gain": [1.0, 1e200]}), "gain")


def test_a_spread_whose_square_vanishes_is_no_variation():
    with pytest.raises(DesignError, match="'gain' must vary"):
        frame.require_variation(np.array([0.0, 1e-200]), "gain")


@pytest.mark.parametrize("level", ["0.95", None, 95, np.nan, 1.0])
def test_a_level_is_a_number_between_0_and_1(level):
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1; found"):
        frame.require_conf_level(level)


@pytest.mark.parametrize("count", [0, -1, 2.5, np.nan, True])
def test_a_number_of_draws_is_whole_and_positive(count):
    with pytest.raises(AnalysisError, match="`n_resamples` must be a whole number of at least 1"):
        frame.require_count("n_resamples", count)

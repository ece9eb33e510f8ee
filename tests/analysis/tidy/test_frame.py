"""What every statistic asks of a frame, a formula or a package at the door."""

import sys

import numpy as np
import pandas as pd
import pytest

from analysis.tidy import frame
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, MissingExtraError
from analysis.tidy.extra import extra
from analysis.tidy.formula import model_matrices


def test_numbers_whose_powers_overflow_or_vanish_are_refused():
    with pytest.raises(ColumnError, match=r"up to 1e\+75.*one of size 1e\+200"):
        frame.numbers(pd.DataFrame({"gain": [1.0, 1e200]}), "gain")
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


def test_columns_that_are_only_added_up_are_what_patsy_makes_of_them():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(6, 3)), columns=["y", "a", "b"])
    quick = model_matrices(frame, "y ~ a + b + a")
    general = model_matrices(frame, "y ~ 1 + a + b + a")
    assert quick.terms == general.terms == ("Intercept", "a", "b")
    np.testing.assert_array_equal(quick.design, general.design)
    np.testing.assert_array_equal(quick.response, general.response)


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    with pytest.raises(MissingExtraError) as caught:
        extra("pypandoc")
    assert "'pypandoc'" in caught.value.problem
    assert "thermoscope[report]" in caught.value.hint

"""Numbers that no correctly run decoder produces are refused, right ones pass."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from collect.conformance import check_attention, check_finite
from collect.errors import ConformanceError

GOOD = pd.DataFrame(
    {
        "prompt_id": ["x:00", "x:00"],
        "layer": [0, 1],
        "head": [0, 0],
        "above_diagonal": [0.0, 0.0],
        "row_error": [0.0, 9e-5],
    }
)


def test_causal_maps_whose_rows_sum_to_one_pass():
    check_attention(GOOD, "float32")


def test_half_precision_maps_may_be_a_little_further_off():
    check_attention(GOOD.assign(row_error=[0.0, 2e-2]), "bfloat16")


@pytest.mark.parametrize("error", [2e-4, math.nan, math.inf])
def test_rows_that_do_not_sum_to_one_are_refused(error):
    bad = GOOD.assign(row_error=[0.0, error])
    with pytest.raises(ConformanceError, match=r"1 of 2 rows do not.*prompt_id x:00, layer 1"):
        check_attention(bad, "float32")


def test_attention_to_the_future_is_refused():
    bad = GOOD.assign(above_diagonal=[1e-9, 0.0])
    with pytest.raises(ConformanceError, match="must be zero above the diagonal"):
        check_attention(bad, "float32")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_place(number):
    rows = pd.DataFrame({"layer": [0, 1], "matrix": ["V", "O"], "sigma_max": [1.0, number]})
    with pytest.raises(ConformanceError, match="layer 1, matrix O: sigma_max = ") as refusal:
        check_finite("weight_norm", rows)
    assert "try --dtype float32" in refusal.value.hint


def test_finite_numbers_pass():
    check_finite("weight_norm", pd.DataFrame({"layer": [0], "sigma_max": [1.0], "matrix": ["V"]}))

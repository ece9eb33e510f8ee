"""The share of a block over all orders of entry, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.inference.partition.entry import identified_shares
from analysis.inference.partition.subsets import Subsets
from analysis.tidy.errors import AnalysisError


def test_bounds_are_the_least_and_the_most_that_a_block_adds():
    # Alone .3 and .5, together .6: the first adds .3 or .1, the second .5 or .3.
    values = np.array([0.0, 0.3, 0.5, 0.6])
    subsets = Subsets(("a", "b"), values, values * 0, np.tile(values, (3, 1)), values * 0, 9, 3)
    found = identified_shares(subsets).set_index("block")
    assert tuple(found.loc["a", ["bound_low", "bound_high"]]) == pytest.approx((0.1, 0.3))
    assert tuple(found.loc["b", ["bound_low", "bound_high"]]) == pytest.approx((0.3, 0.5))
    assert tuple(found.loc["a", ["first", "second"]]) == ("b", "nothing")
    assert tuple(found.loc["b", ["conf_low", "conf_high"]]) == pytest.approx((0.3, 0.5))
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1; found 95"):
        identified_shares(subsets, conf_level=95)

from __future__ import annotations

import pandas as pd
import pytest

from analysis.inference.counts import contingency
from analysis.tidy.errors import ColumnError, DesignError


def test_units_are_counted_with_levels_in_order() -> None:
    units = pd.DataFrame({"lab": ["b", "a", "b", "b"], "dampens": [True, False, False, True]})
    counts = contingency.two_by_two(units, "lab", "dampens")
    assert counts.to_numpy().tolist() == [[1, 0], [1, 2]]
    assert list(counts.index) == ["a", "b"]
    assert contingency.odds_contrast(counts) == "odds of False over True: a / b"


def test_counts_are_taken_as_they_are() -> None:
    given = pd.DataFrame([[3.0, 1.0], [1.0, 3.0]])
    assert contingency.two_by_two(given, None, None).to_numpy().tolist() == [[3, 1], [1, 3]]


def test_what_is_no_2x2_table_is_refused() -> None:
    with pytest.raises(DesignError, match="needs a 2x2 table; found 1x2"):
        contingency.two_by_two(pd.DataFrame([[1, 2]]), None, None)
    with pytest.raises(DesignError, match="Every row and column"):
        contingency.two_by_two(pd.DataFrame([[1, 0], [2, 0]]), None, None)
    with pytest.raises(ColumnError, match="whole numbers"):
        contingency.two_by_two(pd.DataFrame([[1, 0.5], [2, 1]]), None, None)
    with pytest.raises(ColumnError, match="Both `row` and `column`"):
        contingency.two_by_two(pd.DataFrame([[1, 2], [3, 4]]), None, "outcome")

"""Exact p against R, and searched tables against counting."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.forensics import table_search
from analysis.tidy.errors import AnalysisError, DesignError

ANSWERS = pd.read_csv(Path(__file__).parents[2] / "r" / "table_search.csv")

#: R enumerates on the log scale.
DIGITS = 1e-9


@pytest.mark.parametrize("place", range(len(ANSWERS)), ids=ANSWERS["name"])
def test_the_exact_p_is_that_of_r(place):
    answer = ANSWERS.loc[place]
    hits, totals = ([int(n) for n in answer[name].split()] for name in ("hits", "totals"))
    assert table_search.exact_p(hits, totals) == pytest.approx(answer["p_value"], rel=DIGITS)


def test_a_table_with_an_empty_margin_has_p_of_one():
    assert table_search.exact_p([0, 0], [4, 9]) == 1


def test_every_table_with_the_shares_is_found_and_no_other():
    result = table_search.tables(["67 %", "33 %"], "< 0.1", n=18)
    rows = result.pivot_table(index="table", columns="group", values=["n_hits", "n_obs"])
    tables = {tuple(int(value) for value in row) for row in rows.to_numpy()}
    counted = {
        (a, b, m, 18 - m)
        for m in range(1, 18)
        for a, b in product(range(m + 1), range(19 - m))
        if f"{100 * a / m:.0f}" == "67" and f"{100 * b / (18 - m):.0f}" == "33"
    }
    assert tables == counted
    assert len(counted) > 4


def test_the_quoted_p_needs_few_of_the_possible_tables():
    result = table_search.tables(["80 %", "0 %"], "< 0.001", n=23)
    ours = result[result["group"] == 0].set_index("n_obs")
    assert ours["n_hits"].to_dict() == {5: 4, 10: 8, 15: 12, 20: 16}
    assert ours["consistent"].tolist() == [True, True, True, False]
    expected = stats.fisher_exact([[4, 1], [0, 18]]).pvalue
    assert ours["p_value"][5] == pytest.approx(expected)


def test_with_given_sizes_the_hunt_cannot_give_the_quoted_p():
    result = table_search.tables(["80 %", "0 %"], "< 0.001", sizes=[5, 11])
    assert result["p_value"].tolist() == pytest.approx([5 / 1820] * 2)
    assert not result["consistent"].any()


def test_three_groups_are_searched_too():
    result = table_search.tables(["100 %", "50 %", "0 %"], "< 0.05", n=8)
    totals = result.groupby("table")["n_obs"].sum()
    assert set(totals) == {8}
    assert result.groupby("table")["group"].count().eq(3).all()


def test_impossible_shares_leave_no_table():
    assert table_search.tables(["43.75 %", "0 %"], "< 0.05", n=10).empty


def test_refusals_say_what_must_hold():
    with pytest.raises(AnalysisError, match="Either `n` or `sizes` must be given; found None"):
        table_search.tables(["80 %", "0 %"], "< 0.05")
    with pytest.raises(DesignError, match="found 2 shares and 3 sizes"):
        table_search.tables(["80 %", "0 %"], "< 0.05", sizes=[1, 2, 3])
    with pytest.raises(DesignError, match="At most 2,000,000 splits"):
        table_search.tables(["50 %"] * 6, "< 0.05", n=200)
    with pytest.raises(DesignError, match="At most 2,000,000 tables can be enumerated"):
        table_search.exact_p([50] * 5, [100] * 5)


def test_the_p_of_a_large_table_is_exact():
    assert table_search.exact_p([1000, 1000], [2000, 2000]) == 1.0


def test_sizes_may_be_an_array():
    pair = ["80 %", "0 %"]
    by_list = table_search.tables(pair, "< 0.001", sizes=[5, 18])
    pd.testing.assert_frame_equal(
        table_search.tables(pair, "< 0.001", sizes=np.array([5, 18])), by_list
    )

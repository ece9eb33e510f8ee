"""What an error bar can be, where numbers of a figure are found, tables against counting and R."""

from itertools import combinations, product
from statistics import mean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.forensics import error_bar, provenance, table_search
from tests.analysis.places import R

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
    assert error_bar.subsets(VALUES, 3, "9.00", "0.10").empty


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


FIGURE = pd.DataFrame(
    {
        "subject": ["a", "b", "c"],
        "printed": ["1.10", "0.93", ""],
        "accuracy": [np.nan, 0.01, np.nan],
    }
)
OF_FILES = pd.DataFrame(
    {
        "file": ["right"] * 3 + ["swapped"] * 3 + ["other"],
        "subject": ["a", "b", "c", "a", "b", "c", "z"],
        "value": [1.102, 0.938, 5.0, 0.93, 1.1, 7.0, 1.1],
    }
)


def test_the_file_with_the_numbers_of_the_same_subjects_comes_first():
    result = provenance.sources(FIGURE, OF_FILES).set_index("file")
    assert result.index.tolist() == ["right", "swapped", "other"]
    assert result["n_hits"].tolist() == [3, 1, 0]
    assert result["consistent"].tolist() == [True, False, False]
    assert (result["n_obs"] == 3).all()
    # Of its three values one fits each printed number, and all fit the one not printed.
    assert result["n_by_chance"]["swapped"] == pytest.approx(1 / 3 + 1 / 3 + 1)
    assert result["n_by_chance"]["other"] == 0
    exact = FIGURE.assign(accuracy=[np.nan, np.nan, np.nan])
    assert provenance.sources(exact, OF_FILES)["n_hits"].iloc[0] == 2
    assert provenance.sources(FIGURE, OF_FILES.iloc[:0]).empty


def test_a_subject_with_two_values_has_two_chances():
    values = pd.DataFrame({"file": "one", "subject": ["a", "a", "b", "b"], "value": [1, 2, 3, 4.0]})
    figure = pd.DataFrame({"subject": ["a"], "printed": ["1"], "accuracy": [None]})
    # Of the six pairs of its values three hold the 1.
    assert provenance.sources(figure, values)["n_by_chance"].item() == pytest.approx(1 / 2)


ANSWERS = pd.read_csv(R / "table_search.csv")

#: R enumerates on the log scale.
DIGITS = 1e-9


@pytest.mark.parametrize("place", range(len(ANSWERS)), ids=ANSWERS["name"])
def test_the_exact_p_is_that_of_r(place):
    answer = ANSWERS.loc[place]
    hits, totals = ([int(n) for n in answer[name].split()] for name in ("hits", "totals"))
    assert table_search.exact_p(hits, totals) == pytest.approx(answer["p_value"], rel=DIGITS)


def test_the_p_of_an_empty_margin_and_of_a_large_table_is_exact():
    assert table_search.exact_p([0, 0], [4, 9]) == 1
    assert table_search.exact_p([1000, 1000], [2000, 2000]) == 1.0


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
    result = table_search.tables(["100 %", "50 %", "0 %"], "< 0.05", n=8)
    totals = result.groupby("table")["n_obs"].sum()
    assert set(totals) == {8}
    assert result.groupby("table")["group"].count().eq(3).all()
    assert table_search.tables(["43.75 %", "0 %"], "< 0.05", n=10).empty
    pair = ["80 %", "0 %"]
    by_list = table_search.tables(pair, "< 0.001", sizes=[5, 18])
    pd.testing.assert_frame_equal(
        table_search.tables(pair, "< 0.001", sizes=np.array([5, 18])), by_list
    )


def test_the_quoted_p_needs_few_of_the_possible_tables():
    result = table_search.tables(["80 %", "0 %"], "< 0.001", n=23)
    ours = result[result["group"] == 0].set_index("n_obs")
    assert ours["n_hits"].to_dict() == {5: 4, 10: 8, 15: 12, 20: 16}
    assert ours["consistent"].tolist() == [True, True, True, False]
    expected = stats.fisher_exact([[4, 1], [0, 18]]).pvalue
    assert ours["p_value"][5] == pytest.approx(expected)
    result = table_search.tables(["80 %", "0 %"], "< 0.001", sizes=[5, 11])
    assert result["p_value"].tolist() == pytest.approx([5 / 1820] * 2)
    assert not result["consistent"].any()

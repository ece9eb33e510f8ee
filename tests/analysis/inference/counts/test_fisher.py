import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.inference.counts import contingency, fisher
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

#: The same equations with the same convergence; lgamma and dhyper differ in the last digits.
ROOTS = 1e-11

#: fisher.test's own interval and estimate: uniroot stops within 1.2e-4 of the odds ratio, or of
#: its inverse when it is above 1.
R_UNIROOT = 1.3e-4

answers = pd.read_csv(R / "fisher.csv")
proportions = pd.read_csv(R / "proportion.csv")

cells = st.lists(st.integers(0, 12), min_size=4, max_size=4).filter(
    lambda c: min(c[0] + c[1], c[2] + c[3], c[0] + c[2], c[1] + c[3]) > 0
)


def table(a, b, c, d):
    return pd.DataFrame([[a, b], [c, d]], index=["first", "second"], columns=["yes", "no"])


@pytest.mark.parametrize("position", range(len(answers)))
def test_p_value_estimate_and_roots_agree_with_r(position):
    answer = answers.loc[position]
    counts = table(*answer[["a", "b", "c", "d"]].astype(int))
    options = {name: answer[name] for name in ("alternative", "conf_level")}
    row = fisher.fisher_exact(counts, **options).iloc[0]
    np.testing.assert_allclose(
        row[["p_value", "estimate", "conf_low", "conf_high"]].astype(float),
        answer[["p_value", "tight_estimate", "tight_low", "tight_high"]].astype(float),
        rtol=ROOTS,
    )
    for name in ("estimate", "conf_low", "conf_high"):
        ours, theirs = float(row[name]), float(answer[name])
        if np.isfinite(ours) and ours > 1:
            ours, theirs = 1 / ours, 1 / theirs
        assert ours == pytest.approx(theirs, abs=R_UNIROOT)


def test_ends_have_the_tails_of_their_level_and_empty_cells_none():
    upper = float(fisher.fisher_exact(table(7, 1, 2, 8))["conf_high"].iloc[0])

    def tail(odds_ratio):
        return float(stats.nchypergeom_fisher.cdf(7, 18, 9, 8, odds_ratio))

    assert tail(upper) == pytest.approx(0.025, rel=1e-9)
    assert upper == pytest.approx(1413.29494, rel=1e-8)
    assert abs(tail(1396.0171) - 0.025) > 2e-4
    never = fisher.fisher_exact(table(0, 6, 5, 4)).iloc[0]
    always = fisher.fisher_exact(table(10, 0, 3, 5)).iloc[0]
    assert (never["estimate"], never["conf_low"]) == (0, 0)
    assert (always["estimate"], always["conf_high"]) == (np.inf, np.inf)
    assert "A cell is empty" in never["note"]
    assert "A cell is empty" in always["note"]


def test_rows_of_units_and_their_counts_give_the_same_answer():
    units = pd.DataFrame(
        {
            "lab": pd.Categorical(["EleutherAI"] * 4 + ["other"] * 4, ["other", "EleutherAI"]),
            "dampens": [True, True, True, False, False, False, False, True],
        }
    )
    row = fisher.fisher_exact(units, row="lab", column="dampens").iloc[0]
    counted = fisher.fisher_exact(table(3, 1, 1, 3)).iloc[0]
    assert row["contrast"] == "odds of False over True: other / EleutherAI"
    assert row["estimate"] == pytest.approx(counted["estimate"])
    assert row["p_value"] == counted["p_value"]
    assert counted["smallest_p"] == pytest.approx(2 / 70, abs=1e-15)
    units = pd.DataFrame({"lab": ["b", "a", "b", "b"], "dampens": [True, False, False, True]})
    counts = contingency.two_by_two(units, "lab", "dampens")
    assert counts.to_numpy().tolist() == [[1, 0], [1, 2]]
    assert list(counts.index) == ["a", "b"]
    assert contingency.odds_contrast(counts) == "odds of False over True: a / b"


@settings(max_examples=80, deadline=None)
@given(counts=cells)
def test_transposing_changes_nothing_and_swapping_rows_inverts(counts):
    a, b, c, d = counts
    plain = fisher.fisher_exact(table(a, b, c, d)).iloc[0]
    transposed = fisher.fisher_exact(table(a, c, b, d)).iloc[0]
    swapped = fisher.fisher_exact(table(c, d, a, b)).iloc[0]
    for name in ("estimate", "p_value", "conf_low", "conf_high"):
        assert plain[name] == pytest.approx(transposed[name], rel=1e-9)
    assert plain["p_value"] == pytest.approx(swapped["p_value"], rel=1e-9)
    assert inverse(plain["conf_low"]) == pytest.approx(swapped["conf_high"], rel=1e-9)
    assert inverse(plain["estimate"]) == pytest.approx(swapped["estimate"], rel=1e-9)


def inverse(odds_ratio):
    return np.inf if odds_ratio == 0 else 1 / odds_ratio


@settings(max_examples=80, deadline=None)
@given(counts=cells, alternative=st.sampled_from(fisher.ALTERNATIVES))
def test_p_is_a_probability_and_the_interval_holds_the_estimate(counts, alternative):
    row = fisher.fisher_exact(table(*counts), alternative=alternative).iloc[0]
    assert 0 < row["smallest_p"] <= row["p_value"] <= 1
    assert row["conf_low"] <= row["estimate"] <= row["conf_high"]


def test_the_interval_of_a_proportion_agrees_with_r():
    for _, answer in proportions.iterrows():
        row = fisher.proportion(int(answer["successes"]), int(answer["n"])).iloc[0]
        assert row["estimate"] == answer["successes"] / answer["n"]
        for name in ("conf_low", "conf_high"):
            assert row[name] == pytest.approx(answer[name], rel=1e-12)
    row = fisher.proportion(0, 8).iloc[0]
    assert row["conf_low"] == 0
    assert (1 - row["conf_high"]) ** 8 == pytest.approx(0.025, rel=1e-12)


def test_what_is_no_table_of_counts_is_refused():
    units = pd.DataFrame({"lab": list("abc"), "sign": [0, 1, 1]})
    for frame, named, error, message in (
        (units, {"row": "lab", "column": "sign"}, DesignError, "2x2 table; found 3x2"),
        (pd.DataFrame([[1, 2]]), {}, DesignError, "2x2 table; found 1x2"),
        (table(0, 0, 3, 4), {}, DesignError, "Every row and column"),
        (table(1, 2, 3, 4) / 10, {}, ColumnError, "whole numbers"),
        (table(*[10**9] * 4), {}, DesignError, "at most 1000000; there are 2000000001"),
        (table(1, 2, 3, 4), {"row": "lab"}, ColumnError, "Both `row` and `column`"),
        (table(1, 2, 3, 4), {"alternative": "two.sided"}, AnalysisError, "'two-sided'"),
    ):
        with pytest.raises(error, match=message):
            fisher.fisher_exact(frame, **named)
    for data in ([[3, 1], [1, 3]], np.eye(2), {"a": [1, 2]}):
        with pytest.raises(ColumnError, match="must be a pandas DataFrame; found"):
            fisher.fisher_exact(data)


@pytest.mark.parametrize(
    "counts", [("3", 10), (3, "ten"), (None, 10), (np.nan, 10), (1, np.inf), (1, 2.5), (9, 8)]
)
def test_a_proportion_of_anything_but_counts_is_refused(counts):
    with pytest.raises(
        DesignError, match=f"whole numbers .*; found {counts[0]!r} of {counts[1]!r}"
    ):
        fisher.proportion(*counts)

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.inference.counts import two_binomials, unconditional
from analysis.tidy.errors import AnalysisError, DesignError
from tests.proofs import unconditional_intervals

R = Path(__file__).parents[3] / "r"

#: Both search the nuisance parameter on a grid and refine; at the maximum the error is quadratic.
MAXIMISED = 1e-8

#: The R script halves a step of 0.2 sixteen times.
BISECTED = 5e-6

#: Published with ten digits.
PUBLISHED = 1e-9

answers = pd.read_csv(R / "unconditional.csv")

#: One-sided and two-sided p of Boschloo's test from R's Exact (nuisance resolution 1e-8), as
#: scipy's own tests quote them: columns are the groups there, rows here.
BOSCHLOO = [
    ((2, 8, 7, 2), "less", 0.009886142),
    ((5, 20, 16, 25), "less", 0.05827348),
    ((0, 3, 1, 2), "less", 0.34375),
    ((43, 10, 40, 39), "greater", 0.0001615562),
    ((5, 1, 0, 4), "greater", 0.006865367),
    ((43, 10, 40, 39), "two-sided", 0.0003231115),
    ((5, 20, 16, 25), "two-sided", 0.116547),
    ((7, 8, 12, 3), "two-sided", 0.06821831),
]

#: Two-sided p of Barnard's test from R's Barnard (resolution 1e-6), as scipy's tests quote them.
BARNARD = [
    ((43, 10, 40, 39), 0.000362832367),
    ((2, 8, 7, 2), 0.019210815430),
    ((5, 10, 1, 10), 0.156277546306),
    ((5, 20, 15, 20), 0.066363501421),
    ((10, 10, 5, 1), 0.177536588915),
    ((5, 1, 0, 4), 0.013671875000),
    ((0, 6, 2, 4), 0.197019618792),
]

groups = st.tuples(st.integers(2, 7), st.integers(2, 7)).flatmap(
    lambda sizes: st.tuples(
        st.integers(0, sizes[0]), st.just(sizes[0]), st.integers(0, sizes[1]), st.just(sizes[1])
    )
)
tables = groups.map(lambda g: (g[0], g[1] - g[0], g[2], g[3] - g[2])).filter(
    lambda c: c[0] + c[2] > 0 and c[1] + c[3] > 0
)


def table(a: int, b: int, c: int, d: int) -> pd.DataFrame:
    return pd.DataFrame([[a, b], [c, d]], index=["first", "second"], columns=["yes", "no"])


def of_counts(cells: tuple[int, int, int, int], test: str, alternative: str = "two-sided") -> float:
    a, b, c, d = cells
    return unconditional.p_value((a, c), (a + b, c + d), test=test, alternative=alternative)


@pytest.mark.parametrize("position", range(len(answers)))
def test_p_values_agree_with_brute_force_in_r(position: int) -> None:
    answer = answers.loc[position]
    cells = tuple(answer[["a", "b", "c", "d"]].astype(int))
    for test in ("boschloo", "barnard"):
        assert of_counts(cells, test) == pytest.approx(answer[test], rel=MAXIMISED)
        for alternative in ("less", "greater"):
            found = of_counts(cells, test, alternative)
            assert found == pytest.approx(answer[f"{test}_{alternative}"], rel=MAXIMISED)


@pytest.mark.parametrize("position", range(len(answers)))
def test_intervals_agree_with_brute_force_in_r(position: int) -> None:
    answer = answers.loc[position]
    row = unconditional.barnard(table(*answer[["a", "b", "c", "d"]].astype(int))).iloc[0]
    with np.errstate(divide="ignore"):
        logs = np.log(row[["conf_low", "conf_high"]].astype(float))
    np.testing.assert_allclose(
        logs, answer[["log_odds_low", "log_odds_high"]].astype(float), atol=BISECTED
    )


@pytest.mark.parametrize(("cells", "alternative", "p_value"), BOSCHLOO)
def test_boschloo_agrees_with_the_published_numbers_of_exact(
    cells: tuple[int, int, int, int], alternative: str, p_value: float
) -> None:
    assert of_counts(cells, "boschloo", alternative) == pytest.approx(p_value, abs=1e-7)


@pytest.mark.parametrize(("cells", "p_value"), BARNARD)
def test_barnard_agrees_with_the_published_numbers_of_barnard(
    cells: tuple[int, int, int, int], p_value: float
) -> None:
    assert of_counts(cells, "barnard") == pytest.approx(p_value, rel=1e-7, abs=PUBLISHED)


def test_two_against_two_can_be_counted() -> None:
    # All against none: p = 1/2 makes 2 tables of probability 1/16 each the likeliest.
    row = unconditional.barnard(table(2, 0, 0, 2)).iloc[0]
    assert row["p_value"] == pytest.approx(2 / 16, rel=1e-9)
    assert row["smallest_p"] == row["p_value"]
    assert row["estimate"] == np.inf
    assert row["contrast"] == "odds of yes over no: first / second"


@settings(max_examples=8, deadline=None)
@given(cells=tables)
def test_boschloo_agrees_with_scipy(cells: tuple[int, int, int, int]) -> None:
    a, b, c, d = cells
    assert of_counts(cells, "boschloo") == pytest.approx(
        stats.boschloo_exact([[a, c], [b, d]]).pvalue, rel=1e-5
    )


@settings(max_examples=8, deadline=None)
@given(cells=tables)
def test_swapping_groups_turns_the_intervals_round(cells: tuple[int, int, int, int]) -> None:
    a, b, c, d = cells
    plain, swapped = (
        unconditional.barnard(table(a, b, c, d)),
        unconditional.barnard(table(c, d, a, b)),
    )
    assert plain["p_value"].iloc[0] == pytest.approx(swapped["p_value"].iloc[0], rel=1e-7)
    with np.errstate(divide="ignore"):
        low, high = np.log(plain["conf_low"].iloc[0]), np.log(swapped["conf_high"].iloc[0])
    assert low == pytest.approx(-high, abs=1e-6)


@settings(max_examples=8, deadline=None)
@given(cells=tables, alternative=st.sampled_from(unconditional.ALTERNATIVES))
def test_p_is_at_least_the_smallest_and_the_interval_holds_the_estimate(
    cells: tuple[int, int, int, int], alternative: str
) -> None:
    for test in (unconditional.boschloo, unconditional.barnard):
        rows = test(table(*cells), alternative=alternative)
        assert (rows["smallest_p"] <= rows["p_value"] * (1 + 1e-9)).all()
        assert (rows["p_value"] <= 1).all()
        assert (rows["conf_low"] <= rows["estimate"]).all()
        assert (rows["estimate"] <= rows["conf_high"]).all()


def test_the_one_sided_interval_excludes_no_difference_exactly_when_the_test_rejects() -> None:
    for cells in ((6, 4, 1, 8), (5, 5, 2, 7), (7, 2, 1, 4), (4, 3, 2, 6)):
        row = unconditional.barnard(table(*cells), alternative="greater").iloc[0]
        assert (row["p_value"] <= 0.05) == (row["conf_low"] >= 1)
        assert row["conf_high"] == np.inf


@pytest.mark.parametrize("test", [unconditional.boschloo, unconditional.barnard])
def test_the_lower_end_of_the_odds_ratio_is_not_lost_where_odds_are_extreme(
    test: Callable[..., pd.DataFrame],
) -> None:
    row = test(table(31, 11, 11, 38)).iloc[0]
    assert row["conf_low"] == pytest.approx(3.67, abs=0.005)
    assert row["conf_high"] == pytest.approx(58.6, abs=0.05)


def exactly(x: tuple[int, int], sizes: tuple[int, int], value: float) -> float:
    """Return the score statistic of a log odds ratio with sixty digits."""
    with decimal.localcontext(prec=60):
        ratio, total = decimal.Decimal(value).exp(), sum(x)
        a, b = sizes[1] * (ratio - 1), sizes[0] * ratio + sizes[1] - total * (ratio - 1)
        p2 = ((b * b + 4 * a * total).sqrt() - b) / (2 * a)
        p1 = p2 * ratio / (1 + p2 * (ratio - 1))
        precision = 1 / (sizes[0] * p1 * (1 - p1)) + 1 / (sizes[1] * p2 * (1 - p2))
        return float((x[0] - sizes[0] * p1) * precision.sqrt())


@pytest.mark.parametrize("value", [-30.0, -15.0, -4.0, 0.5, 11.3])
def test_the_score_statistic_keeps_its_digits_at_extreme_odds(value: float) -> None:
    sizes = (9, 12)
    score = two_binomials.score_statistic(sizes, value)
    for x in itertools.product(range(10), range(13)):
        if 0 < sum(x) < 21:
            assert score[x] == pytest.approx(exactly(x, sizes, value), rel=1e-12, abs=1e-12)


def test_intervals_agree_with_p_at_no_difference_and_reject_what_lies_outside() -> None:
    """A seeded share of the tables that the proof goes through."""
    rng = np.random.default_rng(20)
    tried = [*unconditional_intervals.tables(12, rng, 20), *unconditional_intervals.larger(rng, 2)]
    found = unconditional_intervals.examine(tried, rng)
    assert found["tables"] == 22
    assert found["leave out no difference, which is accepted"] == 0
    assert found["accepted outside"] == 0
    assert found["rejected at an end"] == 0
    assert found["disagree with the printed p, not said"] == 0


def test_a_p_that_the_interval_contradicts_is_said() -> None:
    tried = [table(*cells) for cells in ((2, 7, 8, 2), (7, 0, 3, 5), (0, 1, 8, 0))]
    rows = pd.concat([unconditional.barnard(t) for t in tried])
    holds = (rows["conf_low"] <= rows["null_value"]) & (rows["null_value"] <= rows["conf_high"])
    said = rows["note"].str.contains("p and interval disagree at this level")
    assert (said == ((rows["p_value"] <= 0.05) == holds)).all()
    assert said.any()
    assert not said.all()


def test_an_empty_cell_is_said_and_large_groups_are_refused() -> None:
    rows = unconditional.boschloo(table(5, 0, 2, 4))
    assert rows["estimate"].iloc[0] == np.inf
    assert rows["conf_high"].iloc[0] == np.inf
    assert "A cell is empty" in rows["note"].iloc[0]
    with pytest.raises(DesignError, match="at most 40000; groups of 300 and 200 have 60501"):
        unconditional.barnard(table(100, 200, 100, 100))
    with pytest.raises(AnalysisError, match="Did you mean 'less'"):
        unconditional.barnard(table(3, 2, 1, 4), alternative="lesser")


@pytest.mark.parametrize("counts", [(-1, 2), (6, 2), (2, -3)])
def test_counts_that_groups_of_five_cannot_have_have_no_p(counts: tuple[int, int]) -> None:
    with pytest.raises(DesignError, match="between 0 and all of its units"):
        unconditional.p_value(counts, (5, 5))

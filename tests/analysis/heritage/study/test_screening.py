"""Main effects of a fraction, against seeds and by Lenth, and what they foretell."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import registered, screening
from analysis.tidy.errors import DesignError
from collect.training.study.design import read_design

ROOT = Path(__file__).parents[4]


def fraction(rng: np.random.Generator, sd: float) -> tuple[pd.DataFrame, pd.Series]:
    """Return a replicated 2^(4-1) in which a has the effect 3, d the effect -1, others none."""
    rows = []
    for a, b, c in itertools.product((-1, 1), repeat=3):
        for _ in range(2):
            d = a * b * c
            y = 10 + 1.5 * a - 0.5 * d + rng.normal(0, sd)
            rows.append({**dict(zip("abcd", (a, b, c, d), strict=True)), "y": y})
    frame = pd.DataFrame(rows)
    frame[list("abcd")] = frame[list("abcd")].replace({-1: "lo", 1: "hi"})
    return frame, pd.Series(dict.fromkeys("abcd", "lo"))


def test_main_effects_against_seeds_and_by_lenth() -> None:
    runs, low = fraction(np.random.default_rng(5), 0.05)
    found = screening.main_effects(runs, "y", low)
    seeds = found[found["method"] == "seeds"].set_index("term")
    assert seeds["estimate"].to_dict() == pytest.approx(
        {"a": 3.0, "b": 0.0, "c": 0.0, "d": -1.0}, abs=0.08
    )
    difference = runs.loc[runs["a"] == "hi", "y"].mean() - runs.loc[runs["a"] == "lo", "y"].mean()
    assert seeds.loc["a", "estimate"] == pytest.approx(difference)
    cell = runs.groupby(list("abcd"))["y"].var().mean()
    assert seeds.loc["a", "std_error"] == pytest.approx((4 * cell / 16) ** 0.5)
    assert (found[found["method"] == "Lenth"]["df"] == 7 / 3).all()
    assert screening.largest_terms(found, 2) == ["a", "d"]
    with pytest.raises(DesignError, match="balanced and orthogonal"):
        screening.main_effects(runs.iloc[1:], "y", low)


def test_lenths_error_by_hand() -> None:
    """Median of the five is 1.5, 2.5 times 1.5 of it is 5.6; the other four have median 1.25."""
    assert screening.lenth_error(np.array([0.5, -1.0, 1.5, 2.0, -20.0])) == pytest.approx(1.875)
    assert screening.lenth_error(np.zeros(5)) == 0.0


def test_all_contrasts_of_a_fraction_are_one_less_than_its_cells() -> None:
    runs, low = fraction(np.random.default_rng(6), 0.0)
    cells, place = np.unique(screening.signs_of(runs, low), axis=0, return_inverse=True)
    means = np.bincount(place.ravel(), runs["y"]) / 2
    found = np.sort(np.abs(screening.all_contrasts(cells, means)))
    assert found == pytest.approx([0, 0, 0, 0, 0, 1, 3], abs=1e-12)


def test_what_factors_do_together_is_told_from_what_each_does() -> None:
    """a adds 3 and d -1, a and b together 2: their shares of the variance are 9 + 1 and 4."""
    runs, low = fraction(np.random.default_rng(8), 0.01)
    both = np.where((runs["a"] == "hi") == (runs["b"] == "hi"), 1.0, -1.0)
    runs = runs.assign(z=runs["y"] + both)
    row = screening.additivity(runs, "z", low).iloc[0]
    assert row["r_squared"] == pytest.approx(10 / 14, abs=0.01)
    assert row[["df_numerator", "df", "n_groups", "n_obs"]].tolist() == [3, 8, 8, 16]
    assert row["p_value"] < 1e-9
    alone = screening.additivity(runs, "y", low).iloc[0]
    assert alone["r_squared"] == pytest.approx(1, abs=0.01)


def test_what_three_factors_do_together_counts_as_what_another_does_by_itself() -> None:
    runs, low = fraction(np.random.default_rng(7), 0.05)
    a, b, c = (np.where(runs[name] == "hi", 1, -1) for name in "abc")
    pure = runs.assign(y=a * b * c + np.random.default_rng(8).normal(0, 0.05, len(runs)))
    assert screening.additivity(pure, "y", low)["r_squared"].item() > 0.99


def test_an_additive_truth_is_foretold_and_another_is_not() -> None:
    screened, low = fraction(np.random.default_rng(7), 0.0)
    others = pd.DataFrame({"a": ["lo", "hi"], "d": ["lo", "lo"], "y": [9.0, 12.0]})
    row = screening.foretold(screened, others, "y", low, ["a", "d"]).iloc[0]
    assert row["r_squared"] == pytest.approx(1)
    wrong = screening.foretold(screened, others.assign(y=[12.0, 9.0]), "y", low, ["a", "d"])
    assert wrong["r_squared"].iloc[0] == pytest.approx(-3)


def test_the_low_levels_are_the_first_ones_of_the_design() -> None:
    design = read_design(ROOT / "data" / "study" / "ingredients.toml")
    assert {name: next(iter(levels)) for name, levels in design.factors.items()} == (
        registered.LOW.to_dict()
    )


def test_additivity_is_the_share_of_main_effects_less_what_seeds_make() -> None:
    cells = itertools.product((-1, 1), (-1, 1), (-0.1, 0.1))
    runs = pd.DataFrame([(a, b, a + a * b / 2 + seed) for a, b, seed in cells], columns=[*"aby"])
    row = screening.additivity(runs, "y", pd.Series({"a": -1, "b": -1})).iloc[0]
    # Eight runs of four cells: seeds have the variance 0.02, a makes the sum of squares 8, a and b
    # together 2. Two main effects and one contrast hold as many variances between seeds.
    assert row["statistic"] == pytest.approx(2 / 0.02)
    assert row["r_squared"] == pytest.approx((8 - 2 * 0.02) / (10 - 3 * 0.02))
    assert (row["df_numerator"], row["df"]) == (1, 4)

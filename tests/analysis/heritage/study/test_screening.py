"""Main effects of a fraction against seeds, and what their sum predicts."""

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
    return pd.DataFrame(rows), pd.Series(dict.fromkeys("abcd", -1))


def test_main_effects_are_differences_of_means_against_seeds() -> None:
    runs, low = fraction(np.random.default_rng(5), 0.05)
    effects = screening.main_effects(runs, "y", low)
    rows = effects.set_index("term")
    difference = runs.loc[runs["a"] == 1, "y"].mean() - runs.loc[runs["a"] == -1, "y"].mean()
    assert rows.loc["a", "estimate"] == pytest.approx(difference)
    cell = runs.groupby(list("abcd"))["y"].var().mean()
    assert rows.loc["a", "std_error"] == pytest.approx((4 * cell / 16) ** 0.5)
    assert screening.largest_terms(effects, 2) == ["a", "d"]
    with pytest.raises(DesignError, match="balanced and orthogonal"):
        screening.main_effects(runs.iloc[1:], "y", low)


def test_an_additive_truth_is_predicted_and_another_is_not() -> None:
    screened, low = fraction(np.random.default_rng(7), 0.0)
    others = pd.DataFrame({"a": [-1, 1], "d": [-1, -1], "y": [9.0, 12.0]})
    row = screening.foretold(screened, others, "y", low, ["a", "d"]).iloc[0]
    assert row["r_squared"] == pytest.approx(1)
    wrong = screening.foretold(screened, others.assign(y=[12.0, 9.0]), "y", low, ["a", "d"])
    assert wrong["r_squared"].iloc[0] == pytest.approx(-3)


def test_the_low_levels_are_the_first_ones_of_the_design() -> None:
    design = read_design(ROOT / "data" / "study" / "ingredients.toml")
    assert {name: next(iter(levels)) for name, levels in design.factors.items()} == (
        registered.LOW.to_dict()
    )

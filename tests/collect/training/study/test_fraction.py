"""A fraction of a crossing: balanced, its aliases and resolution those of the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from collect.training.study.fraction import Fraction

WORDS = {"d": ("a", "b"), "e": ("a", "c"), "f": ("b", "c")}


def test_a_fraction_is_balanced_and_says_what_it_aliases() -> None:
    """The 2^(6-3) of resolution III in Box, Hunter and Hunter: d = ab, e = ac, f = bc."""
    fraction = Fraction(("a", "b", "c"), WORDS)
    signs = fraction.columns()
    assert signs.shape == (8, 6)
    assert np.array_equal(signs.T @ signs, 8 * np.eye(6))
    assert fraction.resolution == 3
    groups = {frozenset(group) for group in fraction.aliases()}
    assert frozenset({"a", "b:d", "c:e"}) in groups
    assert frozenset({"a:f", "b:e", "c:d"}) in groups


def test_a_half_fraction_of_resolution_four_clears_its_main_effects() -> None:
    fraction = Fraction(("a", "b", "c"), {"d": ("a", "b", "c")})
    assert fraction.resolution == 4
    assert {frozenset(group) for group in fraction.aliases()} == {
        frozenset({"a:b", "c:d"}),
        frozenset({"a:c", "b:d"}),
        frozenset({"a:d", "b:c"}),
    }
    assert Fraction(("a", "b"), {}).resolution == 0


@pytest.mark.parametrize("word", [("a",), ("a", "a"), ("a", "x")])
def test_a_wrong_generator_is_refused(word: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="must be two or more of"):
        Fraction(("a", "b"), {"c": word})

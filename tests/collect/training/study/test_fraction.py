"""A fraction of a crossing: balanced, its words those of the textbook."""

import numpy as np
import pytest

from collect.training.study.fraction import Fraction

WORDS = {"d": ("a", "b"), "e": ("a", "c"), "f": ("b", "c")}


def test_a_fraction_is_balanced_and_its_words_are_products():
    """The 2^(6-3) of resolution III in Box, Hunter and Hunter: d = ab, e = ac, f = bc."""
    fraction = Fraction(("a", "b", "c"), WORDS)
    signs = fraction.columns()
    assert signs.shape == (8, 6)
    assert np.array_equal(signs.T @ signs, 8 * np.eye(6))
    a, b, c, *generated = signs.T
    for column, product in zip(generated, (a * b, a * c, b * c), strict=True):
        assert np.array_equal(column, product)


@pytest.mark.parametrize("word", [("a",), ("a", "a"), ("a", "x")])
def test_a_wrong_generator_is_refused(word):
    with pytest.raises(ValueError, match="must be two or more of"):
        Fraction(("a", "b"), {"c": word})

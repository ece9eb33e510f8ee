"""Random effects that the fixed part repeats: no row tells their variance from the fixed effects.

A factor in the fixed part gives each of its levels an effect of its own. A random effect of the
same levels then adds a column that the fixed part already spans, and the restricted likelihood
does not depend on its variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.algebra.design import Block, Column, Design, matrix_of

#: A column lies in a span if its squared distance is below this share of its own square.
ROUNDING = 1e-10

#: A weight of a fixed column below this, both of length one, is zero.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True)
class Repeat:
    """A random effect that the fixed part gives every level of a group already.

    Attributes
    ----------
    block
        The group.
    effect
        The random effect.
    terms
        Fixed effects that sum to it, whose standard errors its variance enters.
    """

    block: Block
    effect: Column
    terms: tuple[str, ...]


def repeated(design: Design) -> list[Repeat]:
    """Return the random effects that the fixed part repeats."""
    repeats = []
    for block in design.blocks:
        for effect in block.columns:
            fixed = [each for each in design.fixed if each.basis == effect.basis]
            if terms := _terms_that_sum_to(block, effect, fixed):
                repeats.append(Repeat(block, effect, terms))
    return repeats


def _terms_that_sum_to(block: Block, effect: Column, fixed: list[Column]) -> tuple[str, ...]:
    """Return the fixed terms whose sums are an effect's column of every level, if there are."""
    n_levels = len(block.levels)
    if len(fixed) < n_levels:
        return ()
    columns = matrix_of(fixed)
    across, root = np.linalg.qr(columns / np.linalg.norm(columns, axis=0))
    products = np.array(
        [np.bincount(block.codes, effect.coefficient * each, n_levels) for each in across.T]
    )
    squares = np.bincount(block.codes, effect.coefficient**2, n_levels)
    if (squares - (products**2).sum(axis=0) > ROUNDING * squares).any():
        return ()
    weights = np.linalg.lstsq(root, products)[0]
    entering = np.abs(weights).max(axis=1) > NEGLIGIBLE * np.sqrt(squares.max())
    return tuple(each.name for each, enters in zip(fixed, entering, strict=True) if enters)

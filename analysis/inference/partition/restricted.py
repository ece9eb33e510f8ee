"""Which of two sources has the larger variance, by restricted likelihood on a lattice of shares.

The response of a unit is a mean, the effects of several sources and an error, all normal:

    y = mu + sum over k of Z_k b_k + e,   b_k ~ N(0, s_k sigma^2 I),   e ~ N(0, s_e sigma^2 I).

The shares s sum to one. At a point of the lattice, with y and Z centred and S the deviations of the
effects over that of the error,

    -2 log L = (n - 1) log(y'y - (Z'y)' W (Z'y)) + log |I + S Z'Z S|,   W = S (I + S Z'Z S)^-1 S,

up to a constant: the restricted likelihood. It is a quadratic form of the response, so that all
points and any number of responses are one product of matrices.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import restricted
>>> restricted.lattice({"x": np.eye(4)[:, :1], "z": np.eye(4)[:, 1:2]}, 3).__class__.__name__
'Lattice'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers

#: Parts that the whole variance is cut into, and the least that is left to the residual.
PARTS, LEAST = 20, 1
#: Responses taken together: bounds the memory.
TOGETHER = 500


@dataclass(frozen=True, slots=True)
class Lattice:
    """Points of the lattice and the form of the likelihood at each."""

    names: tuple[str, ...]  #: Of the sources.
    columns: Floats  #: Z, centred, shape (n, q).
    parts: Integers  #: Parts of every source and of the residual, shape (points, sources + 1).
    forms: Floats  #: Upper triangle of W, off the diagonal doubled, shape (points, q (q + 1) / 2).
    penalty: Floats  #: log |I + S Z'Z S|, shape (points,).

    @property
    def n_parts(self) -> int:
        """Parts of the whole variance."""
        return int(self.parts[0].sum())

    def criteria(self, responses: Floats) -> Floats:
        """Return -2 log L of responses at all points, shape (responses, points)."""
        about = responses - responses.mean(axis=1, keepdims=True)
        products = about @ self.columns
        upper = np.triu_indices(self.columns.shape[1])
        squares = np.square(about).sum(axis=1)[:, None]
        left = squares - (products[:, upper[0]] * products[:, upper[1]]) @ self.forms.T
        return np.asarray((responses.shape[1] - 1) * np.log(left) + self.penalty)

    def leads(self, first: Sequence[str], second: Sequence[str]) -> Integers:
        """Return the parts of some sources less those of others, shape (points,)."""
        sign = [(name in first) - (name in second) for name in self.names]
        return np.asarray(self.parts[:, :-1] @ np.array(sign))


def lattice(blocks: Mapping[str, Floats], n_parts: int = PARTS) -> Lattice:
    """Return the lattice of named sources.

    Parameters
    ----------
    blocks
        Columns of every source, one row per unit; the effects of a source have one variance.
    n_parts
        Parts of the whole variance.

    Raises
    ------
    DesignError
        If the sources have different numbers of rows.
    """
    if len({len(block) for block in blocks.values()}) != 1:
        raise DesignError(
            "Sources have different numbers of rows.", "Give every source one row per unit."
        )
    columns = np.column_stack([block - block.mean(axis=0) for block in blocks.values()])
    source = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks.values()])
    whole = np.indices((n_parts + 1,) * len(blocks)).reshape(len(blocks), -1).T
    whole = whole[whole.sum(axis=1) <= n_parts - LEAST]
    parts = np.column_stack([whole, n_parts - whole.sum(axis=1)])
    gram = columns.T @ columns
    upper = np.triu_indices(len(gram))
    doubled = np.where(upper[0] == upper[1], 1.0, 2.0)
    forms, penalty = np.empty((len(parts), len(doubled))), np.empty(len(parts))
    roots = np.sqrt(parts[:, source] / n_parts)
    for point, deviations in enumerate(roots / np.sqrt(parts[:, -1:] / n_parts)):
        inner = np.eye(len(gram)) + deviations[:, None] * gram * deviations
        inverse = np.linalg.inv(inner) * deviations[:, None] * deviations
        forms[point] = inverse[upper] * doubled
        penalty[point] = np.linalg.slogdet(inner)[1]
    return Lattice(tuple(blocks), columns, parts, forms, penalty)

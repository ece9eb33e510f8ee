"""Which of two sources has the larger variance, by restricted likelihood on a lattice of shares.

The response of a unit is a mean, the effects of several sources and an error, all normal:

    y = mu + sum over k of Z_k b_k + e,   b_k ~ N(0, s_k sigma^2 I),   e ~ N(0, s_e sigma^2 I).

The shares s sum to one. At a point of the lattice, with y and Z centred and S the deviations of the
effects over that of the error,

    -2 log L = (n - 1) log(y'y - (Z'y)' W (Z'y)) + log |I + S Z'Z S|,   W = S (I + S Z'Z S)^-1 S,

up to a constant: the restricted likelihood. It is a quadratic form of the response, so that all
points and any number of responses are one product of matrices. The difference of two shares is
compared with what it is in responses drawn at the likeliest point where both are equal.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import restricted
>>> restricted.lattice({"x": np.eye(4)[:, :1], "z": np.eye(4)[:, 1:2]}, 3).__class__.__name__
'Lattice'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers, generator, require_count, seed_of

#: Parts that the whole variance is cut into with few columns and with many, and of ties; and the
#: least that is left to the residual.
PARTS, PARTS_OF_MANY, LEAST = 20, 10, 1
FEW = 40
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
    roots: Floats  #: Deviation of every column over the whole one, shape (points, q).

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

    def ties(self, first: Sequence[str], second: Sequence[str]) -> Integers:
        """Return the points from which responses are drawn: both sides equal, tenths alone."""
        is_coarse = (self.parts % (self.n_parts // PARTS_OF_MANY) == 0).all(axis=1)
        return np.flatnonzero((self.leads(first, second) == 0) & is_coarse)

    def draw(self, point: int, n_draws: int, rng: np.random.Generator) -> Floats:
        """Return responses drawn at a point, shape (draws, n)."""
        effects = rng.standard_normal((n_draws, self.columns.shape[1])) * self.roots[point]
        error = np.sqrt(self.parts[point, -1] / self.n_parts)
        noise = rng.standard_normal((n_draws, len(self.columns))) * error
        return np.asarray(effects @ self.columns.T + noise)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two sources' shares, and where it lies among draws at a tie."""

    estimate: float  #: First less second [share of variance].
    bias: float  #: Mean of the draws, whose sources are equal [share of variance].
    #: Shares of draws that lie as high, and as low, (b + 1) / (B + 1).
    p_above: float
    p_below: float
    seed: str = ""  #: Of the draws, as `analysis.tidy.frame.seed_of` gives it.


#: Points at which responses were drawn, and the likeliest points of the draws, by the former.
Drawn = Mapping[int, Integers]


def lattice(blocks: Mapping[str, Floats], n_parts: int | None = None) -> Lattice:
    """Return the lattice of named sources.

    Parameters
    ----------
    blocks
        Columns of every source, one row per unit; the effects of a source have one variance.
    n_parts
        Parts of the whole variance, a multiple of ten; by default fewer where columns are many.

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
    n_parts = n_parts or (PARTS if columns.shape[1] < FEW else PARTS_OF_MANY)
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
    return Lattice(tuple(blocks), columns, parts, forms, penalty, roots)


def likeliest(grid: Lattice, responses: Floats) -> Integers:
    """Return the point at which each response is likeliest, shape (responses,)."""
    chunks = np.array_split(responses, max(1, -(-len(responses) // TOGETHER)))
    return np.concatenate([grid.criteria(some).argmin(axis=1) for some in chunks])


def drawn_at(
    grid: Lattice, points: Iterable[int], n_resamples: int, rng: np.random.Generator
) -> Drawn:
    """Return the likeliest points of responses drawn at points of the lattice."""
    return {point: likeliest(grid, grid.draw(point, n_resamples, rng)) for point in points}


def differences(
    grid: Lattice,
    drawn: Drawn,
    responses: Floats,
    first: Sequence[str],
    second: Sequence[str],
) -> tuple[Floats, Floats, Floats]:
    """Return the differences of many responses, from draws at every tie.

    Parameters
    ----------
    grid, drawn
        The lattice, and what `drawn_at` returned for its ties.
    responses
        Shape (responses, n).
    first, second
        Sources on either side; variances of one side are added.

    Returns
    -------
    Estimates, and the one-sided p of both sides as `Difference` has them, shape (responses,) each.
    """
    leads, tied = grid.leads(first, second), grid.ties(first, second)
    chunks = np.array_split(responses, max(1, -(-len(responses) // TOGETHER)))
    best, nearest = (
        np.concatenate(parts)
        for parts in zip(*(_places(grid, some, tied) for some in chunks), strict=True)
    )
    estimates = leads[best]
    above, below = np.empty(len(responses)), np.empty(len(responses))
    for point in np.unique(nearest):
        rows = nearest == point
        values = np.sort(leads[drawn[int(point)]])
        n_draws = len(values)
        as_high = n_draws - np.searchsorted(values, estimates[rows], side="left")
        as_low = np.searchsorted(values, estimates[rows], side="right")
        above[rows], below[rows] = (as_high + 1) / (n_draws + 1), (as_low + 1) / (n_draws + 1)
    return estimates / grid.n_parts, above, below


def _places(grid: Lattice, responses: Floats, tied: Integers) -> tuple[Integers, Integers]:
    """Return the likeliest point of all and the likeliest tie, shape (responses,) each."""
    criteria = grid.criteria(responses)
    return criteria.argmin(axis=1), tied[criteria[:, tied].argmin(axis=1)]


def difference(
    grid: Lattice,
    response: Floats,
    first: Sequence[str],
    second: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    n_resamples: int = 999,
) -> Difference:
    """Return the difference of two sources' shares, drawn at the likeliest tie.

    Parameters
    ----------
    grid
        The lattice of the sources.
    response
        Shape (n,).
    first, second
        Sources on either side; variances of one side are added.
    rng
        Source of the draws; one of the seed `analysis.tidy.frame.SEED` when None.
    n_resamples
        Responses drawn.
    """
    require_count("n_resamples", n_resamples)
    rng = generator(rng, "responses are drawn")
    _, nearest = _places(grid, response[None, :], grid.ties(first, second))
    drawn = drawn_at(grid, [int(nearest[0])], n_resamples, rng)
    estimate, above, below = differences(grid, drawn, response[None, :], first, second)
    leads = grid.leads(first, second) / grid.n_parts
    return Difference(
        estimate=float(estimate[0]),
        bias=float(leads[drawn[int(nearest[0])]].mean()),
        p_above=float(above[0]),
        p_below=float(below[0]),
        seed=seed_of(rng),
    )

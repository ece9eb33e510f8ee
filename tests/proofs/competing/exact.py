"""Rules by the exact distribution of the restricted likelihood ratio of one variance.

Beside fixed columns X a source with columns Z is a form in the residuals u of X: with mu the
eigenvalues of Z' (I - P) Z and w the residuals along its eigenvectors, w_s^2 / (1 + lambda mu_s)
are chi-squared whatever the true lambda. Lambda is bounded by turning the test of every lambda
round (Crainiceanu and Ruppert 2004, Journal of the Royal Statistical Society B 66, 165).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import Layout

DRAWS = 4000
#: Relative variances that are tested [residual variance], and at which the peak is looked for.
TESTED = np.concatenate([[0.0], np.exp(np.linspace(np.log(0.01), np.log(300), 40))])
GRID = np.concatenate([[0.0], np.exp(np.linspace(np.log(1e-3), np.log(3e3), 120))])

#: What is tested for a side, and what is fixed beside it.
SIDES = {
    "lab over geometry": (("lab", ("geometry", "scale")), ("geometry", ("suite", "scale"))),
    "recipe over geometry": (("suite", ("geometry", "scale")), ("geometry", ("suite", "scale"))),
    "geometry over scale": (("geometry", ("suite", "scale")), ("scale", ("suite", "geometry"))),
    "lab over suite": (("lab", ("geometry", "scale")), ("suite", ("lab", "geometry", "scale"))),
}


@dataclass(frozen=True, slots=True)
class Reduced:
    """One source beside fixed columns: its eigenvalues, and where they are read from a response."""

    #: Eigenvectors, shape (n, K), mu, shape (K,), and the rest of the residual space, (n, df - K).
    along: Floats
    values: Floats
    left: Floats

    def read(self, responses: Floats) -> tuple[Floats, Floats]:
        """Return w_s^2, shape (papers, K), and the sum of the other squares, shape (papers,)."""
        return (responses @ self.along) ** 2, ((responses @ self.left) ** 2).sum(axis=1)


def reduced(tested: Floats, fixed: Floats) -> Reduced:
    """Return a source reduced by the fixed columns and the mean."""
    whole = np.column_stack([np.ones((len(tested), 1)), fixed])
    left, sizes, _ = np.linalg.svd(whole)
    space = left[:, int((sizes > 1e-9 * sizes[0]).sum()) :]
    vectors, deviations, _ = np.linalg.svd(space.T @ tested)
    kept = int((deviations > 1e-7).sum())
    return Reduced(space @ vectors[:, :kept], deviations[:kept] ** 2, space @ vectors[:, kept:])


def of_block(layout: Layout, name: str, fixed: tuple[str, ...]) -> Reduced:
    """Return a block of the layout as a source; numbers add one variance together."""
    block = layout.blocks[name]
    width = np.sqrt(block.shape[1]) if name in ("geometry", "scale") else 1.0
    return reduced(block / width, np.column_stack([layout.blocks[each] for each in fixed]))


def likelihoods(source: Reduced, squares: Floats, rest: Floats, at: Floats) -> Floats:
    """Return twice the restricted log-likelihood at relative variances, shape (papers, len(at))."""
    inflated = 1 + np.outer(source.values, at)
    df = source.along.shape[1] + source.left.shape[1]
    return np.asarray(
        -df * np.log(squares @ (1 / inflated) + rest[:, None]) - np.log(inflated).sum(axis=0)
    )


def p_above(source: Reduced, responses: Floats, rng: np.random.Generator) -> Floats:
    """Return p of the exact test that the variance is zero, shape (papers,)."""
    drawn = np.sort(_ratios(source, *_null(source, 0.0, rng)))
    observed = _ratios(source, *source.read(responses))
    larger = DRAWS - np.searchsorted(drawn, observed - 1e-9)
    return np.asarray((larger + 1) / (DRAWS + 1))


@dataclass(frozen=True, slots=True)
class Lines:
    """Quantiles of the signed ratio at every relative variance tested, each shape (tested,)."""

    low: Floats
    high: Floats


def lines(source: Reduced, rng: np.random.Generator) -> Lines:
    """Return where the signed ratio lies when a relative variance is the true one."""
    tail = criterion.LEVEL / 2
    ends = [
        np.quantile(_signed(source, *_null(source, at, rng), np.array([at]))[0], [tail, 1 - tail])
        for at in TESTED
    ]
    return Lines(*np.array(ends).T)


def bounds(source: Reduced, known: Lines, responses: Floats) -> tuple[Floats, Floats]:
    """Return one-sided bounds of the relative variance, each at half of the level, (papers,)."""
    observed = _signed(source, *source.read(responses))
    keeps_low, keeps_high = observed <= known.high[:, None], observed >= known.low[:, None]
    first = keeps_low.argmax(axis=0)
    last = len(TESTED) - 1 - keeps_high[::-1].argmax(axis=0)
    lower = np.where(keeps_low.any(axis=0), TESTED[first], np.inf)
    upper = np.where(last == len(TESTED) - 1, np.inf, TESTED[last])
    return lower, np.where(keeps_high.any(axis=0), upper, 0.0)


def exact_ratio(layout: Layout, responses: Floats, rng: np.random.Generator) -> dict[str, Integers]:
    """Return yes where the first has a variance and the second none that is shown; no reversed."""
    answers = {}
    for name, sides in SIDES.items():
        shown = [
            p_above(of_block(layout, *side), responses, rng) <= criterion.LEVEL for side in sides
        ]
        answers[name] = (shown[0] & ~shown[1]).astype(np.intp) - (shown[1] & ~shown[0])
    return answers


def sides_of(layout: Layout, rng: np.random.Generator) -> dict[str, list[tuple[Reduced, Lines]]]:
    """Return both sides of every statement with their lines, each source once."""
    known: dict[tuple[str, tuple[str, ...]], tuple[Reduced, Lines]] = {}
    for side in (side for sides in SIDES.values() for side in sides):
        if side not in known:
            source = of_block(layout, *side)
            known[side] = source, lines(source, rng)
    return {name: [known[side] for side in sides] for name, sides in SIDES.items()}


def exact_bounds(
    prepared: dict[str, list[tuple[Reduced, Lines]]], responses: Floats
) -> dict[str, Integers]:
    """Return yes where the first's lower bound is above the second's upper bound; no reversed."""
    answers = {}
    for name, sides in prepared.items():
        (low1, high1), (low2, high2) = (bounds(*side, responses) for side in sides)
        answers[name] = (low1 > high2).astype(np.intp) - (low2 > high1)
    return answers


def _null(source: Reduced, at: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    squares = rng.standard_normal((DRAWS, len(source.values))) ** 2 * (1 + at * source.values)
    df = source.left.shape[1]
    return squares, rng.chisquare(df, DRAWS) if df else np.zeros(DRAWS)


def _ratios(source: Reduced, squares: Floats, rest: Floats) -> Floats:
    """Return the ratio against a variance of zero, shape (papers,)."""
    result = likelihoods(source, squares, rest, GRID)
    return np.asarray(result.max(axis=1) - result[:, 0])


def _signed(source: Reduced, squares: Floats, rest: Floats, tested: Floats = TESTED) -> Floats:
    """Return the ratio at every variance tested, negative where the peak lies below it."""
    result = likelihoods(source, squares, rest, GRID)
    here = likelihoods(source, squares, rest, tested)
    rise = np.maximum(result.max(axis=1)[:, None] - here, 0.0)
    peak = GRID[result.argmax(axis=1)]
    return np.asarray(np.where(peak[:, None] >= tested, rise, -rise).T)

"""Rules by least squares: variances of fitted effects, and models left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import Layout

DRAWS = 199
#: Papers taken together: bounds the memory.
TOGETHER = 250
#: Blocks of the fit, and the columns on both sides.
FITTED = {
    "lab over geometry": (("lab", "geometry", "scale"), "lab", "geometry"),
    "recipe over geometry": (("suite", "geometry", "scale"), "suite", "geometry"),
    "geometry over scale": (("suite", "geometry", "scale"), "geometry", "scale"),
}
#: Predictors on both sides, and what is left out together.
PREDICTED = {
    "lab over geometry": ("lab", "geometry", "suite"),
    "recipe over geometry": ("suite", "geometry", None),
    "geometry over scale": ("geometry", "scale", "suite"),
    "lab over suite": ("lab", "suite", None),
}


@dataclass(frozen=True, slots=True)
class Effects:
    """Two sides as linear functions of a response, reduced to what is estimable."""

    estimate: Floats  #: from a response to the coefficients, shape (q, n)
    root: Floats  #: from q normal deviates to the errors of the coefficients, shape (q, q)
    left: Floats  #: basis of the residuals, shape (n, df)
    #: From the coefficients to effects over the rows, shape (n, q).
    first: Floats
    second: Floats


def effects(layout: Layout, statement: str) -> Effects | None:
    """Return the two sides of a statement; None without residual degrees of freedom."""
    if statement == "lab over suite":
        lab, suite = _nested(layout)
        blocks = [suite, layout.blocks["geometry"], layout.blocks["scale"]]
    else:
        names, first, second = FITTED[statement]
        blocks = [_full_rank(layout.blocks[name]) for name in names]
    columns = np.column_stack(blocks)
    n, width = columns.shape
    left, sizes, _ = np.linalg.svd(np.column_stack([np.ones((n, 1)), columns]))
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    if rank <= width or n - rank < 2:
        return None
    inverse = np.linalg.pinv(columns - columns.mean(axis=0))
    maps = []
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    for start, stop, block in zip(ends[:-1], ends[1:], blocks, strict=True):
        own = np.zeros((n, width))
        own[:, start:stop] = block - block.mean(axis=0)
        maps.append(own)
    root = np.linalg.cholesky(inverse @ inverse.T)
    rest = left[:, rank:]
    if statement == "lab over suite":
        between = lab @ maps[0]
        return Effects(inverse, root, rest, between, maps[0] - between)
    place = {name: maps[k] for k, name in enumerate(FITTED[statement][0])}
    return Effects(inverse, root, rest, place[first], place[second])


def least_squares(
    layout: Layout, responses: Floats, rng: np.random.Generator
) -> dict[str, Integers]:
    """Return the answers by variances of fitted effects over the rows, bootstrapped at a tie."""
    answers = {}
    for name in criterion.STATEMENTS:
        fitted = effects(layout, name)
        answers[name] = (
            np.zeros(len(responses), dtype=np.intp)
            if fitted is None
            else np.concatenate(
                [
                    _tied(fitted, some, rng)
                    for some in np.array_split(responses, max(1, len(responses) // TOGETHER))
                ]
            )
        )
    return answers


def _tied(fitted: Effects, responses: Floats, rng: np.random.Generator) -> Integers:
    coefficients = responses @ fitted.estimate.T
    df = fitted.left.shape[1]
    variance = ((responses @ fitted.left) ** 2).sum(axis=1) / df
    squares = [_form(each) for each in (fitted.first, fitted.second)]
    bias = [float(np.trace(fitted.root.T @ each @ fitted.root)) for each in squares]
    shares = _variances(coefficients, variance, squares, bias)
    observed = _difference(shares, variance)
    middle = np.maximum(shares, 0).mean(axis=0)
    fitted_squares = [((coefficients @ each) * coefficients).sum(axis=1) for each in squares]
    scale = [np.sqrt(middle / np.maximum(each, 1e-300)) for each in fitted_squares]
    # The tie has the fitted directions, each side as large as both are on average.
    sides = [np.linalg.pinv(each) @ each for each in (fitted.first, fitted.second)]
    tie = sum(
        size[:, None] * (coefficients @ side.T) for size, side in zip(scale, sides, strict=True)
    )
    errors = rng.standard_normal((DRAWS, len(responses), tie.shape[1])) @ fitted.root.T
    drawn = tie + errors * np.sqrt(variance)[:, None]
    spread = variance * rng.chisquare(df, (DRAWS, len(responses))) / df
    values = _difference(_variances(drawn, spread, squares, bias), spread)
    above = (1 + (values >= observed).sum(axis=0)) / (DRAWS + 1) <= criterion.LEVEL
    below = (1 + (values <= observed).sum(axis=0)) / (DRAWS + 1) <= criterion.LEVEL
    return np.asarray(above.astype(np.intp) - below)


def _form(side: Floats) -> Floats:
    return np.asarray(side.T @ side / len(side))


def _variances(
    coefficients: Floats, variance: Floats, squares: list[Floats], bias: list[float]
) -> Floats:
    """Return the variance of both sides over the rows, that of their errors removed."""
    return np.stack(
        [
            ((coefficients @ each) * coefficients).sum(axis=-1) - variance * lost
            for each, lost in zip(squares, bias, strict=True)
        ]
    )


def _difference(shares: Floats, variance: Floats) -> Floats:
    return np.asarray((shares[0] - shares[1]) / (np.maximum(shares, 0).sum(axis=0) + variance))


def prediction(layout: Layout, responses: Floats) -> dict[str, Integers]:
    """Return the answers by squared errors of models left out, t over suites."""
    answers = {}
    for name, (first, second, unit) in PREDICTED.items():
        codes = layout.suites if unit == "suite" else np.arange(len(layout))
        errors = [responses @ _left_out(layout.blocks[side], codes).T for side in (first, second)]
        lead = errors[1] ** 2 - errors[0] ** 2
        of_suite = np.eye(layout.suites.max() + 1)[layout.suites]
        means = lead @ (of_suite / of_suite.sum(axis=0))
        several = means.shape[1]
        t = means.mean(axis=1) / (means.std(axis=1, ddof=1) / np.sqrt(several))
        line = stats.t.isf(criterion.LEVEL, several - 1)
        answers[name] = (t > line).astype(np.intp) - (t < -line)
    return answers


def _left_out(columns: Floats, codes: Integers) -> Floats:
    """Return the matrix from responses to errors of prediction; a level unseen has the mean."""
    n = len(columns)
    result = np.eye(n)
    for one in np.unique(codes):
        held = codes == one
        seen = columns[~held]
        slopes = np.linalg.pinv(seen - seen.mean(axis=0), rcond=1e-9)
        weights = np.full((int(held.sum()), int((~held).sum())), 1 / (~held).sum())
        weights += (columns[held] - seen.mean(axis=0)) @ slopes
        result[np.ix_(held, ~held)] -= weights
    return result


def _full_rank(columns: Floats) -> Floats:
    """Return a basis of the same space."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-9 * sizes[0]])


def _nested(layout: Layout) -> tuple[Floats, Floats]:
    """Return the projection onto means of labs, and a basis of suites."""
    labs = _full_rank(layout.blocks["lab"])
    return labs @ labs.T, _full_rank(layout.blocks["suite"])

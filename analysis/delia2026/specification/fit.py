"""Estimates of one design under many assignments of labels at once, from sums per suite.

The sum over rows of (1, covariates, outcome) times its transpose, kept per suite, is all that
the estimators need. Handing a label to whole suites adds up the sums of the suites that got it,
so a thousand assignments cost one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from analysis.tidy.frame import Floats, Integers

#: Residual sum of squares, relative to the sum of squares, below which groups do not vary within.
NO_VARIATION = 1e-12

#: Estimates nearer to 0 than this are rounding error, hence 0.
ROUNDING = 1e-12

#: Determinant of the covariates' correlation matrix below which they are not independent.
COLLINEAR = 1e-8

#: Code of a lab that has one suite.
ALONE = -1

#: Standard deviations per unit of log odds (Hasselblad and Hedges 1995).
LOGISTIC = np.sqrt(3) / np.pi


@dataclass(frozen=True, slots=True)
class Labels:
    """What each of S suites is called under each of B assignments, shape (B, S).

    ``group``: 1 for the group said to shorten the stream, 0 for the other, NaN for neither.
    ``lab``: code of the lab, `ALONE` where a suite is a lab of its own; suites with one code and
    one group are one lab.
    """

    group: Floats
    lab: Integers


@dataclass(frozen=True, slots=True)
class Estimates:
    """One estimate per assignment, each array of shape (B,), NaN where there is none.

    ``estimate`` is positive when the group said to shorten the stream does; ``std_error`` is that
    of independent rows, 0 without variation within groups; ``df`` is infinite for a normal
    reference.
    """

    estimate: Floats
    std_error: Floats
    df: Floats

    def p_values(self) -> Floats:
        """Return the two-sided p of each estimate, NaN where the standard error is 0: no test."""
        t = np.full(np.shape(self.estimate), np.nan)
        np.divide(-np.abs(self.estimate), self.std_error, out=t, where=self.std_error > 0)
        normal, student = scipy.special.ndtr(t), scipy.special.stdtr(self.df, t)
        return np.asarray(2 * np.where(np.isinf(self.df), normal, student))

    def reach(self, conf_level: float) -> Floats:
        """Return half the width of the interval around each estimate."""
        upper = (1 + conf_level) / 2
        normal, student = scipy.special.ndtri(upper), scipy.special.stdtrit(self.df, upper)
        quantile = np.where(np.isinf(self.df), normal, student)
        return np.asarray(self.std_error * quantile)

    def only(self, place: int) -> Estimates:
        """Return the estimate of one assignment."""
        return Estimates(*(each[[place]] for each in (self.estimate, self.std_error, self.df)))


def sums_per_suite(rows: Floats, suites: Integers, n_suites: int) -> Floats:
    """Return the sum of z z' over the rows z of each suite, shape (n_suites, k, k).

    ``rows`` are z = (1, covariates, outcome), shape (n, k); ``suites`` their codes, shape (n,).
    """
    sums = np.zeros((n_suites, rows.shape[1], rows.shape[1]))
    np.add.at(sums, suites, rows[:, :, None] * rows[:, None, :])
    return sums


def mean_per_suite(sums: Floats) -> Floats:
    """Return the sums with each suite counted as one row, its mean."""
    means = sums[:, 0, :] / sums[:, :1, 0]
    return np.asarray(means[:, :, None] * means[:, None, :])


def group_sums(sums: Floats, labels: Labels, *, by_lab: bool) -> tuple[Floats, Floats]:
    """Return the sums over both groups and over the one said to dampen, each (B, k, k).

    With ``by_lab``, each lab is one row: the mean over the rows of its suites.
    """
    n_suites, k = sums.shape[:2]
    treated = (labels.group == 1).astype(np.float64)
    other = (labels.group == 0).astype(np.float64)
    if not by_lab:
        flat = sums.reshape(n_suites, k * k)
        ours = (treated @ flat).reshape(-1, k, k)
        return ours + (other @ flat).reshape(-1, k, k), ours
    ours = _lab_rows(sums, labels.lab, treated)
    return ours + _lab_rows(sums, labels.lab, other), ours


def _lab_rows(sums: Floats, lab: Integers, member: Floats) -> Floats:
    """Return the sum over labs of the outer product of their mean rows, shape (B, k, k)."""
    n_suites, k = sums.shape[:2]
    each = mean_per_suite(sums).reshape(n_suites, k * k)
    total: Floats = ((member * (lab == ALONE)) @ each).reshape(-1, k, k)
    for code in np.unique(lab[lab != ALONE]):
        summed = (member * (lab == code)) @ sums[:, 0, :]
        n = summed[:, :1]
        mean = np.divide(summed, n, out=np.zeros_like(summed), where=n > 0)
        total += mean[:, :, None] * mean[:, None, :]
    return total


def difference(both: Floats, ours: Floats) -> Estimates:
    """Return the difference of mean outcomes, ours minus theirs, with its pooled t."""
    n_ours, n = ours[:, 0, 0], both[:, 0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_ours = ours[:, 0, -1] / n_ours
        mean_theirs = (both[:, 0, -1] - ours[:, 0, -1]) / (n - n_ours)
        within = both[:, -1, -1] - n_ours * mean_ours**2 - (n - n_ours) * mean_theirs**2
        error = _residual_variance(within, both[:, -1, -1], n - 2)
        std_error = np.sqrt(error * (1 / n_ours + 1 / (n - n_ours)))
    return _finite(mean_ours - mean_theirs, std_error, n - 2)


def log_odds_ratio(both: Floats, ours: Floats) -> Estimates:
    """Return the log odds ratio of dampening, half an observation added to each cell.

    Haldane (1956) and Anscombe (1956); the standard error is Woolf's. Shares count as
    fractional observations.
    """
    n_ours, n = ours[:, 0, 0], both[:, 0, 0]
    dampen = np.stack([ours[:, 0, -1], both[:, 0, -1] - ours[:, 0, -1]]) + 0.5
    expand = np.stack([n_ours, n - n_ours]) - dampen + 1
    empty = (n_ours == 0) | (n == n_ours)
    with np.errstate(divide="ignore", invalid="ignore"):
        logits = np.log(dampen / expand)
        std_error = np.sqrt((1 / dampen + 1 / expand).sum(axis=0))
    estimate = np.where(empty, np.nan, logits[0] - logits[1])
    return _finite(estimate, std_error, np.full(len(n), np.inf))


def adjusted_difference(both: Floats, ours: Floats) -> Estimates:
    """Return the least-squares slope of the group with the covariates held constant."""
    k = both.shape[1] - 1
    # The identity stands in for matrices that cannot be inverted.
    known = both[:, :k, :k]
    size = np.sqrt(np.einsum("bii->bi", known))
    scale = np.where(size > 0, size, 1)
    correlation = known / (scale[:, :, None] * scale[:, None, :])
    independent = np.linalg.det(correlation) > COLLINEAR
    identity = np.eye(known.shape[1])
    known = np.where(independent[:, None, None], known, identity)
    sides = np.stack([ours[:, :k, 0], both[:, :k, -1]], axis=2)
    solved = np.linalg.solve(known, sides)
    product = np.einsum("bki,bkj->bij", sides, solved)
    n_ours = ours[:, 0, 0]
    left = n_ours - product[:, 0, 0]
    covariance = ours[:, 0, -1] - product[:, 0, 1]
    usable = independent & (left > COLLINEAR * np.maximum(n_ours, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(usable, covariance / left, np.nan)
        residual = both[:, -1, -1] - product[:, 1, 1] - slope * covariance
        df = both[:, 0, 0] - k - 1
        error = _residual_variance(residual, both[:, -1, -1], df)
        std_error = np.sqrt(error / left)
    return _finite(slope, std_error, df)


#: Estimators by the name of their level.
ESTIMATORS = {
    "difference": difference,
    "log odds ratio": log_odds_ratio,
    "adjusted difference": adjusted_difference,
}


def spread(both: Floats) -> float:
    """Return the standard deviation of the outcome over the rows of one assignment, (k, k)."""
    n = float(both[0, 0])
    mean_square = float(both[-1, -1]) / n
    variance = mean_square - (float(both[0, -1]) / n) ** 2
    return float(np.sqrt(variance)) if variance > NO_VARIATION * mean_square else 0.0


def _residual_variance(residual: Floats, total: Floats, df: Floats) -> Floats:
    """Return residual sum of squares over df; 0 where only rounding is left."""
    cleaned = np.where(residual <= NO_VARIATION * total, 0.0, residual)
    return np.asarray(np.where(df > 0, cleaned / df, np.nan), dtype=np.float64)


def _finite(estimate: Floats, std_error: Floats, df: Floats) -> Estimates:
    """Return the estimates, NaN in every part where one is not defined, without rounding noise."""
    estimate = np.where(np.abs(estimate) < ROUNDING, 0.0, estimate)
    defined = np.isfinite(estimate) & np.isfinite(std_error) & (df > 0)
    return Estimates(
        np.where(defined, estimate, np.nan),
        np.where(defined, std_error, np.nan),
        np.where(defined, df, np.nan),
    )

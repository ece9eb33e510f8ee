"""Wild cluster bootstrap of a least-squares coefficient, with its interval.

Residuals under the null hypothesis get one random weight per cluster, and |t| with CR1 standard
errors is compared (Cameron, Gelbach and Miller 2008, Review of Economics and Statistics 90, 414:
WCR). With few clusters all 2^G sign vectors are used; Webb's six weights (2023, Canadian Journal
of Economics 56, 839) give more distinct draws. The mixed models have the same test from their
statistics: `analysis.mixed.wild_cluster_bootstrap`.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import wild_bootstrap
>>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "g": [*"aabbcc"]})
>>> frame["y"] = [1.1, 1.9, 3.2, 3.9, 5.3, 5.8]
>>> found = wild_bootstrap.wild_cluster_bootstrap(frame, "y ~ x", term="x", cluster="g")
>>> found["p_value"].item()
0.25
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.association import regression
from analysis.inference.association.cluster_sums import (
    MOST_CLUSTERS_ENUMERATED,
    TIE,
    ClusterSums,
    every_sign,
    require_testable,
    wild_statistics,
)
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    group_codes,
    nearest,
    require_conf_level,
    require_count,
    require_option,
    rows_by_group,
)

WEIGHTS = {
    "rademacher": (-1.0, 1.0),
    "webb": tuple(sign * np.sqrt(half / 2) for sign in (-1.0, 1.0) for half in (1, 2, 3)),
}

#: Doublings of the standard error in which an end of the interval is looked for, and halvings.
MOST_DOUBLINGS = 20
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class WildTest:
    """The test of one coefficient at any value.

    Attributes
    ----------
    sums
        Least squares by clusters.
    direction
        Of the coefficient in orthonormal coordinates, shape (p,).
    estimate, std_error
        Least-squares estimate and CR1 standard error.
    vectors
        Weights of the clusters, one row per draw, shape (S, G).
    enumerated
        Whether the vectors are all sign vectors, the observed one among them.
    """

    sums: ClusterSums
    direction: Floats
    estimate: float
    std_error: float
    vectors: Floats
    enumerated: bool

    def p_value(self, null_value: float) -> float:
        """Return the p-value of the hypothesis that the coefficient has a value."""
        offset = self.estimate - null_value
        drawn = np.abs(wild_statistics(self.sums, self.direction, offset, self.vectors))
        reached = drawn >= abs(offset / self.std_error) * (1 - TIE)
        if self.enumerated:
            return float(reached.mean())
        return float((reached.sum() + 1) / (len(self.vectors) + 1))

    @property
    def smallest_p(self) -> float:
        """Smallest p-value possible: a sign vector and its opposite give the same |t|."""
        if self.enumerated:
            return 2 / len(self.vectors)
        return 1 / (len(self.vectors) + 1)


def wild_cluster_bootstrap(
    frame: pd.DataFrame,
    formula: str,
    *,
    term: str,
    cluster: str,
    null_value: float = 0.0,
    weights: str = "rademacher",
    rng: np.random.Generator | None = None,
    n_resamples: int = 9999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the wild cluster bootstrap test of one coefficient, with the interval it implies.

    Parameters
    ----------
    frame
        One row per observation.
    formula
        Such as ``gain ~ heritage + density``.
    term
        Name of the coefficient tested, as `regression.fit` names it.
    cluster
        Column naming the independent units.
    null_value
        Value of the coefficient under the null hypothesis.
    weights
        ``rademacher`` (signs; all of them up to twelve clusters) or ``webb`` (drawn).
    rng
        Source of the draws; needed unless all sign vectors are used.
    n_resamples
        Draws when weights are drawn.
    conf_level
        Nominal coverage of the interval: the values that the test does not reject.

    Returns
    -------
    One row: `term`, `estimate`, `std_error` (CR1), `statistic`, `p_value`, `smallest_p`, the
    interval (infinite where no value is rejected), `n_resamples` (weight vectors), `n_groups`,
    `n_obs`.

    Raises
    ------
    AnalysisError
        If `rng` is needed and absent.
    ColumnError
        If the formula cannot be read or a column is absent or has missing values.
    DesignError
        If the term is unknown or cannot be estimated, there are fewer than two clusters, or one
        cluster alone determines the term.
    """
    require_option("weights", weights, tuple(WEIGHTS))
    require_conf_level(conf_level)
    fitted = regression.fit(frame, formula, cluster=cluster, covariance="CR1")
    if term not in fitted.terms:
        raise DesignError(
            f"The term tested must be one of the formula's; {term!r} is none, the nearest is "
            f"{nearest(term, fitted.terms)!r}.",
            f"The formula makes: {', '.join(fitted.terms)}.",
        )
    sums = _cluster_sums(fitted, group_codes(frame, cluster))
    n_clusters = len(sums.scores)
    enumerated = weights == "rademacher" and n_clusters <= MOST_CLUSTERS_ENUMERATED
    vectors = (
        every_sign(n_clusters) if enumerated else _drawn(n_clusters, weights, rng, n_resamples)
    )
    test = _test(sums, vectors, fitted.terms.index(term), term, enumerated=enumerated)
    ends = [_end(test, direction, 1 - conf_level) for direction in (-1.0, 1.0)]
    drawn = "all Rademacher signs" if test.enumerated else f"drawn {weights.capitalize()} weights"
    result = pd.DataFrame(
        {
            "term": [term],
            "estimate": [test.estimate],
            "null_value": [null_value],
            "std_error": [test.std_error],
            "statistic": [(test.estimate - null_value) / test.std_error],
            "p_value": [test.p_value(null_value)],
            "smallest_p": [test.smallest_p],
            "conf_low": [ends[0]],
            "conf_high": [ends[1]],
            "conf_level": [conf_level],
            "n_resamples": [len(test.vectors)],
            "n_groups": [fitted.n_groups],
            "n_obs": [len(frame)],
            "method": [f"Wild cluster bootstrap by {cluster}, null imposed, {drawn}"],
            "note": [_note(test, conf_level)],
        }
    )
    glossary.checked(result.columns)
    return result


def _test(
    sums: ClusterSums, vectors: Floats, position: int, term: str, *, enumerated: bool
) -> WildTest:
    direction = sums.to_terms[position]
    require_testable(sums, position, term)
    variance = sums.correction * float(((sums.scores @ direction) ** 2).sum())
    if variance <= 0:
        raise DesignError(
            f"The standard error of {term!r} must be positive; it is 0.",
            "The fit is perfect within every cluster: there is nothing to resample.",
        )
    return WildTest(
        sums=sums,
        direction=direction,
        estimate=float(sums.coefficients[position]),
        std_error=float(np.sqrt(variance)),
        vectors=vectors,
        enumerated=enumerated,
    )


def _cluster_sums(fitted: regression.Regression, clusters: Integers) -> ClusterSums:
    orthogonal, triangular = np.linalg.qr(fitted.design)
    residuals = fitted.response - fitted.design @ fitted.coefficients
    groups = rows_by_group(clusters)
    return ClusterSums(
        squares=np.array([orthogonal[rows].T @ orthogonal[rows] for rows in groups]),
        scores=np.array([orthogonal[rows].T @ residuals[rows] for rows in groups]),
        to_terms=np.linalg.inv(triangular),
        coefficients=fitted.coefficients,
        n_obs=len(clusters),
    )


def _drawn(
    n_clusters: int, weights: str, rng: np.random.Generator | None, n_resamples: int
) -> Floats:
    rng = generator(rng, f"{weights} weights of {n_clusters} clusters are drawn")
    require_count("n_resamples", n_resamples)
    return np.asarray(rng.choice(WEIGHTS[weights], size=(n_resamples, n_clusters)))


def _end(test: WildTest, direction: float, alpha: float) -> float:
    """Return the value farthest from the estimate, in a direction, that is not rejected."""
    if test.smallest_p > alpha:
        return direction * np.inf
    accepted, distance = test.estimate, test.std_error
    for _ in range(MOST_DOUBLINGS):
        rejected = test.estimate + direction * distance
        if test.p_value(rejected) <= alpha:
            return _boundary(test.p_value, accepted, rejected, alpha)
        accepted, distance = rejected, 2 * distance
    return direction * np.inf


def _boundary(
    p_value: Callable[[float], float], accepted: float, rejected: float, alpha: float
) -> float:
    for _ in range(HALVINGS):
        middle = (accepted + rejected) / 2
        if p_value(middle) > alpha:
            accepted = middle
        else:
            rejected = middle
    return accepted


def _note(test: WildTest, conf_level: float) -> str:
    if test.smallest_p > 1 - conf_level:
        return (
            f"With {test.vectors.shape[1]} clusters p cannot fall below {test.smallest_p:g}: "
            "no value is rejected at this level."
        )
    return ""

"""Boschloo's and Barnard's exact tests of a 2x2 table: two groups of fixed size.

Fisher's test takes both margins as given. Where only the sizes of the groups are (models of two
kinds, of which some dampen), these two are as exact and less conservative. Boschloo (1970),
Statistica Neerlandica 24, 1; Barnard (1947), Biometrika 34, 123.

>>> import numpy as np, pandas as pd
>>> from analysis.inference import unconditional
>>> frame = pd.DataFrame({"lab": [*"aaaabbbb"], "shrinks": [True, True, True, False] + [False] * 4})
>>> found = unconditional.boschloo(frame, row="lab", column="shrinks")
>>> round(found["p_value"].item(), 4)
0.0703
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.counts.contingency import odds_contrast, two_by_two
from analysis.inference.counts.two_binomials import largest_tail, lead, score_statistic
from analysis.inference.counts.unconditional_interval import log_odds_interval
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_conf_level, require_option

ALTERNATIVES = ("two-sided", "less", "greater")

EMPTY_CELL = "A cell is empty: the odds ratio lies on the boundary, its interval is open there."

#: Said where the p-value rejects no difference and the interval holds it, or the other way round.
DISAGREE = (
    "p and interval disagree at this level: the interval runs to the outermost value that "
    "one-sided score tests accept, "
    "p orders the tables by {}."
)

#: Pairs of counts beyond which the largest tail takes too long to find.
MOST_PAIRS = 40_000

#: Statistic of every pair of counts, larger when the first group has more; shape (n1 + 1, n2 + 1).
Ordering = Callable[[tuple[int, int]], Floats]


def boschloo(
    frame: pd.DataFrame,
    *,
    row: str | None = None,
    column: str | None = None,
    alternative: str = "two-sided",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return Boschloo's test: Fisher's one-sided p orders the tables.

    Two-sided p is twice the smaller one-sided, as in scipy and R's Exact. Uniformly more
    powerful than Fisher's one-sided test. The interval runs from the smallest to the largest value
    that one-sided score tests do not reject; it is wide, because unlikely values of the nuisance
    parameter count as much as likely ones. It excludes no difference exactly where twice the
    smaller one-sided p of `barnard` is at most 1 - `conf_level`; where the p-value here decides
    otherwise, the note says so.

    Parameters
    ----------
    frame
        Either the counts, groups in rows and outcomes in columns, or, with `row` and `column`,
        one row per independent unit.
    row, column
        Group and outcome, two levels each. Levels stand in category order, else sorted.
    alternative
        ``two-sided``, ``less`` (the first group has the first outcome less often) or ``greater``.
    conf_level
        Nominal coverage of the interval; an exact one covers at least that.

    Returns
    -------
    One row: `contrast`, `estimate` [sample odds ratio], `p_value`, `smallest_p` for these group
    sizes, the interval (exact unconditional, from score statistics), `n_obs`.

    Raises
    ------
    ColumnError
        If a named column is absent or has missing values, or a count is not a whole number.
    DesignError
        If the table is not 2x2, a margin is zero, or there are more than 40,000 pairs of counts.
    """
    counts = two_by_two(frame, row, column)
    return _result(counts, "boschloo", alternative, conf_level)


def barnard(
    frame: pd.DataFrame,
    *,
    row: str | None = None,
    column: str | None = None,
    alternative: str = "two-sided",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return Barnard's test: the pooled score statistic orders the tables.

    Two-sided, |z| orders them. Parameters, rows and refusals are those of `boschloo`.
    """
    counts = two_by_two(frame, row, column)
    return _result(counts, "barnard", alternative, conf_level)


def _score_order(sizes: tuple[int, int]) -> Floats:
    return score_statistic(sizes, 0.0)


def _fisher_order(sizes: tuple[int, int]) -> Floats:
    """Return minus the log of Fisher's one-sided p that the first group has more."""
    first, second = np.meshgrid(np.arange(sizes[0] + 1), np.arange(sizes[1] + 1), indexing="ij")
    p_values = stats.hypergeom.sf(first - 1, sum(sizes), first + second, sizes[0])
    return np.asarray(-np.log(p_values), dtype=np.float64)


ORDERINGS: dict[str, Ordering] = {"boschloo": _fisher_order, "barnard": _score_order}

ORDERED_BY = {"boschloo": "Fisher's one-sided p", "barnard": "the size of the score statistic"}


def p_value(
    counts: tuple[int, int],
    sizes: tuple[int, int],
    *,
    test: str = "boschloo",
    alternative: str = "two-sided",
) -> float:
    """Return the p-value alone, for simulations of many tables.

    Parameters
    ----------
    counts, sizes
        Successes and units of the two groups.
    test
        ``boschloo`` or ``barnard``.
    alternative
        ``two-sided``, ``less`` or ``greater``.

    Raises
    ------
    AnalysisError
        If the test or the alternative is unknown.
    DesignError
        If a group has not between 0 and all of its units, at least one, with success.
    """
    require_option("test", test, tuple(ORDERINGS))
    require_option("alternative", alternative, ALTERNATIVES)
    if not all(0 <= count <= size and size > 0 for count, size in zip(counts, sizes, strict=True)):
        raise DesignError(
            f"Either group must have between 0 and all of its units with success; found "
            f"{tuple(counts)} of {tuple(sizes)}.",
            "Give counts, not shares, and the size of each group.",
        )
    order = ORDERINGS[test]
    if alternative == "greater":
        return _tail(order(sizes), counts)
    if alternative == "less":
        # Fewer in the first group is more in the second.
        return _tail(order(sizes[::-1]).T, counts)
    if test == "barnard":
        return _tail(np.abs(order(sizes)), counts)
    sides = [p_value(counts, sizes, test=test, alternative=side) for side in ("less", "greater")]
    return min(1.0, 2 * min(sides))


def _result(counts: pd.DataFrame, test: str, alternative: str, conf_level: float) -> pd.DataFrame:
    require_option("alternative", alternative, ALTERNATIVES)
    require_conf_level(conf_level)
    cells = counts.to_numpy()
    found, sizes = (int(cells[0, 0]), int(cells[1, 0])), (int(cells[0].sum()), int(cells[1].sum()))
    if (sizes[0] + 1) * (sizes[1] + 1) > MOST_PAIRS:
        raise DesignError(
            f"The test goes through every pair of counts, at most {MOST_PAIRS}; groups of "
            f"{sizes[0]} and {sizes[1]} have {(sizes[0] + 1) * (sizes[1] + 1)}.",
            "Use fisher.fisher_exact, which differs little when groups are large.",
        )
    low, high = _interval(found, sizes, alternative, conf_level)
    # All of one group and none of the other is the most extreme table.
    extreme = (0, sizes[1]) if alternative == "less" else (sizes[0], 0)
    p_found = p_value(found, sizes, test=test, alternative=alternative)
    notes = [EMPTY_CELL] if (cells == 0).any() else []
    if (p_found <= 1 - conf_level) == (low <= 0 <= high):
        notes.append(DISAGREE.format(ORDERED_BY[test]))
    result = pd.DataFrame(
        {
            "term": ["odds ratio"],
            "contrast": [odds_contrast(counts)],
            "estimate": [_odds_ratio(found, sizes)],
            "null_value": [1.0],
            "p_value": p_found,
            "smallest_p": p_value(extreme, sizes, test=test, alternative=alternative),
            "conf_low": [float(np.exp(low))],
            "conf_high": [float(np.exp(high))],
            "conf_level": conf_level,
            "alternative": alternative,
            "n_obs": sum(sizes),
            "method": f"{test.capitalize()}'s exact test; exact unconditional score interval",
            "note": " ".join(notes),
        }
    )
    glossary.checked(result.columns)
    return result


def _tail(statistic: Floats, found: tuple[int, int]) -> float:
    region = (lead(statistic, found) >= 0).astype(np.float64)
    return largest_tail(region, 0.0)


def _odds_ratio(found: tuple[int, int], sizes: tuple[int, int]) -> float:
    against = (sizes[0] - found[0]) * found[1]
    return found[0] * (sizes[1] - found[1]) / against if against else float("inf")


def _interval(
    found: tuple[int, int], sizes: tuple[int, int], alternative: str, conf_level: float
) -> tuple[float, float]:
    """Return the interval of the log odds ratio."""
    alpha = 1 - conf_level
    sides = {"two-sided": (alpha / 2, alpha / 2), "less": (0.0, alpha), "greater": (alpha, 0.0)}
    return log_odds_interval(found, sizes, sides[alternative])

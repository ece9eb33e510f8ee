"""Permutation test: labels are exchanged between whole units, exactly when there are few.

With G units the p-value cannot fall below one over the number of distinct assignments,
whatever the number of rows; `smallest_p` says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import factorial, prod

import numpy as np
import pandas as pd

from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    group_codes,
    level_codes,
    require_columns,
    require_count,
    require_option,
    seed_of,
)
from analysis.tidy.progress import progress

Statistic = Callable[[pd.DataFrame], float]

ALTERNATIVES = ("two-sided", "less", "greater")

#: Up to this many distinct assignments are enumerated; beyond, they are sampled.
MOST_ENUMERATED = 20_000

#: Differences below this share of the largest deviation count as ties (order of summation).
RELATIVE_TIE = 1e-9

#: Deviations below this share of the largest value are rounding error, hence none.
ROUNDING = 1e-14


def permutation_test(
    frame: pd.DataFrame,
    statistic: Statistic,
    *,
    label: str,
    unit: str | None,
    rng: np.random.Generator | None = None,
    n_permutations: int = 9999,
    alternative: str = "two-sided",
) -> pd.DataFrame:
    """Return the permutation p-value of a statistic whose labels belong to units.

    Up to 20,000 distinct assignments are enumerated, the observed one among them, and p is
    the share at least as extreme. Beyond that, `n_permutations` are drawn and
    p = (b + 1) / (B + 1). Two-sided, extreme means |T - centre| at least as large, where the
    centre is the mean over all assignments evaluated (the rule of R's coin), not twice the
    smaller tail. There is no interval: none follows from a general statistic.

    Parameters
    ----------
    frame
        One row per observation.
    statistic
        Takes a frame with the columns of `frame`, returns one finite number.
    label
        Column to permute; constant within a unit.
    unit
        Column naming the units that are exchangeable under the null hypothesis (labs, suites,
        models); None when each row is one.
    rng
        Source of the draws, used only when assignments are sampled.
    n_permutations
        Assignments to draw when they are sampled.
    alternative
        ``two-sided``, ``less`` or ``greater``.

    Returns
    -------
    One row: `term`, `estimate` (the observed statistic), `null_value` (the centre),
    `p_value`, `smallest_p`, `n_permutations`, `seed` (empty where none are sampled), `n_obs`,
    `n_groups` (units), and `conf_low`, `conf_high`, `conf_level`, which are missing.

    Raises
    ------
    ColumnError
        If a column that is named or that the statistic reads is absent or has missing values.
    DesignError
        If the label varies within a unit or not at all, there are fewer than two units, or
        the statistic is not finite under some assignment.

    Examples
    --------
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"lab": [*"aaabbb"], "y": [1.0, 2, 3, 4, 5, 6]})
    >>> difference = lambda rows: rows.groupby("lab")["y"].mean().diff().iloc[-1]
    >>> ts.permutation_test(frame, difference, label="lab", unit=None)["p_value"].item()
    0.1
    """
    require_option("alternative", alternative, ALTERNATIVES)
    units = group_codes(frame, unit)
    codes, levels = level_codes(frame, label)
    unit_levels = _label_of_units(codes, units, label, unit)
    if len(levels) < 2:
        raise DesignError(
            f"Label {label!r} must have at least two levels; found {len(levels)}.",
            "There is nothing to permute.",
        )
    _require_computable(statistic, frame)
    name = str(getattr(statistic, "__name__", "statistic"))
    possible = n_assignments(unit_levels)
    enumerated = possible <= MOST_ENUMERATED
    rng = generator(rng, "assignments are sampled")
    assignments = (
        every_assignment(unit_levels)
        if enumerated
        else _sampled_assignments(unit_levels, n_permutations, rng)
    )
    n = possible if enumerated else n_permutations + 1
    shown = progress(assignments, "permutation", n)
    values = _evaluate(frame, statistic, shown, label=label, codes=codes, units=units)
    p_value, smallest_p = extreme_shares(values, alternative)
    return glossary.table(
        {
            "term": [name if name.isidentifier() else "statistic"],
            "estimate": [values[0]],
            "null_value": [values.mean()],
            "p_value": [p_value],
            "smallest_p": [smallest_p if enumerated else 1 / len(values)],
            "conf_low": [np.nan],
            "conf_high": [np.nan],
            "conf_level": [np.nan],
            "alternative": [alternative],
            "n_permutations": [len(values) if enumerated else n_permutations],
            "seed": ["" if enumerated else seed_of(rng)],
            "n_obs": [len(frame)],
            "n_groups": [len(unit_levels)],
            "method": [f"Permutation test, {'enumerated' if enumerated else 'sampled'}"],
            "note": [""],
        }
    )


def _require_computable(statistic: Statistic, frame: pd.DataFrame) -> None:
    """Raise ColumnError unless a statistic is one number, and of columns without missing values.

    Most would pass over a missing value without a word.
    """
    try:
        value = float(statistic(frame))
    except AnalysisError:
        raise
    except Exception as error:  # a statistic is code, and may raise what it likes
        if isinstance(error, KeyError) and isinstance(error.args[0], str):
            require_columns(frame, error.args)
        raise ColumnError(
            f"The statistic fails on the data: {type(error).__name__}: {error}.",
            "Check the columns that it reads, and that it returns one number.",
        ) from error
    for name in frame.columns[frame.isna().any()]:
        if _statistic_without(statistic, frame, name) != value:
            missing = int(frame[name].isna().sum())
            raise ColumnError(
                f"Column {name!r}, which the statistic reads, has missing values in {missing} of "
                f"{len(frame)} rows.",
                f"Drop them first: frame.dropna(subset=[{name!r}]).",
            )


def _statistic_without(statistic: Statistic, frame: pd.DataFrame, name: str) -> float:
    """Return the statistic without a column, NaN where it cannot be computed or is not finite."""
    try:
        value = float(statistic(frame.drop(columns=name)))
    except (ValueError, KeyError, ZeroDivisionError):
        return float("nan")
    return value if np.isfinite(value) else float("nan")


def n_assignments(unit_levels: Integers) -> int:
    """Return the number of distinct ways to hand the labels out, a multinomial coefficient."""
    counts = np.unique(unit_levels, return_counts=True)[1]
    return factorial(len(unit_levels)) // prod(factorial(int(count)) for count in counts)


def _label_of_units(codes: Integers, units: Integers, label: str, unit: str | None) -> Integers:
    """Return the label code of every unit, shape (G,)."""
    pairs = np.unique(np.column_stack([units, codes]), axis=0)
    varying = len(pairs) - len(np.unique(units))
    if varying:
        raise DesignError(
            f"Label {label!r} must be constant within each {unit!r}; it varies within at least "
            f"one (there are {varying} more pairs of unit and label than units).",
            "Choose the smaller unit within which the label is constant.",
        )
    return np.asarray(pairs[:, 1], dtype=np.intp)


def every_assignment(observed: Integers) -> Iterator[Integers]:
    """Yield the observed assignment, then every other one."""
    yield observed
    for arrangement in _arrangements(np.bincount(observed).tolist()):
        assignment = np.array(arrangement, dtype=np.intp)
        if not np.array_equal(assignment, observed):
            yield assignment


def _arrangements(remaining: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield every distinct order of as many copies of 0, 1, ... as remain."""
    if not any(remaining):
        yield ()
    for level, count in enumerate(remaining):
        if count:
            fewer = [*remaining[:level], count - 1, *remaining[level + 1 :]]
            for rest in _arrangements(fewer):
                yield (level, *rest)


def _sampled_assignments(
    observed: Integers, n_permutations: int, rng: np.random.Generator
) -> Iterator[Integers]:
    """Yield the observed assignment, then random ones."""
    require_count("n_permutations", n_permutations)
    yield observed
    for _ in range(n_permutations):
        yield rng.permutation(observed)


def _evaluate(
    frame: pd.DataFrame,
    statistic: Statistic,
    assignments: Iterator[Integers],
    *,
    label: str,
    codes: Integers,
    units: Integers,
) -> Floats:
    """Return the statistic under every assignment, the observed one first, shape (B,)."""
    row_of_level = np.unique(codes, return_index=True)[1]
    labels = frame[label].array.take(row_of_level)

    def value(assignment: Integers) -> float:
        relabelled = frame.copy(deep=False)
        relabelled[label] = labels.take(assignment[units])
        return float(statistic(relabelled))

    values = np.array([value(assignment) for assignment in assignments])
    failed = int((~np.isfinite(values)).sum())
    if failed:
        raise DesignError(
            f"The statistic must be finite under every assignment; it is not under {failed} "
            f"of {len(values)}.",
            "Choose a statistic defined whichever unit holds which label.",
        )
    return values


def extreme_shares(values: Floats, alternative: str = "two-sided") -> tuple[float, float]:
    """Return the share of values as far from their mean as the first, and as far as the farthest.

    They are p and the smallest p there can be of a statistic under every assignment, the observed
    one first, shape (B,).
    """
    centred: Floats = values - values.mean()
    centred[np.abs(centred) < ROUNDING * np.abs(values).max()] = 0.0
    if alternative == "two-sided":
        centred = np.abs(centred)
    deviations = -centred if alternative == "less" else centred
    tie = RELATIVE_TIE * float(np.abs(deviations).max())
    p_value, smallest_p = (
        float(np.mean(deviations >= least - tie)) for least in (deviations[0], deviations.max())
    )
    return p_value, smallest_p

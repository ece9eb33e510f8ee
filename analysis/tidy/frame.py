"""Check at the door what a statistic needs of a frame: columns, numbers, labels, groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.tidy.errors import AnalysisError, ColumnError, DesignError

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

#: Sums of fourth powers of numbers up to this size stay finite.
LARGEST = 1e75

#: Squares of numbers spread less than this vanish in double precision.
LEAST_SPREAD = 1e-150

#: Seed of the draws where no source of them is given.
SEED = 20260106

#: Below this many groups, intervals that resample or sum over groups are known to be too narrow.
FEW_GROUPS = 10


def require_columns(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise ColumnError unless every name is exactly one column of the frame."""
    if not isinstance(frame, pd.DataFrame):
        raise ColumnError(
            f"The data must be a pandas DataFrame; found {type(frame).__name__}.",
            "Convert it first: pd.DataFrame(...), or .to_pandas() for an Arrow table.",
        )
    present = [str(column) for column in frame.columns]
    for name in names:
        if name not in present:
            raise ColumnError(_absence(name, present), f"The frame has: {', '.join(present)}.")
        if present.count(name) > 1:
            raise ColumnError(
                f"Column {name!r} must occur once; it occurs {present.count(name)} times.",
                "Rename or drop the duplicates.",
            )


def numbers(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column as float64, shape (rows,).

    Raises
    ------
    ColumnError
        If the column is absent, holds anything but numbers or truth values, or any of its
        values is missing, infinite or beyond 1e75 in size.
    """
    require_columns(frame, [name])
    column = frame[name]
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
        raise ColumnError(
            f"Column {name!r} must hold numbers; it holds {column.dtype}.",
            "Convert it first, or use it as a label where the method takes labels.",
        )
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    unusable = int((~np.isfinite(values)).sum())
    if unusable:
        raise ColumnError(
            f"Column {name!r} must hold finite numbers; rows that do not: "
            f"{unusable} of {len(values)}.",
            f"Decide what they mean, then drop them: frame[np.isfinite(frame[{name!r}])].",
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise ColumnError(
            f"Column {name!r} must hold numbers up to {LARGEST:g}, whose powers can be added up; "
            f"it holds one of size {largest:g}.",
            "Change the unit, or take logarithms.",
        )
    return values


def labels(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of labels, none missing.

    Raises
    ------
    ColumnError
        If the column is absent or a value is missing.
    """
    require_columns(frame, [name])
    column = frame[name]
    missing = int(column.isna().sum())
    if missing:
        raise ColumnError(
            f"Column {name!r} must name a level in every row; rows without: "
            f"{missing} of {len(column)}.",
            f"Drop them first: frame.dropna(subset=[{name!r}]).",
        )
    return column


def level_codes(frame: pd.DataFrame, name: str) -> tuple[Integers, pd.Index]:
    """Return codes 0..k-1 per row and the k levels present: category order, else sorted."""
    column = labels(frame, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return np.asarray(column.cat.codes, dtype=np.intp), column.cat.categories
    codes, levels = pd.factorize(column, sort=True)
    return np.asarray(codes, dtype=np.intp), pd.Index(levels)


def group_codes(frame: pd.DataFrame, name: str | None) -> Integers:
    """Return the group of every row as codes 0..G-1; without a name, every row is its own.

    Raises
    ------
    DesignError
        If there are fewer than two groups.
    """
    codes = np.arange(len(frame)) if name is None else level_codes(frame, name)[0]
    n_groups = int(codes.max(initial=-1)) + 1
    if n_groups < 2:
        what = "rows" if name is None else f"levels of {name!r}"
        raise DesignError(
            f"At least two {what} are needed; found {n_groups}.",
            "Uncertainty between groups cannot be seen from one group.",
        )
    return codes


def rows_by_group(groups: Integers) -> list[Integers]:
    """Return the row positions of every group 0..G-1, each ascending."""
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))[:-1]
    return [np.asarray(rows, dtype=np.intp) for rows in np.split(order, ends)]


def require_rows(frame: pd.DataFrame, at_least: int, purpose: str) -> None:
    """Raise DesignError unless the frame has enough rows for the purpose."""
    if len(frame) < at_least:
        raise DesignError(
            f"{purpose} needs at least {at_least} rows; found {len(frame)}.",
            "Check the filter that made the frame.",
        )


def require_variation(values: Floats, name: str) -> None:
    """Raise DesignError unless a column takes more than one value."""
    if len(values) == 0:
        raise DesignError(
            f"Column {name!r} must vary; the frame has no rows.",
            "Check the filter that made the frame.",
        )
    if np.ptp(values) < LEAST_SPREAD:
        raise DesignError(
            f"Column {name!r} must vary; all {len(values)} rows hold {float(values[0])!r}.",
            "A constant explains nothing and correlates with nothing.",
        )


def require_option(argument: str, value: str, allowed: Sequence[str]) -> None:
    """Raise AnalysisError unless an option is one of those allowed."""
    if value not in allowed:
        alike = get_close_matches(str(value), allowed, n=1)
        raise AnalysisError(
            f"`{argument}` must be one of {', '.join(map(repr, allowed))}; found {value!r}.",
            f"Did you mean {alike[0]!r}?" if alike else "Write one of those.",
        )


def require_flags(**flags: object) -> None:
    """Raise AnalysisError unless every argument that says yes or no is True or False."""
    for argument, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise AnalysisError(
                f"`{argument}` must be True or False; found {value!r}.",
                "Text is not read as yes or no: 'no' would count as yes.",
            )


def require_count(argument: str, value: int) -> None:
    """Raise AnalysisError unless a number of draws or units is whole and at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise AnalysisError(
            f"`{argument}` must be a whole number of at least 1; found {value!r}.",
            "Count in whole numbers; of draws, a p-value or an interval takes some thousand.",
        )


def generator(rng: object, why: str) -> np.random.Generator:
    """Return the source of draws: the one given, else one of the seed `SEED`.

    Parameters
    ----------
    rng
        What was given for it.
    why
        What it is for, as a sentence goes on: "responses are drawn".

    Raises
    ------
    AnalysisError
        If it is neither None nor a generator: a seed alone would be one more way to draw.
    """
    if rng is None:
        return np.random.default_rng(SEED)
    if isinstance(rng, np.random.Generator):
        return rng
    raise AnalysisError(
        f"`rng` must be a numpy.random.Generator or left out: {why}; found {rng!r}.",
        "Pass rng=np.random.default_rng(seed).",
    )


def seed_of(rng: np.random.Generator) -> str:
    """Return the seed that a generator was made from, as text; empty where it has none.

    It tells how to draw the same again if nothing was drawn from the generator before.
    """
    sequence = rng.bit_generator.seed_seq
    if not isinstance(sequence, np.random.SeedSequence) or sequence.spawn_key:
        return ""
    return str(sequence.entropy)


def require_conf_level(conf_level: float) -> None:
    """Raise AnalysisError unless the level lies strictly between 0 and 1."""
    level: object = conf_level
    if not isinstance(level, Real) or not 0 < conf_level < 1:
        raise AnalysisError(
            f"`conf_level` must lie between 0 and 1; found {conf_level!r}.",
            "Ninety-five percent is 0.95.",
        )


def nearest(name: str, choices: Sequence[str]) -> str:
    """Return the choice that looks most like the name, first one that differs in case alone.

    >>> nearest("X", ["y", "x"])
    'x'
    """
    same = [choice for choice in choices if choice.lower() == str(name).lower()]
    return same[0] if same else get_close_matches(str(name), choices, n=1, cutoff=0.0)[0]


def _absence(name: str, present: Sequence[str]) -> str:
    if not present:
        return f"The frame must have a column {name!r}; it has no columns."
    return f"The frame must have a column {name!r}; the nearest is {nearest(name, present)!r}."

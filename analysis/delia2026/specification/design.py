"""Rows of one specification: which units enter, with which outcome, in which group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.delia2026.specification import choices as specification_choices
from analysis.delia2026.specification.choices import COVARIATES, GROUPS, SIZE
from analysis.delia2026.specification.fit import mean_per_suite, sums_per_suite
from analysis.tidy.frame import Floats, Integers, level_codes

NO_MODEL = "no model has this gain in these figures"
NO_OUTCOME = "no model has this outcome"
ONE_GROUP = "one of the two groups has no model"
NO_COVARIATE = "a model's size is unknown"


@dataclass(frozen=True, slots=True)
class Suites:
    """All suites that any specification may use, S of them.

    ``names`` has length S; ``groups`` the group under each way to group, 1, 0 or NaN for neither,
    shape (S, m); ``labs`` the code of the lab, shape (S,).
    """

    names: pd.Index
    groups: Floats
    labs: Integers


@dataclass(frozen=True, slots=True)
class Selection:
    """Models that a gain, a rule about figures and a set of models leave, n of them.

    ``places`` are those of each model's suite among all suites, ``covariates`` have shape (n, c),
    and ``outcomes`` by name shape (n,), missing where undecided.
    """

    model_ids: NDArray[np.object_]
    places: Integers
    covariates: Floats
    outcomes: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Design:
    """Rows of one selection of models, outcome, unit and way to group, summed per suite.

    ``sums`` are those of the suites at ``positions`` (ascending, shape (s,)), also of those in
    neither group, which ``is_labelled`` tells. ``by_lab``: a lab is one row. ``is_sign``: the
    outcome is a sign, 1 or 0, or a share of signs. ``key`` is equal for designs with the same rows
    in the same units and groups; ``counts`` has `n_models`, `n_suites` and `n_labs`.
    """

    sums: Floats
    positions: Integers
    is_labelled: NDArray[np.bool_]
    way: int
    by_lab: bool
    is_sign: bool
    key: Hashable
    counts: Mapping[str, int]


def suites(figures: pd.DataFrame) -> Suites:
    """Return the suites of some figures, in alphabetical order, with their groups."""
    table = figures[["suite", "lab"]].drop_duplicates("suite").sort_values("suite")
    groups = [specification_choices.group(table["lab"], table["suite"], name) for name in GROUPS]
    columns = [way.to_numpy(dtype=np.float64) for way in groups]
    return Suites(pd.Index(table["suite"]), np.column_stack(columns), level_codes(table, "lab")[0])


def selection(models: pd.DataFrame, suites: Suites, outcomes: Sequence[str]) -> Selection:
    """Return the models of one selection as arrays, with every outcome asked for."""
    values: dict[str, Floats] = {
        name: np.asarray(specification_choices.outcome(models, name), dtype=np.float64)
        for name in outcomes
    }
    return Selection(
        models["model_id"].to_numpy(dtype=object),
        np.asarray(suites.names.get_indexer(pd.Index(models["suite"])), dtype=np.intp),
        models[list(COVARIATES)].to_numpy(dtype=np.float64),
        values,
    )


def design(
    selected: Selection, suites: Suites, *, outcome: str, unit: str, way: int
) -> Design | str:
    """Return the rows of one specification but for its estimator, or why there are none."""
    if not len(selected.places):
        return NO_MODEL
    value = selected.outcomes[outcome]
    remaining = np.isfinite(value)
    if not remaining.any():
        return NO_OUTCOME
    place = selected.places[remaining]
    group = suites.groups[place, way]
    if not ((group == 1).any() and (group == 0).any()):
        return ONE_GROUP
    covariates = selected.covariates[remaining]
    if not np.isfinite(covariates).all():
        return NO_COVARIATE
    positions, local = np.unique(place, return_inverse=True)
    rows = np.column_stack([np.ones(len(place)), covariates, value[remaining]])
    sums = sums_per_suite(rows, local, len(positions))
    is_in = np.isfinite(group)
    labs = suites.labs[place]
    units = {"suite": place, "lab": 2 * labs + np.nan_to_num(group)}
    return Design(
        mean_per_suite(sums) if unit == "suite" else sums,
        positions,
        np.isfinite(suites.groups[positions, way]),
        way,
        unit == "lab",
        outcome != SIZE,
        (
            tuple(selected.model_ids[remaining][is_in]),
            np.column_stack([value[remaining], group])[is_in].tobytes(),
            _partition(units.get(unit, np.arange(len(place)))[is_in]),
        ),
        {
            "n_models": int(is_in.sum()),
            "n_suites": len(np.unique(place[is_in])),
            "n_labs": len(np.unique(labs[is_in])),
        },
    )


def _partition(units: NDArray[Any]) -> bytes:
    """Return which rows share a unit, the same whatever the units are called."""
    _, first, place = np.unique(units, return_index=True, return_inverse=True)
    return first[place].tobytes()

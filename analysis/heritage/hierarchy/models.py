"""The family of mixed models that one data set is fitted with, by what its rows can carry.

Members differ in the predictors of the fixed part; the random intercepts stay. Predictors are
standardised over models, so that coefficients of different quantities can be read side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.heritage.hierarchy.frames import DataSet
from analysis.heritage.sign.exchange import NAMED_LAB, OTHER
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import Integers

#: Predictors of every block.
BLOCKS: dict[str, tuple[str, ...]] = {
    "heritage": ("heritage",),
    "geometry": ("rho", "d_head", "n_layers"),
    "scale": ("log_parameters",),
}

NOTHING = "none"
GEOMETRY_AND_SCALE = "geometry + scale"
EVERYTHING = "heritage + geometry + scale"

#: Members of the family, by the blocks in their fixed part.
FAMILY = (NOTHING, "heritage", "geometry", "scale", GEOMETRY_AND_SCALE, EVERYTHING)

#: Factors that members need beside their groups.
UNITS = ("lab", "suite", "heritage")

#: Models that must be left when every coefficient has taken one.
SPARE_MODELS = 4


@dataclass(frozen=True, slots=True)
class Specification:
    """What the rows of a data set can carry.

    Attributes
    ----------
    predictors
        By block, the predictors that vary between models.
    groups
        Grouping factors that can be told from each other and from the residual.
    covariates
        Columns in every fit.
    centres, deviations
        Mean and standard deviation over models by numeric predictor [its unit].
    notes
        What was left out, and why.
    """

    predictors: Mapping[str, tuple[str, ...]]
    groups: tuple[str, ...]
    covariates: tuple[str, ...]
    centres: Mapping[str, float]
    deviations: Mapping[str, float]
    notes: tuple[str, ...]

    def terms(self, block: str) -> tuple[str, ...]:
        """Return the predictors of a member of the family."""
        blocks = () if block == NOTHING else tuple(block.split(" + "))
        return tuple(name for each in blocks for name in self.predictors[each])


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the family, fitted or refused.

    Attributes
    ----------
    block
        Blocks in the fixed part, joined by +.
    model
        The fit; None when it cannot be estimated.
    reason
        Why it cannot; empty for a fit.
    """

    block: str
    model: mixed.MixedModel | None
    reason: str


@dataclass(frozen=True, slots=True)
class Family:
    """A data set with its fitted family.

    Attributes
    ----------
    data_set
        The rows.
    specification
        What they can carry.
    members
        By blocks of the fixed part.
    """

    data_set: DataSet
    specification: Specification
    members: Mapping[str, Member]


def fit_family(data_set: DataSet) -> Family:
    """Return the fits of all members to one data set, from one pass over its rows."""
    specification = specify(data_set)
    try:
        statistics = collect(data_set, specification)
    except AnalysisError as error:
        refused = {block: Member(block, None, error.problem) for block in FAMILY}
        return Family(data_set, specification, refused)
    n_models = data_set.rows["model_id"].nunique()
    members = {block: _member(block, specification, statistics, n_models) for block in FAMILY}
    return Family(data_set, specification, members)


def specify(data_set: DataSet) -> Specification:
    """Return what the rows of a data set can carry, with a note for all they cannot."""
    models = data_set.rows.drop_duplicates("model_id")
    constant = [name for names in BLOCKS.values() for name in names if models[name].nunique() < 2]
    groups, notes = _groups(data_set)
    if constant:
        notes.append(f"Constant over these models and left out: {', '.join(constant)}.")
    numeric = [name for names in BLOCKS.values() for name in names if name != "heritage"]
    return Specification(
        predictors={
            block: tuple(name for name in names if name not in constant)
            for block, names in BLOCKS.items()
        },
        groups=groups,
        covariates=data_set.covariates,
        centres={name: float(models[name].mean()) for name in numeric},
        deviations={name: float(models[name].std()) for name in numeric},
        notes=(data_set.note, *notes),
    )


def formula(specification: Specification, block: str, groups: Sequence[str]) -> str:
    """Return a member's formula.

    Parameters
    ----------
    specification
        What the rows can carry.
    block
        Blocks in the fixed part.
    groups
        Grouping factors of the random intercepts.
    """
    fixed = " + ".join(["1", *specification.terms(block), *specification.covariates])
    return " + ".join([f"log_gain ~ {fixed}", *(f"(1 | {group})" for group in groups)])


def collect(data_set: DataSet, specification: Specification) -> Statistics:
    """Return the sums that every member of the family is fitted from.

    Parameters
    ----------
    data_set
        The rows.
    specification
        What they can carry.

    Raises
    ------
    DesignError
        If no grouping factor can be told from the residual.
    """
    if not specification.groups:
        raise DesignError(
            "A hierarchy must have a group with several levels and fewer of them than rows; "
            f"{data_set.name} has none.",
            "Widen the selection.",
        )
    return mixed.collect_statistics(
        formula(specification, EVERYTHING, specification.groups),
        standardised(data_set.rows, specification),
        weights=data_set.weights,
        units=UNITS,
    )


def standardised(rows: pd.DataFrame, specification: Specification) -> pd.DataFrame:
    """Return the rows with every numeric predictor in standard deviations over models."""
    names = [name for names in specification.predictors.values() for name in names]
    scaled = {
        name: (rows[name] - specification.centres[name]) / specification.deviations[name]
        for name in names
        if name != "heritage"
    }
    return rows.assign(**scaled)


def fit_member(
    specification: Specification, block: str, statistics: Statistics, n_models: int
) -> mixed.MixedModel:
    """Return one member's fit by restricted maximum likelihood.

    A group that divides the rows just as heritage does is left out beside it.

    Raises
    ------
    DesignError
        If too few models are left for the coefficients, or the engine refuses.
    """
    require_models(specification, block, n_models)
    terms = specification.terms(block)
    codes = {name: factor.codes for name, factor in statistics.factors.items()}
    groups = [
        group
        for group in specification.groups
        if "heritage" not in terms or not _is_same(codes.get(group), codes["heritage"])
    ]
    has_reference = "heritage" in terms and NAMED_LAB in statistics.factors["heritage"].levels
    return mixed.fit_statistics(
        formula(specification, block, groups),
        statistics,
        contrasts={"heritage": OTHER} if has_reference else None,
    )


def require_models(specification: Specification, block: str, n_models: int) -> None:
    """Raise DesignError unless enough models are left when every coefficient has taken one."""
    n_coefficients = 1 + len(specification.terms(block))
    spare = n_models - n_coefficients
    if spare < SPARE_MODELS:
        raise DesignError(
            f"{n_coefficients} coefficients need {n_coefficients + SPARE_MODELS} models, so that "
            f"{SPARE_MODELS} are left for the variance between them; found {n_models}.",
            "Take fewer predictors.",
        )


def _member(
    block: str, specification: Specification, statistics: Statistics, n_models: int
) -> Member:
    if block != NOTHING and not specification.terms(block):
        return Member(block, None, f"No predictor of {block} varies between these models.")
    try:
        return Member(block, fit_member(specification, block, statistics, n_models), "")
    except AnalysisError as error:
        return Member(block, None, error.problem)


def _groups(data_set: DataSet) -> tuple[tuple[str, ...], list[str]]:
    """Return the groups that can be told apart, and a note for each that cannot."""
    by_name: dict[str, Integers] = {}
    notes = []
    for group in data_set.groups:
        codes = _codes(data_set.rows, group)
        n_levels = int(codes.max()) + 1
        twin = next((name for name, other in by_name.items() if _is_same(other, codes)), None)
        if n_levels < 2:
            notes.append(f"One {group} only: no variance among them.")
        elif n_levels == len(codes):
            notes.append(f"One row per {group}: its variance is part of the residual's.")
        elif twin is not None:
            notes.append(f"Every {twin} has one {group}: {twin} stands for both.")
        else:
            by_name[group] = codes
    return tuple(by_name), notes


def _codes(rows: pd.DataFrame, group: str) -> Integers:
    """Return the level of every row in a group such as ``model_id:layer``."""
    result = rows.groupby(group.split(":"), sort=False).ngroup()
    return np.asarray(result, dtype=np.intp)


def _is_same(one: Integers | None, other: Integers) -> bool:
    """Tell whether two factors divide the rows alike, whatever their levels are called."""
    if one is None:
        return False
    n_pairs = len(np.unique(np.column_stack([one, other]), axis=0))
    return bool(n_pairs == len(np.unique(one)) == len(np.unique(other)))

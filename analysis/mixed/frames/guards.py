"""What a reader must know before using a mixed model's numbers, as rows of a frame.

Barr, Levy, Scheepers and Tily (2013), Journal of Memory and Language 68, 255, simulate the
false-positive rates behind these guards; `tests/benchmarks/mixed_size.py` does for designs of ours.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Block, Column, is_factor
from analysis.mixed.algebra.optimise import NEAR_ZERO, natural_scale
from analysis.mixed.algebra.rank import SPANNED
from analysis.mixed.inference.fitted import Fitted, Specification
from analysis.mixed.reading.formula import terms
from analysis.mixed.reading.plan import factor_column
from analysis.mixed.reading.source import Source
from analysis.mixed.reading.statistics import Factor
from analysis.tidy import glossary
from analysis.tidy.frame import Integers

#: With fewer groups than this a normal reference is too thin-tailed for a term that they carry.
ENOUGH_FOR_Z = 50

#: With fewer groups than this a variance among them is hardly known.
ENOUGH_GROUPS = 5

#: A relative standard deviation beyond this leaves no residual.
NEARLY_SATURATED = 1e3
#: Stands in the note on a fit that leaves none.
TOO_CLOSE = "the effects fit nearly every row"

#: What a linear mixed model offers instead of a z test.
REMEDY = "read Kenward-Roger's or Satterthwaite's t."

#: What is warned of, and the term, the group and the sentence it is about.
GuardRow = tuple[str, str, str, str]


def warnings(model: Fitted, df: str) -> pd.DataFrame:
    """Return one row per guard that speaks: `guard`, `term`, `group`, `note`."""
    return frame_of(
        [
            *row_guards(model.source),
            *column_guards(model),
            *group_guards(model),
            *_boundary(model),
            *_not_converged(model),
            *response_guards(model),
            *term_guards(model, df),
        ]
    )


def frame_of(rows: list[GuardRow]) -> pd.DataFrame:
    """Return warnings as rows of a frame."""
    return glossary.table(rows, columns=["guard", "term", "group", "note"])


def term_guards(model: Specification, df: str, remedy: str = REMEDY) -> list[GuardRow]:
    """Return what the design says against the tests of single terms."""
    uncovered = _factors_without_intercept(model)
    rows: list[GuardRow] = []
    for column in model.design.fixed:
        if column.name != "Intercept":
            rows += _term_guards(model, column, df, remedy)
            rows += _missing_intercepts(column, uncovered)
    return rows


def unit_of(model: Specification, column: Column) -> Block | None:
    """Return the group with fewest levels within which a column is constant, if any.

    Its levels are the independent units that the column's estimate compares.
    """
    for block in sorted(model.design.blocks, key=lambda block: len(block.levels)):
        if is_constant_within(column, block.codes, len(block.levels)):
            return block
    return None


def carrier_of(model: Specification, column: Column) -> Block | None:
    """Return the group whose levels a column's estimate averages over.

    The group within which it is constant, else the one with fewest levels among which its
    slope varies; None when rows carry it.
    """
    name = _parts(column.name)
    sloped = [
        block
        for block in model.design.blocks
        if name in [_parts(each.name) for each in block.columns]
    ]
    return unit_of(model, column) or min(sloped, key=lambda it: len(it.levels), default=None)


def is_constant_within(column: Column, codes: Integers, n_levels: int) -> bool:
    """Tell whether a design column takes one value in every level of a factor."""
    if column.basis:
        return False
    low = np.full(n_levels, np.inf)
    high = np.full(n_levels, -np.inf)
    np.minimum.at(low, codes, column.coefficient)
    np.maximum.at(high, codes, column.coefficient)
    return bool((high <= low).all())


def is_in_fixed(model: Specification, name: str) -> bool:
    """Tell whether a column is a factor of the fixed part."""
    codes = [factor.code for term in terms(model.formula.fixed) for factor in term.factors]
    return any(is_factor(code, model.statistics) and factor_column(code) == name for code in codes)


def _term_guards(model: Specification, column: Column, df: str, remedy: str) -> list[GuardRow]:
    """Return what is against a term's test."""
    rows = []
    unit, carrier = unit_of(model, column), carrier_of(model, column)
    if unit is not None:
        note = (
            f"{column.name} is constant within {unit.group}: its estimate compares "
            f"{len(unit.levels)} levels and supposes that they are exchangeable but for the "
            "predictors."
        )
        rows.append(("confounded with a group", column.name, unit.group, note))
    if df == "wald" and carrier is not None and len(carrier.levels) < ENOUGH_FOR_Z:
        note = (
            f"A z test of a term carried by {len(carrier.levels)} levels of {carrier.group} "
            f"rejects too often: {remedy}"
        )
        rows.append(("few groups for a z test", column.name, carrier.group, note))
    if carrier is None:
        group = model.design.blocks[-1].group
        note = (
            f"{column.name} varies within every group and has no random slope: its standard "
            "error supposes that its effect is the same in all of them."
        )
        rows.append(("no random slope", column.name, group, note))
    return rows


def _factors_without_intercept(model: Specification) -> dict[str, Factor]:
    """Return the factors that are neither in the fixed part nor have a random intercept.

    Levels of one row each are no groups: the residual is their deviation.
    """
    covering = [block.codes for block in model.design.blocks if _has_intercept(block)]
    return {
        name: factor
        for name, factor in model.statistics.factors.items()
        if len(factor.levels) < model.statistics.n_obs
        and not is_in_fixed(model, name)
        and not any(_same_groups(codes, factor.codes) for codes in covering)
    }


def _missing_intercepts(column: Column, uncovered: dict[str, Factor]) -> list[GuardRow]:
    """Return a warning for every factor without intercept within which a term is constant."""
    return [
        (
            "no random intercept",
            column.name,
            name,
            f"{column.name} is constant within {name}, and the model has no (1 | {name}): "
            f"rows of one {name} are taken as independent.",
        )
        for name, factor in uncovered.items()
        if is_constant_within(column, factor.codes, len(factor.levels))
    ]


def _same_groups(one: Integers, other: Integers) -> bool:
    """Tell whether two factors divide the cells alike, whatever their levels are called."""
    n_one, n_other = int(one.max()) + 1, int(other.max()) + 1
    return n_one == n_other == len(np.unique(one * n_other + other))


def _has_intercept(block: Block) -> bool:
    """Tell whether a group has an intercept, alone or as the sum of a factor's dummies."""
    plain = [column.coefficient for column in block.columns if column.basis == 0]
    return bool(plain) and bool(np.all(np.sum(plain, axis=0) == 1))


def _parts(name: str) -> set[str]:
    """Return the parts of an interaction, dummies named alike in reduced and in full rank."""
    return set(name.replace("[T.", "[").split(":"))


def group_guards(model: Specification) -> list[GuardRow]:
    """Return a warning for every group with too few levels, and for two that the rows make one."""
    few = [
        (
            "fewer than five groups",
            "",
            block.group,
            f"{block.group} has {len(block.levels)} levels: the variance among them is hardly "
            "known.",
        )
        for block in model.design.blocks
        if len(block.levels) < ENOUGH_GROUPS
    ]
    return [*few, *_alike(model)]


def _alike(model: Specification) -> list[GuardRow]:
    """Return a warning for every two groups whose variances are of the same effects."""
    rows = []
    for block, other in itertools.combinations(model.design.blocks, 2):
        names = {column.name for column in block.columns}
        shared = [column.name for column in other.columns if column.name in names]
        if shared and _same_groups(block.codes, other.codes):
            note = (
                f"{block.group} and {other.group} divide the rows alike: the variances of "
                f"{' and '.join(shared)} among them cannot be told apart, only their sum is known."
            )
            rows.append(("groups alike", "", other.group, note))
    return rows


def row_guards(source: Source | None) -> list[GuardRow]:
    """Return a warning that counts the rows left out of the fit, if any are."""
    note = source.note if source else ""
    return [("rows dropped", "", "", note)] if note else []


def column_guards(model: Specification) -> list[GuardRow]:
    """Return a warning that names the columns left out of the fit, if any are."""
    if not (names := model.design.left_out.names):
        return []
    note = f"Left out, as {SPANNED}: {', '.join(names)}."
    return [("columns left out", "", "", note)]


def _boundary(model: Fitted) -> list[GuardRow]:
    rows = []
    at = model.solution.theta * natural_scale(model.cross)
    places = [
        (block, row, column) for block in model.design.blocks for row, column in block.positions
    ]
    for value, (block, row, column) in zip(at, places, strict=True):
        if row == column and value < NEAR_ZERO:
            name = block.columns[row].name
            tied = any(r == row and c < row for r, c in block.positions)
            what = "is zero or tied to the others" if tied else "is zero"
            note = f"The variance of {name} among {block.group} {what}: the fit is singular."
            rows.append(("variance at the boundary", "", block.group, note))
    largest = int(np.argmax(at))
    if at[largest] > NEARLY_SATURATED:
        group = places[largest][0].group
        note = (
            f"The residual variance is nothing beside that among {group}: {TOO_CLOSE}, and no "
            "test of them can be trusted."
        )
        rows.append(("variance at the boundary", "", group, note))
    return rows


def _not_converged(model: Fitted) -> list[GuardRow]:
    if model.optimum.converged:
        return []
    note = (
        f"The search stopped where one more step would lower the deviance by "
        f"{model.optimum.decrement:.1e}: do not trust the last digits."
    )
    return [("not converged", "", "", note)]


def response_guards(model: Specification) -> list[GuardRow]:
    """Return a warning for every column of definitions that mixes several in one response."""
    return [
        (
            "mixed definitions",
            "",
            name,
            f"The response mixes {n_definitions} definitions (column {name!r}): its rows are not "
            "comparable.",
        )
        for name, n_definitions in model.definitions.items()
        if n_definitions > 1
    ]

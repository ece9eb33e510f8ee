"""Specification curve: one question under every defensible choice, and what all say together.

Simonsohn, Simmons and Nelson (2020), Nature Human Behaviour 4, 1208. Specifications share their
data and are no independent evidence, so what they say together is compared with what they say when
the null hypothesis is imposed on the data. `specr` does so in R; scipy, statsmodels and pingouin
have no such test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.inference.resampling.permutation import RELATIVE_TIE
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from analysis.tidy.frame import (
    Floats,
    generator,
    group_codes,
    require_columns,
    require_count,
    require_option,
    rows_by_group,
    seed_of,
)
from analysis.tidy.progress import progress

#: Points of the curve at which the null distribution is kept, from the lowest estimate up.
CURVE_POINTS = np.linspace(0, 1, 201)

#: Level at which a specification counts as significant.
ALPHA = 0.05

Choices = Mapping[str, Mapping[str, Any] | Sequence[Any]]
Fit = Callable[..., pd.DataFrame | pd.Series | Mapping[str, Any]]
Imposed = Callable[[float], pd.DataFrame]
Null = Callable[[pd.DataFrame, np.random.Generator], "pd.DataFrame | Imposed"]


@dataclass(frozen=True, slots=True)
class Curve:
    """Every specification, and what they say together."""

    specifications: pd.DataFrame  #: One row per specification; see `specification_curve`.
    #: One row per statistic: `term`, `estimate`, `null_value` (mean over draws), `p_value`
    #: (one-sided, towards the claim), `smallest_p`, `alternative`, `n_permutations`, `n_obs`
    #: (specifications), `seed`.
    joint: pd.DataFrame
    #: One row per point of the curve, from the lowest estimate up: `quantile`, `estimate`, and what
    #: the null hypothesis gives there: `null_value` (median), `null_low` and `null_high` (95 %).
    null: pd.DataFrame


def specification_curve(
    frame: pd.DataFrame,
    choices: Choices,
    fit: Fit,
    *,
    null: Null,
    alternative: str = "greater",
    n_permutations: int = 499,
    rng: np.random.Generator | None = None,
) -> Curve:
    """Return the estimate of every combination of choices, and their joint test.

    Parameters
    ----------
    frame
        The rows.
    choices
        By name, the options: a mapping of their names, or a sequence of options that are names
        themselves. An option that can be called takes the frame and returns another, such as a
        filter; every other one is handed to `fit` under the choice's name, such as a formula.
    fit
        Takes a frame and options by name, returns one tidy row: `estimate`, and what else there is,
        such as `p_value`. It may fail by `AnalysisError`: the row then has its reason.
    null
        Takes the frame and a source of draws, returns the frame with the null hypothesis imposed,
        such as `exchange` of labels; or a function that does so from a specification's own
        estimate, such as `impose_null`.
    alternative
        What is claimed of the estimate: ``greater`` or ``less`` than zero.
    n_permutations
        Draws under the null hypothesis.
    rng
        Source of the draws; a generator with the seed `analysis.tidy.frame.SEED` when None.

    Returns
    -------
    `Curve`. Its `specifications` have `specification` (the number), the choices, the columns of the
    fit, `as_claimed` and `reason`. The joint test is of the median estimate, the share with the
    claimed sign, and, where the fit gives a p-value, the share significant at .05 as claimed.

    Raises
    ------
    ColumnError
        If the fit gives no `estimate`, more than one row, or a column named like a choice.
    DesignError
        If no specification can be estimated, or there is no choice.

    Examples
    --------
    >>> import thermoscope as ts
    >>> from statsmodels.datasets import grunfeld
    >>> rows = grunfeld.load_pandas().data
    >>> choices = {
    ...     "years": {"all": lambda d: d, "late": lambda d: d[d["year"] > 1945]},
    ...     "formula": ["invest ~ value", "invest ~ value + capital"],
    ... }
    >>> def slope(frame, formula):
    ...     return ts.least_squares(frame, formula).tidy().query("term == 'value'")
    >>> how = {"null": ts.exchange("value"), "n_permutations": 19}
    >>> curve = ts.specification_curve(rows, choices, slope, **how)
    >>> curve.specifications["estimate"].round(3).tolist()
    [0.141, 0.115, 0.184, 0.159]
    >>> curve.joint["p_value"].tolist()
    [0.05, 0.25, 0.05]
    """
    require_option("alternative", alternative, ("greater", "less"))
    require_count("n_permutations", n_permutations)
    rng = generator(rng, "the null hypothesis is drawn")
    options = _options(choices)
    combined = list(product(*(each.items() for each in options.values())))
    rows = [_row(frame, options, chosen, fit) for chosen in combined]
    table = _specifications(options, combined, rows, alternative)
    if not table["estimate"].notna().any():
        raise DesignError(
            f"At least one specification must be estimable; none is: {table['reason'].iloc[0]}",
            "Look at the filters and at the fit.",
        )
    found = [table[["estimate", "p_value"]] if "p_value" in table else table[["estimate"]]]
    for _ in progress(range(n_permutations), "specification curve"):
        moved = null(frame, rng)
        imposed = moved if callable(moved) else lambda _, moved=moved: moved
        drawn = pd.DataFrame(
            [
                _row(imposed(row["estimate"]), options, chosen, fit)
                for chosen, row in zip(combined, rows, strict=True)
            ]
        )
        found.append(drawn.reindex(columns=found[0].columns))
    estimates = np.array([each["estimate"] for each in found], dtype=np.float64).T
    estimates *= 1 if alternative == "greater" else -1
    significant = np.zeros(estimates.shape, dtype=bool)
    if "p_value" in table:
        p_values = np.array([each["p_value"] for each in found], dtype=np.float64).T
        significant = (p_values < ALPHA) & (estimates > 0)
    joint = pd.DataFrame(joint_rows(estimates, significant))
    if "p_value" not in table:
        joint = joint.iloc[:2]
    curve = null_curve(estimates)
    if alternative == "less":
        joint.loc[0, ["estimate", "null_value"]] *= -1
        ends = -curve[["estimate", "null_value", "null_high", "null_low"]].to_numpy()[::-1]
        curve[["estimate", "null_value", "null_low", "null_high"]] = ends
    joint = joint.assign(alternative=alternative, seed=seed_of(rng))
    glossary.checked(joint.columns)
    return Curve(table, joint, curve)


def exchange(label: str, unit: str | None = None) -> Null:
    """Return a null hypothesis: a column's values are exchanged between whole units.

    Parameters
    ----------
    label
        Column exchanged, constant within a unit.
    unit
        Column naming the units; None when every row is one.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"lab": [*"aabb"], "suite": [*"uuvv"]})
    >>> exchanged = ts.exchange("lab", "suite")(frame, np.random.default_rng(1))
    >>> sorted(exchanged["lab"])
    ['a', 'a', 'b', 'b']
    """

    def exchanged(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        require_columns(frame, [label])
        codes = group_codes(frame, unit)
        first = [rows[0] for rows in rows_by_group(codes)]
        values = frame[label].iloc[first].reset_index(drop=True)
        if (
            not values.iloc[codes]
            .reset_index(drop=True)
            .equals(frame[label].reset_index(drop=True))
        ):
            raise DesignError(
                f"{label!r} must be constant within every level of {unit!r}; it varies.",
                "Permute it between smaller units.",
            )
        shuffled = values.iloc[rng.permutation(len(values))[codes]]
        return frame.assign(**{label: shuffled.set_axis(frame.index)})

    return exchanged


def impose_null(response: str, term: str, unit: str | None = None) -> Null:
    """Return a null hypothesis: the effect leaves the response, and whole units are drawn again.

    From the response of a specification its own estimate times the predictor is taken; all
    specifications get the same units (Simonsohn and others 2020; specr's `boot_null`). For
    slopes of one numeric predictor on a response that stands as it is, not for ratios of odds.
    Between two groups it wants many units in each: of a single one, drawing again varies nothing,
    and p is too small. There `exchange` is the test.

    Parameters
    ----------
    response, term
        Columns of the response and of the predictor.
    unit
        Column naming the units that are drawn with replacement; None when every row is one.

    Raises
    ------
    ColumnError
        If the frame lacks a column.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import thermoscope as ts
    >>> frame = pd.DataFrame({"x": [0, 1, 2], "y": [1.0, 3.0, 5.0]})
    >>> drawn = ts.impose_null("y", "x")(frame, np.random.default_rng(1))
    >>> drawn(2.0)["y"].tolist()
    [1.0, 1.0, 1.0]
    """

    def resampled(frame: pd.DataFrame, rng: np.random.Generator) -> Imposed:
        columns = [response, term] if unit is None else [response, term, unit]
        require_columns(frame, columns)
        members = rows_by_group(group_codes(frame, unit))
        chosen = np.concatenate(
            [members[it] for it in rng.integers(len(members), size=len(members))]
        )
        rows = frame.iloc[chosen].reset_index(drop=True)

        def without(estimate: float) -> pd.DataFrame:
            return rows.assign(**{response: rows[response] - estimate * rows[term]})

        return without

    return resampled


def _options(choices: Choices) -> dict[str, dict[str, Any]]:
    """Return the options of every choice by name."""
    options = {
        name: dict(each) if isinstance(each, Mapping) else {str(it): it for it in each}
        for name, each in choices.items()
    }
    empty = [name for name, each in options.items() if not each]
    if empty or not options:
        raise DesignError(
            f"Every choice must have an option; {empty or 'there is no choice, and nothing'} has.",
            "Such as {'formula': ['y ~ x', 'y ~ x + z']}.",
        )
    return options


def _row(
    frame: pd.DataFrame, options: Mapping[str, Any], chosen: Sequence[tuple[str, Any]], fit: Fit
) -> dict[str, Any]:
    """Return what the fit says of one combination of options, or why it says nothing."""
    handed = {}
    try:
        for choice, (_, option) in zip(options, chosen, strict=True):
            if callable(option):
                frame = option(frame)
            else:
                handed[choice] = option
        answer = fit(frame, **handed)
    except AnalysisError as error:
        return {"estimate": np.nan, "reason": str(error).partition("\n")[0]}
    if isinstance(answer, pd.DataFrame):
        if len(answer) != 1:
            raise ColumnError(
                f"`fit` must return one row; it returned {len(answer)}.", "Choose one of its terms."
            )
        answer = answer.iloc[0]
    row = {str(name): value for name, value in answer.items()}
    if "estimate" not in row:
        raise ColumnError(
            f"`fit` must return an `estimate`; it returned {list(row)}.", "Give it that name."
        )
    return row | {"reason": ""}


def _specifications(
    options: Mapping[str, Mapping[str, Any]],
    combined: Sequence[Sequence[tuple[str, Any]]],
    rows: Sequence[Mapping[str, Any]],
    alternative: str,
) -> pd.DataFrame:
    names = pd.DataFrame([[name for name, _ in each] for each in combined], columns=list(options))
    found = pd.DataFrame(rows)
    twice = [name for name in names if name in found or name == "specification"]
    if twice:
        raise ColumnError(
            f"A choice must not be named like a column of the fit; {twice} are.", "Rename it."
        )
    estimate = found["estimate"].astype(np.float64)
    claimed = estimate > 0 if alternative == "greater" else estimate < 0
    number = pd.Series(np.arange(1, len(found) + 1), name="specification")
    reason = found.pop("reason")
    return pd.concat([number, names, found], axis=1).assign(
        as_claimed=claimed.astype("boolean").where(estimate.notna()), reason=reason
    )


def joint_rows(null: NDArray[Any], significant: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Return what all specifications say together, with its p under the null hypothesis.

    Parameters
    ----------
    null
        Estimates, positive as claimed, NaN where there is none; the observed ones in the first
        column, shape (specifications, 1 + draws).
    significant
        Whether each is significant as claimed.

    Returns
    -------
    One row per statistic: `term`, `estimate`, `null_value`, `p_value`, `smallest_p`, `alternative`,
    `n_permutations`, `n_obs`.
    """
    rows = []
    estimates, some = _estimable(null)
    n_finite = np.isfinite(estimates).sum(axis=0)
    for term, values in {
        "median estimate": np.nanmedian(estimates, axis=0),
        "share with the claimed sign": (estimates > 0).sum(axis=0) / n_finite,
        "share significant as claimed": significant[:, some].sum(axis=0) / n_finite,
    }.items():
        p_value, smallest_p = one_sided(values)
        rows.append(
            {
                "term": term,
                "estimate": values[0],
                "null_value": values.mean(),
                "p_value": p_value,
                "smallest_p": smallest_p,
                "alternative": "greater",
                "n_permutations": len(values),
                "n_obs": len(null),
            }
        )
    return rows


def one_sided(values: Floats) -> tuple[float, float]:
    """Return the share of draws that reach the first value, and the largest one."""
    tie = RELATIVE_TIE * float(np.ptp(values))
    return float(np.mean(values >= values[0] - tie)), float(np.mean(values >= values.max() - tie))


def _estimable(null: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the draws that leave any specification, and which these are."""
    some = np.isfinite(null).any(axis=0)
    return null[:, some].astype(np.float64), some


def null_curve(null: NDArray[Any]) -> pd.DataFrame:
    """Return the observed curve and the central 95 % of the curves under the null hypothesis."""
    points = np.nanquantile(_estimable(null)[0], CURVE_POINTS, axis=0)
    low, median, high = np.quantile(points, [0.025, 0.5, 0.975], axis=1)
    return glossary.table(
        {
            "quantile": CURVE_POINTS,
            "estimate": points[:, 0],
            "null_value": median,
            "null_low": low,
            "null_high": high,
        }
    )

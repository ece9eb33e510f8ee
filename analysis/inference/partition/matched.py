"""Matched contrasts: models of like geometry from different labs, compared within matches.

Two models match when, for every column named, the larger value over the smaller is at most a
stated ratio: 1 asks for equality. A match is a set of models linked by such pairs. What is left
to differ within a match is the label and everything that goes with it: data, recipe, code.

>>> import pandas as pd
>>> from analysis.inference import matched
>>> models = pd.DataFrame({"model_id": [*"abc"], "lab": [*"uvv"], "depth": [12.0, 13, 30]})
>>> matched.matched_models(models, label="lab", tolerance={"depth": 2.0})["model_id"].tolist()
['a', 'b']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import comb, prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation
from analysis.inference.resampling.permutation import MOST_ENUMERATED, RELATIVE_TIE
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from analysis.tidy.frame import (
    Floats,
    Integers,
    generator,
    labels,
    level_codes,
    numbers,
    require_count,
    rows_by_group,
)

#: A ratio exceeds its limit only by more than this (order of division).
ROUNDING = 1e-12


def matched_models(
    models: pd.DataFrame, *, label: str, tolerance: Mapping[str, float]
) -> pd.DataFrame:
    """Return the models that have a match of another label, with the number of their match.

    Parameters
    ----------
    models
        One row per model.
    label
        Column whose levels are compared, such as the lab.
    tolerance
        Column of positive numbers to the largest ratio allowed between two linked models.

    Returns
    -------
    The rows of matches that hold at least two labels, in the order of `models`, with `match`
    (from 1) and `widest_ratio` (the largest ratio of any column within the match; it can
    exceed the tolerance where models are linked through a third).

    Raises
    ------
    ColumnError
        If a column is absent or unusable.
    AnalysisError
        If a tolerance is below 1, or a value is not positive.
    DesignError
        If no model has a match.
    """
    linked, close = _links(models, tolerance)
    found = connected_components(csr_array(close.astype(np.int8)), directed=False)[1]
    sets = np.asarray(found, dtype=np.intp)
    codes = level_codes(models, label)[0]
    kept = [rows for rows in rows_by_group(sets) if len(set(codes[rows])) > 1]
    if not kept:
        raise DesignError(
            f"At least two models of different {label!r} must match within {dict(tolerance)}; "
            "none do.",
            "Widen a tolerance, or match on fewer columns.",
        )
    parts = [
        models.take(rows).assign(
            match=number,
            widest_ratio=float(np.exp(linked[:, rows][:, :, rows].max())),
        )
        for number, rows in enumerate(sorted(kept, key=lambda rows: int(rows[0])), start=1)
    ]
    return pd.concat(parts)


def matched_pairs(
    models: pd.DataFrame,
    *,
    label: str,
    response: str,
    tolerance: Mapping[str, float],
    name: str = "model_id",
) -> pd.DataFrame:
    """Return every pair of models of different labels that match directly.

    Parameters
    ----------
    models, label, tolerance
        As in `matched_models`.
    response
        Column of logarithms of gain, whose sign is compared.
    name
        Column that names a model.

    Returns
    -------
    One row per pair: `first`, `second` (names), `contrast` (their labels), `estimate` (first
    minus second, in units of `response`), `opposite` (whether one response is below zero and
    the other not), `widest_ratio`, `n_obs`.

    Raises
    ------
    ColumnError, AnalysisError
        As in `matched_models`.
    """
    linked, close = _links(models, tolerance)
    of, values = labels(models, label).to_numpy(), numbers(models, response)
    names = labels(models, name).to_numpy()
    rows = [
        {
            "first": names[i],
            "second": names[j],
            "contrast": f"{of[i]} - {of[j]}",
            "estimate": values[i] - values[j],
            "opposite": bool((values[i] < 0) != (values[j] < 0)),
            "widest_ratio": float(np.exp(linked[:, i, j].max())),
        }
        for i, j in combinations(range(len(models)), 2)
        if close[i, j] and of[i] != of[j]
    ]
    columns = ["first", "second", "contrast", "estimate", "opposite", "widest_ratio"]
    result = pd.DataFrame(rows, columns=columns).assign(n_obs=2, method=_stated(tolerance))
    glossary.checked(result.columns)
    return result


def match_contrasts(
    matched: pd.DataFrame, *, response: str, label: str, first: str
) -> pd.DataFrame:
    """Return the difference of mean response between one label and the others, per match.

    Parameters
    ----------
    matched
        From `matched_models`.
    response, label
        Columns of numbers and of labels.
    first
        The label whose mean comes first.

    Returns
    -------
    One row per match with both sides: `match`, `contrast`, `estimate` [units of the response],
    `n_first`, `n_second`, `n_obs`, `widest_ratio`.

    Raises
    ------
    DesignError
        If no match has both sides.
    """
    values, is_first = numbers(matched, response), _is_first(matched, label, first)
    rows = [
        {
            "match": matched["match"].iloc[int(positions[0])],
            "contrast": f"{first} - other",
            "estimate": values[own].mean() - values[rest].mean(),
            "n_first": len(own),
            "n_second": len(rest),
            "n_obs": len(positions),
            "widest_ratio": matched["widest_ratio"].iloc[int(positions[0])],
        }
        for positions, own, rest in _sides(matched, is_first)
    ]
    result = pd.DataFrame(rows).assign(method="Difference of means within the match")
    glossary.checked(result.columns)
    return result


def match_tests(
    matched: pd.DataFrame,
    *,
    response: str,
    label: str,
    first: str,
    unit: str,
    rng: np.random.Generator | None = None,
    n_permutations: int = 9999,
) -> pd.DataFrame:
    """Return three tests that one label does not differ from the others within matches.

    The estimate of the first two is the mean over matches of the differences of
    `match_contrasts`, every match counting alike. Labels are exchanged between models of one
    match, as if a model were independent of its suite; then between whole units, as whoever
    trains a suite decides for all its models at once. The sign test counts matches in which the
    first label is lower.

    Parameters
    ----------
    matched, response, label, first
        As in `match_contrasts`.
    unit
        Column naming the units that share a label and a recipe, such as suites.
    rng, n_permutations
        Used only when there are more than 20,000 assignments within matches.

    Returns
    -------
    Three rows: `term`, `estimate` [units of the response; of the sign test: share of matches],
    `null_value`, `p_value`, `smallest_p`, `n_permutations`, the interval (Clopper-Pearson, of
    the sign test only), `n_obs` (models), `n_groups` (what is counted as independent), `note`.

    Raises
    ------
    DesignError
        If no match has both sides, or the labels of a unit differ.
    """
    of = _is_first(matched, label, first)
    sides = list(_sides(matched, of))
    used = matched.take(np.concatenate([positions for positions, _, _ in sides]))
    sided = used.assign(side=np.where(_is_first(used, label, first), "first", "second"))
    rows = [
        _within_matches(numbers(matched, response), sides, rng, n_permutations),
        _between_units(sided, response, unit, rng, n_permutations),
        _sign_test(match_contrasts(matched, response=response, label=label, first=first)),
    ]
    result = pd.DataFrame(rows).assign(n_obs=len(used), alternative="two-sided")
    glossary.checked(result.columns)
    return result


def _links(
    models: pd.DataFrame, tolerance: Mapping[str, float]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return |log ratio| of all pairs by column, (columns, n, n), and who matches, (n, n)."""
    low = {name: limit for name, limit in tolerance.items() if not limit >= 1}
    if low or not tolerance:
        raise AnalysisError(
            f"A tolerance must be a ratio of at least 1 for each column; found {dict(tolerance)}.",
            "1 asks for equality, 1.1 for ten per cent.",
        )
    columns = np.array([numbers(models, name) for name in tolerance])
    if not (columns > 0).all():
        raise AnalysisError(
            f"Columns compared by ratio must be positive; {list(tolerance)} are not all so.",
            "Match on the quantity itself, not on its logarithm.",
        )
    logs = np.log(columns)
    ratios = np.asarray(np.abs(logs[:, :, None] - logs[:, None, :]), dtype=np.float64)
    limits = np.log(list(tolerance.values()))
    close = np.asarray((ratios <= limits[:, None, None] + ROUNDING).all(axis=0), dtype=np.bool_)
    return ratios, close


def _is_first(matched: pd.DataFrame, label: str, first: str) -> NDArray[np.bool_]:
    return np.asarray(labels(matched, label) == first, dtype=np.bool_)


def _sides(
    matched: pd.DataFrame, is_first: NDArray[np.bool_]
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield the rows of each match with both sides: all, of the first label, of the others."""
    found = False
    for positions in rows_by_group(level_codes(matched, "match")[0]):
        own, rest = positions[is_first[positions]], positions[~is_first[positions]]
        if len(own) and len(rest):
            found = True
            yield positions, own, rest
    if not found:
        raise DesignError(
            "At least one match must hold a model of the first label and one of another.",
            "Name a label that the matches have.",
        )


def _within_matches(
    values: Floats,
    sides: list[tuple[Integers, Integers, Integers]],
    rng: np.random.Generator | None,
    n_permutations: int,
) -> dict[str, object]:
    """Exchange labels between the models of each match."""
    observed = float(np.mean([values[own].mean() - values[rest].mean() for _, own, rest in sides]))
    possible = prod(comb(len(positions), len(own)) for positions, own, _ in sides)
    parts = [(values[positions], len(own)) for positions, own, _ in sides]
    if possible <= MOST_ENUMERATED:
        every = product(*(_every_difference(*part) for part in parts))
        means = np.array([np.mean(chosen) for chosen in every])
        counted, method, offset = possible, "enumerated", 0
    else:
        rng = generator(rng, f"{possible} assignments are too many to enumerate")
        require_count("n_permutations", n_permutations)
        drawn = [_random_differences(*part, rng, n_permutations) for part in parts]
        means = np.mean(drawn, axis=0)
        counted, method, offset = n_permutations, "sampled", 1
    scale = np.abs(means).max()
    reached = int((np.abs(means) >= abs(observed) - RELATIVE_TIE * scale).sum())
    smallest = (
        1 / (counted + 1)
        if offset
        else int((np.abs(means) >= scale * (1 - RELATIVE_TIE)).sum()) / counted
    )
    return {
        "term": "models within matches",
        "estimate": observed,
        "null_value": 0.0,
        "p_value": (reached + offset) / (counted + offset),
        "smallest_p": smallest,
        "n_permutations": counted,
        "n_groups": sum(len(positions) for positions, _, _ in sides),
        "method": f"Permutation of labels within matches, {method}",
        "note": "Takes the models of one suite as independent.",
    }


def _every_difference(values: Floats, n_first: int) -> Floats:
    """Return the difference of means under every choice of the first label's models."""
    chosen = np.array(list(combinations(range(len(values)), n_first)))
    sums = values[chosen].sum(axis=1)
    return np.asarray(sums / n_first - (values.sum() - sums) / (len(values) - n_first))


def _random_differences(
    values: Floats, n_first: int, rng: np.random.Generator, n_permutations: int
) -> Floats:
    """Return the difference of means under random choices, shape (n_permutations,)."""
    shuffled = rng.permuted(np.tile(values, (n_permutations, 1)), axis=1)
    return np.asarray(shuffled[:, :n_first].mean(axis=1) - shuffled[:, n_first:].mean(axis=1))


def _between_units(
    sided: pd.DataFrame,
    response: str,
    unit: str,
    rng: np.random.Generator | None,
    n_permutations: int,
) -> dict[str, object]:
    """Exchange sides between whole units; matches that lose one side drop out."""

    def mean_difference(rows: pd.DataFrame) -> float:
        means = rows.pivot_table(response, index="match", columns="side", aggfunc="mean")
        return float((means["first"] - means["second"]).mean())

    row = permutation.permutation_test(
        sided,
        mean_difference,
        label="side",
        unit=unit,
        rng=rng,
        n_permutations=n_permutations,
    ).iloc[0]
    return {
        "term": f"whole {unit}s",
        "estimate": row["estimate"],
        "null_value": row["null_value"],
        "p_value": row["p_value"],
        "smallest_p": row["smallest_p"],
        "n_permutations": row["n_permutations"],
        "n_groups": row["n_groups"],
        "method": f"Permutation of labels between {unit}s",
        "note": "",
    }


def _sign_test(contrasts: pd.DataFrame) -> dict[str, object]:
    """Count the matches in which the first label is lower; ties are left out."""
    decided = contrasts[contrasts["estimate"] != 0]
    lower, n = int((decided["estimate"] < 0).sum()), len(decided)
    if n == 0:
        raise DesignError(
            "A sign test needs a match whose two sides differ; all are equal.",
            "Check that the response varies.",
        )
    share = fisher.proportion(lower, n).iloc[0]
    return {
        "term": "matches in which the first is lower",
        "estimate": share["estimate"],
        "null_value": 0.5,
        "p_value": float(stats.binomtest(lower, n).pvalue),
        "smallest_p": float(stats.binomtest(0, n).pvalue),
        "n_permutations": 2**n,
        "conf_low": share["conf_low"],
        "conf_high": share["conf_high"],
        "conf_level": share["conf_level"],
        "n_groups": n,
        "method": "Sign test, exact binomial",
        "note": "Takes matches as independent, though suites recur in them.",
    }


def _stated(tolerance: Mapping[str, float]) -> str:
    limits = ", ".join(f"{name} {limit:g}" for name, limit in tolerance.items())
    return f"Pairs within the ratios {limits}"

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

from collections.abc import Mapping
from itertools import combinations, product

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from analysis.inference.resampling import permutation
from analysis.inference.resampling.permutation import RELATIVE_TIE
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, level_codes, numbers, rows_by_group

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
    (from 1).

    Raises
    ------
    ColumnError
        If a column is absent or unusable.
    DesignError
        If no model has a match.
    """
    close = _links(models, tolerance)
    graph = scipy.sparse.csr_array(close.astype(np.int8))
    sets = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    codes = level_codes(models, label)[0]
    groups = rows_by_group(np.asarray(sets, dtype=np.intp))
    matches = [rows for rows in groups if len(set(codes[rows])) > 1]
    if not matches:
        raise DesignError(
            f"At least two models of different {label!r} must match within {dict(tolerance)}; "
            "none do.",
            "Widen a tolerance, or match on fewer columns.",
        )
    ordered = sorted(matches, key=lambda rows: int(rows[0]))
    return pd.concat(
        [models.take(rows).assign(match=number) for number, rows in enumerate(ordered, start=1)]
    )


def matched_pairs(
    models: pd.DataFrame, *, label: str, response: str, tolerance: Mapping[str, float]
) -> pd.DataFrame:
    """Return every pair of models of different labels that match directly.

    Parameters
    ----------
    models, label, tolerance
        As in `matched_models`; models have a `model_id`.
    response
        Column of logarithms of gain, whose sign is compared.

    Returns
    -------
    One row per pair: `first`, `second` (models), `estimate` (first minus second, in units of
    `response`), `opposite` (whether one response is below zero and the other not).
    """
    close = _links(models, tolerance)
    of, values = models[label].to_numpy(), numbers(models, response)
    names = models["model_id"].to_numpy()
    rows = [
        {
            "first": names[i],
            "second": names[j],
            "estimate": values[i] - values[j],
            "opposite": bool((values[i] < 0) != (values[j] < 0)),
        }
        for i, j in combinations(range(len(models)), 2)
        if close[i, j] and of[i] != of[j]
    ]
    return pd.DataFrame(rows, columns=["first", "second", "estimate", "opposite"])


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
    `n_first`, `n_second`, `n_obs`.

    Raises
    ------
    DesignError
        If no match has both sides.
    """
    rows = [
        {
            "match": number,
            "contrast": f"{first} - other",
            "estimate": values[side].mean() - values[~side].mean(),
            "n_first": int(side.sum()),
            "n_second": int((~side).sum()),
            "n_obs": len(side),
        }
        for number, values, side in _sides(matched, response, label, first)
    ]
    return glossary.table(rows, method="Difference of means within the match")


def match_tests(
    matched: pd.DataFrame, *, response: str, label: str, first: str, unit: str
) -> pd.DataFrame:
    """Return three exact tests that one label does not differ from the others within matches.

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

    Returns
    -------
    Three rows: `term`, `estimate` [units of the response; of the sign test: share of matches],
    `p_value`, `smallest_p`, `n_permutations`, `n_obs` (models), `n_groups` (what is counted as
    independent), `method`.

    Raises
    ------
    DesignError
        If no match has both sides, or the labels of a unit differ.
    """
    sides = _sides(matched, response, label, first)
    used = matched[matched["match"].isin([number for number, _, _ in sides])]
    sided = used.assign(side=np.where(used[label] == first, "first", "second"))
    # Ties are left out.
    contrasts = match_contrasts(matched, response=response, label=label, first=first)
    decided = contrasts[contrasts["estimate"] != 0]
    lower, n = int((decided["estimate"] < 0).sum()), len(decided)
    rows = [
        _exchange_matches([(values, side) for _, values, side in sides]),
        _exchange_clusters(sided, response, unit),
        {
            "term": "matches in which the first is lower",
            "estimate": lower / n if n else float("nan"),
            "p_value": float(scipy.stats.binomtest(lower, n).pvalue) if n else 1.0,
            "smallest_p": 2.0 ** min(1 - n, 0),
            "n_permutations": 2**n,
            "n_groups": n,
            "method": "Sign test, exact binomial",
        },
    ]
    return glossary.table(rows, n_obs=len(used), alternative="two-sided")


def _links(models: pd.DataFrame, tolerance: Mapping[str, float]) -> NDArray[np.bool_]:
    """Return which pairs of models match, shape (n, n)."""
    logs = np.log([numbers(models, name) for name in tolerance])
    ratios = np.abs(logs[:, :, None] - logs[:, None, :])
    limits = np.log(list(tolerance.values()))[:, None, None] + ROUNDING
    return np.asarray((ratios <= limits).all(axis=0), dtype=np.bool_)


def _sides(
    matched: pd.DataFrame, response: str, label: str, first: str
) -> list[tuple[int, Floats, NDArray[np.bool_]]]:
    """Return of each match with both sides: its number, the responses, which are of the first."""
    sides = [
        (int(str(number)), numbers(rows, response), (rows[label] == first).to_numpy(dtype=np.bool_))
        for number, rows in matched.groupby("match")
    ]
    both = [each for each in sides if each[2].any() and not each[2].all()]
    if not both:
        raise DesignError(
            "At least one match must hold a model of the first label and one of another.",
            "Name a label that the matches have.",
        )
    return both


def _exchange_matches(sides: list[tuple[Floats, NDArray[np.bool_]]]) -> dict[str, object]:
    """Exchange labels between the models of each match, in every way."""
    observed = float(
        np.mean([values[side].mean() - values[~side].mean() for values, side in sides])
    )
    every = product(*(_every_difference(values, int(side.sum())) for values, side in sides))
    sizes = np.abs([np.mean(chosen) for chosen in every])
    rounding = RELATIVE_TIE * sizes.max()
    return {
        "term": "models within matches",
        "estimate": observed,
        "p_value": float((sizes >= abs(observed) - rounding).mean()),
        "smallest_p": float((sizes >= sizes.max() - rounding).mean()),
        "n_permutations": len(sizes),
        "n_groups": sum(len(values) for values, _ in sides),
        "method": "Permutation of labels within matches",
    }


def _every_difference(values: Floats, n_first: int) -> Floats:
    """Return the difference of means under every choice of the first label's models."""
    chosen = np.array(list(combinations(range(len(values)), n_first)))
    sums = values[chosen].sum(axis=1)
    return np.asarray(sums / n_first - (values.sum() - sums) / (len(values) - n_first))


def _exchange_clusters(sided: pd.DataFrame, response: str, unit: str) -> dict[str, object]:
    """Exchange sides between whole units; matches that lose one side drop out."""

    def mean_difference(rows: pd.DataFrame) -> float:
        means = rows.pivot_table(response, index="match", columns="side", aggfunc="mean")
        return float((means["first"] - means["second"]).mean())

    row = permutation.permutation_test(sided, mean_difference, label="side", unit=unit).iloc[0]
    columns = ["estimate", "p_value", "smallest_p", "n_permutations", "n_groups"]
    return {
        "term": f"whole {unit}s",
        **{name: row[name] for name in columns},
        "method": f"Permutation of labels between {unit}s",
    }

"""Which file the numbers of a figure come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from analysis.forensics.rounding import read
from analysis.tidy import glossary
from analysis.tidy.frame import numbers, require_columns


def sources(figure: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Return how many of a figure's numbers each file holds.

    Parameters
    ----------
    figure
        One row per number of the figure: `subject` (what it is about), `printed` (as printed;
        empty when only the subject is known, which any value of it then matches), and
        `accuracy` (half-width of a number read off a figure, missing when printed).
    values
        One row per number of a file: `file`, `subject`, `value`, in the figure's unit.

    Returns
    -------
    One row per file, the best first: `file`, `n_hits` (numbers of the figure that the file has
    for the same subject), `n_obs` (numbers of the figure), `n_by_chance` (numbers it would have
    were its subjects exchanged, on average), `consistent` (it has all of them).

    Raises
    ------
    AnalysisError
        If a printed text is not one number.
    ColumnError
        If a column is absent, or a value is missing.
    """
    require_columns(figure, ["subject", "printed", "accuracy"])
    require_columns(values, ["file", "subject", "value"])
    if (is_read_off := figure["accuracy"].notna()).any():
        numbers(figure[is_read_off], "accuracy")
    checked_values = values.assign(value=numbers(values, "value"))
    wanted = [(row["subject"], *_bounds(row)) for row in figure.to_dict("records")]
    rows = [
        {"file": file, **_matches(wanted, held)}
        for file, held in checked_values.groupby("file", sort=True)
    ]
    columns = ["file", "n_hits", "n_obs", "n_by_chance", "consistent"]
    frame = glossary.table(rows, columns)
    return frame.sort_values(["n_hits", "file"], ascending=[False, True], ignore_index=True)


def _matches(
    wanted: Sequence[tuple[object, float, float]], held: pd.DataFrame
) -> dict[str, object]:
    """Count the figure's numbers among a file's, of the same subject and of any.

    ``wanted`` has of each number its subject and the bounds of what prints like it.
    """
    values = held["value"].to_numpy(dtype=np.float64)
    places: dict[object, list[int]] = {}
    for place, subject in enumerate(held["subject"].tolist()):
        places.setdefault(subject, []).append(place)
    n_own, by_chance = 0, 0.0
    for subject, low, high in wanted:
        if subject not in places:
            continue
        fits = (values >= low) & (values <= high)
        n_own += bool(fits[places[subject]].any())
        by_chance += _chance_of_a_fit(len(values), int(fits.sum()), len(places[subject]))
    counts = {"n_hits": n_own, "n_obs": len(wanted), "n_by_chance": by_chance}
    return {**counts, "consistent": n_own == len(wanted)}


def _chance_of_a_fit(n_values: int, n_fitting: int, n_drawn: int) -> float:
    """Return the chance that some of a subject's values fits, were they any of the file's."""
    return 1 - comb(n_values - n_fitting, n_drawn) / comb(n_values, n_drawn)


def _bounds(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return the bounds of the values that can be the number of a row; any, if it names none."""
    if not row["printed"]:
        return -np.inf, np.inf
    accuracy = None if pd.isna(row["accuracy"]) else float(row["accuracy"])
    printed = read(str(row["printed"]), accuracy=accuracy)
    return printed.low, printed.high

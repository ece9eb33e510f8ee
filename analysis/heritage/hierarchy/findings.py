"""What the charts on heritage show, each in a sentence computed from what is drawn."""

from __future__ import annotations

import pandas as pd

from analysis.tidy import prose


def levels(modes: pd.DataFrame) -> str:
    """Return how many labs' and suites' intervals exclude the mean, after geometry and scale.

    ``modes`` has one row per level: `group`, `mark`, `conf_low`, `conf_high`.
    """
    excludes = (modes["conf_low"] > 0) | (modes["conf_high"] < 0)
    texts = [
        f"{prose.share_of(int(excludes[rows.index].sum()), len(rows))} {group}s {mark}"
        for (group, mark), rows in modes.groupby(["group", "mark"], sort=False)
    ]
    return f"The mean lies outside the interval of {prose.listing(texts)}."


def quarters(profiles: pd.DataFrame) -> str:
    """Return in which quarters of depth the suites' gains lie closest and furthest apart.

    ``profiles`` has one row per suite and quarter: `part`, `level`, `gain` [ratio].
    """
    ranked = profiles.sort_values("gain").groupby("part", sort=False)
    ends = ranked.agg(
        low=("gain", "first"),
        high=("gain", "last"),
        least=("level", "first"),
        most=("level", "last"),
    )
    rows = sorted(ends.reset_index().to_dict("records"), key=lambda row: row["high"] - row["low"])
    near, far = (
        f"in the {row['part']} ({row['least']} {prose.number(row['low'])} to {row['most']} "
        f"{prose.number(row['high'])})"
        for row in (rows[0], rows[-1])
    )
    return f"The gains of suites lie closest together {near} and furthest apart {far}."

"""The section on recipes: what public configurations say, as a chart, tables and words."""

from __future__ import annotations

import pandas as pd

from analysis.tidy import prose

#: Columns of the table of starts.
STARTS = {
    "models": "Models",
    "inner": "Inner matrices",
    "output": "Writing matrices",
    "spread": "Spread times √d",
}


def correlation_words(slopes: pd.DataFrame) -> dict[str, str]:
    """Return the correlations within suites as words, by the names of their two columns.

    ``slopes`` has the rows of `within_suites`; keys read ``log_rate log_depth``, either way round.
    """
    words: dict[str, str] = {}
    for row in slopes.to_dict("records"):
        text = (
            f"{prose.number(row['estimate'])} {prose.interval(row['conf_low'], row['conf_high'])}"
        )
        words[f"{row['term']} {row['condition']}"] = text
        words[f"{row['condition']} {row['term']}"] = text
    return words


def start_rows(known: pd.DataFrame) -> pd.DataFrame:
    """Return one row per way in which weights start: the models, both rules, and the spread.

    ``known`` has the rows of the view `recipe`; models without a documented rule are left out.
    """
    documented = known.dropna(subset=["inner_rule"]).assign(
        output_rule=lambda rows: rows["output_rule"].fillna("not verified"),
        name=lambda rows: prose.short_name(rows["model_id"]),
    )
    rows = []
    for (suite, inner, output), group in documented.groupby(
        ["suite", "inner_rule", "output_rule"], sort=True
    ):
        spread = group["inner_spread_scaled"].dropna()
        low, high = spread.min(), spread.max()
        rows.append(
            {
                "models": f"{suite}: {prose.listing(list(group['name']))}",
                "inner": inner,
                "output": output,
                "spread": _range(float(low), float(high)),
            }
        )
    return pd.DataFrame(rows)


def _range(low: float, high: float) -> str:
    """Return a range in words, one number where both ends print alike."""
    ends = [prose.number(low), prose.number(high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"

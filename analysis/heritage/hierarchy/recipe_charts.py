"""The section on recipes: what public configurations say, as a chart, tables and words."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing import names
from analysis.drawing.marks import filled_and_hollow, of_lab
from analysis.drawing.theme import INK, SIDES, WIDTH, found, line_at, log_axis, reach
from analysis.heritage.hierarchy import findings
from analysis.tidy import prose

#: Columns of the table of starts.
STARTS = {
    "models": "Models",
    "inner": "Inner matrices",
    "output": "Writing matrices",
    "spread": "Spread times √d",
}

#: The two laws that the paper's models cannot tell apart, and what each axis is.
LAWS = {
    "n_layers": "depth L [blocks], log scale",
    "peak_learning_rate": "peak learning rate [per step], log scale",
}

#: Width of a panel on a desk [px].
DESK = 640

#: Height of a panel [px].
HIGH = 320


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


def chart_two_laws(rows: pd.DataFrame) -> alt.VConcatChart:
    """Draw gain against depth, and the same gains against the peak learning rate.

    Parameters
    ----------
    rows
        As `gains_with_recipe` returns them; models of a suite are joined by a line.
    """
    named = rows.assign(name=_said(rows))
    panels = [_panel(named, column, title) for column, title in LAWS.items()]
    stacked = alt.vconcat(*panels, spacing=20).properties(
        description="The same gains against depth and against learning rate: within each suite "
        "they fall with depth and rise with the learning rate alike.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared")
    return cast(alt.VConcatChart, found(shared, findings.mirrored(rows)))


def _said(rows: pd.DataFrame) -> pd.Series[str]:
    """Return a name per model: whole for the shallowest of a suite, for the others what differs.

    >>> models = ["EleutherAI/pythia-410m", "EleutherAI/pythia-70m", "EleutherAI/gpt-j-6b"]
    >>> suites = {"suite": ["Pythia", "Pythia", "GPT-J"], "n_layers": [24, 6, 28]}
    >>> _said(pd.DataFrame({"model_id": models, **suites})).tolist()
    ['410m', 'pythia-70m', 'gpt-j-6b']
    """
    names = prose.short_name(rows["model_id"])
    firsts = rows.sort_values("n_layers", kind="stable").drop_duplicates("suite").index
    return names.where(names.index.isin(firsts), names.str.replace(r"^.*-", "", regex=True))


def _panel(rows: pd.DataFrame, column: str, title: str) -> alt.LayerChart:
    """Return the gains against one column, each model by its name, a line per suite of several."""
    # Names of the deepest and the fastest models need room at the right.
    sides = (float(rows[column].min()) / 1.15, float(rows[column].max()) * 1.7)
    ends = reach(rows["gain_mean"])
    x = alt.X(f"{column}:Q", title=title, **log_axis(pd.Series(sides), beyond=1))
    y = alt.Y(
        "gain_mean:Q",
        title=["gain of the penultimate block", SIDES],
        scale=alt.Scale(domain=list(ends), zero=False, nice=False),
    )
    panel = names.Panel(sides, ends, height=HIGH, is_log=True, desk=DESK)
    placed = names.placed(rows, panel, column, "gain_mean", lines=[1])
    several = rows[rows.groupby("suite")["suite"].transform("size") > 1]
    lines = (
        alt.Chart(several)
        .mark_line(color=INK, strokeWidth=1, opacity=0.4)
        .encode(x=x, y=y, detail="suite:N", order=alt.Order("n_layers:Q"))
    )
    marks = [mark.encode(x=x, y=y, **of_lab(rows)) for mark in filled_and_hollow(placed)]
    layers = alt.layer(line_at(1, "y"), lines, *marks, *names.texts(placed, x, y))
    return cast(alt.LayerChart, layers.properties(width=1.6 * WIDTH, height=HIGH))

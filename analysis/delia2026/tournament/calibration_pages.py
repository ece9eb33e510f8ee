"""What the hierarchy page shows of the calibrated rules: sizes, and power beside its bound."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.delia2026.sign.calibrated import LEVEL, STATISTICS
from analysis.delia2026.suites import models as published
from analysis.delia2026.tournament import calibration, criterion
from analysis.drawing.theme import add_finding
from analysis.store import Store
from analysis.tidy import prose

#: The power that designs are usually made for.
TARGET = 0.8
SOURCES = {
    "lab": "labs",
    "named lab": "EleutherAI alone",
    "suite": "suites",
    "shape": "shape",
    "depth": "depth",
}
SIZES = {
    "statement": "Statement",
    "rule": "Statistic",
    "how": "What it compares",
    "before": "False yes, before",
    "size": "False yes, now",
    "where": "In the world",
    "power": "Mean power",
    "verdict": "Choice",
}
LEAST = {
    "statement": "Statement",
    "source": "What explains the gains",
    "share": "By our rule",
    "share_bound": "By any rule, at best",
}


def size_rows(sizes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `calibration.sizes` as text for a table."""
    rows = sizes.to_dict("records")
    return pd.DataFrame(
        {
            "statement": prose.once(sizes["statement"]),
            "rule": sizes["rule"],
            "how": sizes["rule"].map(STATISTICS),
            "before": [prose.percent(row["before"]) for row in rows],
            "size": [prose.percent(row["size"]) for row in rows],
            "where": [f"{row['world']} ({row['form']})" for row in rows],
            "power": [prose.percent(row["power"]) for row in rows],
            "verdict": ["chosen" if row["is_chosen"] else "" for row in rows],
        }
    )


def least_rows(least: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `calibration.least_shares` as text for a table."""
    return pd.DataFrame(
        {
            "statement": prose.once(least["statement"]),
            "source": least["source"].map(SOURCES),
            **{
                name: [
                    "none up to 90 %" if pd.isna(value) else prose.percent(float(value))
                    for value in least[name]
                ]
                for name in ("share", "share_bound")
            },
        }
    )


def chart_power(curves: pd.DataFrame) -> Any:
    """Draw the power of the chosen rules, and the most that any rule has, against a share.

    ``curves`` is what `calibration.curves` returns; a row of panels a statement, a panel a source.
    """
    single = curves[curves["source"] != "claimed order"]
    rows = [
        alt.hconcat(
            *(
                _panel(panel, [str(statement), SOURCES[str(source)]])
                for source, panel in group.groupby("source", sort=False)
            ),
            spacing=20,
        )
        for statement, group in single.groupby("statement", sort=False)
    ]
    stacked = alt.vconcat(*rows, spacing=18).properties(
        description="Share of simulated data sets of which a test says yes, against the share of "
        "the differences that one source explains; a row a statement, a panel a source."
    )
    return add_finding(stacked, finding(single))


def _panel(rows: pd.DataFrame, title: list[str]) -> Any:
    """Draw the rule (solid) and the bound (dashed) of one statement and source."""
    x = alt.X(
        "share:Q",
        title="share that it explains",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.5, 1]),
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", values=[0, LEVEL, 0.5, TARGET, 1])
    lines = alt.Chart(rows).encode(x=x)
    rule = lines.mark_line(strokeWidth=2.5, point=True).encode(
        y=alt.Y("power:Q", title="rule says yes", scale=scale, axis=axis)
    )
    bound = lines.mark_line(strokeWidth=1.5, strokeDash=[6, 4]).encode(y="bound:Q")
    aim = alt.Chart(pd.DataFrame({"power": [TARGET]})).mark_rule(opacity=0.5).encode(y="power:Q")
    heading = alt.Title(title, anchor="start", fontWeight="normal")
    return alt.layer(aim, bound, rule, title=heading).properties(width=150, height=130)


def finding(curves: pd.DataFrame) -> str:
    """Return, in words, the least share at which a line drawn crosses the target power."""
    lines = curves.groupby(["statement", "source"], sort=False)
    crossings = [at for _, line in lines if (at := _crossing(line)) is not None]
    if not crossings:
        most = prose.percent(float(curves["share"].max()))
        return f"No share up to {most} is seen in 80 of 100 simulated data sets by our tests."
    return (
        f"Our tests see a source in 80 of 100 simulated data sets only where it explains about "
        f"{prose.percent(min(crossings))} of the differences."
    )


def _crossing(line: pd.DataFrame) -> float | None:
    """Return the share at which a line first reaches the target power; none if it does not."""
    points = line.sort_values("share")
    share, power = points["share"].to_numpy(float), points["power"].to_numpy(float)
    above = np.flatnonzero(power >= TARGET)
    if not len(above):
        return None
    at = int(above[0])
    nearest = slice(max(at - 1, 0), at + 1)
    return float(np.interp(TARGET, power[nearest], share[nearest]))


def words(store: Store) -> dict[str, str]:
    """Return what other pages say: how often a true claim would have been seen, of 100 papers."""
    curve = calibration.curves(store)
    at = curve[(curve["share"] - criterion.CLAIMED).abs() < 1e-9]
    named = at[at["source"] == "named lab"].set_index("statement")["power"]
    order = curve[curve["source"] == "claimed order"]
    return {
        "claimed": prose.percent(criterion.CLAIMED),
        "n_models": prose.count(len(published.base_models(store))),
        "lab": f"{100 * float(named['lab over geometry']):.0f}",
        "recipe": f"{100 * float(named['recipe over geometry']):.0f}",
        "bound": f"{100 * order['bound'].min():.0f}",
    }

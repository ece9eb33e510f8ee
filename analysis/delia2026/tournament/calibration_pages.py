"""What the hierarchy page shows of the calibrated rules: sizes, and power beside its bound."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.audit import weight
from analysis.delia2026.sign.calibrated import LEVEL, STATISTICS
from analysis.delia2026.suites import models as published
from analysis.delia2026.tournament import calibration, criterion
from analysis.delia2026.tournament.designs import POWER
from analysis.drawing.theme import INK, SHAPES, TONES, add_finding, greys, series
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: Whose share of data sets is drawn, by column of `shown`.
TESTS = {"power": "our test", "bound": "best possible test"}
_MOST = prose.percent(criterion.CLAIMED)
#: Which true statements are quoted, by the source that explains the differences.
SCENARIOS = {
    ("lab over geometry", "claimed order"): "Paper’s ranking true: lab over shape",
    ("geometry over scale", "claimed order"): "Paper’s ranking true: shape over size",
    ("lab over geometry", "lab"): f"Labs explain {_MOST}: lab over shape",
    ("geometry over scale", "depth"): f"Depth explains {_MOST}: shape over size",
}
#: Width of a small figure, height of its rows, room beside its axis, size of its letters [px].
WIDTH, ROW, BESIDE, LETTERS = 330, 50, 40, 14
SOURCES = {
    "lab": "labs",
    "named lab": "EleutherAI alone",
    "suite": "suites",
    "shape": "shape",
    "depth": "depth",
}
#: The claim that is the ranking, and how pages call the truths of simulated data.
RANKING = 20
TRUTHS = {"density": "head density"}
#: The table of `calibration.sizes`.
SIZES = {
    "statement": Column("Statement", "statement", once=True),
    "rule": Column("Statistic", "rule"),
    "how": Column("What it compares", "rule", STATISTICS),
    "before": Column("False yes, before", "before", prose.percent),
    "size": Column("False yes, now", "size", prose.percent),
    "where": Column("In the world", ["world", "form"], "{} ({})".format),
    "power": Column("Mean power", "power", prose.percent),
    "verdict": Column("Choice", "is_chosen", {True: "chosen", False: ""}),
}


def _least(share: float) -> str:
    return "none up to 90 %" if pd.isna(share) else prose.percent(share)


#: The table of `calibration.least_shares`.
LEAST = {
    "statement": Column("Statement", "statement", once=True),
    "source": Column("What explains the gains", "source", SOURCES),
    "share": Column("By our rule", "share", _least),
    "share_bound": Column("By any rule, at best", "share_bound", _least),
}


def shown(curves: pd.DataFrame) -> pd.DataFrame:
    """Return how often a true statement is shown, by our test and by the best possible one.

    Parameters
    ----------
    curves
        What `calibration.curves` returns.

    Returns
    -------
    A row per line of `SCENARIOS`: `statement`, `source`, `scenario` (in words), `power`, `bound`
    [1].
    """
    is_at = (curves["source"] == "claimed order") | (
        (curves["share"] - criterion.CLAIMED).abs() < 1e-9
    )
    names = pd.DataFrame(
        [(*key, scenario) for key, scenario in SCENARIOS.items()],
        columns=["statement", "source", "scenario"],
    )
    return names.merge(curves.loc[is_at, ["statement", "source", *TESTS]], how="left")


def chart_shown(rows: pd.DataFrame) -> alt.LayerChart:
    """Draw the rows of `shown`: both tests on one line, under the words of the scenario."""
    drawn = rows.melt(
        id_vars=["scenario"], value_vars=list(TESTS), var_name="name", value_name="share"
    )
    printed = drawn["share"].map(prose.percent)
    test = drawn["name"].map(TESTS)
    drawn = drawn.assign(test=test, printed=printed, said=test + ": " + printed)
    y = alt.Y("scenario:N", title=None, sort=list(SCENARIOS.values()), axis=None)
    x = alt.X(
        "share:Q",
        title="simulated data sets in which the test shows it",
        scale=alt.Scale(domain=[0, 1], range=[BESIDE, WIDTH - BESIDE]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1], grid=False),
    )
    tests = list(TESTS.values())
    legend = alt.Legend(orient="top", title=None, symbolOpacity=1)
    looks = {
        "color": alt.Color("test:N", sort=tests, legend=legend, scale=greys(tests)),
        "shape": alt.Shape("test:N", sort=tests, legend=legend, scale=series(tests, SHAPES)),
    }
    down = ROW / 5
    between = alt.Chart(rows).mark_rule(color=TONES[2], strokeWidth=2, yOffset=down)
    words = alt.Chart(rows).mark_text(align="left", dy=-down, fontSize=LETTERS, color=INK)
    points = alt.Chart(drawn).mark_point(filled=True, size=110, opacity=1, yOffset=down)
    looks_of_numbers: dict[str, Any] = {"dy": down, "fontSize": LETTERS, "color": INK}
    numbers = [alt.Chart(drawn[drawn["name"] == name]).encode(text="printed:N") for name in TESTS]
    chart = alt.layer(
        between.encode(y=y, x=alt.X("power:Q"), x2="bound:Q"),
        words.encode(y=y, x=alt.value(0), text="scenario:N"),
        points.encode(y=y, x=x, tooltip="said:N", **looks),
        numbers[0].mark_text(align="right", dx=-9, **looks_of_numbers).encode(y=y, x=x),
        numbers[1].mark_text(align="left", dx=9, **looks_of_numbers).encode(y=y, x=x),
    ).properties(
        width=WIDTH,
        height=ROW * len(rows),
        description="For each scenario the percentage of simulated data sets in which our test "
        "shows a true statement, and the percentage in which the best possible test does.",
    )
    return cast("alt.LayerChart", add_finding(chart, finding_shown(rows), is_small=True))


def finding_shown(rows: pd.DataFrame) -> str:
    """Return how often the order claimed would be shown; ``rows`` are those of `shown`."""
    claimed = rows[rows["source"] == "claimed order"]
    ours, best = (prose.percent(float(claimed[name].max())) for name in TESTS)
    return (
        f"Where lab, depth and size explain {parts()} parts, our test shows either half of the "
        f"ranking in at most {ours} of data sets. The best possible test does in at most {best}."
    )


def parts() -> str:
    """Return the one point of the paper's ranking that is simulated: lab : depth : size."""
    return " : ".join(map(str, calibration.ORDER.values()))


def never(least: pd.DataFrame) -> str:
    """Return which statements even the best test seldom shows, whatever share a source explains.

    ``least`` is what `calibration.least_shares` returns.
    """
    rows = least[least["share_bound"].isna()].to_dict("records")
    return (
        prose.listing([f"{row['statement']} {_condition(row['source'])}" for row in rows]) or "none"
    )


def verdict_rates(store: Store) -> pd.DataFrame:
    """Return the rows of `weight.rates` of the ranking, labels being right."""
    rates = weight.rates(store, RANKING)
    return rates[~rates["wrong_labels"]]


def answers(store: Store) -> dict[str, str]:
    """Return how often the rule confirms the ranking in simulated data, and how often it denies it.

    Keys: `truths` (how many of how many can give "reproduced"), `contradicted` (the largest share
    of data sets) and `where` (the truth that gives it).
    """
    rates = verdict_rates(store).pivot_table("probability", "truth", "verdict")
    denied = rates["contradicted"]
    return {
        "truths": prose.among(int((rates["reproduced"] > 0).sum()), len(rates)),
        "contradicted": prose.percent(float(denied.max())),
        "where": TRUTHS.get(str(denied.idxmax()), str(denied.idxmax())),
    }


def chart_power(curves: pd.DataFrame) -> Any:
    """Draw the power of the chosen rules, and the most that any rule has, against a share.

    ``curves`` is what `calibration.curves` returns; a row of panels a statement, a panel a source.
    """
    single = curves[curves["source"] != "claimed order"]
    rows = [
        alt.hconcat(
            *(
                _panel(panel, [str(statement), *_heading(str(source))])
                for source, panel in group.groupby("source", sort=False)
            ),
            spacing=10,
        )
        for statement, group in single.groupby("statement", sort=False)
    ]
    stacked = alt.vconcat(*rows, spacing=18).properties(
        description="Percentage of simulated data sets of which a test says yes, against the "
        "percentage of the differences that one cause explains; a row a statement, a panel a cause."
    )
    return add_finding(stacked, finding(single))


def _condition(source: str) -> str:
    return " ".join(_heading(source))


def _heading(source: str) -> list[str]:
    """Return what explains the gain as a condition, in two lines for a narrow panel."""
    name = SOURCES[source]
    return [f"if {name}", f"{'explain' if name.endswith('s') else 'explains'} the gain"]


def _panel(rows: pd.DataFrame, title: list[str]) -> Any:
    """Draw the rule (solid) and the bound (dashed) of one statement and source."""
    x = alt.X(
        "share:Q",
        title="differences explained [%]",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.5, 1]),
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", values=[0, LEVEL, 0.5, POWER, 1])
    lines = alt.Chart(rows).encode(x=x)
    rule = lines.mark_line(strokeWidth=2.5, point=True).encode(
        y=alt.Y("power:Q", title="data sets with a yes", scale=scale, axis=axis)
    )
    bound = lines.mark_line(strokeWidth=1.5, strokeDash=[6, 4]).encode(y="bound:Q")
    aim = alt.Chart(pd.DataFrame({"power": [POWER]})).mark_rule(opacity=0.5).encode(y="power:Q")
    heading = alt.Title(title, anchor="start", fontWeight="normal", fontSize=14)
    return alt.layer(aim, bound, rule, title=heading).properties(width=150, height=130)


def finding(curves: pd.DataFrame) -> str:
    """Return, in words, in how many panels a line drawn crosses the target power, and where."""
    lines = curves.groupby(["statement", "source"], sort=False)
    crossings = [
        (str(source), at) for (_, source), line in lines if (at := _crossing(line)) is not None
    ]
    if not crossings:
        most = prose.percent(float(curves["share"].max()))
        often = f"{prose.percent(POWER)} of simulated data sets"
        return f"Our tests reach {often} at no percentage up to {most} of the differences."
    names = list(dict.fromkeys(SOURCES.get(source, source) for source, _ in crossings))
    return (
        f"Our tests reach {prose.percent(POWER)} in "
        f"{prose.share_of(len(crossings), lines.ngroups)} panels, where {prose.listing(names)} "
        f"{prose.form(len(names), 'explains', 'explain')} at least "
        f"{prose.percent(min(at for _, at in crossings))} of the differences."
    )


def _crossing(line: pd.DataFrame) -> float | None:
    """Return the share at which a line first reaches the target power; none if it does not."""
    points = line.sort_values("share")
    share, power = points["share"].to_numpy(float), points["power"].to_numpy(float)
    above = np.flatnonzero(power >= POWER)
    if not len(above):
        return None
    at = int(above[0])
    nearest = slice(max(at - 1, 0), at + 1)
    return float(np.interp(POWER, power[nearest], share[nearest]))


def words(store: Store) -> dict[str, str]:
    """Return what other pages say: how often a true claim would have been seen, of 100 papers."""
    curve = calibration.curves(store)
    at = curve[(curve["share"] - criterion.CLAIMED).abs() < 1e-9]
    named = at[at["source"] == "named lab"].set_index("statement")["power"]
    order = curve[curve["source"] == "claimed order"]
    return {
        "claimed": prose.percent(criterion.CLAIMED),
        "parts": parts(),
        "level": prose.percent(LEVEL),
        "n_models": prose.count(len(published.base_models(store))),
        "lab": f"{100 * float(named['lab over geometry']):.0f}",
        "recipe": f"{100 * float(named['recipe over geometry']):.0f}",
        "bound": f"{100 * order['bound'].min():.0f}",
    }

"""Charts of shares of variance by several methods, of power, and of laws of depth."""

from __future__ import annotations

import itertools
from typing import Literal, cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing import names
from analysis.drawing.marks import points_by_lab
from analysis.drawing.theme import (
    DASHES,
    INK,
    SHAPES,
    SIDES,
    TONES,
    WIDTH,
    found,
    greys,
    line_at,
    named,
    reach,
    series,
)
from analysis.heritage.depth.laws_of_depth import GROWTH
from analysis.heritage.hierarchy import findings
from analysis.heritage.hierarchy.partition_tables import LEVEL, TARGET
from analysis.tidy import prose

#: Curves that part by less than this share of their panel are drawn as one.
ALIKE = 0.02

#: The law that the paper claims.
CLAIMED = "10^(1/L)"

#: What some laws are called at the ends of their curves.
SPOKEN = {CLAIMED: "claimed", "1": "G = 1"}

#: Height and width of a panel of the laws, and least distance of two names [px].
HIGH, BROAD, LINE = 420, 600, 14

#: What the ticks of the figure of shares are.
CHANCE = "pure noise"

#: How the figure of shares calls what a block explains, by method.
MARKS = {"alone": "by itself", "entering last": "beside all others"}


def chart_share_methods(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw what each block explains by itself and beside all others, and what noise would.

    ``shares`` has one row per block and method of `partition_tables.shares`: `block`, `method`,
    `share`, `chance_share` [share of variance].
    """
    rows = shares.assign(mark=shares["method"].map(MARKS)).dropna(subset=["mark"])
    marks = list(MARKS.values())
    alone = rows[rows["mark"] == marks[0]]
    x = alt.X(
        "share:Q",
        title="share of the variance of log gain [0 to 1]",
        scale=alt.Scale(domain=[0, 1], nice=False),
    )
    y = alt.Y("block:N", title=None, sort=list(alone["block"]))
    base = alt.Chart(rows).encode(y=y)
    between = base.mark_line(strokeWidth=5, color=TONES[2]).encode(x=x, detail="block:N")
    noise = (
        alt.Chart(alone).mark_tick(color=INK, thickness=3, size=26).encode(x="chance_share:Q", y=y)
    )
    points = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=x,
        color=alt.Color("mark:N", scale=greys(marks), legend=None),
        shape=alt.Shape("mark:N", scale=series(marks, SHAPES), legend=None),
    )
    # The block that explains most by itself has its marks furthest apart.
    most = alone.sort_values("share")["block"].iloc[-1]
    widest = rows[rows["block"] == most].sort_values("share").assign(noise=CHANCE)
    labels: list[tuple[pd.DataFrame, str, str, Literal["left", "center", "right"], int, int]] = [
        (widest.head(1), "share", "mark", "right", -10, 0),
        (widest.tail(1), "share", "mark", "left", 10, 0),
        (widest.tail(1), "chance_share", "noise", "center", 0, 23),
    ]
    words = [
        alt.Chart(some)
        .mark_text(dx=dx, dy=dy, fontSize=13, color=INK, align=align)
        .encode(x=f"{place}:Q", y=y, text=f"{text}:N")
        for some, place, text, align, dx, dy in labels
    ]
    return named(
        alt.layer(between, noise, points, *words).properties(height=64 * len(alone)),
        "What each block explains of the variance, a line from its share beside all others to its "
        "share by itself; bars mark what noise would give by itself.",
        findings.methods(rows),
    )


def chart_power(curves: pd.DataFrame) -> alt.LayerChart:
    """Draw the power of each test against the true effect.

    ``curves`` has one row per test and effect: `test` (words), `true_value` (size of the effect
    [nat]), `power`.
    """
    tests = list(curves["test"].unique())
    x = alt.X(
        "true_value:Q",
        title="true effect, by which log gain is lower [nat]",
        axis=alt.Axis(tickCount=6),
    )
    y = alt.Y(
        "power:Q",
        title=f"probability of p ≤ {LEVEL:g} [0 to 1]",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(tickCount=5),
    )
    # Three of the lines end at 1 and two nearly coincide: names at their ends would be mixed up.
    legend = alt.Legend(columns=1, labelLimit=360, symbolType="stroke", symbolSize=900)
    lines = (
        alt.Chart(curves)
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=alt.Color("test:N", title=None, sort=tests, scale=greys(tests), legend=legend),
            strokeDash=alt.StrokeDash(
                "test:N", title=None, sort=tests, scale=series(tests, DASHES), legend=legend
            ),
        )
    )
    return named(
        alt.layer(line_at(TARGET, "y"), line_at(LEVEL, "y"), lines),
        "Power of the tests at the published design, rising with the size of the true effect; "
        f"lines at {TARGET:g} and at the level {LEVEL:g}.",
        findings.power(curves, TARGET),
    )


def chart_laws(models: pd.DataFrame, curves: pd.DataFrame) -> alt.VConcatChart:
    """Draw the fitted laws of depth over the models, one panel per definition of gain.

    Parameters
    ----------
    models
        One row per model and definition: `definition`, `n_layers` [blocks], `gain_mean` [ratio].
    curves
        One row per definition, law and depth: `definition`, `law`, `n_layers`, `fitted` [ratio].
    """
    laws = list(curves["law"].unique())
    definitions = list(models["definition"].unique())
    panels = [
        _law_panel(
            models[models["definition"] == definition],
            curves[curves["definition"] == definition],
            laws,
            definition,
        )
        for definition in definitions
    ]
    description = (
        "Gain against depth with the laws of depth, one panel per definition of gain; laws that "
        "coincide are one curve. The claimed one falls from the left towards one."
    )
    stacked = alt.vconcat(*panels, spacing=16, description=description)
    return cast(alt.VConcatChart, found(stacked, findings.laws(models, curves, CLAIMED)))


def _twins(curves: pd.DataFrame) -> dict[str, str]:
    """Return the laws of one panel whose curve lies on that of a law before, by that law."""
    table = curves.pivot_table("fitted", "n_layers", "law", sort=False)
    fitted = table.to_numpy(dtype=float)
    room = ALIKE * float(fitted.max() - fitted.min())
    laws = [str(law) for law in curves["law"].unique()]
    alike: dict[str, str] = {}
    for law, before in itertools.combinations(reversed(laws), 2):
        if float((table[law] - table[before]).abs().max()) < room:
            alike[law] = before
    return alike


def _law_panel(
    models: pd.DataFrame, curves: pd.DataFrame, laws: list[str], definition: str
) -> alt.LayerChart:
    title = [f"{'growth' if definition == GROWTH else 'gain'} [ratio]", SIDES]
    twins = _twins(curves)
    drawn = curves[~curves["law"].isin(list(twins))]
    low, high = reach(models["gain_mean"], drawn["fitted"])
    depths = (float(models["n_layers"].min()) - 3, float(models["n_layers"].max()) + 1)
    x = alt.X(
        "n_layers:Q",
        title="depth L [blocks]",
        scale=alt.Scale(domain=list(depths), zero=False, nice=False),
        axis=alt.Axis(tickMinStep=5, grid=False),
    )
    y = alt.Y(
        "gain_mean:Q", title=title, scale=alt.Scale(domain=[low, high], zero=False, nice=False)
    )
    place = names.Panel(depths, (low, high), width=BROAD, height=HIGH)
    placed = names.placed(
        models.assign(name=prose.short_name(models["model_id"])),
        place,
        "n_layers",
        "gain_mean",
        curve=_kept_free(drawn, depths, (low, high)),
    )
    layers = alt.layer(
        *_law_lines(drawn, laws, x, (low, high)),
        points_by_lab(models).encode(x=x, y=y),
        *names.texts(placed, x, y),
    ).properties(width=1.5 * WIDTH, height=HIGH)
    alike = [f"{law} lies on {other}" for law, other in twins.items()]
    note = alt.Title(
        definition,
        subtitle="; ".join(alike) or alt.Undefined,
        fontSize=14,
        fontWeight="normal",
        anchor="start",
        color=INK,
        subtitleColor=INK,
        subtitleFontSize=13,
    )
    return cast(alt.LayerChart, layers.properties(title=note))


def _kept_free(
    curves: pd.DataFrame, depths: tuple[float, float], ends: tuple[float, float]
) -> pd.DataFrame:
    """Return the points that names of models leave free: the claimed law, and the right edge.

    Beyond that edge stand the names of the curves.
    """
    claimed = curves.loc[curves["law"] == CLAIMED, ["n_layers", "fitted"]]
    heights = np.linspace(*ends, HIGH // LINE)
    edge = pd.DataFrame({"n_layers": depths[1] + 1, "fitted": heights})
    return pd.concat([claimed, edge]).rename(columns={"fitted": "gain_mean"})


def _law_lines(
    curves: pd.DataFrame, laws: list[str], x: alt.X, ends: tuple[float, float]
) -> list[alt.Chart]:
    """Return a curve per law, dashed by law, the claimed one darkest, each named at its end."""
    dash = alt.StrokeDash("law:N", sort=laws, scale=series(laws, DASHES), legend=None)
    is_claimed = curves["law"] == CLAIMED
    lines = [
        alt.Chart(rows)
        .mark_line(strokeWidth=width, color=tone)
        .encode(x=x, y="fitted:Q", strokeDash=dash, detail="law:N")
        for rows, tone, width in (
            (curves[~is_claimed], TONES[2], 1.3),
            (curves[is_claimed], TONES[0], 2.5),
        )
    ]
    table = curves.assign(name=curves["law"].replace(SPOKEN))
    least = LINE / HIGH * (ends[1] - ends[0])
    return [*lines, names.at_ends(table, x, "fitted", least=least, beside=14)]

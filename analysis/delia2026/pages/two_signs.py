"""One network whose gain has both signs, from one of the paper's files, and the words beside it."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.audit.claim import Quotation
from analysis.drawing.labs import lab_colour
from analysis.drawing.theme import INK, add_finding, line_at
from analysis.store import Store
from analysis.tidy import prose

#: Blocks that the picture compares, by the name of their gain.
BLOCKS = {"gain_last_block": "last block", "gain_body": "average block"}

#: What the author calls models of either sign, and where he says of whom it holds.
WORDS = (
    Quotation(
        "plain_language_summary",
        "line 29",
        "Some model families are **whisperers**. Each layer makes the signal a bit quieter "
        "(Gain < 1).",
    ),
    Quotation(
        "plain_language_summary",
        "line 31",
        "Other model families are **shouters**. Each layer makes the signal a bit louder "
        "(Gain > 1).",
    ),
)

#: How far the axis reaches beyond the gains, as a factor: room for the words beside a mark.
ROOM = 1.16
TICKS = (0.7, 0.8, 0.9, 1, 1.1, 1.2)
#: Heads of arrows to the left and to the right; a triangle would be a lab's.
ARROWS = ("M-1.2,0L0.8,-1L0.3,0L0.8,1Z", "M1.2,0L-0.8,-1L-0.3,0L-0.8,1Z")
#: Width and height of the panel, size of its letters [px].
WIDTH, ROW, LETTERS = 330, 62, 17


def two_signs(store: Store) -> pd.DataFrame:
    """Return the gains of the base models that one file of the paper gives both signs.

    Returns
    -------
    Two rows per model and file, the last block's and the average block's (the geometric mean over
    blocks): `model_id`, `lab`, `suite`, `file`, `metric`, `n_prompts`, `gain_mean` [ratio],
    `model` (its short name), `block` (in words).
    """
    rows = store.query(
        """
        SELECT model_id, lab, suite, file, metric, n_prompts, gain_mean
          FROM gain_by_model
         WHERE source = 'published'
           AND base_model_id IS NULL
           AND metric IN ('gain_last_block', 'gain_body')
        WINDOW same AS (PARTITION BY model_id, file)
       QUALIFY count(*) OVER same = 2
           AND min(gain_mean) OVER same < 1
           AND max(gain_mean) OVER same > 1
         ORDER BY model_id, file, metric DESC
        """
    )
    names = [
        name.replace(suite.lower(), suite)
        for name, suite in zip(prose.short_name(rows["model_id"]), rows["suite"], strict=True)
    ]
    return rows.assign(model=names, block=rows["metric"].map(BLOCKS))


def finding(rows: pd.DataFrame) -> str:
    """Return what the two rows of one model show."""
    by_metric = rows.set_index("metric")["gain_mean"]
    model, last, average = rows["model"].iloc[0], *(by_metric[name] for name in BLOCKS)
    return (
        f"One network, two signs: {model} {_changes(last)} its vectors in the last block "
        f"({_factor(last)}), and on average {_changes(average)} them ({_factor(average)})."
    )


def chart_two_signs(rows: pd.DataFrame) -> alt.LayerChart:
    """Draw the gains of one model, each from the line at 1; ``rows`` are those of `two_signs`."""
    drawn = rows.assign(
        said=[f"{_factor(gain)} {_side(gain)}" for gain in rows["gain_mean"]], at=1.0
    )
    low, high = float(rows["gain_mean"].min()), float(rows["gain_mean"].max())
    scale = alt.Scale(type="log", domain=[low / ROOM, high * ROOM * ROOM], nice=False)
    axis = alt.Axis(values=TICKS, format="~g", grid=False, tickCount=len(TICKS))
    title = "gain: length after the block / length before"
    x = alt.X("gain_mean:Q", scale=scale, axis=axis, title=title)
    y = alt.Y(
        "block:N",
        title=None,
        sort=list(BLOCKS.values()),
        axis=alt.Axis(ticks=False, domain=False, grid=False, labelFontSize=LETTERS),
    )
    base = alt.Chart(drawn).encode(y=y, color=lab_colour(drawn).legend(None))
    reach = base.mark_rule(strokeWidth=5).encode(x=x, x2="at:Q")
    layers = [line_at(1, "x"), reach]
    for is_below, shape in zip((True, False), ARROWS, strict=True):
        part = alt.Chart(drawn[(drawn["gain_mean"] < 1) == is_below])
        tip = part.mark_point(shape=shape, filled=True, size=260, opacity=1)
        layers.append(tip.encode(x=x, y=y, color=lab_colour(drawn).legend(None)))
        end, away = ("right", -8) if is_below else ("left", 8)
        side: dict[str, Any] = {"align": end, "dx": away}
        words = part.mark_text(fontSize=LETTERS, dy=-18, color=INK, **side)
        layers.append(words.encode(x=alt.X("at:Q", scale=scale), y=y, text="said:N"))
    chart = alt.layer(*layers).properties(
        width=WIDTH,
        height=ROW * len(rows),
        description="Two gains of one network, drawn from a line at 1 to either side.",
    )
    return cast("alt.LayerChart", add_finding(chart, finding(rows), is_small=True))


def _side(gain: float) -> str:
    return "shorter" if gain < 1 else "longer"


def _changes(gain: float) -> str:
    return "shortens" if gain < 1 else "lengthens"


def _factor(gain: float) -> str:
    return f"×{prose.number(gain)}"

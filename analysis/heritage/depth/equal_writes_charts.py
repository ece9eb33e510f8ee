"""What the report shows and says of equal writes: laws by totals, writes in their plane."""

from __future__ import annotations

from typing import cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing.theme import INK, SHAPES, WIDTH, found, greys, line_at, series
from analysis.heritage.depth import equal_writes
from analysis.store import Store
from analysis.tidy import prose

LAWS = {
    "term": "Of",
    "law": "Law",
    "numbers": "Numbers fitted",
    "r_squared": "R²",
    "without": "R² without pythia-70m",
}

#: Parts of the legend of the size of a mark: share of tokens whose stream gets shorter.
SIZES = [0.0, 0.25, 0.5, 1.0]


def law_rows(laws: pd.DataFrame) -> pd.DataFrame:
    """Return one row per quantity and law, formatted, totals first."""
    whole = laws[laws["left_out"] == "none"]
    less = laws[laws["left_out"] != "none"].set_index(["term", "law"])["r_squared"].to_dict()
    rows = whole.to_dict("records")
    return pd.DataFrame(
        {
            "term": [str(row["term"]) for row in rows],
            "law": [str(row["law"]) for row in rows],
            "numbers": [prose.count(row["n_coefficients"]) for row in rows],
            "r_squared": [prose.number(row["r_squared"]) for row in rows],
            "without": [prose.number(less[row["term"], row["law"]]) for row in rows],
        }
    )


def words(store: Store) -> dict[str, str]:
    """Return the numbers of the sentences on equal writes, its failures among them."""
    blocks = equal_writes.published_blocks(store)
    laws = equal_writes.laws(equal_writes.totals(blocks)).set_index(["term", "law", "left_out"])
    records = laws["r_squared"].to_dict()
    law = equal_writes.EQUAL
    far = equal_writes.far_above(store)
    furthest = far[far["excess"] > 1]
    quarters = equal_writes.by_quarter(blocks).set_index("level")["estimate"].to_dict()
    below = equal_writes.shrinking_blocks(blocks).set_index("level").to_dict("index")
    writes = equal_writes.measured_writes(store)
    later = writes[writes["layer"] > 0]
    return {
        "total": prose.number(records[equal_writes.TOTAL, law, "none"]),
        "total_less": prose.number(records[equal_writes.TOTAL, law, equal_writes.SHALLOWEST]),
        "mean": prose.number(records[equal_writes.MEAN, law, "none"]),
        "suite_total": prose.number(records[equal_writes.TOTAL, equal_writes.SUITE, "none"]),
        "per_block": prose.number(equal_writes.by_block(blocks)),
        "first": prose.number(quarters["first"]),
        "last": prose.number(quarters["last"]),
        "blocks": prose.count(len(blocks)),
        "far": prose.listing(
            [
                f"{name} (factor {prose.number(float(np.exp(excess)), 1)})"
                for name, excess in zip(
                    prose.short_name(furthest["model_id"]), furthest["excess"], strict=True
                )
            ]
        ),
        "bloom": prose.share_of(int(below["BLOOM"]["n_hits"]), int(below["BLOOM"]["n_obs"])),
        "pythia": prose.share_of(int(below["Pythia"]["n_hits"]), int(below["Pythia"]["n_obs"])),
        "bloom_share": prose.percent(below["BLOOM"]["share"]),
        "pythia_share": prose.percent(below["Pythia"]["share"]),
        "oftener": _oftener(below["BLOOM"]["share"], below["Pythia"]["share"]),
        "shrinking": prose.share_of(int((later["share_shrinking"] > 0.5).sum()), len(later)),
    }


def _oftener(one: float, other: float) -> str:
    """Return how often one suite's blocks shrink the stream against the other's, in words."""
    if one == other:
        return "as often as"
    return "more often than" if one > other else "less often than"


def chart_writes(writes: pd.DataFrame) -> alt.LayerChart:
    """Draw every measured block after block 0 in the plane of its write, with the curve -r/2.

    Parameters
    ----------
    writes
        As `equal_writes.measured_writes` returns them: `family`, `layer`, `ratio`, `cosine`,
        `share_shrinking` [share of tokens].
    """
    later = writes[writes["layer"] > 0]
    families = sorted(later["family"].unique())
    widest = float(later["ratio"].max()) * 1.05
    grid = np.linspace(0.0, widest, 60)
    curve = pd.DataFrame({"ratio": grid, "cosine": -grid / 2})
    low = min(float(later["cosine"].min()) - 0.1, -0.5)
    inside = curve[curve["cosine"] >= low]
    x = alt.X("ratio:Q", title="size of the write r = |update| / |stream| [ratio]")
    y = alt.Y("cosine:Q", title="cosine c of write and stream [−1 to 1]")
    points = (
        alt.Chart(later)
        .mark_point(filled=True, opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=alt.Color("family:N", title="family", scale=greys(families)),
            shape=alt.Shape("family:N", title="family", scale=series(families, SHAPES)),
            size=alt.Size(
                "share_shrinking:Q",
                title="tokens shortened",
                scale=alt.Scale(domain=[0, 1], range=[30, 320]),
                legend=alt.Legend(values=SIZES, format=".0%", symbolFillColor=INK),
            ),
        )
    )
    line = alt.Chart(inside).mark_line(color=INK, strokeDash=[6, 3]).encode(x=x, y=y)
    note = "below the line\nthe stream shortens"
    corner = pd.DataFrame({"ratio": [0.0], "cosine": [low], "label": [note]})
    label = (
        alt.Chart(corner)
        .mark_text(align="left", dx=6, dy=-26, color=INK, fontSize=13, lineBreak="\n")
        .encode(x=x, y=y, text="label:N")
    )
    chart = alt.layer(line_at(0, "y"), line, points, label).properties(
        width=WIDTH,
        height=320,
        description="Every measured block after block 0 by the size of its write and its cosine "
        "with the stream; a dashed line c = -r/2 parts writes that shorten the stream of a token "
        "from those that lengthen it.",
    )
    lengthening = int((later["share_shrinking"] <= 0.5).sum())
    text = (
        f"{prose.share_of(lengthening, len(later))} blocks after block 0 lengthen the stream of "
        "most tokens."
    )
    return cast(alt.LayerChart, found(chart, text))

"""Profiles over depth as small multiples: a column per family, a row per quantity."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing.theme import DASHES, INK, SHAPES, WIDTH, found, greys, series
from analysis.heritage.depth import findings

HEIGHT = 150

#: Columns that tell lines apart: by lightness and shape, and by dashes and hollow points.
RECIPE, DEPTH = "suite", "n_blocks"

#: Axes of the updates, attention and feed-forward part one below the other.
UPDATES = {
    "log_ratio_attention": "attention: ln ratio [nat]",
    "log_ratio_ffn": "feed-forward: ln ratio [nat]",
    "cosine_attention": "attention: cosine [−1 to 1]",
    "cosine_ffn": "feed-forward: cosine [−1 to 1]",
}

#: Shapes without a hole, so that what is hollow says the depth.
WHOLE = SHAPES[::2]

#: Room above and below lines that are named [px].
ABOVE = 18


def chart_stream(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the length of the stream and the gain of each block.

    ``layers`` has one row per model and layer, as `profiles.stream` returns it.
    """
    return _profiles(
        layers,
        panels={"log_norm": "ln |x| [nat]", "log_gain": "log gain [nat]"},
        lines_at={"log_gain": 0},
        description="Length of the stream and log gain of each block over depth, by family.",
        finding=findings.stream(layers),
    )


def chart_updates(blocks: pd.DataFrame) -> alt.VConcatChart:
    """Draw size and direction of what attention and feed-forward part add.

    ``blocks`` has one row per model, layer and part, as `profiles.updates` returns it.
    """
    wide = blocks.pivot_table(
        index=["family", "suite", "model_id", "layer"],
        columns="part",
        values=["log_ratio", "cosine"],
    )
    wide.columns = wide.columns.map("_".join)
    return _profiles(
        wide.reset_index(),
        panels=UPDATES,
        lines_at={column: 0 for column in UPDATES if column.startswith("cosine")},
        description="Updates of attention and feed-forward part relative to the stream, by family.",
        finding=findings.updates(blocks),
    )


def chart_attention(layers: pd.DataFrame, even: Mapping[str, float]) -> alt.VConcatChart:
    """Draw how evenly layers attend, and what the first token takes.

    Parameters
    ----------
    layers
        One row per model and layer, as `analysis.heritage.depth.profiles.attention` returns it.
    even
        What even causal attention would give, as `turning.even_attention` returns it.
    """
    return _profiles(
        layers,
        panels={
            "relative_entropy": "entropy / ln n [0 to 1]",
            "sink_share": "on first token [0 to 1]",
        },
        lines_at=even,
        description="Relative entropy of attention and its share on the first token, by family; "
        "lines mark attention that looks back evenly.",
        finding=findings.attention(layers, even),
    )


def chart_geometry(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw how alike the tokens of a prompt are, and how many dimensions they span.

    ``layers`` has one row per model and layer, as `profiles.geometry` returns it.
    """
    return _profiles(
        layers,
        panels={"anisotropy": "anisotropy [0 to 1]", "relative_rank": "rank share [0 to 1]"},
        description="Anisotropy and relative effective rank of the tokens over depth, by family.",
        finding=findings.geometry(layers),
    )


def chart_circuit(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the size of the folded value-output circuit of the heads.

    ``layers`` has one row per model and layer, as `profiles.circuit` returns it.
    """
    return _profiles(
        layers,
        panels={"sigma_max": "σ [weight units²]", "stable_rank": "stable rank [ratio]"},
        description="Largest singular value and stable rank of the folded OV circuit, by family.",
        finding=findings.circuit(layers),
    )


def _profiles(
    layers: pd.DataFrame,
    *,
    panels: Mapping[str, str],
    description: str,
    finding: str,
    lines_at: Mapping[str, float] = MappingProxyType({}),
) -> alt.VConcatChart:
    """Return one row of panels per quantity: column to draw and title of its axis.

    Panels of columns in ``lines_at`` have a line across at that value.
    """
    columns = list(panels)
    deep = layers.assign(n_blocks=layers.groupby("model_id")["layer"].transform("max") + 1)
    present = {column: deep.dropna(subset=[column]) for column in columns}
    named, family = _clearest(present)
    rows = [
        _row(
            present[column],
            column,
            panels[column],
            depths=sorted(layers["layer"].unique()),
            marks=_marks(present[column]),
            names=_names(present[column], column, family) if column == named else [],
            line_at=lines_at.get(column),
            has_header=column == columns[0],
            has_labels=column == columns[-1],
        )
        for column in columns
    ]
    stacked = alt.vconcat(*rows, spacing=12, description=description)
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast(alt.VConcatChart, found(shared, finding))


def _row(
    layers: pd.DataFrame,
    column: str,
    title: str,
    *,
    depths: Sequence[int],
    marks: Sequence[alt.Chart],
    names: Sequence[alt.Chart],
    line_at: float | None,
    has_header: bool,
    has_labels: bool,
) -> alt.FacetChart:
    """Return one quantity as a row of panels, a panel per family."""
    x = alt.X(
        "layer:O",
        title="block" if has_labels else None,
        scale=alt.Scale(domain=list(depths)),
        axis=alt.Axis(
            labelAngle=0,
            labels=has_labels,
            ticks=has_labels,
            labelExpr="datum.label == '-1' ? 'in' : datum.label",
        ),
    )
    y = alt.Y(
        f"{column}:Q",
        title=title,
        axis=alt.Axis(tickCount=4, grid=True, minExtent=34),
        scale=alt.Scale(zero=line_at == 0, padding=ABOVE if names else 0),
    )
    drawn = [mark.encode(x=x, y=y) for mark in (*marks, *names)]
    if line_at is not None:
        across = alt.Chart(layers).mark_rule(color=INK, strokeWidth=1.5)
        drawn.append(across.encode(y=alt.datum(line_at)))
    header = alt.Header() if has_header else alt.Header(labels=False)
    return (
        alt.layer(*drawn)
        .properties(width=WIDTH // 3 - 12, height=HEIGHT)
        .facet(column=alt.Column("family:N", title=None, header=header), spacing=12, bounds="flush")
    )


def _marks(layers: pd.DataFrame) -> list[alt.Chart]:
    """Return lines and points: recipes by lightness and shape, depths by dashes and hollow points.

    The deepest models have solid lines and filled points.
    """
    names, depths = sorted(layers[RECIPE].unique()), _depths(layers)
    encoded = alt.Chart(layers).encode(
        detail="model_id:N",
        color=alt.Color(f"{RECIPE}:N", scale=greys(names), legend=None),
        shape=alt.Shape(f"{RECIPE}:N", scale=series(names, WHOLE), legend=None),
    )
    scale = series(depths, DASHES)
    dashed = alt.StrokeDash(f"{DEPTH}:N", scale=scale, sort=depths, legend=None)
    points = [
        encoded.mark_point(filled=is_filled, size=55, strokeWidth=1.3, opacity=1).transform_filter(
            alt.FieldOneOfPredicate(field=DEPTH, oneOf=of)
        )
        for is_filled, of in ((False, depths[1:]), (True, depths[:1]))
    ]
    return [encoded.mark_line(point=False, opacity=0.7).encode(strokeDash=dashed), *points]


def _clearest(present: Mapping[str, pd.DataFrame]) -> tuple[str, str]:
    """Return the column and the family of the panel where lines of two recipes end furthest apart.

    ``present`` has the rows that have a value, by column.
    """
    apart = {}
    for column, rows in present.items():
        whole = float(rows[column].max() - rows[column].min())
        for family, panel in _ends(rows).groupby("family"):
            one, other = panel[column].to_numpy()[:, None], panel[column].to_numpy()
            differs = panel[RECIPE].to_numpy()[:, None] != panel[RECIPE].to_numpy()
            gaps = np.abs(one - other)[differs]
            apart[column, str(family)] = float(gaps.min()) / whole if gaps.size else 0.0
    return max(apart, key=lambda panel: apart[panel])


def _ends(layers: pd.DataFrame) -> pd.DataFrame:
    """Return the last row of each line."""
    return layers[layers["layer"] == layers.groupby("model_id")["layer"].transform("max")]


def _names(layers: pd.DataFrame, column: str, family: str) -> list[alt.Chart]:
    """Return the recipes of the deepest models of a family at the ends of their lines."""
    ends = _ends(layers)
    ends = ends[(ends["family"] == family) & (ends[DEPTH] == _depths(layers)[0])]
    texts = []
    for row in ends.to_dict("records"):
        is_least = row[column] == ends[column].min()
        text = alt.Chart(layers).mark_text(
            align="right", dx=8, dy=15 if is_least else -12, fontSize=13, color=INK
        )
        is_own = " && ".join(
            f"datum[{json.dumps(name)}] === {json.dumps(row[name])}"
            for name in ("model_id", "layer", RECIPE)
        )
        texts.append(text.encode(text=f"{RECIPE}:N").transform_filter(is_own))
    return texts


def _depths(layers: pd.DataFrame) -> list[Any]:
    """Return the depths, the deepest first."""
    return sorted(layers[DEPTH].unique().tolist(), reverse=True)

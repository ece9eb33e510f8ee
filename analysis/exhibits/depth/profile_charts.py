"""Profiles over depth as small multiples: a column per family, a row per quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import altair as alt
import pandas as pd

from analysis.exhibits.depth import findings
from analysis.exhibits.drawing.theme import INK, SHAPES, WIDTH, found, greys, series

HEIGHT = 150
DASHES = ([1, 0], [6, 4], [2, 3])

#: Columns that tell lines apart, and the titles of their legends.
RECIPE, DEPTH, PART = ("suite", "recipe"), ("n_blocks", "depth [blocks]"), ("part", "part")

#: Where the shapes of the parts begin, so that they are not those of recipes.
OF_PARTS = 2


def chart_stream(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the length of the stream and the gain of each block.

    ``layers`` has one row per model and layer, as `profiles.stream` returns it.
    """
    return _profiles(
        layers,
        panels={"log_norm": "ln |x| [nat]", "log_gain": "log gain [nat]"},
        lines=RECIPE,
        lines_at={"log_gain": 0},
        description="Length of the stream and log gain of each block over depth, by family.",
        finding=findings.stream(layers),
    )


def chart_updates(blocks: pd.DataFrame) -> alt.VConcatChart:
    """Draw size and direction of what attention and feed-forward part add.

    ``blocks`` has one row per model, layer and part, as `profiles.updates` returns it.
    """
    return _profiles(
        blocks,
        panels={"log_ratio": "ln ratio [nat]", "cosine": "cosine [1]"},
        lines=PART,
        dashes=RECIPE,
        lines_at={"cosine": 0},
        description="Updates of attention and feed-forward part relative to the stream, by family.",
        finding=findings.updates(blocks),
    )


def chart_attention(layers: pd.DataFrame, even: Mapping[str, float]) -> alt.VConcatChart:
    """Draw how evenly layers attend, and what the first token takes.

    Parameters
    ----------
    layers
        One row per model and layer, as `analysis.questions.depth.profiles.attention` returns it.
    even
        What even causal attention would give, as `turning.even_attention` returns it.
    """
    return _profiles(
        layers,
        panels={"relative_entropy": "entropy / ln n [1]", "sink_share": "on first token [1]"},
        lines=RECIPE,
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
        panels={"anisotropy": "anisotropy [1]", "relative_rank": "rank share [1]"},
        lines=RECIPE,
        description="Anisotropy and relative effective rank of the tokens over depth, by family.",
        finding=findings.geometry(layers),
    )


def chart_circuit(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the size of the folded value-output circuit of the heads.

    ``layers`` has one row per model and layer, as `profiles.circuit` returns it.
    """
    return _profiles(
        layers,
        panels={"sigma_max": "σ [weight units²]", "stable_rank": "stable rank [1]"},
        lines=RECIPE,
        description="Largest singular value and stable rank of the folded OV circuit, by family.",
        finding=findings.circuit(layers),
    )


def _profiles(
    layers: pd.DataFrame,
    *,
    panels: Mapping[str, str],
    lines: tuple[str, str],
    description: str,
    finding: str,
    dashes: tuple[str, str] = DEPTH,
    lines_at: Mapping[str, float] = MappingProxyType({}),
) -> alt.VConcatChart:
    """Return one row of panels per quantity: column to draw and title of its axis.

    ``lines`` and ``dashes`` are columns that tell lines apart, with their titles; panels of
    columns in ``lines_at`` have a line across at that value.
    """
    columns = list(panels)
    deep = layers.assign(n_blocks=layers.groupby("model_id")["layer"].transform("max") + 1)
    present = {column: deep.dropna(subset=[column]) for column in columns}
    rows = [
        _row(
            present[column],
            column,
            panels[column],
            depths=sorted(layers["layer"].unique()),
            marks=_marks(present[column], lines, dashes),
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
        scale=alt.Scale(zero=line_at == 0),
    )
    drawn = [mark.encode(x=x, y=y) for mark in marks]
    if line_at is not None:
        across = alt.Chart(layers).mark_rule(color=INK, strokeWidth=1.5)
        drawn.append(across.encode(y=alt.datum(line_at)))
    header = alt.Header() if has_header else alt.Header(labels=False)
    return (
        alt.layer(*drawn)
        .properties(width=WIDTH // 3 - 12, height=HEIGHT)
        .facet(column=alt.Column("family:N", title=None, header=header), spacing=12, bounds="flush")
    )


def _marks(
    layers: pd.DataFrame, lines: tuple[str, str], dashes: tuple[str, str]
) -> list[alt.Chart]:
    """Return lines and points, told apart by colour and shape, and by dashes and hollow points.

    The deepest model, or the first of other values of the column of ``dashes``, has solid lines and
    filled points.
    """
    column, title = lines
    names, start = sorted(layers[column].unique()), OF_PARTS if lines == PART else 0
    encoded = alt.Chart(layers).encode(
        detail="model_id:N",
        color=alt.Color(f"{column}:N", title=title, scale=greys(names)),
        shape=alt.Shape(f"{column}:N", title=title, scale=series(names, SHAPES[start:])),
    )
    column, title = dashes
    kinds = sorted(layers[column].unique().tolist(), reverse=dashes == DEPTH)
    legend = alt.Legend(symbolType="stroke", symbolSize=500, symbolStrokeColor=INK)
    dashed = alt.StrokeDash(
        f"{column}:N", title=title, scale=series(kinds, DASHES), sort=kinds, legend=legend
    )
    points = [
        encoded.mark_point(filled=is_filled, size=55, strokeWidth=1.3, opacity=1).transform_filter(
            alt.FieldOneOfPredicate(field=column, oneOf=of)
        )
        for is_filled, of in ((False, kinds[1:]), (True, kinds[:1]))
    ]
    return [encoded.mark_line(opacity=0.7).encode(strokeDash=dashed), *points]

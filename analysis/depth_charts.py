"""Profiles over depth as small multiples: a column per family, a row per quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import altair as alt
import pandas as pd

from analysis.theme import COLOURS, INK, SHAPES, WIDTH, series

HEIGHT = 150
DASHES = ([1, 0], [6, 4], [2, 3])

#: Column of the recipe a model was trained with, and its title.
RECIPE = ("suite", "recipe")


def chart_stream(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the length of the stream and the gain of each block.

    ``layers`` has one row per model and layer, as `analysis.profiles.stream` returns it.
    """
    return _profiles(
        layers,
        panels={"log_norm": "ln |x| [nat]", "log_gain": "log gain [nat]"},
        lines=RECIPE,
        at_zero=["log_gain"],
        description="Length of the stream and log gain of each block over depth, by family.",
    )


def chart_updates(blocks: pd.DataFrame) -> alt.VConcatChart:
    """Draw size and direction of what attention and feed-forward part add.

    ``blocks`` has one row per model, layer and part, as `analysis.profiles.updates` returns it.
    """
    return _profiles(
        blocks,
        panels={"log_ratio": "ln ratio [nat]", "cosine": "cosine [1]"},
        lines=("part", "part"),
        dashes=RECIPE,
        at_zero=["cosine"],
        description="Updates of attention and feed-forward part relative to the stream, by family.",
    )


def chart_attention(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw how evenly layers attend, and what the first token takes.

    ``layers`` has one row per model and layer, as `analysis.profiles.attention` returns it.
    """
    return _profiles(
        layers,
        panels={"relative_entropy": "entropy / ln n [1]", "sink_share": "on first token [1]"},
        lines=RECIPE,
        description="Relative entropy of attention and its share on the first token, by family.",
    )


def chart_geometry(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw how alike the tokens of a prompt are, and how many dimensions they span.

    ``layers`` has one row per model and layer, as `analysis.profiles.geometry` returns it.
    """
    return _profiles(
        layers,
        panels={"anisotropy": "anisotropy [1]", "relative_rank": "rank share [1]"},
        lines=RECIPE,
        description="Anisotropy and relative effective rank of the tokens over depth, by family.",
    )


def chart_circuit(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw the size of the folded value-output circuit of the heads.

    ``layers`` has one row per model and layer, as `analysis.profiles.circuit` returns it.
    """
    return _profiles(
        layers,
        panels={"sigma_max": "σ of OV [weights]", "stable_rank": "stable rank [1]"},
        lines=RECIPE,
        description="Largest singular value and stable rank of the folded OV circuit, by family.",
    )


def _profiles(
    layers: pd.DataFrame,
    *,
    panels: Mapping[str, str],
    lines: tuple[str, str],
    description: str,
    dashes: tuple[str, str] | None = None,
    at_zero: Sequence[str] = (),
) -> alt.VConcatChart:
    """Return one row of panels per quantity: column to draw and title of its axis.

    ``lines`` and ``dashes`` are columns that tell lines apart, with their titles; panels of
    columns in ``at_zero`` have a line at zero.
    """
    columns = list(panels)
    depths = sorted(layers["layer"].unique())
    present = {column: layers.dropna(subset=[column]) for column in columns}
    rows = [
        _row(
            present[column],
            column,
            panels[column],
            depths=depths,
            marks=_marks(present[column], lines, dashes),
            has_zero=column in at_zero,
            has_header=column == columns[0],
            has_labels=column == columns[-1],
        )
        for column in columns
    ]
    stacked = alt.vconcat(*rows, spacing=12, description=description)
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast(alt.VConcatChart, shared)


def _row(
    layers: pd.DataFrame,
    column: str,
    title: str,
    *,
    depths: Sequence[int],
    marks: Sequence[alt.Chart],
    has_zero: bool,
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
        scale=alt.Scale(zero=has_zero),
    )
    zero = alt.Chart(layers).mark_rule(color=INK).encode(y=alt.datum(0))
    drawn = [mark.encode(x=x, y=y) for mark in marks]
    panel = alt.layer(*drawn, *([zero] if has_zero else []))
    header = alt.Header() if has_header else alt.Header(labels=False)
    return panel.properties(width=WIDTH / 3 - 12, height=HEIGHT).facet(
        column=alt.Column("family:N", title=None, header=header), spacing=12
    )


def _marks(
    layers: pd.DataFrame, lines: tuple[str, str], dashes: tuple[str, str] | None
) -> list[alt.Chart]:
    """Return lines and points, told apart by colour and shape, and by dashes if asked."""
    column, title = lines
    names = sorted(layers[column].unique())
    encoded = alt.Chart(layers).encode(
        detail="model_id:N",
        color=alt.Color(f"{column}:N", title=title, scale=series(names, COLOURS)),
        shape=alt.Shape(f"{column}:N", title=title, scale=series(names, SHAPES)),
    )
    line, points = encoded.mark_line(opacity=0.7), encoded.mark_point(filled=True, size=50)
    if dashes is not None:
        column, title = dashes
        scale = series(sorted(layers[column].unique()), DASHES)
        legend = alt.Legend(symbolType="stroke")
        dashed = alt.StrokeDash(f"{column}:N", title=title, scale=scale, legend=legend)
        line = line.encode(strokeDash=dashed)
    return [line, points]

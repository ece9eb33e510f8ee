"""One network in several coordinates: identical predictions, other profiles of gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import altair as alt
import pandas as pd

from analysis.exhibits.drawing.theme import COLOURS, INK, SHAPES, WIDTH

if TYPE_CHECKING:
    from analysis.store import Store

HEIGHT = 150
DASHES = ([1, 0], [6, 4], [2, 3], [8, 3, 2, 3])

#: Order of the gauges in legends.
GAUGES = ("trained", "shrinking", "flat", "growing")

#: Columns that are drawn, and the titles of their axes.
PANELS = {
    "log_norm": "ln |x| [nat]",
    "log_gain": "log gain [nat]",
    "log_gain_centred": "centred log gain [nat]",
}


def profiles(store: Store) -> pd.DataFrame:
    """Return the stream of one network in every gauge, from table ``gauge_profile``.

    Returns
    -------
    One row per gauge and layer: `gauge`, `layer` (-1 is the input of block 0), `log_norm`,
    `log_gain` and `log_gain_centred` (means over prompts, last token) [nat], missing before
    block 0; `largest_logit_change`, over the largest logit [1].
    """
    return store.query(
        """
        SELECT gauge, layer, ln(norm) AS log_norm, log_gain, log_gain_centred,
               largest_logit_change
          FROM gauge_profile
         ORDER BY list_position($gauges, gauge), layer
        """,
        gauges=list(GAUGES),
    )


def verdicts(store: Store) -> pd.DataFrame:
    """Return what each gauge of the one network would be called.

    Returns
    -------
    One row per gauge: `gauge`, `n_below` and `n_blocks`, the blocks after the first whose gain
    is below 1, and all of them [1]; `log_gain_last` and `log_gain_last_centred` [nat];
    `verdict` and `verdict_centred`, the paper's rule on the last block's gain.
    """
    return store.query(
        """
        SELECT gauge,
               count(*) FILTER (WHERE log_gain < 0 AND layer > 0) AS n_below,
               count(*) FILTER (WHERE layer > 0)                  AS n_blocks,
               arg_max(log_gain, layer)                           AS log_gain_last,
               arg_max(log_gain_centred, layer)                   AS log_gain_last_centred,
               gain_sign(arg_max(log_gain, layer), 0)             AS verdict,
               gain_sign(arg_max(log_gain_centred, layer), 0)     AS verdict_centred
          FROM gauge_profile
         WHERE layer >= 0
         GROUP BY gauge
         ORDER BY list_position($gauges, gauge)
        """,
        gauges=list(GAUGES),
    )


def norm_kinds(store: Store) -> pd.DataFrame:
    """Return in how many of the paper's models the sign of the raw gain is free.

    The mean over features is free at every depth where every norm is a LayerNorm in front of a
    sub-layer, so a gain takes any value there. A post-norm network is not counted: the stream
    after its last block cannot be shifted, though it can be after all others.

    Returns
    -------
    One row: `n_models`, models with a published gain of their last or penultimate block, and
    `n_free`, those of them whose mean is free [1].
    """
    return store.query(
        """
        SELECT count(*) FILTER (WHERE norm_kind = 'LayerNorm' AND norm_position = 'pre') AS n_free,
               count(*)                                                                 AS n_models
          FROM model
         WHERE model_id IN (SELECT model_id FROM published_figure
                             WHERE metric IN ('gain_last_block', 'gain_penultimate_block'))
        """
    )


def sentence(store: Store) -> str:
    """Return the finding in one sentence, its numbers computed."""
    (found,) = norm_kinds(store).itertuples()
    return (
        f"The sign of the gain is a choice of coordinates in {found.n_free} of "
        f"{found.n_models} models."
    )


def chart_gauges(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw length and gain over depth of one network in every gauge.

    ``layers`` has one row per gauge and layer, as `profiles` returns it.
    """
    rows = [
        _row(layers, column, title, has_labels=column == list(PANELS)[-1])
        for column, title in PANELS.items()
    ]
    stacked = alt.vconcat(
        *rows,
        spacing=12,
        description="Length, log gain and centred log gain over depth of one network in four "
        "gauges whose logits are identical; the centred gains lie on each other.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast("alt.VConcatChart", shared)


def _row(layers: pd.DataFrame, column: str, title: str, *, has_labels: bool) -> alt.LayerChart:
    names = list(GAUGES)
    scales = {
        "color": alt.Scale(domain=names, range=COLOURS[: len(names)]),
        "shape": alt.Scale(domain=names, range=SHAPES[: len(names)]),
        "dash": alt.Scale(domain=names, range=list(DASHES)),
    }
    legend = alt.Legend(title="gauge", orient="top", columns=len(names))
    depths = alt.Scale(domain=[int(layers["layer"].min()), int(layers["layer"].max())], nice=False)
    x = alt.X("layer:Q", scale=depths).axis(
        title="block" if has_labels else None, labels=has_labels, tickMinStep=1, grid=False
    )
    base = alt.Chart(layers.dropna(subset=[column])).encode(
        x=x,
        y=alt.Y(f"{column}:Q").axis(title=title, tickCount=4),
        color=alt.Color("gauge:N", scale=scales["color"], legend=legend),
        tooltip=["gauge:N", "layer:Q", alt.Tooltip(f"{column}:Q", format=".3f")],
    )
    lines = base.mark_line().encode(
        strokeDash=alt.StrokeDash("gauge:N", scale=scales["dash"], legend=legend)
    )
    points = base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("gauge:N", scale=scales["shape"], legend=legend)
    )
    drawn: list[alt.Chart] = [lines, points]
    if column != "log_norm":
        zero = pd.DataFrame({"zero": [0.0]})
        drawn.insert(0, alt.Chart(zero).mark_rule(color=INK).encode(y="zero:Q"))
    layered = alt.layer(*drawn).properties(width=WIDTH, height=HEIGHT)
    return cast("alt.LayerChart", layered)

"""One network in several coordinates: identical predictions, other profiles of gain."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd

from analysis.drawing.theme import DASHES, INK, SHAPES, WIDTH, found, greys, series
from analysis.heritage.measured.gauge import GAUGES
from analysis.tidy import prose

HEIGHT = 165

#: What the stream does in each gauge that was made.
LABELS = {"growing": "grows", "flat": "stays", "shrinking": "shrinks"}

#: Lines that part by less than this share of the panel are drawn as one.
ALIKE = 0.005

#: A log gain this near 0 is level [nat].
LEVEL = 1e-9

#: Columns that are drawn: the title of the axis, and what the panel shows.
PANELS = {
    "log_norm": ("ln |x| [nat]", "The length that the paper reads"),
    "log_norm_centred": (
        "ln |x less its mean| [nat]",
        "Without the mean over features, which no block reads",
    ),
}


def chart_gauges(layers: pd.DataFrame) -> alt.VConcatChart:
    """Draw length and gain over depth of one network in every gauge.

    ``layers`` has one row per gauge and layer, as `profiles` returns it.
    """
    rows = [
        _row(layers, column, *titles, has_labels=column == list(PANELS)[-1])
        for column, titles in PANELS.items()
    ]
    n_gauges = layers["gauge"].nunique()
    stacked = alt.vconcat(
        *rows,
        spacing=12,
        description=f"Length of the stream of one network over depth in {n_gauges} gauges whose "
        "logits are identical: rising, falling and flat in the upper panel. Without the mean over "
        "features they lie on each other in the lower panel.",
    )
    shared = stacked.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return cast("alt.VConcatChart", found(shared, f"{finding(layers)}."))


def _row(
    layers: pd.DataFrame, column: str, axis: str, title: str, *, has_labels: bool
) -> alt.LayerChart:
    names = [*LABELS, *(name for name in GAUGES if name not in LABELS)]
    depths = alt.Scale(domain=[int(layers["layer"].min()), int(layers["layer"].max())], nice=False)
    x = alt.X("layer:Q", scale=depths).axis(
        title="depth: output of block (−1: input) [blocks]" if has_labels else None,
        labels=has_labels,
        tickMinStep=1,
        grid=False,
    )
    base = alt.Chart(layers.dropna(subset=[column])).encode(
        x=x,
        y=alt.Y(f"{column}:Q").axis(title=axis, tickCount=4),
        color=alt.Color("gauge:N", scale=greys(names), legend=None),
    )
    lines = base.mark_line().encode(
        strokeDash=alt.StrokeDash("gauge:N", scale=series(names, DASHES), legend=None)
    )
    points = base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("gauge:N", scale=series(names, SHAPES), legend=None)
    )
    drawn = [lines, points, *_words(layers, column, x, axis)]
    if _coincide(layers, column):
        drawn, title = [_one_line(layers, column, x, axis)], f"{title}: all lie on one line"
    layered = alt.layer(*drawn).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, fontSize=14, fontWeight="normal", anchor="start", color=INK),
    )
    return cast("alt.LayerChart", layered)


def _words(layers: pd.DataFrame, column: str, x: alt.X, axis: str) -> list[alt.Chart]:
    """Return the name of each gauge at its first point, on the side to which its line does not go.

    There the lines are furthest apart. The steepest line has its name at its right.
    """
    values = layers.dropna(subset=[column]).pivot_table(column, "gauge", "layer")
    starts = values.iloc[:, 0].to_dict()
    slopes = (values.iloc[:, 1] - values.iloc[:, 0]).to_dict()
    steepest = max(slopes, key=lambda name: abs(slopes[name]))
    y = alt.Y("at:Q").axis(title=axis, tickCount=4)
    words = []
    for gauge, slope in slopes.items():
        down, away = (0, 40) if gauge == steepest else (14 if slope > LEVEL else -12, 8)
        at = {"layer": [values.columns[0]], "at": [starts[gauge]], "gauge": [gauge]}
        row = pd.DataFrame(at)
        text = alt.Chart(row).mark_text(align="left", dx=away, dy=down, fontSize=13, color=INK)
        words.append(text.encode(x=x, y=y, text="gauge:N"))
    return words


def _coincide(layers: pd.DataFrame, column: str) -> bool:
    """Return whether a column is the same in every gauge, layer by layer, to the eye."""
    by_layer = layers.dropna(subset=[column]).groupby("layer")[column]
    spread = (by_layer.max() - by_layer.min()).max()
    return bool(spread < ALIKE * (layers[column].max() - layers[column].min()))


def _one_line(layers: pd.DataFrame, column: str, x: alt.X, axis: str) -> alt.Chart:
    """Draw the one line on which all gauges lie."""
    one = layers.dropna(subset=[column]).groupby("layer", as_index=False)[column].mean()
    line = alt.Chart(one).mark_line(color=INK, point=alt.OverlayMarkDef(color=INK, size=45))
    return cast("alt.Chart", line.encode(x=x, y=alt.Y(f"{column}:Q").axis(title=axis, tickCount=4)))


def finding(layers: pd.DataFrame) -> str:
    """Return the finding of `chart_gauges` in one line.

    ``layers`` has one row per gauge and layer; what the stream does is read off its log gains.
    """
    parts = list(does(layers).values())
    return f"Same network, same predictions: it {', '.join(parts[:-1])} or {parts[-1]}"


def does(layers: pd.DataFrame) -> dict[str, str]:
    """Return what the stream does in each gauge that was made, by its mean log gain, least first.

    Parameters
    ----------
    layers
        One row per gauge and layer: `gauge`, `log_gain` [nat], missing before block 0.
    """
    gains = layers[layers["gauge"].isin(LABELS)].dropna(subset=["log_gain"])
    means = gains.groupby("gauge")["log_gain"].mean().sort_values()
    return {
        str(gauge): "shrinks" if mean < -LEVEL else "grows" if mean > LEVEL else "stays"
        for gauge, mean in means.items()
    }


def sign_rows(signs: pd.DataFrame) -> pd.DataFrame:
    """Return the gains of the models measured here, raw and centred, formatted for print.

    ``signs`` has one row per model: `model_id`, `norm_kind`, `gain_published`, `gain_centred`,
    `sign_published`, `sign_centred`; see `questions.partners.signs`.
    """
    return pd.DataFrame(
        {
            "model": prose.short_name(signs["model_id"]),
            "norm": signs["norm_kind"],
            "raw": [prose.number(gain, 4) for gain in signs["gain_published"]],
            "centred": [prose.number(gain, 4) for gain in signs["gain_centred"]],
            "said": signs["sign_published"],
            "said_centred": signs["sign_centred"],
        }
    )


def verdict_rows(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return what one network is called in each gauge, formatted for print.

    ``verdicts`` has one row per gauge, see `questions.partners.verdicts_by_gauge`.
    """
    return pd.DataFrame(
        {
            "gauge": verdicts["gauge"],
            "raw": verdicts["gain_published"].map(prose.number),
            "said": verdicts["sign_published"],
            "centred": verdicts["gain_centred"].map(prose.number),
            "said_centred": verdicts["sign_centred"],
            "change": verdicts["largest_logit_change"].map(prose.power_of_ten),
        }
    )


def behind_sentence(counted: pd.Series[Any]) -> str:
    """Return what is said of the models whose norms stand behind sub-layers; empty without any.

    ``counted`` is the row of `questions.gauge.norm_kinds`.
    """
    n = int(counted["n_behind"])
    if not n:
        return ""
    return (
        f"In {'one' if n == 1 else n} of them the norms come after the sub-layers: "
        "there the stream is free after every block but the last, and the printed gain is of an "
        "earlier block."
    )

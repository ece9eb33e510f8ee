"""Pictures of a fit in Altair's own look: residuals, quantiles, what levels add, influence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

if TYPE_CHECKING:
    import altair as alt

#: Size of a picture [pixels].
SIZE = {"width": 420, "height": 300}

#: Rows of a frame beyond which a picture shows a part: a specification holds its data.
MOST = 5000


def residuals(frame: pd.DataFrame) -> alt.Chart:
    """Return residuals over fitted values, from `augment`."""
    import altair as alt

    shown = _part(frame[["fitted", "residual"]])
    chart: alt.Chart = (
        alt.Chart(shown, title="Residuals over fitted values")
        .mark_circle(opacity=0.5)
        .encode(
            alt.X("fitted").scale(zero=False), alt.Y("residual"), tooltip=["fitted", "residual"]
        )
        .properties(**SIZE)
    )
    return chart


def quantiles(frame: pd.DataFrame) -> alt.TopLevelMixin:
    """Return the residuals' quantiles over those of a normal distribution, from `augment`."""
    import altair as alt

    observed = np.sort(frame["residual"].to_numpy(dtype=np.float64))
    places = (np.arange(len(observed)) + 0.5) / len(observed)
    theoretical = special.ndtri(places) * observed.std(ddof=1)
    shown = _part(pd.DataFrame({"theoretical": theoretical, "observed": observed}))
    ends = pd.DataFrame({"theoretical": theoretical[[0, -1]]})
    ends = ends.assign(observed=ends["theoretical"] + observed.mean())
    base = alt.Chart(shown, title="Residuals against a normal distribution").mark_circle(
        opacity=0.5
    )
    line = alt.Chart(ends).mark_line(color="gray")
    both = [each.encode(alt.X("theoretical"), alt.Y("observed")) for each in (line, base)]
    return alt.layer(*both).properties(**SIZE)


def modes(frame: pd.DataFrame) -> alt.FacetChart:
    """Return what each level adds, with 95 % of its conditional distribution, from `ranef`."""
    import altair as alt

    shown = frame[["group", "level", "term", "estimate", "std_error"]].copy()
    shown["low"] = shown["estimate"] - 1.96 * shown["std_error"]
    shown["high"] = shown["estimate"] + 1.96 * shown["std_error"]
    shown["effect"] = shown["group"] + ": " + shown["term"]
    order = alt.EncodingSortField("estimate")
    base = alt.Chart(shown).encode(alt.Y("level", sort=order, title=None))
    points = base.mark_circle().encode(alt.X("estimate"), tooltip=["level", "estimate"])
    bars = base.mark_rule().encode(alt.X("low", title="estimate"), alt.X2("high"))
    chart: alt.FacetChart = (
        alt.layer(bars, points)
        .facet(column=alt.Column("effect", title=None))
        .resolve_scale(y="independent", x="independent")
    )
    return chart


def influence(frame: pd.DataFrame) -> alt.Chart:
    """Return Cook's distance of each level, from `influence`."""
    import altair as alt

    shown = frame[["level", "cooks_distance"]].drop_duplicates()
    chart: alt.Chart = (
        alt.Chart(shown, title="What leaving out a level moves")
        .mark_bar()
        .encode(
            alt.X("cooks_distance", title="Cook's distance"),
            alt.Y("level", sort="-x", title=str(frame["group"].iloc[0])),
            tooltip=["level", "cooks_distance"],
        )
    )
    return chart


def _part(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows at equal distances, the last among them, so that a picture stays light."""
    if len(frame) <= MOST:
        return frame
    return frame.iloc[np.linspace(0, len(frame) - 1, MOST).astype(int)]

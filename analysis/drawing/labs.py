"""The colour and the shape of each lab, on all pages; nothing else has a colour but a verdict.

They are taken by naming labs: there is no list of colours to take one from. What is no lab has a
grey of `theme.TONES`, which charts use where none is named.
"""

from __future__ import annotations

from collections.abc import Iterable

import altair as alt
import pandas as pd

from analysis.drawing.theme import INK, series

#: Colour (after Okabe and Ito, safe for colour-blind readers; blue and brown a little lighter
#: for the dark page) and shape of each lab.
LOOKS: dict[str, tuple[str, str]] = {
    "EleutherAI": ("#1F83C9", "triangle-down"),
    "Meta": ("#D55E00", "circle"),
    "BigScience": ("#009E73", "square"),
    "OpenAI": ("#CC79A7", "diamond"),
    "Google": ("#E69F00", "triangle-up"),
    "Mistral": ("#56B4E9", "cross"),
    "TII": ("#A07B32", "triangle-right"),
    "StabilityAI": ("#8C6BB1", "triangle-left"),
    "Swiss AI": ("#B2182B", "wedge"),
    "AI2": ("#8A8A00", "diamond"),
    "thermoscope": (INK, "circle"),
}
#: The labs in the order of legends and rows.
ORDER = tuple(LOOKS)


def lab_colour(rows: pd.DataFrame) -> alt.Color:
    """Return the colour of each lab that the frame has in its column `lab`; others are grey."""
    labs = _present(rows["lab"])
    scale = series(labs, [LOOKS[lab][0] if lab in LOOKS else INK for lab in labs])
    return alt.Color("lab:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def lab_shape(rows: pd.DataFrame) -> alt.Shape:
    """Return the shape of each lab that the frame has in its column `lab`; others are discs."""
    labs = _present(rows["lab"])
    scale = series(labs, [LOOKS[lab][1] if lab in LOOKS else "circle" for lab in labs])
    return alt.Shape("lab:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def _present(labs: Iterable[str]) -> list[str]:
    """Return the labs in their order, what is none behind them."""
    present = set(labs)
    return [*(lab for lab in ORDER if lab in present), *sorted(present - {*ORDER})]

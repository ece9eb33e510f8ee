"""The colour and the shape of each verdict in figures; ``quarto/site/site.css`` has those of text.

Colours are mid-tones for light and dark pages, apart for the colour-blind; the shape alone tells
verdicts apart in grey. Words are those of `analysis.audit.VERDICTS`.
"""

from __future__ import annotations

from analysis import audit as claims
from analysis.drawing.theme import INK
from analysis.drawing.theme import SHAPES as TONE_SHAPES

#: In the order of the verdicts: teal, amber, vermilion, violet, grey; disc, half, cross, ring, bar.
_COLOURS = ("#12936F", "#C28A12", "#D9531E", "#8572C4", INK)
_SHAPES = (
    "circle",
    "M0,-1A1,1,0,0,1,0,1ZM0,-1A1,1,0,0,0,0,1L0,0.75A0.75,0.75,0,0,1,0,-0.75Z",
    TONE_SHAPES[2],
    "M1,0A1,1,0,0,1,-1,0A1,1,0,0,1,1,0ZM0.7,0A0.7,0.7,0,0,0,-0.7,0A0.7,0.7,0,0,0,0.7,0Z",
    "M-1,-0.2H1V0.2H-1Z",
)
COLOURS: dict[str, str] = dict(zip(claims.VERDICTS, _COLOURS, strict=False))
SHAPES: dict[str, str] = dict(zip(claims.VERDICTS, _SHAPES, strict=False))

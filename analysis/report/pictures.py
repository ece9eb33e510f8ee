"""Pictures of charts, each drawn once and cached as results are.

To start what draws them and to lay a chart out takes longer than most of what they show.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from analysis.drawing import picture
from analysis.report.cache import Results

NAME = "cached-svg"

#: Pictures that are cached at most: the report has a third as many, for another data set as well.
N_KEPT = 100


def enable(results: Results) -> None:
    """Let Altair show charts as pictures that belong to some results.

    A picture depends on the whole specification of its chart, data included, on the code and on
    the packages; `analysis.drawing.picture.svg` draws it.
    """

    def draw(spec: dict[str, Any], **options: Any) -> dict[str, str]:
        return results.cached(
            "picture",
            lambda: picture.svg(spec, **options),
            given=json.dumps([spec, options]),
            n_kept=N_KEPT,
            is_announced=False,
        )

    alt.renderers.register(NAME, draw)
    alt.renderers.enable(NAME)

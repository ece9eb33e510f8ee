"""The front's figure of models."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.delia2026.pages import charts
from analysis.drawing import findings
from analysis.drawing.theme import with_finding

#: Widths of the two panels of the front, beside names and without, and height of the second [px].
WIDE, BROAD, HIGH = 330, 440, 360


def chart_models(models: pd.DataFrame) -> alt.LayerChart:
    """Draw the gain of each model by name with its interval over prompts, small.

    Parameters
    ----------
    models
        One row per model: `model_id`, `lab`, `norm_position`, `gain_mean`, `conf_low`,
        `conf_high` [ratio].
    """
    chart = charts.chart_gain_by_lab(models).properties(width=WIDE)
    return cast("alt.LayerChart", with_finding(chart, findings.heritage(models), is_small=True))

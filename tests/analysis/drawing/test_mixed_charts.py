from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

from analysis import mixed
from analysis.drawing.diagnostics import (
    chart_binned_residuals,
    chart_caterpillar,
    chart_forest,
    chart_quantiles,
)
from analysis.mixed.frames.diagnostics import binned_residuals, random_effect_quantiles
from analysis.mixed.model import MixedModel

rows = pd.read_csv(Path(__file__).parents[2] / "r/mixed_data_crossed.csv")

DRAWN: dict[str, Callable[[MixedModel], alt.LayerChart]] = {
    "forest": lambda model: chart_forest(model.tidy(["fixed"])),
    "caterpillar": lambda model: chart_caterpillar(model.ranef().query("group == 'model'")),
    "quantiles": lambda model: chart_quantiles(random_effect_quantiles(model)),
    "bins": lambda model: chart_binned_residuals(binned_residuals(model)),
}


@pytest.fixture(scope="module")
def model() -> MixedModel:
    return mixed.fit("gain ~ rho + depth + (1 | model) + (1 | prompt)", rows)


@pytest.mark.parametrize("name", DRAWN)
def test_a_chart_is_valid_and_described(model: MixedModel, name: str) -> None:
    drawn = DRAWN[name](model).to_dict()
    assert drawn["description"].endswith(".")
    assert len(drawn["layer"]) >= 2


def test_a_forest_has_a_row_for_every_term_in_their_order(model: MixedModel) -> None:
    drawn = chart_forest(model.tidy(["fixed"])).to_dict()
    points = drawn["layer"][-1]["encoding"]
    assert points["y"]["sort"] == list(model.terms)
    assert points["x"]["title"] == "estimate [units of the response]"

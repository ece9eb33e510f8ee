"""What the report draws, prints and says of the hierarchy."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.hierarchy import hierarchy_charts
from analysis.heritage.hierarchy import hierarchy_tables as hierarchy_exhibits
from analysis.heritage.hierarchy.hierarchy_tables import Views
from analysis.heritage.hierarchy.models import EVERYTHING, Family

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def told(families: list[Family]) -> Views:
    """What is told, with as few draws as an interval of 95 % can have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hierarchy_exhibits, "RESAMPLES", 39)
        patch.setattr(hierarchy_exhibits, "RESAMPLES_OF_LAYERS", 39)
        return hierarchy_exhibits.views(families)


def fields(node: object) -> set[str]:
    """Return every field that a chart encodes, however it is layered."""
    found: set[str] = set()
    if isinstance(node, dict):
        if isinstance(node.get("field"), str):
            found.add(node["field"])
        for value in node.values():
            found |= fields(value)
    elif isinstance(node, list):
        for value in node:
            found |= fields(value)
    return found


def test_every_field_that_is_drawn_exists_and_every_chart_is_described(told: Views) -> None:
    spec = hierarchy_charts.chart_caterpillar(told.modes).to_dict()
    assert len(spec["description"]) > 30
    columns = [set(rows[0]) for rows in spec["datasets"].values()]
    assert fields(spec) <= set.intersection(*columns)


def test_marks_are_told_apart_without_colour(told: Views) -> None:
    spec = hierarchy_charts.chart_caterpillar(told.modes).to_dict()
    points = spec["vconcat"][0]["layer"][1]["encoding"]
    assert points["shape"]["field"] == points["color"]["field"] == "mark"
    assert len(set(points["shape"]["scale"]["range"])) == 2


def test_a_group_whose_variance_is_zero_is_said_to_be_so_and_not_drawn(told: Views) -> None:
    spec = hierarchy_charts.chart_caterpillar(told.modes).to_dict()
    titles = [panel["title"]["text"] for panel in spec["vconcat"]]
    assert titles == ["suite", "lab (before: variance estimated as zero)"]
    rows = pd.DataFrame([row for rows in spec["datasets"].values() for row in rows])
    assert set(rows.loc[rows["group"] == "lab", "mark"]) == {hierarchy_charts.AFTER}
    assert (rows["conf_high"] > rows["conf_low"]).all()


def test_suites_are_sorted_by_where_they_lie_before_geometry_enters(told: Views) -> None:
    spec = hierarchy_charts.chart_caterpillar(told.modes).to_dict()
    drawn = spec["vconcat"][0]["layer"][1]["encoding"]["y"]["sort"]
    before = told.modes[(told.modes["block"] == "none") & (told.modes["group"] == "suite")]
    assert drawn == before.sort_values("estimate")["level"].tolist()


def test_a_row_of_the_effects_prints_what_the_frame_holds(told: Views) -> None:
    rows = hierarchy_exhibits.effect_rows(told.effects)
    assert list(rows) == list(hierarchy_exhibits.EFFECTS)
    assert len(rows) == 10
    effects = told.effects.set_index(["metric", "block", "term"])
    depth = effects.loc[("gain_penultimate_block", EVERYTHING, "n_layers")]
    printed = rows[(rows["predictor"] == "depth") & (rows["block"] == "all blocks")].iloc[0]
    assert printed["estimate"] == f"{depth['estimate']:.3f}".replace("-", "−")
    assert printed["df"] == f"{depth['df']:.1f}"
    assert rows["interval"].iloc[0] == "not estimable"


def test_shares_below_one_per_cent_are_not_printed_as_zero(told: Views) -> None:
    rows = hierarchy_exhibits.component_rows(told.components)
    assert list(rows) == list(hierarchy_exhibits.COMPONENTS)
    first = rows[rows["data_set"] == "published figures, penultimate block"].set_index("group")
    assert first["before_share"]["residual"] == "<\u00a01\u00a0%"
    last = rows[rows["data_set"] == "published figures, last block"]
    assert set(last["after_share"]) == {"–"}


def test_sentences_read_the_numbers_of_the_frames(told: Views) -> None:
    assert told.alone["n_layers"].zero == "excludes 0"
    assert told.beside["n_layers"].zero == "contains 0"
    assert told.alone["heritage"].labs == "5 labs"
    assert told.others == "4 others"
    assert told.exchanged["lab"].least_p == "0.20"
    assert told.last_block.models == "8 models"
    shares = told.components.set_index(["metric", "block", "group"])["variance_share"]
    of_suites = shares["gain_penultimate_block", "none", "suite"]
    assert told.shares()["suite"].percent() == f"{100 * of_suites:.0f}\u00a0%"
    effects = told.effects.set_index(["metric", "block", "term"])["estimate"]
    assert told.recipes.row["estimate"] == effects["gain_block", "heritage", "heritage[T.muon]"]


def test_a_definition_that_no_rows_have_is_refused(told: Views) -> None:
    with pytest.raises(LookupError, match="no data set has the definition 'gain_whole_matrix'"):
        told.shares("gain_whole_matrix")

"""The paper's Figures 4 and 8 against the points read off, counted without our code."""

import csv
import math
import re
from collections import defaultdict

import pandas as pd
import pytest

from analysis.delia2026.weights import claims_by_layer, layer_charts
from tests.analysis.drawn import borrowed, lines_with_points
from tests.analysis.places import PUBLISHED


@pytest.fixture(scope="module")
def layers(shipped_store):
    return claims_by_layer.layers(shipped_store)


@pytest.fixture(scope="module")
def by_hand():
    """Return the points of each model in the order of its layers."""
    points = defaultdict(list)
    with (PUBLISHED / "digitised_point.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["figure"] == "Fig. 8":
                points[row["model_id"]].append((int(row["layer"]), float(row["value"])))
    return {name: [value for _, value in sorted(values)] for name, values in points.items()}


def drawn(spec, column):
    """Return the rows of a chart that have a column, by model and layer."""
    parts = [pd.DataFrame(rows) for rows in spec["datasets"].values()]
    rows = pd.concat([it[["model", "layer", column]] for it in parts if {column, "layer"} <= {*it}])
    return rows.drop_duplicates().sort_values(["model", "layer"])


def test_figure_8_has_the_points_and_figure_4_their_roots(layers, by_hand):
    squares = drawn(layer_charts.chart_squares(layers).to_dict(), "value")
    norms = drawn(layer_charts.chart_norms(layers).to_dict(), "value_norm")
    for model_id, values in by_hand.items():
        name = model_id.partition("/")[2]
        assert squares.loc[squares["model"] == name, "value"].tolist() == values
        roots = norms.loc[norms["model"] == name, "value_norm"].tolist()
        assert roots == pytest.approx([math.sqrt(it) for it in values])
    assert len(squares) == len(norms) == sum(map(len, by_hand.values())) == 108


def test_the_factor_is_that_of_means_over_the_last_quarter(layers, by_hand):
    theirs, others = [], []
    for model_id, values in by_hand.items():
        late = values[math.ceil(len(values) * 3 / 4) :]
        mean = sum(late) / len(late)
        (theirs if model_id.startswith("EleutherAI/") else others).append(mean)
    factor = (sum(theirs) / len(theirs)) / (sum(others) / len(others))
    chart = layer_charts.chart_squares(layers).to_dict()
    said = [int(it) for it in re.findall(r"\d+", chart["usermeta"]["finding"])]
    assert said == [round(factor), claims_by_layer.PRINTED]
    assert not 200 < factor < 400
    large = [rows for rows in chart["datasets"].values() if all(it.get("is_late") for it in rows)]
    n_late = {it["model"]: 0 for it in large[0]}
    for row in large[0]:
        n_late[row["model"]] += 1
    assert n_late == {name.partition("/")[2]: len(values) // 4 for name, values in by_hand.items()}


def test_what_is_said_of_the_lines_follows_the_rows(layers):
    said = layer_charts.of_no_value(layers)
    assert "3 of 6" in said
    assert "gpt2" in said
    right = layers.assign(is_misread=False)
    assert "0 of 6" in layer_charts.of_no_value(right)
    assert "pythia-160m" in layer_charts.of_no_value(right)
    assert "6 of 6" in layer_charts.of_no_value(layers.assign(is_misread=True))


def test_the_lower_panel_leaves_eleutherai_out_and_names_every_line(layers):
    upper, lower = layer_charts.chart_norms(layers).to_dict()["vconcat"]
    spec = layer_charts.chart_norms(layers).to_dict()

    def names(panel):
        sets = {it["data"]["name"] for it in panel["layer"] if it["mark"]["type"] == "text"}
        return {row["name"] for name in sets for row in spec["datasets"][name]}

    assert names(upper) == {"pythia-160m", "pythia-410m"}
    assert names(lower) == {"bloom-560m", "gpt2", "opt-125m", "opt-350m"}
    assert not borrowed(spec)
    assert not lines_with_points(spec)

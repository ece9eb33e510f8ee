"""The charts of L* draw what their frames hold, and the frames hold what was published."""

import pandas as pd
import pytest

from analysis.heritage.transition import l_star_tables as l_star_exhibits
from analysis.heritage.transition import transition_charts
from analysis.tidy import prose
from tests.analysis.drawn import encodings, lines_with_points


@pytest.fixture(scope="module")
def drawn(published_store):
    return {
        "found": transition_charts.chart_l_star(l_star_exhibits.shares(published_store)),
        "chance": transition_charts.chart_error_by_chance(
            l_star_exhibits.chance_bins(published_store), l_star_exhibits.observed(published_store)
        ),
        "noise": transition_charts.chart_noise_layers(l_star_exhibits.noise_layers()),
    }


def test_every_chart_is_described_and_draws_columns_that_exist(drawn):
    for name, chart in drawn.items():
        spec = chart.to_dict()
        assert len(spec["description"]) > 30, name
        columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
        fields = {
            channel["field"]
            for encoding in encodings(spec)
            for channel in encoding.values()
            if isinstance(channel, dict) and "field" in channel
        }
        assert fields <= columns, name


def test_no_colour_stands_alone_and_nothing_is_computed_in_a_chart(drawn):
    for name, chart in drawn.items():
        for encoding in encodings(chart.to_dict()):
            assert not any("aggregate" in channel for channel in encoding.values()), name
            if "field" in encoding.get("color", {}):
                beside = {"shape", "strokeDash"} & set(encoding)
                assert any(encoding[c]["field"] == encoding["color"]["field"] for c in beside), name


def test_no_mark_is_drawn_twice(drawn):
    for name, chart in drawn.items():
        assert not lines_with_points(chart.to_dict()), name


def test_axes_carry_units(drawn):
    titles = {
        channel["title"]
        for chart in drawn.values()
        for encoding in encodings(chart.to_dict())
        for axis, channel in encoding.items()
        if axis in ("x", "y") and channel.get("title")
    }
    assert titles == {
        "L* / L [share of depth]",
        "mean |predicted − found L*| / L [share of depth]",
        "share of draws [0 to 1]",
        "layer [block]",
        "probability [0 to 1]",
    }


def test_each_error_is_named_with_its_value_and_no_two_lines_end_at_one_height(drawn):
    spec = drawn["chance"].to_dict()
    rows = next(rows for rows in spec["datasets"].values() if "label" in rows[0])
    assert [row["label"].replace(prose.NO_BREAK, " ") for row in rows] == [
        "share of other suites, 17.8 %",
        "L / 2, 16.0 %",
        "formula, 15.7 %",
    ]
    assert sorted(row["top"] for row in rows) == [row["top"] for row in rows]
    highest = max(r["probability"] for r in next(iter_bins(spec)))
    assert min(row["top"] for row in rows) > highest


def iter_bins(spec):
    """Yield the frames that hold bins."""
    return (rows for rows in spec["datasets"].values() if "probability" in rows[0])


def test_estimators_are_named_in_words(drawn):
    spec = drawn["noise"].to_dict()
    names = {row["estimator"] for rows in spec["datasets"].values() for row in rows}
    assert names == {"largest gradient", "largest gradient, ends left out", "first sign change"}


def test_each_published_layer_is_one_point(published_store):
    shares = l_star_exhibits.shares(published_store)
    assert shares["source"].value_counts().to_dict() == {
        "Fig. 5, read off": 6,
        "notebook 17": 6,
        "script 20, head 0": 4,
        "script 20, all heads": 4,
    }
    assert shares["formula"].nunique() == 2
    assert shares["share"].between(0, 1).all()


def test_the_bars_hold_every_draw(published_store):
    bins = l_star_exhibits.chance_bins(published_store)
    assert bins["probability"].sum() == pytest.approx(1)
    assert (bins["high"].iloc[:-1].to_numpy() == bins["low"].iloc[1:].to_numpy()).all()


def test_the_table_prints_both_errors_of_each_prediction(published_store):
    rows = l_star_exhibits.error_rows(published_store)
    first = rows.iloc[0]
    printed = {name: first[name].replace(prose.NO_BREAK, " ") for name in l_star_exhibits.HEADERS}
    assert printed == {
        "source": "Fig. 5, read off",
        "prediction": "formula",
        "models": "6",
        "over_depth": "15.7 %",
        "over_layer": "28.8 %",
    }


def test_a_flat_estimator_is_said_to_favour_no_layer_and_ties_are_named_together(drawn):
    said = drawn["noise"].to_dict()["usermeta"]["finding"]
    assert "largest gradient, 0 and 11; " in said
    assert "ends left out, none; " in said
    assert said.endswith("first sign change, 1, 2 and 3.")


def test_values_of_models_with_one_value_each_have_no_spread():
    shares = pd.DataFrame({"model": ["a", "b"], "share": [0.1, 0.2], "formula": 0.5, "source": "x"})
    chart = transition_charts.chart_l_star(shares)
    assert "No model" in chart.to_dict()["usermeta"]["finding"]

"""The frames and the chart of the report's section on what is printed."""

import pytest

from analysis.heritage.record import forensic_charts as charts
from analysis.heritage.record import forensic_tables as exhibits
from tests.analysis.drawn import borrowed


@pytest.fixture(scope="module")
def rows(published_store):
    return exhibits.recomputed(published_store).set_index("place")


def test_each_printed_number_is_compared_with_what_follows(rows):
    assert rows["agrees"].to_dict() == {
        "Fig. 1": "yes",
        "§5.2.3": "yes",
        "§5.5": "yes",
        "App. B": "yes",
        "§4.2": "yes",
        "§5.3": "no",
    }
    assert rows["found"]["Fig. 1"].endswith("agree for n = 8 alone")
    assert rows["found"]["App. B"] == "a share of 16 or 32 models"
    assert rows["found"]["§4.2"].startswith("4 tables; this p with 5, 10 or 15 models")
    assert rows["found"]["§5.3"].startswith("mean of |error| / size, size the depth")
    assert exhibits.agreeing(rows) == ("5", "6")


def test_the_words_of_the_section_are_computed(published_store):
    assert exhibits.bars(published_store) == ("2", "3")
    # 5 ways to choose who of the 5 expands, of all choices of 4 dampening models among 16.
    assert exhibits.shares_of_the_hunt(published_store) == {
        "eleuther": "5",
        "others": "11",
        "p": f"{5 / 1820:.2g}",
    }


def test_a_store_without_quoted_numbers_gives_no_rows(tiny_store):
    assert exhibits.recomputed(tiny_store).empty
    assert exhibits.figure_sources(tiny_store).empty
    assert exhibits.shares_of_the_hunt(tiny_store) == {}


def test_every_mapped_figure_has_both_places_searched(published_store):
    figures = exhibits.figure_sources(published_store)
    assert figures.groupby("place")["searched"].nunique().eq(2).all()
    assert figures["share"].between(0, 1).all()
    named = figures[figures["searched"] == charts.KINDS[0]].set_index("place")["share"]
    assert named[named == 1].index.tolist() == ["Fig. 6", "§5.5"]


def test_the_chart_names_its_axis_and_tells_marks_apart_by_shape(published_store):
    chart = charts.chart_figure_sources(exhibits.figure_sources(published_store)).to_dict()
    assert not borrowed(chart)
    assert chart["description"]
    layers = chart["layer"]
    assert layers[1]["encoding"]["x"]["title"] == "share of the figure's numbers found [0 to 1]"
    shapes = layers[1]["encoding"]["shape"]["scale"]
    assert shapes["domain"] == list(charts.KINDS)
    assert len(set(shapes["range"])) == 2

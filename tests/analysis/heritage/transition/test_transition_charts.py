"""The chart and tables of L* hold what was published."""

from analysis.heritage.transition import l_star_tables as l_star_exhibits
from analysis.heritage.transition import transition_charts
from analysis.tidy import prose
from tests.analysis.drawn import encodings, lines_with_points


def test_the_chart_is_described_and_draws_columns_that_exist(published_store):
    chart = transition_charts.chart_l_star(l_star_exhibits.shares(published_store))
    spec = chart.to_dict()
    assert len(spec["description"]) > 30
    columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
    channels = [channel for encoding in encodings(spec) for channel in encoding.values()]
    assert {channel["field"] for channel in channels if "field" in channel} <= columns
    assert not lines_with_points(spec)


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


def test_the_table_prints_both_errors_of_each_prediction(published_store):
    first = l_star_exhibits.error_rows(published_store).iloc[0]
    printed = {name: first[name].replace(prose.NO_BREAK, " ") for name in l_star_exhibits.HEADERS}
    assert printed == {
        "source": "Fig. 5, read off",
        "prediction": "formula",
        "models": "6",
        "over_depth": "15.7 %",
        "over_layer": "28.8 %",
    }

"""Charts say what they show: fields that exist, axes with units, no colour without shape."""

import pandas as pd
import pytest

from analysis import charts, claims, depth_charts, exhibits, profiles, theme
from tests.analysis.drawn import encodings


@pytest.fixture(scope="module")
def drawn(request):
    store = request.getfixturevalue("shipped_store")
    judged = request.getfixturevalue("judged")
    return {
        "depth": charts.chart_gain_by_depth(
            exhibits.penultimate_gains(store), exhibits.bound_curve(store)
        ),
        "labs": charts.chart_gain_by_lab(exhibits.signed_gains(store)),
        "density": charts.chart_gain_by_density(
            exhibits.penultimate_gains(store), band=(0.15, 0.2)
        ),
        "shares": charts.chart_shares(exhibits.shares(store)),
        "benchmark": charts.chart_definitions(
            exhibits.definitions(store), order=exhibits.benchmark_order()
        ),
        "spectral": charts.chart_spectral(exhibits.spectral_norms(store)),
        "trace": charts.chart_trace_profile(exhibits.published_traces(store)),
        "twins": charts.chart_twins(exhibits.twins(store)),
        "stream": depth_charts.chart_stream(profiles.stream(store)),
        "updates": depth_charts.chart_updates(profiles.deepest(profiles.updates(store))),
        "attention": depth_charts.chart_attention(profiles.attention(store)),
        "geometry": depth_charts.chart_geometry(profiles.geometry(store)),
        "circuit": depth_charts.chart_circuit(profiles.circuit(store)),
        "verdicts": charts.chart_verdicts(
            exhibits.verdict_labels(judged), verdicts=claims.VERDICTS
        ),
    }


def test_every_chart_has_a_description_and_data(drawn):
    for name, chart in drawn.items():
        spec = chart.to_dict()
        assert len(spec["description"]) > 30, name
        assert all(rows for rows in spec["datasets"].values()), name


def test_every_field_that_is_drawn_exists_in_its_frame(drawn):
    for name, chart in drawn.items():
        spec = chart.to_dict()
        columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
        for encoding in encodings(spec):
            for channel in encoding.values():
                if isinstance(channel, dict) and "field" in channel:
                    assert channel["field"] in columns, name


def test_no_statistic_is_computed_by_a_chart(drawn):
    for name, chart in drawn.items():
        for encoding in encodings(chart.to_dict()):
            assert not any("aggregate" in channel for channel in encoding.values()), name


def test_colour_never_stands_alone(drawn):
    for name, chart in drawn.items():
        found = list(encodings(chart.to_dict()))
        coloured = {e["color"]["field"] for e in found if "field" in e.get("color", {})}
        shaped = {e["shape"]["field"] for e in found if "field" in e.get("shape", {})}
        assert coloured <= shaped, name


def test_every_number_axis_has_a_unit(drawn):
    for name, chart in drawn.items():
        titles = [
            channel["title"]
            for encoding in encodings(chart.to_dict())
            for key, channel in encoding.items()
            if key in ("x", "y") and channel.get("type") == "quantitative" and channel.get("title")
        ]
        assert all("[" in title for title in titles), (name, titles)


def test_every_lab_of_the_store_has_a_colour_and_a_shape(shipped_store):
    labs = shipped_store.query("SELECT DISTINCT lab FROM model WHERE lab IS NOT NULL")["lab"]
    assert set(labs) <= set(theme.LABS)
    assert len({(c, s) for c, s in theme.LABS.values()}) == len(theme.LABS)


def test_exhibits_do_not_invent_models(shipped_store):
    gains = exhibits.penultimate_gains(shipped_store)
    published = shipped_store.query(
        "SELECT DISTINCT model_id FROM published_figure WHERE metric = 'gain_penultimate_block'"
    )
    assert set(gains["model_id"]) == set(published["model_id"])
    assert (gains["conf_low"] < gains["gain_mean"]).all()


def test_the_bound_curve_is_ten_when_raised_to_the_depth(shipped_store):
    curve = exhibits.bound_curve(shipped_store)
    assert (curve["bound"] ** curve["n_layers"]).tolist() == pytest.approx([10.0] * len(curve))


def test_verdict_counts_add_up(judged):
    assert sum(exhibits.verdict_counts(judged).values()) == len(judged)
    assert isinstance(exhibits.verdict_rows(judged), pd.DataFrame)

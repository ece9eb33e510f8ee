"""Charts say what they show: fields that exist, axes with units, no colour without shape."""

import re
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
from altair.utils.mimebundle import spec_to_mimebundle

import analysis
from analysis.audit.pages import tables as exhibits
from analysis.drawing import findings, labs, theme
from analysis.heritage.depth import bound_charts
from analysis.heritage.pages import charts, frames
from tests.analysis.drawn import borrowed, encodings, lines_with_points


@pytest.fixture(scope="module")
def drawn(request):
    store = request.getfixturevalue("shipped_store")
    return {
        "depth": bound_charts.chart_gain_by_depth(
            bound_charts.gains(store), frames.bound_curve(store)
        ),
        "labs": charts.chart_gain_by_lab(frames.signed_gains(store)),
        "density": charts.chart_gain_by_density(frames.penultimate_gains(store), band=(0.15, 0.2)),
        "shares": charts.chart_shares(frames.shares(store)),
        "benchmark": charts.chart_definitions(
            frames.definitions(store), order=frames.benchmark_order()
        ),
        "ratio": charts.chart_ratio(frames.spectral_norms(store), frames.penultimate_gains(store)),
        "trace": charts.chart_trace_profile(frames.published_traces(store)),
        "twins": charts.chart_twins(frames.twins(store)),
    }


@pytest.fixture(scope="module")
def specs(drawn):
    return {name: chart.to_dict() for name, chart in drawn.items()}


def test_every_chart_has_a_description_and_data(specs):
    for name, spec in specs.items():
        assert len(spec["description"]) > 30, name
        assert all(rows for rows in spec["datasets"].values()), name


def test_the_symbols_of_a_legend_are_neither_faint_nor_black(drawn):
    for name in ("depth",):
        bundle = spec_to_mimebundle(
            drawn[name].to_dict(),
            format="svg",
            mode="vega-lite",
            vegalite_version=alt.SCHEMA_VERSION,
        )
        symbols = re.findall(
            r'<g class="mark-symbol role-legend-symbol".*?</g>', bundle["image/svg+xml"], re.DOTALL
        )
        assert symbols, name
        assert not any('"black"' in it for it in symbols), name
        if name == "depth":
            assert all('opacity="1"' in it for it in symbols)


def test_every_field_that_is_drawn_exists_in_its_frame(specs):
    for name, spec in specs.items():
        columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
        for encoding in encodings(spec):
            for channel in encoding.values():
                if isinstance(channel, dict) and "field" in channel:
                    assert channel["field"] in columns, name


def test_no_statistic_is_computed_by_a_chart(specs):
    for name, spec in specs.items():
        for encoding in encodings(spec):
            assert not any("aggregate" in channel for channel in encoding.values()), name


def test_colour_never_stands_alone(specs):
    for name, spec in specs.items():
        found = list(encodings(spec))
        coloured = {e["color"]["field"] for e in found if "field" in e.get("color", {})}
        shaped = {e["shape"]["field"] for e in found if "field" in e.get("shape", {})}
        assert coloured <= shaped, name


def test_no_mark_is_drawn_twice(specs):
    for name, spec in specs.items():
        assert not lines_with_points(spec), name


def test_every_number_axis_has_a_unit(specs):
    for name, spec in specs.items():
        titles = [
            "".join(channel["title"])
            for encoding in encodings(spec)
            for key, channel in encoding.items()
            if key in ("x", "y") and channel.get("type") == "quantitative" and channel.get("title")
        ]
        assert all("[" in title for title in titles), (name, titles)


def test_every_lab_of_the_store_has_a_colour_and_a_shape_of_its_own(shipped_store):
    known = shipped_store.query("SELECT DISTINCT lab FROM model WHERE lab IS NOT NULL")["lab"]
    assert set(known) <= set(labs.ORDER)
    frame = pd.DataFrame({"lab": labs.ORDER})
    colours, shapes = (
        channel.to_dict()["scale"]["range"]
        for channel in (labs.lab_colour(frame), labs.lab_shape(frame))
    )
    assert len({*zip(colours, shapes, strict=True)}) == len(labs.ORDER)
    assert not {*theme.TONES} & {*colours} - {theme.INK}
    assert not {*theme.SHAPES[1:]} & {*shapes}


def test_the_colour_and_shape_of_a_lab_stand_for_that_lab_alone(specs):
    for name, spec in specs.items():
        assert not borrowed(spec), name
    meta = labs.lab_colour(pd.DataFrame({"lab": ["Meta"]})).to_dict()["scale"]["range"][0]
    scale = theme.series(["a text"], [meta])
    points = alt.Chart(pd.DataFrame({"kind": ["a text"]})).mark_point()
    assert borrowed(points.encode(color=alt.Color("kind:N", scale=scale)).to_dict()) == [meta]
    shaped = points.encode(shape=alt.Shape("kind:N", scale=theme.series(["a text"], ["square"])))
    assert borrowed(shaped.to_dict()) == ["square"]
    # No module takes one by its number: all are named in one place.
    sources = {path: path.read_text() for path in Path(analysis.__file__).parent.rglob("*.py")}
    numbers = re.compile(r"#[0-9A-Fa-f]{6}\b")
    taken = {
        path.name
        for path, source in sources.items()
        if any(labs.borrowed(colour, "") for colour in numbers.findall(source))
    }
    assert taken == {"labs.py"}


def test_exhibits_do_not_invent_models(shipped_store):
    gains = frames.penultimate_gains(shipped_store)
    published = shipped_store.query(
        "SELECT DISTINCT model_id FROM published_figure WHERE metric = 'gain_penultimate_block'"
    )
    assert set(gains["model_id"]) == set(published["model_id"])
    assert (gains["conf_low"] < gains["gain_mean"]).all()


def test_the_bound_curve_is_ten_when_raised_to_the_depth(shipped_store):
    curve = frames.bound_curve(shipped_store)
    assert (curve["bound"] ** curve["n_layers"]).tolist() == pytest.approx([10.0] * len(curve))


def points(chart, kind="point"):
    """Return every mark of one kind of a chart's specification, with its frame."""
    spec = chart.to_dict()

    def found(node):
        if isinstance(node, dict):
            mark = node.get("mark")
            if isinstance(mark, dict) and mark.get("type") == kind:
                yield node
            for value in node.values():
                yield from found(value)
        elif isinstance(node, list):
            for value in node:
                yield from found(value)

    return [
        (node["mark"], pd.DataFrame(spec["datasets"][node["data"]["name"]]))
        for node in found(spec)
        if "data" in node
    ]


@pytest.mark.parametrize("name", ["depth", "density", "labs", "ratio"])
def test_the_model_that_normalises_after_its_blocks_is_hollow_and_alone(drawn, name):
    marks = points(drawn[name])
    hollow = [rows for mark, rows in marks if not mark["filled"]]
    assert hollow
    assert {model for rows in hollow for model in rows["model_id"]} == {"facebook/opt-350m"}
    filled = {model for mark, rows in marks if mark["filled"] for model in rows["model_id"]}
    assert filled
    assert "facebook/opt-350m" not in filled


@pytest.mark.parametrize(("name", "by"), [("depth", "n_layers"), ("density", "rho")])
def test_every_model_has_a_row_with_its_name_in_the_order_of_what_is_claimed_to_matter(
    drawn, name, by
):
    marked = pd.concat([rows for _, rows in points(drawn[name])])
    rows = next(
        encoding["y"]["sort"]
        for encoding in encodings(drawn[name].to_dict())
        if encoding.get("y", {}).get("field") == "name"
    )
    assert len(rows) == len({*rows}) == marked["model_id"].nunique()
    ordered = marked.drop_duplicates("name").set_index("name").loc[rows, by]
    assert ordered.is_monotonic_increasing


def test_the_bound_is_drawn_beside_both_gains_on_one_scale(drawn):
    spec = drawn["depth"].to_dict()
    assert len(spec["hconcat"]) == 2
    scales = [it["x"]["scale"]["domain"] for it in encodings(spec) if "scale" in it.get("x", {})]
    assert len({tuple(domain) for domain in scales}) == 1


def test_what_a_chart_shows_is_said_of_it(drawn):
    for name in ("depth", "density", "labs", "shares", "ratio", "trace", "twins"):
        assert re.search(r"\d", drawn[name].to_dict()["usermeta"]["finding"]), name


def test_verdict_counts_add_up(judged):
    assert sum(exhibits.verdict_counts(judged).values()) == len(judged)
    assert isinstance(exhibits.verdict_rows(judged), pd.DataFrame)


def test_a_threshold_outside_the_band_is_not_denied():
    models = pd.DataFrame(
        {"rho": [0.1, 0.3, 0.9], "gain_mean": [1.1, 1.1, 0.9], "norm_position": "pre"}
    )
    assert findings.band(models, (0.15, 0.2)).startswith("The band does not part them: 0 of 1")


def test_only_the_claimed_order_counts_and_only_where_every_model_has_a_gain():
    rows = {"as claimed": [1, 2, 3], "reversed": [3, 2, 1], "partial": [1, 2]}
    gains = pd.DataFrame(
        [
            (name, model, gain)
            for name, own in rows.items()
            for model, gain in zip("abc", own, strict=False)
        ],
        columns=["definition", "model", "gain_mean"],
    )
    assert findings.order(gains, list("abc")).startswith("Under 1 of 2 definitions")


def test_where_no_trace_rises_no_rise_is_named():
    layers = pd.DataFrame({"model": "a", "layer": [0, 1], "trace": [2.0, 1.0]})
    said = "From the first to the last layer the trace rises in no model."
    assert findings.trace(layers) == said


def test_a_post_norm_model_is_no_witness_of_what_the_ratio_tells():
    models = pd.DataFrame(
        {
            "gain_mean": [0.9, 0.99, 1.1],
            "ratio": [1.0, 9.0, 5.0],
            "norm_position": ["pre", "post", "pre"],
        }
    )
    assert findings.ratio(models).startswith("The ratio parts the signs: ")


def test_tuning_of_one_pair_is_said_without_others():
    pair = pd.DataFrame({"family": ["a"], "gain_mean": [0.9], "gain_mean_base": [1.1]})
    assert findings.tuning(pair) == "Tuning moves the gain of a by −0.20; 1 of 1 cross one."
    twice = pd.concat([pair, pair.assign(gain_mean=1.0)], ignore_index=True)
    assert "the others by 0.10 at most" in findings.tuning(twice)

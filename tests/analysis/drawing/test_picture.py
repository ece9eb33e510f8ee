"""Charts as pictures: a title on every mark, the rows behind them, names of their own."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import altair as alt
import pandas as pd
import pytest

from analysis.drawing import narrow, picture, spoken, theme
from analysis.report.making.images import Picture, shown

MODELS = pd.DataFrame(
    {
        "model": ["a<b", "c"],
        "lab": ["Meta", "OpenAI"],
        "depth": [12, 24],
        "gain": [1.23456789, 0.5],
        "n_prompts": [25, 5],
        "file": ["x.json", "y.json"],
        "unused": [1, 2],
    }
)


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    x = alt.X("depth:Q", title="depth [blocks]")
    base = alt.Chart(MODELS).encode(x=x, y=alt.Y("gain:Q", title="gain [ratio]"))
    chart = alt.layer(
        theme.line_at(1, "y"),
        base.mark_line(clip=True),
        base.mark_point().encode(color="lab:N"),
        base.mark_text().encode(text="model:N"),
    )
    return dict(chart.to_dict())


@pytest.fixture(scope="module")
def drawn(spec: dict[str, Any]) -> str:
    return picture.svg(spec)["image/svg+xml"]


def test_every_mark_says_model_values_count_and_file(drawn: str) -> None:
    titles = [it.split("&#xA;") for it in re.findall("<title>(.*?)</title>", drawn)]
    line, course, *points = titles
    assert line == ["line at 1"]
    assert course == ["depth [blocks]: 12 to 24", "gain [ratio]: 1.23 to 0.5"]
    said = ["Meta", "depth [blocks]: 12", "gain [ratio]: 1.23", "n prompts: 25", "file: x.json"]
    assert points[0] == ["a&lt;b", *said]
    assert len(points) == 2
    assert not re.search(r'<(path|line|text)[^>]*aria-label="', drawn)


def test_a_mark_that_says_nothing_is_hidden() -> None:
    path = '<path aria-label="" role="graphics-symbol" aria-roledescription="point" d="M0"/>'
    assert spoken.titled(path) == '<path aria-hidden="true" d="M0"/>'


def test_what_vega_computes_keeps_its_own_label() -> None:
    chart = alt.Chart(MODELS).mark_bar().encode(x="mean(gain):Q", y="lab:N")
    said = spoken.spoken(chart.to_dict())
    assert "description" not in said["encoding"]


def test_an_interval_says_both_ends_and_a_panel_its_name() -> None:
    rows = pd.DataFrame({"low": [1.0], "high": [2.0], "part": ["body"]})
    bars = alt.Chart(rows).mark_rule().encode(x="low:Q", x2="high:Q").facet("part:N")
    (row,) = next(iter(spoken.spoken(bars.to_dict())["datasets"].values()))
    assert row["said_0"] == "body\nlow: 1 to 2"


def test_a_title_says_no_sides_of_an_axis_and_no_model_twice() -> None:
    rows = pd.DataFrame({"model_id": ["a/b-1"], "name": ["b-1"], "row": ["b-1, 6"], "gain": [1.0]})
    x = alt.X("gain:Q", title=["gain [ratio]", theme.SIDES])
    points = alt.Chart(rows).mark_point().encode(x=x, y="name:N", detail="row:N")
    (row,) = next(iter(spoken.spoken(points.to_dict())["datasets"].values()))
    assert row["said_0"] == "a/b-1\ngain [ratio]: 1"
    named = alt.Chart(rows.drop(columns="model_id")).mark_point().encode(x=x, y="row:N")
    (row,) = next(iter(spoken.spoken(named.to_dict())["datasets"].values()))
    assert row["said_0"] == "gain [ratio]: 1\nb-1, 6"


def test_where_names_stand_is_no_data() -> None:
    rows = MODELS.assign(label_at=[1.0, 2.0])
    words = alt.Chart(rows).mark_text().encode(x="depth:Q", y="label_at:Q", text="model:N")
    points = alt.Chart(rows).mark_point().encode(x="depth:Q", y="gain:Q")
    carried = picture.rows_of(alt.layer(points, words).to_dict())
    assert "label_at" not in carried
    assert len(carried) == len(MODELS)


def test_a_picture_carries_the_rows_that_it_draws(drawn: str) -> None:
    match = re.search(r'<metadata class="rows">([^<]+)</metadata>', drawn)
    assert match
    rows = pd.read_csv(io.BytesIO(base64.b64decode(match[1])))
    pd.testing.assert_frame_equal(
        rows, MODELS.drop(columns="unused").round({"gain": 5}), check_dtype=False
    )


def test_a_mark_may_lead_to_a_page_beside_this_one() -> None:
    rows = MODELS.assign(card=["claims.html#claim-1", "https://a.test/"])
    chart = alt.Chart(rows).mark_point().encode(x="depth:Q", href="card:N")
    drawn = picture.svg(dict(chart.to_dict()))["image/svg+xml"]
    assert re.findall(r"<a [^>]*>", drawn) == [
        '<a href="claims.html#claim-1">',
        '<a xlink:href="https://a.test/">',
    ]


def test_names_inside_two_pictures_differ(drawn: str, spec: dict[str, Any]) -> None:
    other = picture.svg({**spec, "height": 90})["image/svg+xml"]
    names = [set(re.findall(r'\bid="([^"]+)"', it)) for it in (drawn, other)]
    assert names[0]
    assert not names[0] & names[1]
    for found, of in zip(names, (drawn, other), strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", of)) == found


def twin_of(chart: alt.Chart) -> str:
    """Return the picture for phones that a chart's picture carries; empty if it carries none."""
    match = re.search(
        r'<metadata class="narrow">([^<]+)<', picture.svg(chart.to_dict())["image/svg+xml"]
    )
    return base64.b64decode(match[1]).decode() if match else ""


def test_a_wide_picture_carries_a_twin_whose_letters_can_be_read_on_a_phone() -> None:
    names = ["a name of a row that is longer than a line", "short"]
    title = "an axis whose title is much too long for the width of any phone [unit]"
    rows = MODELS.assign(name=names)
    y = alt.Y("name:N", axis=alt.Axis(minExtent=250, maxExtent=250), title=None)
    chart = alt.Chart(rows).mark_point().encode(x=alt.X("gain:Q", title=title), y=y)
    twin = twin_of(chart.properties(width=600, height=36))
    width = re.search(r'<svg[^>]* width="([\d.]+)"', twin)
    assert width
    assert float(width[1]) <= narrow.ROOM + narrow.SLACK
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', twin)) >= 11
    lines = re.findall(r"<tspan[^>]*>([^<]+)</tspan>", twin)
    assert {"a name of a row that", "is longer than a", "line"} <= {*lines}
    assert not any(title in line for line in lines)


def test_a_name_for_the_desk_is_not_drawn_on_the_phone_nor_the_other_way_round() -> None:
    base = alt.Chart(MODELS.head(1)).encode(x="gain:Q")
    layers = [
        base.mark_text(style=where).encode(text=alt.value(f"for {where}"))
        for where in (narrow.DESK, narrow.PHONE)
    ]
    chart = alt.layer(base.mark_point(), *layers).properties(width=600)
    wide, twin = picture.svg(chart.to_dict())["image/svg+xml"], twin_of(chart)
    assert f"for {narrow.DESK}<" in wide
    assert f"for {narrow.PHONE}<" in twin
    assert f"for {narrow.PHONE}<" not in wide
    assert f"for {narrow.DESK}<" not in twin


def test_a_picture_that_fits_a_phone_has_no_twin() -> None:
    assert twin_of(alt.Chart(MODELS).mark_point().encode(x="gain:Q").properties(width=200)) == ""


@pytest.mark.parametrize("kind", ["hconcat", "concat", "facet"])
def test_panels_beside_each_other_fit_a_phone_too(kind: str) -> None:
    one = alt.Chart(MODELS).mark_point().encode(x="gain:Q", y="depth:Q").properties(width=250)
    beside = {
        "hconcat": lambda: alt.hconcat(one, one),
        "concat": lambda: alt.concat(one, one, one, columns=3),
        "facet": lambda: one.facet(column="lab:N"),
    }
    width = re.search(r'<svg[^>]* width="([\d.]+)"', twin_of(beside[kind]()))
    assert width
    assert float(width[1]) <= narrow.ROOM + narrow.SLACK


def test_a_finding_stands_above_the_chart_and_begins_what_is_said_of_it() -> None:
    chart = alt.Chart(MODELS).mark_point().encode(x="gain:Q").properties(width=500)
    content = picture.svg(theme.found(chart, "1 of 2 <grow>.").to_dict())["image/svg+xml"]
    markup = shown(Picture("image/svg+xml", content.encode(), "Two points."), "chart")
    assert markup.startswith('<span class="finding">1 of 2 &lt;grow&gt;.</span><svg')
    assert re.findall('class="picture (\\w+)', markup) == ["narrow", "wide"]
    assert markup.count('aria-label="1 of 2 &lt;grow&gt;. Two points."') == 2
    assert "<metadata" not in markup
    assert "Data (CSV)" in markup


def test_an_arrow_stays_with_its_words_where_the_title_of_an_axis_breaks() -> None:
    x = alt.X("gain:Q", title=["mean gain [ratio]", theme.SIDES])
    spec = alt.Chart(MODELS).mark_point().encode(x=x).properties(width=600).to_dict()
    for width in (narrow.ROOM + 500, narrow.ROOM + 560):
        lines = narrow.narrowed(spec, width)["encoding"]["x"]["title"]
        ends = [line for line in lines if "←" in line or "→" in line]
        assert all(len(line) > len("grows") for line in ends), lines

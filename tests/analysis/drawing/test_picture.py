"""Charts as pictures: a title on every mark, the rows behind them, names of their own."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import altair as alt
import pandas as pd
import pytest

from analysis.drawing import picture, theme, units
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


def test_every_point_says_its_model_and_values(drawn: str) -> None:
    titles = re.findall("<title>(.*?)</title>", drawn)
    points = [it for it in titles if "model" in it]
    assert len(points) == 2
    assert {"model: a&lt;b", "lab: Meta", "depth [blocks]: 12", "gain [ratio]: 1.23"} <= {
        *points[0].split("; ")
    }
    assert not re.search(r'<(path|line|text)[^>]*aria-label="', drawn)


def test_a_mark_that_says_nothing_is_hidden() -> None:
    path = '<path aria-label="" role="graphics-symbol" aria-roledescription="point" d="M0"/>'
    assert units.titled(path) == '<path aria-hidden="true" d="M0"/>'


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
    for defined, of in zip(names, (drawn, other), strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", of)) == defined


def test_a_finding_stands_above_the_chart_and_begins_what_is_said_of_it() -> None:
    chart = alt.Chart(MODELS).mark_point().encode(x="gain:Q").properties(width=500)
    content = picture.svg(theme.found(chart, "1 of 2 <grow>.").to_dict())["image/svg+xml"]
    markup = shown(Picture(content, "Two points."), "chart")
    assert markup.startswith('<span class="finding">1 of 2 &lt;grow&gt;.</span><svg')
    assert markup.count('aria-label="1 of 2 &lt;grow&gt;. Two points."') == 1
    assert "<metadata" not in markup
    assert "Data (CSV)" in markup

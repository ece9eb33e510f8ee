"""Charts say what they show, and every answer of the first page follows from a computed row."""

import re
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

import analysis
from analysis.audit.pages import tables
from analysis.delia2026.depth import bound_charts
from analysis.delia2026.pages import charts, frames, summary
from analysis.delia2026.pages.register import CLAIMS
from analysis.drawing import labs, theme
from analysis.tidy.errors import AnalysisError
from tests.analysis.drawn import borrowed, encodings
from tests.analysis.places import ROOT


@pytest.fixture(scope="module")
def drawn(request):
    store = request.getfixturevalue("shipped_store")
    return {
        "depth": bound_charts.chart_gain_by_depth(
            bound_charts.gains(store), frames.bound_curve(store)
        ),
        "labs": charts.chart_gain_by_lab(frames.signed_gains(store)),
        "density": charts.chart_gain_by_density(frames.penultimate_gains(store), band=(0.15, 0.2)),
        "ratio": charts.chart_ratio(frames.spectral_norms(store), frames.penultimate_gains(store)),
    }


@pytest.fixture(scope="module")
def specs(drawn):
    return {name: chart.to_dict() for name, chart in drawn.items()}


def test_every_field_that_is_drawn_exists_and_colour_never_stands_alone(specs):
    for name, spec in specs.items():
        assert len(spec["description"]) > 30, name
        assert all(rows for rows in spec["datasets"].values()), name
    for name, spec in specs.items():
        columns = {column for rows in spec["datasets"].values() for row in rows for column in row}
        for encoding in encodings(spec):
            for channel in encoding.values():
                if isinstance(channel, dict) and "field" in channel:
                    assert channel["field"] in columns, name
    for name, spec in specs.items():
        for encoding in encodings(spec):
            assert not any("aggregate" in channel for channel in encoding.values()), name
    for name, spec in specs.items():
        result = list(encodings(spec))
        coloured = {e["color"]["field"] for e in result if "field" in e.get("color", {})}
        shaped = {e["shape"]["field"] for e in result if "field" in e.get("shape", {})}
        assert coloured <= shaped, name
    for name, spec in specs.items():
        titles = [
            "".join(channel["title"])
            for encoding in encodings(spec)
            for key, channel in encoding.items()
            if key in ("x", "y") and channel.get("type") == "quantitative" and channel.get("title")
        ]
        assert all("[" in title for title in titles), (name, titles)


def test_every_lab_of_the_store_has_a_colour_and_a_shape_of_its_own(shipped_store):
    known = shipped_store.query("SELECT DISTINCT lab FROM raw.model WHERE lab IS NOT NULL")["lab"]
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


QUARTO = ROOT / "quarto"


JUDGED = pd.DataFrame(
    {
        "claim_id": [1, 2, 5, 7],
        "verdict": ["reproduced", "contradicted", "contradicted", "no data"],
        "importance": ["supporting", "supporting", "central", "central"],
        "repeats": float("nan"),
    }
)


def test_an_answer_changes_with_the_verdict_and_every_check_that_is_quoted_is_made(made):
    assert summary.answer(JUDGED, 5) == "No."
    assert summary.answer(JUDGED, 5, no="Not so.") == "Not so."
    assert summary.answer(JUDGED.assign(verdict="reproduced"), 5) == "Yes."
    with pytest.raises(AnalysisError, match="claim 9 has not"):
        summary.answer(JUDGED, 9)
    sources = "".join(path.read_text() for path in QUARTO.rglob("*.qmd"))
    ids = {(int(n), name) for n, name in re.findall(r'check\((\d+), "(\w+)"\)', sources)}
    assert len(ids) > 50
    assert ids <= {(claim_id, check.id) for claim_id, of in made.items() for check in of}
    check = tables.quoting(made, CLAIMS)
    assert check(6, "product_block0").row["check_id"] == "product_block0"
    with pytest.raises(AnalysisError, match="'product_block9'"):
        check(6, "product_block9")

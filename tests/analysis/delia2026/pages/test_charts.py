"""Charts say what they show, and every answer of the first page follows from a computed row."""

import re
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

import analysis
from analysis.audit.pages import tables
from analysis.delia2026.pages import summary
from analysis.delia2026.pages.register import CLAIMS
from analysis.drawing import labs, theme
from analysis.tidy.errors import AnalysisError
from tests.analysis.delia2026.pages import figures
from tests.analysis.delia2026.pages.figures import QUARTO
from tests.analysis.drawn import borrowed, encodings, is_borrowed


@pytest.fixture(scope="module")
def specs():
    return figures.specs()


#: Axes of counts, shares and multiples, which have no unit in brackets: what begins their titles.
NO_UNIT = re.compile(
    r"(blocks|data sets|gain: .* / |gain \(below 1|growth of the stream as a multiple|layer|"
    r"length of the vector|length \|x\||\|x |\|x\| net|p,|share|simulated data sets)"
)


def test_every_figure_of_the_pages_is_found(specs):
    sources = "".join(path.read_text() for path in (QUARTO / "sections").glob("*.qmd"))
    chunks = [it for it in re.findall(r"(?s)```\{python\}(.*?)```", sources) if "#| fig-alt" in it]
    assert len(chunks) >= 25
    assert {*specs} == {re.findall(r"#\| label: (\S+)", it)[0] for it in chunks}


def test_every_field_that_is_drawn_exists_and_colour_never_stands_alone(specs):
    for name, spec in specs.items():
        assert len(spec["description"]) > 25, name
        assert spec["usermeta"]["finding"], name
        assert all(rows for rows in spec["datasets"].values()), name
        drawn = [row for rows in spec["datasets"].values() for row in rows]
        columns = {column for row in drawn for column in row}
        every = list(encodings(spec))
        channels = [it for encoding in every for it in encoding.items() if isinstance(it[1], dict)]
        assert {it["field"] for _, it in channels if "field" in it} <= columns, name
        assert not any("aggregate" in it for _, it in channels), name
        fields = {}
        for channel, it in channels:
            fields.setdefault(channel, set()).add(it.get("field"))
        told_apart = {it for it in fields.get("color", set()) if len(values(drawn, it)) > 1}
        assert told_apart <= fields.get("shape", set()) | fields.get("strokeDash", set()), name
        titles = [
            [it["title"]] if isinstance(it["title"], str) else it["title"]
            for channel, it in channels
            if channel in ("x", "y") and it.get("type") == "quantitative" and it.get("title")
        ]
        assert all("[" in "".join(it) or NO_UNIT.match(it[0]) for it in titles), (name, titles)


def values(rows, column):
    """Return the values of a column in rows of any tables."""
    return {row[column] for row in rows if column in row}


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
        if any(is_borrowed(colour, "") for colour in numbers.findall(source))
    }
    assert taken == {"labs.py"}


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

"""Pictures of charts cached with results: drawn once, and drawn again when anything changes."""

import altair as alt
import pandas as pd
import pytest

from analysis.drawing import picture, theme
from analysis.report import pictures
from analysis.report.cache import Results


def shown(height, finding="Two points."):
    """Show a chart as a kernel does, and return its picture."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "height": [1.0, height]})
    chart = alt.Chart(frame).mark_point().encode(x="x:Q", y="height:Q")
    bundle = theme.named(chart, "Points.", finding)._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    return bundle["image/svg+xml"]


@pytest.fixture
def drawn(monkeypatch):
    """The specifications that were drawn, each really."""
    specs, svg = [], picture.svg
    monkeypatch.setattr(picture, "svg", lambda spec, **_: (specs.append(spec), svg(spec))[1])
    with alt.renderers.enable("svg"):  # what a test enables is forgotten
        yield specs


def test_a_picture_is_drawn_once_and_is_the_one_that_altair_shows(drawn, tmp_path):
    plain = shown(3.0)
    pictures.enable(Results(b"key", tmp_path))
    assert [shown(3.0), shown(3.0)] == [plain, plain]
    assert len(drawn) == 1  # the plain one is drawn by the renderer that was registered before


@pytest.mark.parametrize("other", [{"height": 4.0}, {"height": 3.0, "finding": "One."}])
def test_a_chart_of_other_rows_or_words_is_drawn_anew(drawn, tmp_path, other):
    pictures.enable(Results(b"key", tmp_path))
    assert shown(3.0) != shown(**other)
    assert len(drawn) == 2


def test_a_picture_of_other_code_or_data_is_drawn_anew(drawn, tmp_path):
    for key in (b"key", b"other"):
        pictures.enable(Results(key, tmp_path))
        shown(3.0)
    assert len(drawn) == 2


def test_no_more_pictures_are_kept_than_are_said(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "N_KEPT", 2)
    pictures.enable(Results(b"key", tmp_path))
    for height in (3.0, 4.0, 5.0):
        shown(height)
    assert len(list(tmp_path.glob("picture-*"))) == 2
    shown(5.0)
    assert len(drawn) == 3

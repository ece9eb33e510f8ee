"""Charts as pictures with titles, rows and names, in a typeface that they carry along."""

import base64
import io
import re
import subprocess
import sys

import altair as alt
import pandas as pd
import pytest
import vl_convert
from fontTools.ttLib import TTFont

from analysis.drawing import marks, picture, theme, typeface, units, width
from analysis.report.making.images import Gallery, Picture, shown
from tests.analysis.places import ROOT

MODELS = pd.DataFrame(
    {"model": ["a<b", "c"], "lab": ["Meta", "OpenAI"], "depth": [12, 24], "unused": [1, 2]}
    | {"gain": [1.23456789, 0.5], "n_prompts": [25, 5], "file": ["x.json", "y.json"]}
)


@pytest.fixture(scope="module")
def spec():
    x = alt.X("depth:Q", title="depth [blocks]")
    base = alt.Chart(MODELS).encode(x=x, y=alt.Y("gain:Q", title="gain [ratio]"))
    chart = alt.layer(
        theme.line_at(1, "y"),
        base.mark_line(clip=True),
        base.mark_point().encode(color="lab:N"),
        base.mark_text(fontSize=13).encode(text="model:N"),
    )
    return dict(chart.properties(width=500).to_dict())


@pytest.fixture(scope="module")
def drawn(spec):
    return picture.svg(spec)["image/svg+xml"]


def test_every_point_says_its_model_and_values_and_names_inside_pictures_differ(drawn, spec):
    layouts = [re.findall("<title>(.*?)</title>", it) for it in drawn.split('<svg class="narrow"')]
    for titles in layouts:
        points = [it for it in titles if "model" in it]
        assert len(points) == 2
    assert len(layouts) == 2
    assert {"model: a&lt;b", "lab: Meta", "depth [blocks]: 12", "gain [ratio]: 1.23"} <= {
        *points[0].split("; ")
    }
    assert not re.search(r'<(path|line|text)[^>]*aria-label="', drawn)
    path = '<path aria-label="" role="graphics-symbol" aria-roledescription="point" d="M0"/>'
    assert units.titled(path) == '<path aria-hidden="true" d="M0"/>'
    other = picture.svg({**spec, "height": 90})["image/svg+xml"]
    names = [set(re.findall(r'\bid="([^"]+)"', it)) for it in (drawn, other)]
    assert names[0]
    assert not names[0] & names[1]
    for defined, of in zip(names, (drawn, other), strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", of)) == defined


def test_a_picture_carries_the_rows_that_it_draws_and_no_places_of_names(drawn):
    match = re.search(r'<metadata class="rows">([^<]+)</metadata>', drawn)
    assert match
    rows = pd.read_csv(io.BytesIO(base64.b64decode(match[1])))
    pd.testing.assert_frame_equal(
        rows, MODELS.drop(columns="unused").round({"gain": 5}), check_dtype=False
    )
    rows = MODELS.assign(label_at=[1.0, 2.0])
    words = alt.Chart(rows).mark_text().encode(x="depth:Q", y="label_at:Q", text="model:N")
    points = alt.Chart(rows).mark_point().encode(x="depth:Q", y="gain:Q")
    carried = picture.rows_of(alt.layer(points, words).to_dict())
    assert "label_at" not in carried
    assert len(carried) == len(MODELS)


def test_a_mark_may_lead_to_a_page_beside_this_one():
    rows = MODELS.assign(card=["claims.html#claim-1", "https://a.test/"])
    chart = alt.Chart(rows).mark_point().encode(x="depth:Q", href="card:N")
    drawn = picture.svg(dict(chart.to_dict()))["image/svg+xml"]
    assert re.findall(r"<a [^>]*>", drawn.split('<svg class="narrow"')[0]) == [
        '<a href="claims.html#claim-1">',
        '<a xlink:href="https://a.test/">',
    ]


def test_a_finding_stands_above_the_chart_and_begins_what_is_said_of_it():
    chart = alt.Chart(MODELS).mark_point().encode(x="gain:Q").properties(width=500)
    content = picture.svg(theme.add_finding(chart, "1 of 2 <grow>.").to_dict())["image/svg+xml"]
    markup = shown(Picture(content, "Two points."), "chart")
    assert markup.startswith('<span class="finding">1 of 2 &lt;grow&gt;.</span><svg')
    assert markup.count('aria-label="1 of 2 &lt;grow&gt;. Two points."') == 1
    assert "<metadata" not in markup
    assert "Data (CSV)" in markup


FACE = re.compile(
    r'<style>@font-face\{font-family:"Figure Sans no-[0-9a-f]{8}";'
    r'src:url\(data:font/woff;base64,([\w+/=]+)\) format\("woff"\)\}</style>'
)
IN_FIGURES = "0123456789.,:;()[]|%+±−-–…/<>=≈≤≥×·²³₀₁₂₃₄₅₆₇₈₉‖√∝∞→ΑΩαβεηρσφχωÄé§'\"*_^"


def svg(title):
    frame = pd.DataFrame({"x": [1, 2], "lab": ["Meta", "OpenAI"]})
    chart = marks.points_by_lab(frame).encode(x=alt.X("x:Q").title(title), y="lab:N")
    with alt.renderers.enable("svg"):
        bundle = theme.named(chart, "Two points.")._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    return str(bundle["image/svg+xml"])


def whole_font():
    return TTFont(io.BytesIO(typeface.FILE.read_bytes()))


def embedded_font(picture):
    match = FACE.search(picture)
    assert match
    return TTFont(io.BytesIO(base64.b64decode(match[1])))


def test_a_chart_carries_the_letters_that_it_uses_the_same_in_each_process():
    letters = set(map(chr, embedded_font(svg("gain ‖W‖₂ ≤ √α"))["cmap"].getBestCmap()))
    assert set("gain‖W₂≤√αMetaOpenAI012.") <= letters
    assert not letters & set("ZQq9")
    letters = embedded_font(typeface.embed_typeface("<svg><text>a &lt; b</text></svg>"))
    assert set(map(chr, letters["cmap"].getBestCmap())) == set("a <b")
    assert typeface.embed_typeface("<svg><path/></svg>") == "<svg><path/></svg>"
    picture = "<svg><text>gain</text></svg>"
    code = f"from analysis.drawing import typeface; print(typeface.embed_typeface('{picture}'))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = typeface.embed_typeface(picture)
    assert there.stdout.strip() == here
    assert embedded_font(here)["head"].modified == whole_font()["head"].modified


def test_a_figure_uses_its_own_letters_first_and_helvetica_after():
    names = []
    for title in ("gain", "depth"):
        picture = svg(title)
        (family,) = set(re.findall(r'font-family="([^"]*)"', picture))
        name, *others = family.split(", ")
        assert f'@font-face{{font-family:"{name}";' in picture
        assert others == [typeface.FAMILY, "Helvetica", "Arial", "sans-serif"]
        names.append(name)
    assert names[0] != names[1]


def test_charts_are_laid_out_with_the_typeface_which_has_what_figures_need():
    svg("gain")
    drawn = [vl_convert.svg_to_png(_text(family)) for family in ("Figure Sans", "No Such Font")]
    assert drawn[0] != drawn[1]
    font = whole_font()
    characters = font.getBestCmap()
    assert [it for it in IN_FIGURES if ord(it) not in characters] == []
    widths = {it: font["hmtx"][characters[ord(it)]][0] / font["head"].unitsPerEm for it in "0mW."}
    assert widths == pytest.approx({"0": 0.556, "m": 0.833, "W": 0.944, ".": 0.278}, abs=1e-3)
    assert "No Reserved Font Name" in (typeface.DIRECTORY / "OFL.txt").read_text(encoding="utf-8")


def _text(family):
    text = f'<text x="5" y="40" font-size="30" font-family="{family}">gain</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="60">{text}</svg>'


def boxes(drawn):
    """Return the shape that a picture asks for on a phone, its own, and that of what it shows."""
    shape = re.search(r'style="--narrow: ([\d.]+) / ([\d.]+)"', drawn)
    outer = re.search(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', drawn)
    nested = re.search(
        r'<svg class="narrow" display="none" x="0" y="(-?[\d.]+)" width="([\d.]+)" '
        r'height="([\d.]+)" viewBox="0 0 ([\d.]+) ([\d.]+)">',
        drawn,
    )
    return [[float(it) for it in found.groups()] for found in (shape, outer, nested)]


def test_a_picture_holds_a_layout_for_phones_that_fills_the_shape_it_asks_for(drawn):
    (shape_w, shape_h), (wide, high), (top, width, height, own_w, own_h) = boxes(drawn)
    assert wide == pytest.approx(640, abs=1)
    assert own_w <= 420 + 1
    assert (shape_w, shape_h) == (own_w, own_h)
    assert width == wide
    assert height == pytest.approx(wide * own_h / own_w, abs=0.1)
    # The page centres the picture's own height in that of the shape.
    assert top == pytest.approx((high - height) / 2, abs=0.1)
    letters = [float(it) for it in re.findall(r'font-size="([\d.]+)px"', drawn)]
    assert min(letters) * 350 / own_w >= 10


def test_a_small_chart_and_one_that_no_phone_can_show_have_one_layout():
    chart = alt.Chart(MODELS).mark_point().encode(x="gain:Q").properties(width=200)
    small = theme.add_finding(chart, "Small.", is_small=True)
    assert "narrow" not in picture.svg(small.to_dict())["image/svg+xml"]
    abreast = alt.hconcat(*[chart.properties(title=str(it)) for it in range(2)])
    assert "narrow" in picture.svg(abreast.to_dict())["image/svg+xml"]
    many = [chart.encode(y=alt.Y("model:N", title="x" * 9)).facet("file:N") for _ in range(6)]
    wide = alt.hconcat(*[alt.hconcat(*many[:2]) for _ in range(2)])
    assert "narrow" not in picture.svg(wide.to_dict())["image/svg+xml"]


def test_words_take_less_room_beside_each_other_on_a_phone():
    long = "a title of a panel that is longer than a phone is wide, by far"
    panels = [alt.Chart(MODELS, title=long).mark_point().encode(x="gain:Q") for _ in range(3)]
    chart = alt.hconcat(*panels)
    spec = chart.to_dict()
    phone = width.for_phone(spec)
    assert phone["columns"] == 2
    assert len(phone["concat"]) == 3
    assert " ".join(phone["concat"][0]["title"]) == long
    assert max(map(len, phone["concat"][0]["title"])) <= width.LINE
    assert phone["config"]["legend"]["columns"] == 1
    assert "hconcat" in spec
    assert spec["hconcat"][0]["title"] == long


def test_titles_of_legends_and_of_panels_abreast_break_sooner_on_a_phone():
    words = "a title of many letters, more than half a line"
    shade = alt.Color("file:N", title=words, legend=alt.Legend(columns=4))
    chart = alt.Chart(MODELS).mark_point().encode(x=alt.X("gain:Q", title=words), color=shade)
    phone = width.for_phone(chart.to_dict())["encoding"]
    assert max(map(len, phone["color"]["title"])) <= width.HALF
    assert phone["x"]["title"] == words
    headed = chart.properties(title=alt.Title(words, limit=210))
    first, _ = width.for_phone(alt.hconcat(headed, headed).to_dict())["hconcat"]
    assert width.QUARTER < max(map(len, first["title"]["text"])) <= width.HALF
    assert max(map(len, first["encoding"]["x"]["title"])) <= width.QUARTER


def test_panels_that_share_the_names_of_their_rows_have_them_again_below_each_other():
    quiet = alt.Axis(labels=False)
    panels = [
        alt.Chart(MODELS).mark_point().encode(x="gain:Q", y=alt.Y("model:N", axis=axis))
        for axis in (alt.Axis(grid=True), quiet)
    ]
    spec = theme.add_finding(alt.hconcat(*panels), "Two.", is_stacked=True).to_dict()
    phone = width.for_phone(spec)
    assert len(phone["vconcat"]) == 2
    assert phone["vconcat"][1]["encoding"]["y"]["axis"] == {}
    assert spec["hconcat"][1]["encoding"]["y"]["axis"] == {"labels": False}


def test_no_chart_names_a_colour_that_the_dark_page_cannot_turn():
    named = re.compile(r"[\"'](black|white|gr[ae]y|red|green|blue|#[0-9a-fA-F]{3,8})[\"']")
    rooms = [ROOT / "analysis" / room for room in ("delia2026", "audit")]
    files = [path for room in rooms for path in room.rglob("*.py")]
    assert len(files) > 100
    assert [path.name for path in files if named.search(path.read_text(encoding="utf-8"))] == []


def test_marks_without_a_colour_are_drawn_in_ink_that_the_dark_page_turns():
    base = alt.Chart(MODELS).encode(x="depth:Q", y="gain:Q", text="model:N")
    kinds = (alt.Chart.mark_rule, alt.Chart.mark_text, alt.Chart.mark_tick, alt.Chart.mark_line)
    image = picture.svg(alt.layer(*(mark(base) for mark in kinds)).to_dict())["image/svg+xml"]
    assert not re.search(r'(stroke|fill)="(black|#000(000)?)"', image)
    assert theme.INK in image


def test_paper_shows_the_wide_layout_alone(drawn, tmp_path):
    gallery = Gallery(tmp_path, for_print=True)
    gallery.add(Picture(drawn, "Points."))
    printed = (tmp_path / "chunk-image-1.svg").read_text(encoding="utf-8")
    assert 'class="narrow"' not in printed
    assert 'class="wide"' in printed
    page = shown(Picture(drawn, "Points."), "chart")
    opening = re.search(r"<svg[^>]*>", page)[0]
    assert opening.count("style=") == 1
    assert "--natural: 640px; --narrow:" in opening

"""The typeface of the figures: measured with, carried along, the same bytes each time."""

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

from analysis.drawing import marks, theme, typeface

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


def test_a_chart_carries_the_letters_that_it_uses_and_no_others():
    letters = set(map(chr, embedded_font(svg("gain ‖W‖₂ ≤ √α"))["cmap"].getBestCmap()))
    assert set("gain‖W₂≤√αMetaOpenAI012.") <= letters
    assert not letters & set("ZQq9")
    letters = embedded_font(typeface.with_typeface("<svg><text>a &lt; b</text></svg>"))
    assert set(map(chr, letters["cmap"].getBestCmap())) == set("a <b")
    assert typeface.with_typeface("<svg><path/></svg>") == "<svg><path/></svg>"


def test_a_chart_has_the_same_bytes_in_another_process():
    picture = "<svg><text>gain</text></svg>"
    code = f"from analysis.drawing import typeface; print(typeface.with_typeface('{picture}'))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = typeface.with_typeface(picture)
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


def _text(family):
    text = f'<text x="5" y="40" font-size="30" font-family="{family}">gain</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="60">{text}</svg>'

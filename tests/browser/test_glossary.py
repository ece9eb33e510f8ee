"""A word of the glossary under a mouse, a finger and keys, in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.report.making.page import pandoc
from tests.browser.chromium import NAMES, Tab, browser

QUARTO = Path(__file__).parents[2] / "quarto"
DESK, PHONE = 1280, 390
TERMS = [
    {
        "id": f"term-{name}",
        "forms": [name],
        "meaning": f"What a {name} is, in some twenty words. " * 3,
    }
    for name in ("gain", "block")
]
#: A word at the left edge and one at the right.
TEXT = 'A gain.\n\n::: {style="text-align: right"}\nA block\n:::'
OPEN = "document.querySelector('#term-{}').matches(':popover-open')"
BOX = (
    "(() => {{ const box = document.querySelector('{}').getBoundingClientRect(); "
    "return [box.left, box.right, box.top, box.bottom]; }})()"
)
WORD = "[popovertarget=term-{}]"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(map(shutil.which, NAMES)):
        pytest.skip(f"no browser is on the PATH: {', '.join(NAMES)}")
    known = json.dumps({"page": "x", "pages": {}, "labels": {}, "terms": TERMS})
    text = f"```{{.site-places}}\n{known}\n```\n\n{TEXT}"
    asked = ["--from=markdown", "--to=html", f"--lua-filter={QUARTO / 'filters/site.lua'}"]
    style = (QUARTO / "site" / "site.css").read_text("utf-8")
    made = tmp_path_factory.mktemp("site") / "x.html"
    made.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body><main style='overflow: hidden; height: 20rem'>"
        f"{pandoc(text, asked, directory=QUARTO)}</main>"
        f"{(QUARTO / 'site' / 'closing.html').read_text('utf-8')}</body></html>",
        encoding="utf-8",
    )
    return made


@pytest.fixture(params=[True, False], ids=["script", "none"])
def tab(request: pytest.FixtureRequest, page: Path) -> Iterator[Tab]:
    with browser() as opened:
        opened.offline()
        opened.dress(DESK, 800, script=request.param)
        opened.open(page.as_uri())
        yield opened


def centre(tab: Tab, selector: str) -> tuple[float, float]:
    left, right, top, bottom = tab.run(BOX.format(selector))
    return (left + right) / 2, (top + bottom) / 2


def point(tab: Tab, x: float, y: float, *, click: bool = False) -> None:
    tab.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    for kind in ("mousePressed", "mouseReleased") if click else ():
        tab.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def test_keys_open_a_meaning_and_escape_closes_it(tab: Tab) -> None:
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "gain"
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert not tab.run(OPEN.format("gain"))
    tab.press("Enter")
    assert tab.run(OPEN.format("gain"))
    tab.press("Escape")
    assert not tab.run(OPEN.format("gain"))
    assert tab.run("document.activeElement.textContent") == "gain"


def test_a_click_opens_a_meaning_that_stays_until_a_click_elsewhere(tab: Tab) -> None:
    point(tab, *centre(tab, WORD.format("gain")), click=True)
    assert tab.run(OPEN.format("gain"))
    point(tab, 600, 700)
    assert tab.run(OPEN.format("gain"))
    point(tab, 600, 700, click=True)
    assert not tab.run(OPEN.format("gain"))


def test_a_finger_opens_a_meaning_within_the_window_whole_and_below_its_word(tab: Tab) -> None:
    tab.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    for width in (PHONE, DESK):
        tab.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=800, deviceScaleFactor=1, mobile=width == PHONE,
        )  # fmt: skip
        for name in ("gain", "block"):
            x, y = centre(tab, WORD.format(name))
            tab.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            tab.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            assert tab.run(OPEN.format(name)), (width, name)
            word = tab.run(BOX.format(WORD.format(name)))
            left, right, top, bottom = tab.run(BOX.format(f"#term-{name}"))
            assert 0 <= left < right <= width
            assert right - left > 200  # not a tower of words
            assert word[3] - 2 <= top < word[3] + 20
            assert left <= word[1]
            assert word[0] <= right
            shown = tab.run(f"document.elementFromPoint({(left + right) / 2}, {bottom - 5}).id")
            assert shown == f"term-{name}"  # nothing cuts it off
            tab.press("Escape")


def test_a_mouse_opens_a_meaning_with_scripts_and_can_move_onto_it(page: Path) -> None:
    with browser() as tab:
        tab.dress(DESK, 800)
        tab.open(page.as_uri())
        x, y = centre(tab, WORD.format("gain"))
        point(tab, x, y)
        assert tab.run(OPEN.format("gain"))
        _, _, top, _ = tab.run(BOX.format("#term-gain"))
        point(tab, x, top + 10)
        assert tab.run(OPEN.format("gain"))
        point(tab, 600, 700)
        assert not tab.run(OPEN.format("gain"))
        point(tab, x, y)
        tab.press("Escape")
        assert not tab.run(OPEN.format("gain"))
        point(tab, 600, 700)
        point(tab, x, y, click=True)  # a click keeps what pointing has opened
        point(tab, 600, 700)
        assert tab.run(OPEN.format("gain"))
        thrown = [it for it in tab.events if it.get("method") == "Runtime.exceptionThrown"]
        assert thrown == []

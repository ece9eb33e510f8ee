"""What the closing of a page does with the markup that Quarto makes, in a real browser."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import NAMES, Tab, browser

SITE = Path(__file__).parents[2] / "quarto" / "site"
DESK, PHONE = 1200, 390
HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CARRIED = (
    f'<metadata class="finding">It rises.</metadata><metadata class="rows">{coded("a")}</metadata>'
)
#: As pandoc puts a drawing into the page for Quarto, with and without what the filter adds.
DRAWING = (
    f'<svg class="inline-svg marks" aria-label="A line." width="900" height="90">{CARRIED}</svg>'
)
ABOVE = '<span class="finding">It rises.</span>'
BELOW = '<span class="made-of"><a href="data:text/csv;base64,YQ==">Data (CSV)</a></span>'
CELLS = "".join(f"<td>a_name_of_many_letters_{place}</td>" for place in range(4))
TABLE = (
    f"<table><thead><tr>{'<th>Head</th>' * 4}</tr></thead><tbody><tr>{CELLS}</tr></tbody></table>"
)


def float_of(kind: str, content: str) -> str:
    figure = (
        f'<figure class="quarto-float quarto-float-{kind} figure"><div>{content}</div></figure>'
    )
    return f'<div id="{kind}-a" class="quarto-float">{figure}</div>'


@pytest.fixture(scope="module", params=["filtered", "as drawn"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(map(shutil.which, NAMES)):
        pytest.skip(f"no browser is on the PATH: {', '.join(NAMES)}")
    drawing = f"{ABOVE}{DRAWING}{BELOW}" if request.param == "filtered" else DRAWING
    shown = f'<div class="cell-output cell-output-display">{TABLE}</div>'
    body = float_of("fig", drawing) + float_of("tbl", shown) + float_of("tbl", TABLE)
    parts = {name: (SITE / name).read_text("utf-8") for name in ("opening.html", "closing.html")}
    sheets = [SITE / "site.css", SITE.parent / "style.css"]
    style = "".join(f"<style>{sheet.read_text('utf-8')}</style>" for sheet in sheets)
    made = tmp_path_factory.mktemp("site") / "paper.html"
    made.write_text(
        f'<!DOCTYPE html><html lang="en"><head>{HEAD}{style}</head><body>'
        f"{parts['opening.html']}<main>{body}</main>{parts['closing.html']}</body></html>",
        encoding="utf-8",
    )
    return made


@pytest.fixture(params=[DESK, PHONE])
def tab(request: pytest.FixtureRequest, page: Path) -> Iterator[tuple[Tab, int]]:
    with browser() as opened:
        opened.dress(request.param, 800)
        opened.open(page.as_uri())
        yield opened, request.param


def test_a_drawing_says_its_finding_once_and_has_its_rows(tab: tuple[Tab, int]) -> None:
    opened, _ = tab
    figure = "document.querySelector('#fig-a figure')"
    assert opened.run(f"{figure}.innerText.match(/It rises/g).length") == 1
    assert opened.run(f"{figure}.innerText.match(/Data .CSV./g).length") == 1
    printed = (
        "[...document.querySelectorAll('#fig-a svg')].map((it) => it.getAttribute('aria-label'))"
    )
    assert opened.run(printed) == ["It rises. A line."]
    assert opened.run("document.querySelectorAll('metadata').length") == 0


def test_a_table_that_does_not_fit_a_phone_becomes_a_list(tab: tuple[Tab, int]) -> None:
    opened, width = tab
    assert opened.run("document.querySelectorAll('table.stacked').length") == 2 * (width == PHONE)


def test_every_menu_opens_within_the_window(tab: tuple[Tab, int]) -> None:
    opened, width = tab
    ends = (
        "[...document.querySelectorAll('.site-more')].map((menu) => { menu.open = true; "
        "const box = menu.querySelector('ul').getBoundingClientRect(); menu.open = false; "
        "return [box.left, box.right]; })"
    )
    result = opened.run(ends)
    assert len(result) == 2
    for left, right in result:
        assert 0 <= left < right <= width


#: What the pages of either project begin with, and a page that has all that the closing looks for.
OPENINGS = {"report": SITE / "opening.html", "audit": SITE.parent / "audit" / "opening.html"}
WIDE = "<mrow>" + "<mi>wide</mi><mo>+</mo>" * 40 + "</mrow>"
PAGE = (
    '<p class="page-source"><a href="https://example.org">Source</a></p>'
    f"<section>{TABLE}</section><ul><li>{TABLE}</li></ul><p>A <math>{WIDE}</math>.</p>"
    f'<div id="fig-a"><figure class="figure"><div>{DRAWING}'
    '<span class="made-of"><a download="cell-8.csv" href="data:text/csv,a">Data</a></span>'
    "</div></figure></div>"
)


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("opening", OPENINGS)
def test_no_page_throws_or_is_wider_than_a_phone(tmp_path: Path, opening: str, width: int) -> None:
    if not any(map(shutil.which, NAMES)):
        pytest.skip(f"no browser is on the PATH: {', '.join(NAMES)}")
    sheets = [SITE / "site.css", SITE.parent / "style.css"]
    style = "".join(f"<style>{sheet.read_text('utf-8')}</style>" for sheet in sheets)
    page = tmp_path / "study.html"
    page.write_text(
        f'<!DOCTYPE html><html lang="en"><head>{HEAD}{style}</head><body>'
        f"{OPENINGS[opening].read_text('utf-8')}<main>{PAGE}</main>"
        f"{(SITE / 'closing.html').read_text('utf-8')}</body></html>",
        encoding="utf-8",
    )
    with browser() as tab:
        tab.dress(width, 800)
        tab.open(page.as_uri())
        thrown = [it for it in tab.events if it.get("method") == "Runtime.exceptionThrown"]
        assert thrown == []
        # The script ran to its end: the link to the source stands in the navigation.
        assert (
            tab.run("document.querySelectorAll('.site-nav a[href*=\"example.org\"]').length") == 1
        )
        assert tab.run("document.querySelectorAll('main .table-scroll > table').length") == 2
        assert tab.run("document.querySelector('.made-of a').download") == "fig-a.csv"
        assert tab.run("document.documentElement.scrollWidth") <= width

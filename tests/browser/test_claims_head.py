"""The head of the claims, which filters them, measured in a real browser."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.report.reading import inline
from analysis.report.render import made as made_of
from tests.browser.chromium import NAMES, Tab, browser

AUDIT = Path(__file__).parents[2] / "quarto" / "audit"
PAPER = Path(__file__).parents[1] / "analysis" / "second_paper"
TOP = "document.querySelector('.claim-filters').getBoundingClientRect().top"
#: Cards of a small paper, made as long as those of a large one.
TALL = (
    "document.querySelectorAll('.claim-card').forEach((it) => { it.style.minHeight = '1500px'; })"
)


class InProcess:
    """Runs the chunks of a page here, where a kernel would take seconds to start."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def run(self, code: str, *, name: str) -> list[dict[str, Any]]:
        """Return what the last line of a chunk shows, if it is Markdown."""
        lines = ast.parse(code).body
        last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
        exec(compile(ast.Module(lines, []), name, "exec"), self.names)
        shown = eval(ast.unparse(last), self.names) if last else None
        return [{"text/markdown": shown.data}] if shown is not None else []

    def evaluate(self, asked: Sequence[inline.Inline]) -> list[dict[str, Any]]:
        """Return values as text."""
        return [{"text/plain": str(eval(it.expression, self.names))} for it in asked]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(map(shutil.which, NAMES)):
        pytest.skip(f"no browser is on the PATH: {', '.join(NAMES)}")
    made = tmp_path_factory.mktemp("site") / "claims.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(AUDIT)
        patch.setattr(inline, "register_strings", lambda: None)
        made.write_bytes(made_of(AUDIT / "claims.qmd", InProcess(), {"folder": str(PAPER)}))
    return made


def scrolled(tab: Tab, page: Path, width: int, height: int) -> tuple[float, float]:
    """Return where the head is after a scroll of some cards, and its height [px]."""
    tab.dress(width, height)
    tab.open(page.as_uri())
    tab.run(TALL)
    tab.run("scrollTo(0, 2000)")
    return tab.run(TOP), tab.run("document.querySelector('.claim-filters').offsetHeight")


@pytest.mark.slow
def test_the_head_stays_on_a_desk_and_leaves_a_phone_its_screen(page: Path) -> None:
    with browser() as tab:
        tab.offline()
        top, height = scrolled(tab, page, 1280, 900)
        assert (top, height < 150) == (0, True)
        for width in (1280, 980):  # one line of filters, and two
            _, height = scrolled(tab, page, width, 900)
            tab.run("location.hash = '#claim-2'")
            card = tab.run("document.querySelector('#claim-2').getBoundingClientRect().top")
            assert height <= card < 2 * height
        tab.run(
            "document.querySelector('.claim-card').parentNode.className = 'cell-output-display'"
        )
        tab.run("scrollTo(0, 2000)")
        assert tab.run(TOP) == 0  # in the boxes that Quarto makes
        for width, low in ((390, 844), (1280, 400)):
            top, height = scrolled(tab, page, width, low)
            assert top + height < 0

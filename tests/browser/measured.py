"""How much there is to read on each page: words, figures, tables, screens, weight.

    python -m tests.browser.measured reports/paper --pictures /tmp/pictures

prints a table of the pages of a folder, and what is ugly: a page wider than its window, text too
small to read, labels of a figure that lie over each other or beyond the window. With
``--pictures`` each page is drawn whole, at 1280 and 390 pixels, light and dark, a picture for every
4,000 pixels of its height.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from tests.browser.chromium import Tab, browser

#: Width and height of the windows [px].
WINDOWS = {"desktop": (1280, 900), "phone": (390, 844)}
#: Least size of a letter, and of one in a figure [px].
LEAST, LEAST_DRAWN = 11, 10
#: The page that is one screen of a desk.
FRONT = "index"
#: Height of one picture [px].
CUT = 4000
#: The page as it was found: one file; see the note on the first review.
BEFORE = "| the one page before | 18,290 | 23,500 | 33 | 40 | 78 | 114 | 3,280 |"
COLUMNS = ("page", "words", "with folds", "figures", "tables", "screens", "on a phone", "kB")

COUNTED = """(() => {
  const words = (it) => it.innerText.split(/\\s+/).filter(Boolean).length;
  const main = document.querySelector("main");
  const page = document.documentElement;
  const height = page.scrollHeight, wide = page.scrollWidth - page.clientWidth;
  const figures = [...main.querySelectorAll("figure")].filter((it) => it.querySelector("svg, img"));
  const shown = [...main.querySelectorAll("svg, math, pre")];
  shown.forEach((it) => { it.style.display = "none"; });
  const visible = words(main);
  main.querySelectorAll("details").forEach((it) => { it.open = true; });
  return { words: visible, all: words(main), figures: figures.length,
    tables: main.querySelectorAll("table").length, height, wide };
})()"""

SMALL = """(() => {
  const small = new Map();
  for (const it of document.querySelectorAll("body *")) {
    const own = [...it.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || /^(STYLE|SCRIPT|TITLE)$/i.test(it.tagName) || !it.getClientRects().length) continue;
    let size = parseFloat(getComputedStyle(it).fontSize);
    const drawn = it.getScreenCTM?.();
    if (drawn) size *= Math.hypot(drawn.a, drawn.b);
    if (size < (drawn ? LEAST_DRAWN - 0.05 : LEAST) && !it.closest("sup, sub, math"))
      small.set(it.closest("main [id]")?.id || it.tagName, size.toFixed(1));
  }
  return [...small].map(([name, size]) => `${name} ${size} px`);
})()"""

#: Vega hides labels that would lie over others by their opacity.
LABELS = """(() => {
  document.querySelectorAll("main :is(svg, math, pre)").forEach((it) => { it.style.display = ""; });
  document.querySelectorAll("main details").forEach((it) => { it.open = true; });
  const ugly = [];
  for (const figure of document.querySelectorAll("main figure")) {
    const name = figure.id || figure.closest("[id]").id;
    const labels = [...figure.querySelectorAll("svg text")].filter((it) =>
      it.getClientRects().length && it.textContent.trim() && it.getAttribute("opacity") !== "0");
    const boxes = labels.map((it) => it.getBoundingClientRect());
    boxes.forEach((one, at) => {
      if (one.left < -1 || one.right > innerWidth + 1)
        ugly.push(`${name} "${labels[at].textContent}" beyond the window`);
      boxes.slice(at + 1).forEach((other, after) => {
        const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (wide > 1.5 && high > 3)
          ugly.push(`${name} "${[at, at + 1 + after].map((it) => labels[it].textContent)}" meet`);
      });
    });
  }
  return ugly;
})()"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one page holds."""

    words: int
    all_words: int
    figures: int
    tables: int
    screens: dict[str, float]
    weight: int
    ugly: list[str]


def seen(tab: Tab, page: Path) -> Seen:
    """Return what a page holds, opened in both windows."""
    screens, ugly = {}, []
    result: dict[str, int] = {}
    for window, (width, height) in WINDOWS.items():
        tab.dress(width, height)
        tab.open(page.resolve().as_uri())
        small = tab.run(SMALL.replace("LEAST_DRAWN", str(LEAST_DRAWN)).replace("LEAST", str(LEAST)))
        result = tab.run(COUNTED)
        screens[window] = result["height"] / height
        ugly += (
            [f"{window}: {result['wide']} px wider than the window"] if result["wide"] > 0 else []
        )
        ugly += [f"{window}: {it}" for it in [*small, *tab.run(LABELS)]]
        if page.stem == FRONT and window == "desktop" and result["height"] > height:
            ugly.append(f"{window}: {result['height'] - height} px longer than one screen")
    return Seen(
        result["words"],
        result["all"],
        result["figures"],
        result["tables"],
        screens,
        page.stat().st_size,
        ugly,
    )


def pictures(tab: Tab, page: Path, folder: Path) -> None:
    """Draw a page whole in both windows, light and dark."""
    for window, (width, height) in WINDOWS.items():
        for colours in ("light", "dark"):
            tab.dress(width, height, dark=colours == "dark")
            tab.open(page.resolve().as_uri())
            full = int(tab.run("document.documentElement.scrollHeight"))
            for number, top in enumerate(range(0, full, CUT)):
                clip = {"x": 0, "y": top, "width": width, "height": min(CUT, full - top)}
                tab.picture(folder / f"{page.stem}-{window}-{colours}-{number}.png", clip)


def row(name: str, result: Seen) -> str:
    """Return a page as a row of the table."""
    cells = [
        name,
        f"{result.words:,}",
        f"{result.all_words:,}",
        str(result.figures),
        str(result.tables),
        *(f"{result.screens[window]:.1f}" for window in WINDOWS),
        f"{result.weight / 1000:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table of a folder of pages, and what is ugly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the pages")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of every page")
    parser.add_argument("--page", action="append", default=[], help="only this page")
    given = parser.parse_args()
    pages = [
        it for it in sorted(given.folder.glob("*.html")) if not given.page or it.stem in given.page
    ]
    print("|", " | ".join(COLUMNS), "|")
    print("|---", "---:|" * (len(COLUMNS) - 1), sep="|")
    print(BEFORE)
    ugly: list[str] = []
    with browser() as tab:
        tab.offline()
        for page in pages:
            result = seen(tab, page)
            print(row(page.stem, result), flush=True)
            ugly += [f"{page.stem}, {it}" for it in result.ugly]
            if given.pictures:
                given.pictures.mkdir(parents=True, exist_ok=True)
                pictures(tab, page, given.pictures)
    print("\n".join(["", *ugly]))


if __name__ == "__main__":
    main()

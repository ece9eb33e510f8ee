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

from tests.browser.chromium import Tab, browser, script

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

COUNTED = script("counted")

SMALL = script("small")

#: Vega hides labels that would lie over others by their opacity.
LABELS = script("labels")


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

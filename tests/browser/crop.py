"""One figure, table or card of a page as a picture: on a desk and on a phone, light or dark.

    python -m tests.browser.crop reports/paper/paper.html fig-density /tmp/pictures
    python -m tests.browser.crop reports/paper/claims.html claim-16 /tmp/pictures --dark

The name is the label of a chunk, ``claim-`` and a number, or any other ``id`` of the page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.browser.chromium import Tab, browser
from tests.browser.measured import WINDOWS

#: Room around what is cut out [px].
ROOM = 12
#: Opens all folds around an element, and those in it; gives its place on the page [px].
PLACE = """(() => {
  const found = document.getElementById(NAME);
  if (!found) return null;
  for (let it = found; it; it = it.parentElement) if (it.tagName === "DETAILS") it.open = true;
  found.querySelectorAll("details").forEach((it) => { it.open = FOLDS; });
  const box = found.getBoundingClientRect();
  return { x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height };
})()"""


def cut(tab: Tab, page: Path, name: str, folder: Path, *, dark: bool, folds: bool) -> list[Path]:
    """Write a picture of an element in each window, and return where they are.

    Raises
    ------
    SystemExit
        If the page has no element of that name.
    """
    script = PLACE.replace("NAME", json.dumps(name)).replace("FOLDS", json.dumps(folds))
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for window, (width, height) in WINDOWS.items():
        tab.dress(width, height, dark=dark)
        tab.open(page.resolve().as_uri())
        place = tab.run(script)
        if place is None:
            raise SystemExit(f"{page} must have an element with the id {name}; it has none.")
        clip = {
            "x": max(place["x"] - ROOM, 0),
            "y": max(place["y"] - ROOM, 0),
            "width": min(place["width"] + 2 * ROOM, width),
            "height": place["height"] + 2 * ROOM,
        }
        written.append(folder / f"{name}-{window}-{'dark' if dark else 'light'}.png")
        tab.picture(written[-1], clip)
    return written


def main() -> None:
    """Write the pictures and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="a page of the report")
    parser.add_argument("name", help="the label of its chunk, or the id of an element")
    parser.add_argument("folder", type=Path, help="a folder for the pictures")
    parser.add_argument("--dark", action="store_true", help="as on a dark screen")
    parser.add_argument("--folds", action="store_true", help="with its folds open")
    given = parser.parse_args()
    with browser() as tab:
        tab.offline()
        made = cut(tab, given.page, given.name, given.folder, dark=given.dark, folds=given.folds)
        print(*made, sep="\n")


if __name__ == "__main__":
    main()

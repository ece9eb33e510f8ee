"""Every page examined by axe-core, light and dark, at 1280 and 390 pixels, the network off.

    npm pack axe-core && tar xzf axe-core-*.tgz
    python -m tests.browser.axe reports/paper --axe package/axe.min.js

names each violation with its rule and the first places, and ends with 1 if there is one. Folds are
opened first, so that what they hide is examined too. axe cannot decide the contrast of letters in
drawings and before shades, so it is computed here: at least 4.5. ``--page`` chooses.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tests.browser.chromium import Tab, browser, script
from tests.browser.measured import WINDOWS

N_SHOWN = 3
OPENED = "document.querySelectorAll('main details').forEach((it) => { it.open = true; })"
EXAMINED = script("examined")

FAINT = script("faint")


def examined(tab: Tab, page: Path, source: str, window: str, *, dark: bool) -> dict[str, Any]:
    """Return what axe finds in a page of one size and colour."""
    tab.dress(*WINDOWS[window], dark=dark)
    tab.open(page.resolve().as_uri())
    tab.run(source + "; true")
    tab.run(OPENED)
    return {**tab.run(EXAMINED), "faint": tab.run(FAINT)}


def main() -> int:
    """Print what axe finds in every page, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the pages")
    parser.add_argument("--axe", type=Path, required=True, help="axe.min.js of axe-core")
    parser.add_argument("--page", action="append", default=[], help="only this page")
    given = parser.parse_args()
    source = given.axe.read_text(encoding="utf-8")
    pages = [it for it in sorted(given.folder.glob("*.html")) if it.stem in (given.page or it.stem)]
    print(source[: source.index("\n")], f"{len(pages)} pages, light and dark, {WINDOWS}", sep="\n")
    total = 0
    with browser() as tab:
        tab.offline()
        for page in pages:
            for window in WINDOWS:
                for dark in (False, True):
                    result = examined(tab, page, source, window, dark=dark)
                    look = f"{page.stem}, {window}, {'dark' if dark else 'light'}"
                    unsure = ", ".join(f"{name} {n}" for name, n in result["incomplete"])
                    printed = (
                        f"{len(result['violations'])} violations, {result['passes']} rules passed"
                    )
                    print(f"{look}: {printed}; undecided: {unsure or 'none'}", flush=True)
                    total += len(result["faint"])
                    print("".join(f"  letters too faint: {it}\n" for it in result["faint"]), end="")
                    for it in result["violations"]:
                        total += 1
                        print(f"  {it['id']} ({it['count']}): {it['help']}")
                        print(*(f"    {node}" for node in it["nodes"][:N_SHOWN]), sep="\n")
    print(f"{total} violations")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())

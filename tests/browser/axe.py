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

from tests.browser.chromium import Tab, browser
from tests.browser.measured import WINDOWS

N_SHOWN = 3
OPENED = "document.querySelectorAll('main details').forEach((it) => { it.open = true; })"
EXAMINED = """axe.run(document, { resultTypes: ["violations", "incomplete"] }).then((found) => ({
  passes: found.passes.length,
  incomplete: found.incomplete.map((it) => [it.id, it.nodes.length]),
  violations: found.violations.map((it) => ({
    id: it.id, help: it.help, count: it.nodes.length,
    nodes: it.nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  })),
}))"""

FAINT = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = (c) => c.slice(0, 3).map((it) => it / 255)
    .map((it) => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)
    .reduce((sum, it, i) => sum + it * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (it) => {
    for (let node = it; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const found = new Map();
  for (const text of document.querySelectorAll("body *")) {
    const drawing = text.closest("svg");
    const isOwn = [...text.childNodes].some((it) => it.nodeType === 3 && it.data.trim());
    const isSeen = text.checkVisibility() && !/^(TITLE|STYLE|SCRIPT|OPTION)$/i.test(text.tagName);
    if (!isOwn || !isSeen) continue;
    const back = behind(drawing ? drawing.parentElement : text);
    const style = getComputedStyle(text);
    const own = rgb(drawing ? style.fill : style.color);
    const group = drawing && text.closest("g.mark-group");
    const tile = group?.querySelector('[aria-roledescription="bar"]');
    const shown = own.map((it, i) => i < 3 ? it * own[3] + back[i] * (1 - own[3]) : 1);
    const [low, high] = [light(shown), light(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const where = text.closest("figure")?.id ?? text.className;
    const said = `${where}: "${text.textContent.trim().slice(0, 30)}"`;
    if (ratio < 4.5 && !tile) found.set(said, ratio.toFixed(2));
  }
  return [...found].map(([name, ratio]) => `${name} ${ratio}`);
})()"""


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

"""The claims used with the keyboard alone, in a real browser, the network off.

    python -m tests.browser.keyboard reports/paper

says what was pressed and what came of it; an assertion ends it where that is not as it must be.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from tests.browser.chromium import Tab, browser

N_TABS = 60
#: How long a figure may take to be drawn again [s].
LIMIT_S = 20.0
#: The first line of the answer in the figure of the reader's choice.
ANSWER = """[...document.querySelectorAll("#own-choice text")]
  .map((it) => it.textContent).find((it) => /shrink the vector|No such/.test(it))"""
FOCUS = """(() => {
  const it = document.activeElement;
  const box = it.getBoundingClientRect();
  return { text: it.textContent.trim().slice(0, 60), tag: it.tagName, id: it.id,
    href: it.getAttribute("href") ?? "", name: it.getAttribute("name") ?? "",
    verdict: it.dataset.verdict ?? "", seen: box.width > 0 && box.top < innerHeight,
    ring: getComputedStyle(it).outlineStyle };
})()"""
COUNT = "document.querySelector('.claim-filters output').textContent"
SHOWN = "document.querySelectorAll('#claim-cards .claim-card:not([hidden])').length"


def to(tab: Tab, **wanted: str) -> dict[str, Any]:
    """Press Tab until what has the focus is what is wanted, and return it."""
    for _ in range(N_TABS):
        tab.press("Tab")
        result = dict(tab.run(FOCUS))
        if all(wanted[name] in result[name] for name in wanted):
            assert result["seen"], result
            assert result["ring"] != "none", result
            return result
    raise AssertionError(f"{N_TABS} times Tab did not reach {wanted}.")


def from_the_front(tab: Tab, folder: Path) -> None:
    """From the front to the checks of the claim on heritage: a link, and its card is open."""
    tab.open((folder / "index.html").resolve().as_uri())
    tab.press("Tab")
    assert "skip" in tab.run("document.activeElement.className")
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "main"
    link = to(tab, href="claims.html#claim-7")
    follow(tab)
    assert tab.run("location.hash") == "#claim-7"
    assert tab.run("document.querySelector('#claim-7 details').open")
    top = tab.run("document.querySelector('#claim-7').getBoundingClientRect().top")
    assert 0 <= top < 400, top
    print(f"front: Tab to {link['text']!r}, Enter: its card is on screen, its checks are open")


def own_choice(tab: Tab, folder: Path) -> None:
    """Choose another definition on the front with keys: the answer in the figure is another."""
    tab.open((folder / "index.html").resolve().as_uri())
    answered(tab, "models shrink")
    first = tab.run(ANSWER)
    to(tab, tag="SELECT", name="block")
    tab.press("ArrowDown")
    answered(tab, "No such number")
    to(tab, tag="SELECT", name="models")
    tab.press("ArrowDown")
    answered(tab, "models shrink")
    assert tab.run(ANSWER) != first
    print(f"front: Tab and arrows from {first!r} to {tab.run(ANSWER)!r}")


def answered(tab: Tab, words: str) -> None:
    """Wait until the figure of the reader's choice says some words."""
    deadline = time.monotonic() + LIMIT_S
    while words not in (tab.run(ANSWER) or ""):
        assert time.monotonic() < deadline, (words, tab.run(ANSWER))
        time.sleep(0.05)


def filtered(tab: Tab, folder: Path) -> None:
    """Filter by a verdict and a word, and go through what is left."""
    tab.open((folder / "claims.html").resolve().as_uri())
    whole = tab.run(SHOWN)
    button = to(tab, verdict="contradicted")
    tab.press("Enter")
    some = tab.run(SHOWN)
    assert 0 < some < whole
    assert tab.run(COUNT) == f"{some} of {whole} claims"
    print(f"claims: Tab to {button['verdict']!r}, Enter: {tab.run(COUNT)}")
    tab.press("/")
    assert tab.run(FOCUS)["name"] == "word"
    tab.write("heritage")
    few = tab.run(SHOWN)
    assert 0 < few < some
    print(f"claims: / and 'heritage': {tab.run(COUNT)}")
    to(tab, tag="A")
    tab.press("j")
    first = tab.run(FOCUS)["href"]
    tab.press("j")
    second = tab.run(FOCUS)["href"]
    assert first.startswith("#claim-"), first
    assert first != second
    tab.press("o")
    assert tab.run(f"document.querySelector('{second} details').open")
    tab.press("Enter")
    assert tab.run("location.hash") == second
    print(f"claims: j to {first}, j to {second}, o opens its checks, Enter gives its address")


def to_the_section(tab: Tab, folder: Path) -> None:
    """From a card to the section that uses it."""
    tab.open((folder / "claims.html").resolve().as_uri() + "#claim-7")
    tab.run("document.querySelector('#claim-7 .claim-number').focus()")
    link = to(tab, href="paper.html#")
    follow(tab)
    assert link["href"].endswith(tab.run("location.hash"))
    assert tab.run("document.querySelector(location.hash) !== null")
    print(f"claims: from claim 7 Tab to {link['text']!r}, Enter: {link['href']}")


def without_script(tab: Tab, folder: Path) -> None:
    """Without scripts a still picture and every card are there, and folds open with Enter."""
    tab.dress(1280, 900, script=False)
    tab.open((folder / "index.html").resolve().as_uri())
    still = "document.querySelector('#fig-own-choice svg').getBoundingClientRect().height"
    assert tab.run(still) > 100
    assert not tab.run("document.querySelector('#own-choice').innerHTML")
    tab.open((folder / "claims.html").resolve().as_uri())
    shown = tab.run(SHOWN)
    assert tab.run("document.querySelector('.claim-filters').hidden")
    to(tab, tag="SUMMARY", text="check")
    tab.press("Enter")
    assert tab.run("document.activeElement.parentElement.open")
    print(f"claims without script: {shown} cards, no filters, Enter opens the checks of one")


def follow(tab: Tab) -> None:
    """Press Enter on a link to another page, and wait for it."""
    tab.events.clear()
    tab.press("Enter")
    tab.loaded()


def main() -> None:
    """Use the claims with keys, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the pages")
    folder = parser.parse_args().folder
    with browser() as tab:
        tab.offline()
        tab.dress(1280, 900)
        for used in (from_the_front, own_choice, filtered, to_the_section, without_script):
            used(tab, folder)


if __name__ == "__main__":
    main()

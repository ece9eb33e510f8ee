"""A rendered page as plain data: its blocks of text, and the frame behind each figure."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

#: Elements that end a block of text; a cell of a table is a block.
BLOCKS = {
    *("p", "li", "td", "th", "dt", "dd", "figcaption", "caption", "div", "section", "tr"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "summary", "pre", "header", "nav", "details"),
}
#: Elements whose text no reader reads as prose: drawings are compared by their frames.
SKIPPED = {"script", "style", "svg", "head"}


class PageParser(HTMLParser):
    """Collects the blocks of text of a page, and the CSV behind its figures by file name."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self.frames: dict[str, list[str]] = {}
        self._words: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; a link to a figure's data is decoded."""
        given = dict(attrs)
        if tag in SKIPPED or self._is_code(tag, given):
            self._open.append(tag)
        if tag in BLOCKS:
            self._flush()
        name, target = given.get("download") or "", given.get("href") or ""
        if name.endswith(".csv"):
            _, _, body = target.partition(",")
            text = base64.b64decode(body).decode() if ";base64," in target else unquote(body)
            self.frames[name] = text.splitlines()

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if self._open and tag == self._open[-1]:
            self._open.pop()
        if tag in BLOCKS:
            self._flush()

    def handle_data(self, data: str) -> None:
        """Take text that a reader sees."""
        if not self._open:
            self._words += data.split()

    @staticmethod
    def _is_code(tag: str, given: dict[str, str | None]) -> bool:
        """Tell whether an element shows the page's own code, and is no part of what it says."""
        return tag == "pre" and "cell-code" in (given.get("class") or "")

    def _flush(self) -> None:
        if self._words:
            self.blocks.append(" ".join(self._words))
        self._words = []


def parse_page(path: Path) -> dict[str, list[str]]:
    """Return blocks under ``text`` and one entry a figure, each a list of lines."""
    parser = PageParser()
    parser.feed(path.read_text(encoding="utf-8"))
    parser.close()
    return {"text": parser.blocks, **parser.frames}

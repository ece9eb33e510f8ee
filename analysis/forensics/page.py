"""The words of an HTML page, each on the line where its source has it."""

from __future__ import annotations

from html.parser import HTMLParser

#: Elements whose content nobody reads.
UNREAD = ("script", "style", "template")

#: Elements that stand inside a word or a formula; any other parts words.
INLINE = ("i", "em", "b", "strong", "sub", "sup", "span", "a", "u", "small", "code", "var")


def words(html: str) -> str:
    r"""Return the text of a page: no markup, entities as characters, the lines of the source.

    >>> words("<p><em>t</em>(28) = 2.20,<br>\n<i>p</i> &lt; .05</p>").split("\n")
    [' t(28) = 2.20, ', 'p < .05 ']
    """
    page = _Page(convert_charrefs=True)
    page.feed(html)
    page.close()
    return "".join(page.found)


class _Page(HTMLParser):
    """Collects text, and for markup the line breaks in it."""

    def __init__(self, *, convert_charrefs: bool) -> None:
        super().__init__(convert_charrefs=convert_charrefs)
        self.found: list[str] = []
        self.unread = 0
        self.line = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._mark(tag)
        self.unread += tag in UNREAD

    def handle_endtag(self, tag: str) -> None:
        self.unread -= tag in UNREAD and self.unread > 0
        self._mark(tag)

    def handle_data(self, data: str) -> None:
        self._reach()
        self.found.append("\n" * data.count("\n") if self.unread else data)
        self.line += data.count("\n")

    def _mark(self, tag: str) -> None:
        self._reach()
        if tag not in INLINE:
            self.found.append(" ")

    def _reach(self) -> None:
        """Break lines up to where the parser stands: markup and comments may hold breaks."""
        missing = self.getpos()[0] - self.line
        self.found.append("\n" * missing)
        self.line += max(missing, 0)

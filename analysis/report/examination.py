r"""What is wrong with a finished page, whichever renderer made it.

Quarto warns of a missing figure or citation and ends with success; a value without a Markdown form
comes out as Python writes it; what could not be embedded is fetched when the page is read. All
of that can be seen in the page itself, so it is looked for there. The command
``thermoscope report --examine PAGE`` does the same for pages that were rendered elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from analysis.report.numbering import wrong_numbers
from analysis.tidy.errors import ReportError

CSS_URL = re.compile(r"url\((?!\s*[\"']?(?:data:|#))[^)]*\)|@import", re.IGNORECASE)

#: An address of something that a script would load; a name in a comment is none.
LOADED_BY_SCRIPT = re.compile(
    r"https?://[^\s\"'`<>]+\.(?:js|mjs|css|woff2?|ttf)(?:\?[^\s\"'`]*)?(?=[\"'`)])", re.IGNORECASE
)

#: Marks of what a renderer left undone, looked for in the text outside of blocks of code.
UNDONE = (
    (re.compile(r"\?@[\w-]+"), "a reference without a target: '{}'"),
    (re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"), "a character as Python writes it: '{}'"),
    (re.compile(r"\{python\}[^\n]{0,60}"), "inline code that was not run: '{}'"),
    (re.compile(r"\bnp\.\w+\([^)\n]*\)"), "a number as Python writes it: '{}'"),
)

#: What a link may do beside leading to a place: the buttons of Quarto's own page do nothing.
HARMLESS_SCRIPT = re.compile(r"javascript:\s*void\(0\);?\s*$", re.IGNORECASE)
VOID = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
SILENT = frozenset({"script", "style", "pre", "title"})
LOADING = ("src", "srcset", "data", "poster")
N_SHOWN = 12

#: Read pages that are held: those of a site are examined one by one, then together.
MOST_PAGES = 32


@dataclass(slots=True)
class Anchors:
    """The places of a page and the places that its links lead to."""

    names: set[str] = field(default_factory=set)
    inner: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)


class PageFaults(HTMLParser):
    """What a page loads from outside, its dead inner links, its images without text, its gaps."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors = Anchors()
        self.faults: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._text: list[str] = []
        self._drawing: str | None = None

    @classmethod
    @lru_cache(maxsize=MOST_PAGES)
    def parsed(cls, markup: str) -> PageFaults:
        """Return the parser after it has read a page; it must not be changed."""
        parser = cls()
        parser.feed(markup)
        parser.close()
        text = "".join(parser._text)
        for pattern, words in UNDONE:
            matches = dict.fromkeys(match[0].strip() for match in pattern.finditer(text))
            parser.faults += [words.format(it) for it in matches]
        return parser

    @classmethod
    def of(cls, markup: str) -> list[str]:
        """Return the faults of a page that can be seen in it alone, in words."""
        parser = cls.parsed(markup)
        return parser.faults + parser.dead()

    def dead(self) -> list[str]:
        """Return the links inside the page that lead nowhere, in words."""
        missing = [it for it in dict.fromkeys(self.anchors.inner) if it not in self.anchors.names]
        return [f"a link to '#{target}', which does not exist" for target in missing]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag names, links to, loads and leaves unsaid."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.names.add(values.get("id", ""))
        if tag == "a":
            self.anchors.names.add(values.get("name", ""))
            self._note_link(values.get("href", ""))
        self._note_loaded(tag, values)
        self.faults += [f"a style loads '{it}'" for it in CSS_URL.findall(values.get("style", ""))]
        self._note_image(tag, values)
        if not VOID.fullmatch(tag):
            self._open.append((tag, values))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.handle_starttag(tag, attrs)
        if not VOID.fullmatch(tag):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a tag, and of those inside it that were left open."""
        if tag not in [name for name, _ in self._open]:
            return
        while self._open.pop()[0] != tag:
            pass
        if tag == "svg" and self._drawing is not None and not self._is_in("svg"):
            self.faults.append(self._drawing)
            self._drawing = None

    def handle_data(self, data: str) -> None:
        """Note what a style sheet or script loads, and the text."""
        if self.cdata_elem == "style":
            self.faults += _loaded_by_style(data)
        elif self.cdata_elem == "script":
            self.faults += _loaded_by_script(data)
        elif [name for name, _ in self._open][-2:] == ["svg", "title"] and data.strip():
            self._drawing = None
        elif not SILENT.intersection(name for name, _ in self._open):
            self._note_text(data)

    def _note_text(self, data: str) -> None:
        """Keep running text; of code in a line only what is no example is kept."""
        in_code = self._is_in("code")
        if not in_code or data.startswith("{python}"):
            self._text.append(data)
        inside = [values.get("class", "").split() for _, values in self._open]
        if any("math" in it for it in inside) and re.match(r"\s*\\[(\[]", data):
            self.faults.append(f"a formula that is left as TeX: '{data.strip()[:60]}'")
        is_strong = bool(self._open) and self._open[-1][0] == "strong"
        if is_strong and data.endswith("?") and any("citation" in it for it in inside):
            self.faults.append(f"a citation without an entry: '{data}'")

    def _note_link(self, address: str) -> None:
        scheme = re.sub(r"[\s\x00-\x1f]", "", address).partition(":")[0].lower()
        if scheme in ("javascript", "vbscript") and not HARMLESS_SCRIPT.match(address):
            self.faults.append(f"a link that runs code: '{address[:80]}'")
        elif address.startswith("#") and len(address) > 1:
            self.anchors.inner.append(unquote(address[1:]))
        elif address and not urlsplit(address).scheme and not address.startswith(("#", "//")):
            self.anchors.beside.append(address)

    def _note_loaded(self, tag: str, values: dict[str, str]) -> None:
        loaded = [values[name] for name in LOADING if name in values]
        if tag in ("link", "image", "use") and not values.get("rel", "").startswith("canonical"):
            loaded += [values[name] for name in ("href", "xlink:href") if name in values]
        for address in loaded:
            if address.startswith("data:"):
                self.faults += _loaded_by_data(tag, address)
            elif not (address.startswith("#") and tag == "use"):
                self.faults.append(f"<{tag}> loads '{address[:80]}'")

    def _note_image(self, tag: str, values: dict[str, str]) -> None:
        if tag == "img" and not values.get("alt", "").strip():
            self.faults.append("an image without alternative text")
        is_outermost = tag == "svg" and not self._is_in("svg")
        named = ("aria-label", "aria-labelledby")
        hidden = values.get("aria-hidden") == "true"
        if is_outermost and not hidden and not any(values.get(name, "").strip() for name in named):
            self._drawing = "a drawing without alternative text"

    def _is_in(self, tag: str) -> bool:
        return any(name == tag for name, _ in self._open)


def refuse_faults(pages: Sequence[Path], *, unmade: Collection[str] = ()) -> None:
    """Refuse pages that have faults; links between them must lead to places that exist.

    Parameters
    ----------
    pages
        HTML files. What a page links to beside itself is looked for on disk.
    unmade
        Names of pages that have yet to be made: links to them are taken as good.

    Raises
    ------
    ReportError
        If a file cannot be read, or has a fault; all faults of all pages are named.
    """
    texts = {page.resolve(): _text(page) for page in pages}
    parsed = {page: PageFaults.parsed(text) for page, text in texts.items()}
    named = {page.name: text for page, text in texts.items()}
    lines = []
    for page, faults_of_page in parsed.items():
        faults = [
            *faults_of_page.faults,
            *faults_of_page.dead(),
            *_dead_beside(page, faults_of_page, parsed, unmade),
        ]
        faults += wrong_numbers(page.name, named)
        faults = list(dict.fromkeys(faults))
        if faults:
            lines.append(f"{page.name}: {_listed(faults)}")
    if lines:
        raise ReportError(
            f"A finished page must be complete in itself; found in {' | in '.join(lines)}.",
            "Mend the sources and render again; the pages are not to be passed on as they are.",
        )


def _listed(faults: Sequence[str]) -> str:
    more = len(faults) - N_SHOWN
    return "; ".join([*faults[:N_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _dead_beside(
    page: Path, faults: PageFaults, parsed: dict[Path, PageFaults], unmade: Collection[str]
) -> Iterable[str]:
    """Yield the links to other files that lead nowhere, in words."""
    for address in dict.fromkeys(faults.anchors.beside):
        parts = urlsplit(address)
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not target.is_file() and target.name in unmade:
            continue
        if not target.is_file():
            yield f"a link to '{address[:80]}', which does not exist"
            continue
        anchor = unquote(parts.fragment)
        if anchor and target.suffix == ".html":
            if target not in parsed:
                parsed = {**parsed, target: PageFaults.parsed(_text(target))}
            if anchor not in parsed[target].anchors.names:
                yield f"a link to '{address[:80]}', which does not exist"


def _text(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fault = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ReportError(
            f"The page {page} must be a readable file; found: {fault}.",
            "Name the HTML file of a finished page.",
        ) from error


def _loaded_by_style(text: str) -> list[str]:
    return [f"a style loads '{it[:80]}'" for it in CSS_URL.findall(text)]


def _loaded_by_script(text: str) -> list[str]:
    return [f"a script loads '{it[:80]}'" for it in dict.fromkeys(LOADED_BY_SCRIPT.findall(text))]


def _loaded_by_data(tag: str, address: str) -> list[str]:
    """Return what a style sheet or script that is embedded as data would load itself."""
    head, _, body = address.partition(",")
    kind = head.removeprefix("data:").partition(";")[0]
    if tag not in ("link", "script") or not kind.startswith(("text/", "application/")):
        return []
    try:
        content = base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
    except binascii.Error:
        return [f"<{tag}> holds data that cannot be read"]
    text = content.decode("utf-8", errors="replace")
    return _loaded_by_style(text) if tag == "link" else _loaded_by_script(text)

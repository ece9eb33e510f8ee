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
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

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
MISSING = "a link to '{}', which does not exist"
N_SHOWN = 12

#: A reference in a page, and how a target shows its number, by the kind of its label.
REFERENCE = re.compile(
    r"<a\b(?=[^>]*\bclass=\"[^\"]*\bxref\b)(?=[^>]*\bhref=\"([\w-]*(?:\.html)?)#([\w-]+)\")[^>]*>"
    r"(.*?)</a>",
    re.DOTALL,
)
NUMBER = re.compile(r"\d+(?:\.\d+)*")
BORNE = {
    "fig": re.compile(r"Figure(?:\s|&nbsp;|&#160;)(\d+)"),
    "tbl": re.compile(r"Table(?:\s|&nbsp;|&#160;)(\d+)"),
    "sec": re.compile(r"section-number[^>]*>(\d+(?:\.\d+)*)<"),
    "eq": re.compile(r"equation-number[^>]*>\((\d+)\)"),
}

#: Read pages that are held: those of a site are examined one by one, then together.
MOST_PAGES = 32


class PageFaults(HTMLParser):
    """What a page loads from outside, its dead inner links, its images without text, its gaps.

    Attributes
    ----------
    names, inner, beside
        The places of the page, and what its links lead to in it and beside it.
    faults
        What can be seen without following a link, in words.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.inner: dict[str, None] = {}
        self.beside: dict[str, None] = {}
        self.faults: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._text: list[str] = []
        self._drawing = False

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
        dead = [f"#{target}" for target in parser.inner if target not in parser.names]
        return [*parser.faults, *map(MISSING.format, dead)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag names, links to, loads and leaves unsaid."""
        values = {name: value or "" for name, value in attrs}
        self.names.add(values.get("id", ""))
        if tag == "a":
            self.names.add(values.get("name", ""))
            self._note_link(values.get("href", ""))
        self._note_loaded(tag, values)
        self.faults += _load("style", values.get("style", ""))
        self._note_image(tag, values)
        if not VOID.fullmatch(tag):
            self._open.append((tag, values))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a tag, and of those inside it that were left open."""
        if not self._is_in(tag):
            return
        while self._open.pop()[0] != tag:
            pass
        if tag == "svg" and self._drawing and not self._is_in("svg"):
            self.faults.append("a drawing without alternative text")
            self._drawing = False

    def handle_data(self, data: str) -> None:
        """Note what a style sheet or script loads, and the text."""
        if self.cdata_elem in ("style", "script"):
            self.faults += _load(self.cdata_elem, data)
        elif [name for name, _ in self._open][-2:] == ["svg", "title"] and data.strip():
            self._drawing = False
        elif not SILENT.intersection(name for name, _ in self._open):
            self._note_text(data)

    def _note_text(self, data: str) -> None:
        """Keep running text; of code in a line only what is no example is kept."""
        if not self._is_in("code") or data.startswith("{python}"):
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
            self.inner[unquote(address[1:])] = None
        elif address and not urlsplit(address).scheme and not address.startswith(("#", "//")):
            self.beside[address] = None

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
        if tag == "svg" and not self._is_in("svg") and values.get("aria-hidden") != "true":
            named = (values.get(name, "") for name in ("aria-label", "aria-labelledby"))
            self._drawing = not "".join(named).strip()

    def _is_in(self, tag: str) -> bool:
        return any(name == tag for name, _ in self._open)


def refuse_faults(pages: Sequence[Path], *, unmade: Collection[str] = ()) -> None:
    """Refuse pages that have faults, all named; what they link to beside them must be on disk.

    Links to the pages that have yet to be made are taken as good.
    """
    texts = {page.resolve(): _text(page) for page in pages}
    named = {page.name: text for page, text in texts.items()}
    lines = []
    for page in list(texts):
        dead = map(MISSING.format, _dead_beside(page, texts, unmade))
        faults = [*PageFaults.of(texts[page]), *dead, *_wrong_numbers(page.name, named)]
        if faults := list(dict.fromkeys(faults)):
            more = [f"and {len(faults) - N_SHOWN} more"] if len(faults) > N_SHOWN else []
            lines.append(f"{page.name}: {'; '.join([*faults[:N_SHOWN], *more])}")
    if lines:
        raise ReportError(
            f"A finished page must be complete in itself; found in {' | '.join(lines)}.",
            "Correct the sources and render again; the pages are not to be passed on as they are.",
        )


def _dead_beside(page: Path, texts: dict[Path, str], unmade: Collection[str]) -> Iterator[str]:
    """Yield the links to other files that lead nowhere; the texts of read pages are kept."""
    for address in PageFaults.parsed(texts[page]).beside:
        parts = urlsplit(address)
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        anchor = unquote(parts.fragment)
        is_dead = not target.is_file() and target.name not in unmade
        if target.is_file() and anchor and target.suffix == ".html":
            if target not in texts:
                texts[target] = _text(target)
            is_dead = anchor not in PageFaults.parsed(texts[target]).names
        if is_dead:
            yield address[:80]


def _wrong_numbers(page: str, pages: Mapping[str, str]) -> Iterator[str]:
    """Yield the references of a page whose number is not their target's, in words.

    Pages are HTML by file name; references to one that is not among them are taken as good.
    """
    for file, identifier, inner in REFERENCE.findall(pages[page]):
        shown = NUMBER.search(unescape(re.sub(r"<[^>]+>", "", inner)))
        markup, kind = pages.get(file or page, ""), identifier.partition("-")[0]
        start = markup.find(f'id="{identifier}"')
        borne = BORNE[kind].search(markup, start) if kind in BORNE and start >= 0 else None
        if shown and borne and shown[0] != borne[1]:
            target = f"{file}#{identifier}"
            yield f"a reference that says {shown[0]} of '{target}', whose number is {borne[1]}"


def _text(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fault = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ReportError(
            f"The page {page} must be a readable file; found: {fault}.",
            "Name the HTML file of a finished page.",
        ) from error


def _load(kind: str, text: str) -> list[str]:
    """Return what a style or a script loads, in words."""
    addresses = (CSS_URL if kind == "style" else LOADED_BY_SCRIPT).findall(text)
    return [f"a {kind} loads '{it[:80]}'" for it in dict.fromkeys(addresses)]


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
    return _load("style" if tag == "link" else "script", text)

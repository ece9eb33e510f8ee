"""What a page says, whoever rendered it: text, numbering, links and tables of two renderings.

    python -m tests.analysis.report.both_renderers FOLDER_OF_QUARTO FOLDER_OF_EMBEDDED

compares the pages of the same name, prints what differs and ends with 1 if anything does. Left out
is what each renderer adds of its own: contents lists, title blocks, code, anchors, formulas.
"""

import difflib
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
SILENT_TAGS = {"nav", "script", "style", "svg", "math", "summary", "button"}
SILENT_CLASSES = {
    "title-block", "quarto-title-block", "sourceCode", "code-fold", "anchor", "anchorjs-link",
    "callout-kind", "callout-icon-container", "equation-number", "footnote-back",
    "screen-reader-only", "colophon-note", "drawn-by",
}  # fmt: skip
HEADINGS = {"h2", "h3", "h4", "h5", "h6", "h1"}
#: Titles that Quarto gives to callouts without one, and to parts that it adds at the end.
OWN_WORDS = {"Note", "Warning", "Important", "Tip", "Caution", "References", "Footnotes"}


@dataclass
class Content:
    """What a page says, in order: headings, captions and tables with numbers; links sorted."""

    headings: list[str] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Sort the text of the main part of a page by what it belongs to."""

    def __init__(self):
        super().__init__()
        self.found = Content()
        self.open = []  # tag, and whether it silences what it holds
        self.text = {}  # what is read now, by kind
        self.target = ""

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            return
        classes = set((dict(attrs).get("class") or "").split())
        is_silent = tag in SILENT_TAGS or bool(classes & SILENT_CLASSES)
        # A code block that is folded is a summary and a block; any other fold is text.
        is_silent = is_silent and not (tag == "summary" and "callout-title" in classes)
        self.open.append((tag, is_silent))
        if tag == "table":
            self.found.tables.append([])
        elif tag == "tr" and self.found.tables:
            self.found.tables[-1].append([])
        elif tag == "a":
            self.target = dict(attrs).get("href") or ""
        kind = _kind(tag)
        if kind:
            self.text[kind] = []

    def handle_endtag(self, tag):
        if tag not in (name for name, _ in self.open):
            return
        is_heard = self._is_heard()
        while self.open.pop()[0] != tag:
            pass
        kind = _kind(tag)
        if not kind or kind not in self.text:
            return
        text = " ".join("".join(self.text.pop(kind)).split())
        if not is_heard:
            return
        if kind == "heading" and text not in OWN_WORDS:
            self.found.headings.append(text)
        elif kind == "caption" and text:
            self.found.captions.append(text)
        elif kind == "cell" and self.found.tables and self.found.tables[-1]:
            self.found.tables[-1][-1].append(text)
        elif kind == "link" and text and not self.target.startswith("#fn"):
            self.found.links.append((self.target, text))

    def handle_data(self, data):
        if not self._is_heard():
            return
        for parts in self.text.values():
            parts.append(data)
        if not {"heading", "caption", "cell"} & set(self.text):
            self.found.words += [word for word in data.split() if word not in OWN_WORDS]

    def _is_heard(self):
        is_main = any(tag == "main" for tag, _ in self.open)
        return is_main and not any(silent for _, silent in self.open)


def _kind(tag):
    kinds = {"figcaption": "caption", "caption": "caption", "td": "cell", "th": "cell", "a": "link"}
    return "heading" if tag in HEADINGS else kinds.get(tag, "")


def content(page):
    """Return what a finished page says."""
    reader = _Reader()
    reader.feed(page)
    reader.found.links.sort()
    return reader.found


def differences(one, other):
    """Return what two pages say differently, a line each; nothing where they agree."""
    first, second = content(one), content(other)
    printed = []
    for kind in ("headings", "captions", "tables", "links", "words"):
        left, right = ([str(it) for it in getattr(page, kind)] for page in (first, second))
        for line in difflib.unified_diff(left, right, lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                printed.append(f"{kind}: {line}")
    return printed


def main():
    """Compare two folders of pages."""
    folders = [Path(name) for name in sys.argv[1:3]]
    names = sorted({path.name for folder in folders for path in folder.glob("*.html")})
    n_different = 0
    for name in names:
        missing = [folder for folder in folders if not (folder / name).is_file()]
        printed = [f"{name} must be in {folder}; it is not." for folder in missing]
        printed = printed or differences(
            *((folder / name).read_text("utf-8") for folder in folders)
        )
        n_different += bool(printed)
        for line in printed:
            print(f"{name}: {line}")
    print(f"{n_different} of {len(names)} pages differ.")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())

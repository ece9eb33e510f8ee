"""What the front matter and ``_quarto.yml`` decide about the page.

Keys that only concern how Quarto itself looks (themes, code tools) are ignored here.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.report.reading.front_matter import mapping
from analysis.tidy.errors import ReportError

PROJECT_FILE = "_quarto.yml"
TITLE_KEYS = (
    *("title", "subtitle", "author", "date", "abstract", "keywords", "nocite"),
    *("pagetitle", "description-meta", "site-url"),
)
FOLDING_KEYS = ("code-fold", "code-summary")
WORDS_FOR_TODAY = ("today", "now", "last-modified")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one page.

    Attributes
    ----------
    title_block
        Front matter that pandoc typesets: title, subtitle, author, date, abstract, keywords.
    reuse
        The words of the licence that close the page; empty if there are none.
    chunk_defaults
        Chunk options that hold unless a chunk says otherwise.
    bibliography, csl, styles
        Files, resolved against the directory of the source.
    filters, before, after
        The same: pandoc's filters, and HTML that opens and that closes the page.
    heading_shift
        What is added to the level of each heading, for pages made of lower sections.
    """

    title_block: Mapping[str, Any]
    reuse: str
    chunk_defaults: Mapping[str, Any]
    bibliography: tuple[Path, ...]
    csl: tuple[Path, ...]
    styles: tuple[Path, ...]
    filters: tuple[Path, ...]
    before: tuple[Path, ...]
    after: tuple[Path, ...]
    lang: str
    number_sections: bool
    toc: bool
    toc_depth: int
    toc_title: str
    heading_shift: int

    @property
    def flags(self) -> list[str]:
        """The switches that are on, as pandoc's metadata."""
        named = {"number-sections": self.number_sections, "toc": self.toc}
        return ["link-citations", *(name for name, is_on in named.items() if is_on)]


def settings_of(front_matter: Mapping[str, Any], directory: Path) -> Settings:
    """Return the settings of a page: front matter over ``_quarto.yml``, html options over both.

    Parameters
    ----------
    front_matter
        The YAML block at the head of the source.
    directory
        Directory of the source; ``_quarto.yml`` is looked for there.

    Raises
    ------
    ReportError
        If a file that the settings name is missing, or ``_quarto.yml`` is not a mapping.
    """
    merged = _merged(project_options(directory), front_matter)
    formats = merged.get("format")
    html = formats.get("html") if isinstance(formats, Mapping) else None
    options = _merged(merged, html if isinstance(html, Mapping) else {})
    execute = options.get("execute")
    chunk_defaults = dict(execute) if isinstance(execute, Mapping) else {}
    chunk_defaults |= {key: options[key] for key in FOLDING_KEYS if key in options}
    return Settings(
        title_block=_title_block(options),
        reuse=_reuse(options.get("license", "")),
        chunk_defaults=chunk_defaults,
        bibliography=_files(options, "bibliography", directory),
        csl=_files(options, "csl", directory),
        styles=_files(options, "css", directory),
        filters=_files(options, "filters", directory),
        before=_files(options, "include-before-body", directory),
        after=_files(options, "include-after-body", directory),
        lang=str(options.get("lang", "en")),
        number_sections=bool(options.get("number-sections", False)),
        toc=bool(options.get("toc", False)),
        toc_depth=int(options.get("toc-depth", 3)),
        toc_title=str(options.get("toc-title", "Contents")),
        heading_shift=int(options.get("shift-heading-level-by", 0)),
    )


def project_options(directory: Path) -> dict[str, Any]:
    """Return the content of ``_quarto.yml`` in a directory; empty if there is none.

    Raises
    ------
    ReportError
        If the file is not a YAML mapping.
    """
    path = directory / PROJECT_FILE
    return mapping(path.read_text(encoding="utf-8"), path.name) if path.is_file() else {}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged


def _title_block(options: Mapping[str, Any]) -> dict[str, Any]:
    block = {key: options[key] for key in TITLE_KEYS if key in options}
    if block.get("date") in WORDS_FOR_TODAY:
        today = datetime.datetime.now(tz=datetime.UTC).date()
        iso = options.get("date-format") == "iso"
        block["date"] = today.isoformat() if iso else f"{today.day} {today:%B %Y}"
    elif "date" in block:
        block["date"] = str(block["date"])
    if "author" in block:
        authors = block["author"] if isinstance(block["author"], list) else [block["author"]]
        block["author"] = [
            author.get("name", "") if isinstance(author, Mapping) else str(author)
            for author in authors
        ]
    return block


def _reuse(licence: object) -> str:
    return str(licence.get("text", "") if isinstance(licence, Mapping) else licence)


def _files(options: Mapping[str, Any], key: str, directory: Path) -> tuple[Path, ...]:
    names = options.get(key) or []
    paths = [directory / str(name) for name in (names if isinstance(names, list) else [names])]
    for path in paths:
        if not path.is_file():
            raise ReportError(
                f"The file {path} named under '{key}' must exist; it does not.",
                f"Write its path relative to {directory}.",
            )
    return tuple(paths)

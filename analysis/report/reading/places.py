"""The places of a site: which page has which figure, table, section, and which claims it uses.

Everything is read off the sources, in their order, so that a page can refer to another one before
either is made, whichever renderer makes them. ``quarto/filters/site.lua`` turns this into links.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from analysis.report.reading import glossary
from analysis.report.reading.chunk import Chunk
from analysis.report.reading.settings import project_options
from analysis.report.reading.source import Line, Source, read_source
from analysis.tidy.errors import ReportError, ReportRequestError

HEADING = re.compile(r"^(?P<marks>#+)\s+(?P<title>.*?)\s*(?:\{(?P<attributes>[^}]*)\})?\s*$")
IDENTIFIER = re.compile(r"#([\w-]+)")
UNNUMBERED = re.compile(r"\.unnumbered|(?:^|\s)-(?:\s|$)")
LABELLED = re.compile(r"\{[^}]*#((?:fig|tbl|eq)-[\w-]+)[^}]*\}")
CALLOUT = re.compile(r"^:::+\s*\{[^}]*\.callout-")
CLAIM = re.compile(r"\bcheck\((\d+),|\b[Cc]laims?\s+(\d+)|\bverdicts\(([\d,\s]*)\)")

#: What is numbered or claimed: its kind, identifier, title, and the level of a numbered heading.
Mark = tuple[str, str, str, int]


@dataclass(slots=True)
class Place:
    """Something that can be referred to."""

    page: str  #: Stem of the page that has it.
    #: Its label; its number on that page, empty where it has none; the words of a heading.
    identifier: str
    number: str
    title: str = ""
    #: Numbers of the claims that a section uses, without those of its subsections.
    claims: set[int] = field(default_factory=set)


def pages(project: Path) -> list[Path]:
    """Return the sources of a project's pages, in the order of its file."""
    listed = project_options(project).get("project", {}).get("render", [])
    sources = [project / str(name) for name in listed]
    missing = [path.name for path in sources if not path.is_file()]
    if missing or not sources:
        raise ReportError(
            f"The pages of {project / '_quarto.yml'} must be files under 'render'; "
            f"{', '.join(missing) or 'none is listed'}.",
            "List each page by its name, such as render: [index.qmd, paper.qmd].",
        )
    return sources


def chosen(project: Path, only: Sequence[str]) -> list[Path]:
    """Return the sources of the pages of some stems, in the order of the project; all if none."""
    sources = pages(project)
    known = [path.stem for path in sources]
    if unknown := sorted(set(only) - set(known)):
        raise ReportRequestError(
            f"A page must be one of the project's; {', '.join(unknown)} is not.",
            f"The pages are {', '.join(known)}.",
        )
    return [path for path in sources if not only or path.stem in only]


@cache
def places(project: Path) -> tuple[Place, ...]:
    """Return the places of all pages of a project."""
    every = [place for path in pages(project) for place in _places_of(read_source(path))]
    by_label: dict[str, Place] = {}
    for place in every:
        other = by_label.setdefault(place.identifier, place)
        if other is not place:
            raise ReportError(
                f"A label must be used once in all pages; '{place.identifier}' is on "
                f"{other.page} and {place.page}."
            )
    return tuple(every)


def _places_of(source: Source) -> list[Place]:
    """Return the labelled places of one page with the numbers that a renderer gives them."""
    page, marks = source.path.stem, list(_marks(source))
    counts = dict.fromkeys(("fig", "tbl", "eq"), 0)
    top = min((level for *_, level in marks if level), default=1)
    sections: list[int] = []
    listed: list[Place] = []
    for kind, identifier, title, level in marks:
        if kind == "sec":
            if level:
                depth = level - top + 1
                sections = [*sections, *[0] * depth][:depth]
                sections[-1] += 1
            number = ".".join(map(str, sections)) if level else ""
            listed.append(Place(page, identifier, number, title))
        elif kind == "claim":
            labelled = (it for it in reversed(listed) if it.title and it.identifier)
            if section := next(labelled, None):
                section.claims.add(int(identifier))
        else:
            counts[kind] += 1
            listed.append(Place(page, identifier, str(counts[kind])))
    return [place for place in listed if place.identifier]


def block(project: Path, page: str, claims: Sequence[int] = ()) -> str:
    """Return the Markdown that tells the filter of a page about the places and words of the site.

    ``claims`` are the numbers of those that have a card.
    """
    entries = {
        "page": page,
        "pages": titles(project),
        "labels": {it.identifier: {"page": it.page, "number": it.number} for it in places(project)},
        "claims": {str(number): True for number in claims},
        "terms": glossary.entries(project, page),
    }
    return f"```{{.site-places}}\n{json.dumps(entries, ensure_ascii=True)}\n```"


def claim_numbers(folder: Path) -> list[int]:
    """Return the numbers of a paper's claims as its statements have them, in their order."""
    with (folder / "claim.csv").open(encoding="utf-8", newline="") as statements:
        return sorted(int(row["claim_id"]) for row in csv.DictReader(statements))


@cache
def titles(project: Path) -> Mapping[str, str]:
    """Return the short title of each page, by its stem."""
    heads = {path.stem: read_source(path).front_matter for path in pages(project)}
    return {
        stem: str(head.get("short-title", head.get("title", ""))) for stem, head in heads.items()
    }


def used_in(project: Path, *, without: Sequence[str] = ()) -> dict[int, str]:
    """Return Markdown that links to the sections which use a claim, by its number.

    Those of the pages ``without`` are left out.
    """
    shown = titles(project)
    using: dict[int, list[str]] = {}
    for place in places(project):
        linked = f"[{place.title}]({place.page}.html#{place.identifier}) ({shown[place.page]})"
        for number in place.claims if place.page not in without else ():
            using.setdefault(number, []).append(linked)
    return {number: ", ".join(links) for number, links in using.items()}


def _marks(source: Source) -> Iterator[Mark]:
    """Yield what is numbered or claimed, in order."""
    for part in source.blocks:
        if isinstance(part, Chunk):
            label = str(part.options.get("label", ""))
            if label.startswith(("fig-", "tbl-")):
                yield label[:3], label, "", 0
            yield from _claims(part.code)
        else:
            yield from _prose_marks(part.lines)


def _prose_marks(lines: Sequence[Line]) -> Iterator[Mark]:
    before = ""
    for line in lines:
        if line.fence:
            continue
        heading = HEADING.match(line.text)
        if heading and not CALLOUT.match(before):
            attributes = heading["attributes"] or ""
            identifier = IDENTIFIER.search(attributes)
            level = 0 if UNNUMBERED.search(attributes) else len(heading["marks"])
            yield "sec", identifier[1] if identifier else "", heading["title"], level
        else:
            for match in LABELLED.finditer(line.text):
                yield match[1].partition("-")[0], match[1], "", 0
            yield from _claims(line.text)
        before = line.text if line.text.strip() else before


def _claims(text: str) -> Iterator[Mark]:
    for match in CLAIM.finditer(text):
        for number in re.findall(r"\d+", "".join(filter(None, match.groups()))):
            yield "claim", number, "", 0

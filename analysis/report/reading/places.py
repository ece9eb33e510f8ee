"""The places of a site: which page has which figure, table, section, and which claims it uses.

Everything is read off the sources, in their order, so that a page can refer to another one before
either is made, whichever renderer makes them. ``quarto/filters/site.lua`` turns this into links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from analysis.report.reading.chunk import Chunk
from analysis.report.reading.settings import project_options
from analysis.report.reading.source import Line, Prose, Source, read_source
from analysis.tidy.errors import ReportError, ReportRequestError

HEADING = re.compile(r"^(?P<marks>#+)\s+(?P<title>.*?)\s*(?:\{(?P<attributes>[^}]*)\})?\s*$")
IDENTIFIER = re.compile(r"#([\w-]+)")
LABELLED = re.compile(r"\{[^}]*#((?:fig|tbl|eq)-[\w-]+)[^}]*\}")
CALLOUT = re.compile(r"^:::+\s*\{[^}]*\.callout-")
CLAIM = re.compile(r"\bcheck\((\d+),|\b[Cc]laims?\s+(\d+)")
LISTED = re.compile(r"\bverdicts\(([\d,\s]*)\)")


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be referred to.

    Attributes
    ----------
    page
        Stem of the page that has it.
    identifier, number, title
        Its label; its number on that page, empty where it has none; the words of a heading.
    claims
        Numbers of the claims that a section uses, without those of its subsections.
    """

    page: str
    identifier: str
    number: str
    title: str = ""
    claims: tuple[int, ...] = ()


def pages(project: Path) -> list[Path]:
    """Return the sources of a project's pages, in the order of its file.

    Raises
    ------
    ReportError
        If the project names none, or one that is missing.
    """
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
    """Return the sources of the pages of some stems, in the order of the project; all if none.

    Raises
    ------
    ReportRequestError
        If the project has no page of a stem.
    """
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
    """Return the places of all pages of a project.

    Raises
    ------
    ReportError
        If a label is used on two pages, or a source cannot be read.
    """
    every = [place for path in pages(project) for place in places_of(read_source(path))]
    by_label: dict[str, Place] = {}
    for place in every:
        if place.identifier in by_label:
            raise ReportError(
                f"A label must be used once in all pages; '{place.identifier}' is on "
                f"{by_label[place.identifier].page} and {place.page}."
            )
        by_label[place.identifier] = place
    return tuple(every)


def places_of(source: Source) -> list[Place]:
    """Return the labelled places of one page with the numbers that a renderer gives them."""
    page = source.path.stem
    counts = dict.fromkeys(("fig", "tbl", "eq"), 0)
    sections: list[int] = []
    top = _top_level(source)
    listed: list[Place] = []
    for kind, identifier, title, level in _marks(source):
        if kind == "sec":
            if level:
                depth = level - top + 1
                sections = [*sections, *[0] * depth][:depth]
                sections[-1] += 1
            number = ".".join(map(str, sections)) if level else ""
            listed.append(Place(page, identifier, number, title))
        elif kind == "claim" and listed:
            _use(listed, int(identifier))
        elif kind in counts:
            counts[kind] += 1
            listed.append(Place(page, identifier, str(counts[kind])))
    return [place for place in listed if place.identifier]


def block(project: Path, page: str, claims: Sequence[int] = ()) -> str:
    """Return the Markdown that tells the filter of a page about the places of the site.

    Parameters
    ----------
    project
        Directory of ``_quarto.yml``.
    page
        Stem of the page.
    claims
        Numbers of the claims that have a card.
    """
    known = {it.identifier: {"page": it.page, "number": it.number} for it in places(project)}
    entries = {
        "page": page,
        "pages": titles(project),
        "labels": known,
        "claims": {str(number): True for number in claims},
    }
    return f"```{{.site-places}}\n{json.dumps(entries, ensure_ascii=True)}\n```"


@cache
def titles(project: Path) -> Mapping[str, str]:
    """Return the short title of each page, by its stem."""
    heads = {path.stem: read_source(path).front_matter for path in pages(project)}
    return {
        stem: str(head.get("short-title", head.get("title", ""))) for stem, head in heads.items()
    }


def sections_of(project: Path, *, without: Sequence[str] = ()) -> dict[int, list[Place]]:
    """Return the sections that use each claim, by its number; pages ``without`` are left out."""
    using: dict[int, list[Place]] = {}
    for place in places(project):
        for number in place.claims if place.page not in without else ():
            using.setdefault(number, []).append(place)
    return using


def _use(listed: list[Place], claim: int) -> None:
    """Note in the last labelled section that it uses a claim."""
    labelled = (i for i in reversed(range(len(listed))) if listed[i].title and listed[i].identifier)
    last = next(labelled, None)
    if last is not None:
        used = tuple(sorted({*listed[last].claims, claim}))
        listed[last] = replace(listed[last], claims=used)


def _top_level(source: Source) -> int:
    levels = [level for kind, _, _, level in _marks(source) if kind == "sec" and level]
    return min(levels, default=1)


def _marks(source: Source) -> Iterator[tuple[str, str, str, int]]:
    """Yield kind, identifier, title and level of what is numbered or claimed, in order."""
    for block_ in source.blocks:
        if isinstance(block_, Chunk):
            yield from _of_chunk(block_)
        elif isinstance(block_, Prose):
            yield from _of_prose(block_.lines)


def _of_chunk(chunk: Chunk) -> Iterator[tuple[str, str, str, int]]:
    label = str(chunk.options.get("label", ""))
    if label.startswith(("fig-", "tbl-")):
        yield label[:3], label, "", 0
    yield from _claims(chunk.code)


def _of_prose(lines: Sequence[Line]) -> Iterator[tuple[str, str, str, int]]:
    before = ""
    for line in lines:
        if line.fence:
            continue
        heading = HEADING.match(line.text)
        if heading and not CALLOUT.match(before):
            attributes = heading["attributes"] or ""
            identifier = IDENTIFIER.search(attributes)
            numbered = not re.search(r"\.unnumbered|(?:^|\s)-(?:\s|$)", attributes)
            level = len(heading["marks"]) if numbered else 0
            yield "sec", identifier[1] if identifier else "", heading["title"], level
        else:
            for match in LABELLED.finditer(line.text):
                yield match[1].partition("-")[0], match[1], "", 0
            yield from _claims(line.text)
        before = line.text if line.text.strip() else before


def _claims(text: str) -> Iterator[tuple[str, str, str, int]]:
    for match in CLAIM.finditer(text):
        yield "claim", match[1] or match[2], "", 0
    for match in LISTED.finditer(text):
        for number in re.findall(r"\d+", match[1]):
            yield "claim", number, "", 0


def used_in(project: Path, *, without: Sequence[str] = ()) -> dict[int, str]:
    """Return Markdown that links to the sections which use a claim, by its number."""
    shown = titles(project)
    return {
        number: ", ".join(
            f"[{place.title}]({place.page}.html#{place.identifier}) ({shown[place.page]})"
            for place in listed
        )
        for number, listed in sections_of(project, without=without).items()
    }

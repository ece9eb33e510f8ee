"""A Quarto source as blocks: front matter, prose and chunks, with includes spliced in.

Structure inside the prose is pandoc's business; here only what stands on a line of its own
is read: fences, chunk fences, includes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from analysis.report.reading.chunk import Chunk, chunk_of
from analysis.report.reading.settings import mapping
from analysis.tidy.errors import ReportError

FENCE = re.compile(r"^\s*(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
CHUNK_INFO = re.compile(r"^\s*```+\s*\{[A-Za-z]\w*[^}]*\}\s*$")
SHORTCODE = re.compile(r"\{\{<\s*(?P<name>\S+)\s*(?P<argument>.*?)\s*>\}\}")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a source file; ``fence`` is empty outside of code fences."""

    text: str
    path: Path
    number: int
    fence: Literal["", "open", "inside", "close"] = ""

    @property
    def place(self) -> str:
        """File and line for messages.

        >>> Line("text", Path("quarto/paper.qmd"), 7).place
        'paper.qmd:7'
        """
        return f"{self.path.name}:{self.number}"


@dataclass(frozen=True, slots=True)
class Prose:
    """Consecutive lines between two chunks."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A whole document."""

    path: Path
    front_matter: Mapping[str, Any]  #: The YAML block at the head of the main file.
    #: Prose and chunks in the order of the text, included files spliced in.
    blocks: tuple[Prose | Chunk, ...]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks in the order of the text."""
        return tuple(block for block in self.blocks if isinstance(block, Chunk))

    def place_of(self, text: str) -> str:
        """Return ``file:line`` of the first prose line that contains the text, or the file."""
        lines = (line for block in self.blocks if isinstance(block, Prose) for line in block.lines)
        return next((line.place for line in lines if text in line.text), self.path.name)


def read_source(path: Path) -> Source:
    """Return the blocks of a Quarto source and everything that it includes.

    What is no source that both renderers read alike is refused with its place.
    """
    lines = list(_expand(path, (), path.parent))
    head = _front_matter_length(lines)
    front_matter = mapping("\n".join(line.text for line in lines[:head][1:-1]), path.name)
    return Source(path, front_matter, tuple(_blocks(lines[head:])))


def whole(path: Path) -> str:
    """Return the text of a source with every included file in its place."""
    return "".join(f"{line.text}\n" for line in _expand(path, (), path.parent))


def _expand(path: Path, including: tuple[Line, ...], base: Path) -> Iterator[Line]:
    """Yield the lines of a file with its includes, whose paths start at the main document."""
    for line in _file_lines(path, including):
        shortcode = None if line.fence else SHORTCODE.search(line.text)
        if shortcode is None:
            yield line
            continue
        if shortcode["name"] != "include" or line.text.strip() != shortcode[0]:
            raise ReportError(
                "A shortcode must be '{{< include file >}}' on a line of its own; "
                f"found '{line.text.strip()}' at {line.place}."
            )
        target, chain = base / shortcode["argument"].strip("\"'"), (*including, line)
        if target.resolve() in {outer.path.resolve() for outer in chain}:
            raise ReportError(f"A file must not include itself; {line.place} includes {target}.")
        yield from _expand(target, chain, base)


def _file_lines(path: Path, including: tuple[Line, ...]) -> Iterator[Line]:
    opened: Line | None = None
    ticks = ""
    for number, text in enumerate(_text(path, including).splitlines(), start=1):
        fence = FENCE.match(text)
        if opened is None and fence and not ("`" in fence["info"] and "`" in fence["ticks"]):
            opened, ticks = Line(text, path, number, "open"), fence["ticks"]
            yield opened
        elif opened and fence and fence["ticks"].startswith(ticks) and not fence["info"].strip():
            opened = None
            yield Line(text, path, number, "close")
        else:
            yield Line(text, path, number, "inside" if opened else "")
    if opened is not None:
        raise ReportError(f"The fence opened at {opened.place} must be closed; the file ends.")


def _text(path: Path, including: tuple[Line, ...]) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        wanted_by = f", included at {including[-1].place}," if including else ""
        fault = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ReportError(
            f"The source {path}{wanted_by} must be a readable file; found: {fault}.",
            "The path of an include starts at the main document, in nested includes too."
            * bool(including),
        ) from error


def _front_matter_length(lines: Sequence[Line]) -> int:
    if not lines or lines[0].text.rstrip() != "---":
        return 0
    end = next((i for i, line in enumerate(lines) if i and line.text.rstrip() == "---"), None)
    if end is None:
        raise ReportError(f"The YAML block at {lines[0].place} must end with '---'; it does not.")
    return end + 1


def _blocks(lines: Sequence[Line]) -> Iterator[Prose | Chunk]:
    prose: list[Line] = []
    left = iter(lines)
    for line in left:
        if not _opens_chunk(line):
            prose.append(line)
            continue
        if prose:
            yield Prose(tuple(prose))
            prose = []
        code = takewhile(lambda inner: inner.fence != "close", left)
        yield chunk_of([inner.text for inner in code], place=line.place)
    if prose:
        yield Prose(tuple(prose))


def _opens_chunk(line: Line) -> bool:
    if line.fence != "open" or not CHUNK_INFO.match(line.text):
        return False
    if not re.match(r"```+\s*\{python\}\s*$", line.text):
        raise ReportError(
            "A chunk must open with '```{python}' in the first column; "
            f"found '{line.text}' at {line.place}.",
            "Write its options as '#| key: value' lines; code that is only shown opens with "
            "'```python'.",
        )
    return True

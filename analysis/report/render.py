"""Render the report: choose the renderer, run it, replace the page only if it succeeded."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from analysis.report.examination import refuse_faults
from analysis.report.execution import Kernel, environment
from analysis.report.making.callout import with_callouts
from analysis.report.making.crossref import Heading, numbered, resolved
from analysis.report.making.images import embedded
from analysis.report.making.page import page
from analysis.report.making.pandoc import pandoc
from analysis.report.making.tree import Node, div, text_nodes
from analysis.report.making.typeset import typeset
from analysis.report.reading.chunk import Chunk, assignments
from analysis.report.reading.front_matter import unread, written
from analysis.report.reading.markup import Gallery, chunk_markdown, prose_markdown
from analysis.report.reading.settings import Settings, project_options, settings_of
from analysis.report.reading.source import Prose, Source, read_source
from analysis.report.replay import Memory, NewCodeError, Replay, Runner
from analysis.tidy.errors import ReportError
from analysis.tidy.output import replace_text

Engine = Literal["auto", "quarto", "embedded"]
Made = TypeVar("Made")
REFERENCES = "References"


def render(
    source: Path,
    destination: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    memory: Memory | None = None,
) -> Path:
    """Render a Quarto source to one self-contained HTML page.

    Parameters
    ----------
    source
        The main ``.qmd`` file; ``_quarto.yml`` lies beside it.
    destination
        The page to write or replace. If rendering fails, what was there stays.
    parameters
        Values for names that the chunk tagged ``parameters`` assigns.
    engine
        ``quarto`` runs the Quarto command, ``embedded`` the renderer of this package,
        ``auto`` the Quarto command if there is one.
    memory
        Outputs that an earlier rendering with the embedded engine kept; without it all code runs.

    Returns
    -------
    The destination.

    Raises
    ------
    ReportError
        If the source cannot be rendered, the page cannot be written, or the finished page has a
        fault (see ``examination``); a faulty page that Quarto wrote stays where it wrote it.
    MissingExtraError
        If a package of the [report] extra is missing.
    """
    if command := quarto_command(engine):
        return _quarto(command, source, destination, parameters or {})
    return replace_text(destination, embedded_page(source, parameters=parameters, memory=memory))


def embedded_page(
    source: Path, *, parameters: Mapping[str, str] | None = None, memory: Memory | None = None
) -> str:
    """Return the page of a Quarto source, made without the Quarto command.

    Arguments are those of `render`.

    Raises
    ------
    ReportError
        If the source cannot be rendered.
    MissingExtraError
        If a package of the [report] extra is missing.
    """
    return remembered(page_of, source, parameters or {}, memory)


def remembered(
    make: Callable[[Path, Runner, Mapping[str, str]], Made],
    source: Path,
    parameters: Mapping[str, str],
    memory: Memory | None,
) -> Made:
    """Return what is made of a source, `page_of` or `pdf_of`; known code is not run again."""
    known = {} if memory is None else memory.known()
    with suppress(NewCodeError):
        return make(source, Replay(known), parameters)
    answers: dict[str, Any] = {}
    with Kernel(source.resolve().parent) as kernel:
        made = make(source, Replay(answers, kernel), parameters)
    if memory is not None:
        memory.keep({**known, **answers})
    return made


def quarto_command(engine: Engine) -> str | None:
    """Return the command that renders, or None where the embedded renderer does.

    Raises
    ------
    ReportError
        If Quarto is asked for and not there.
    """
    command = shutil.which("quarto")
    if engine == "quarto" and command is None:
        raise ReportError(
            "The engine 'quarto' needs the quarto command on the PATH; it is not there.",
            "Install Quarto, or use the engine 'embedded'.",
        )
    return None if engine == "embedded" else command


def page_of(source: Path, runner: Runner, parameters: Mapping[str, str]) -> str:
    """Return the page of a source, its code run or remembered; see `embedded_page`.

    Raises
    ------
    NewCodeError
        If the runner only remembers, and code is asked for that it does not know.
    """
    read = _read(source, runner, parameters)
    document = embedded(read.document, read.gallery, read.directory, read.content.place_of)
    return page(document, read.settings, read.headings, directory=read.directory)


def pdf_of(source: Path, runner: Runner, parameters: Mapping[str, str]) -> bytes:
    """Return the PDF of a source, made without the Quarto command; arguments as for `page_of`.

    Raises
    ------
    NewCodeError
        If the runner only remembers, and code is asked for that it does not know.
    MissingExtraError
        If a package of the [report] or [pdf] extra is missing.
    """
    read = _read(source, runner, parameters)
    return typeset(read.document, read.settings, read.gallery, read.directory)


@dataclass(frozen=True, slots=True)
class _Read:
    """A source whose code has run, as pandoc's tree, with what is needed to make pages of it."""

    directory: Path
    content: Source
    settings: Settings
    gallery: Gallery
    document: Node
    headings: list[Heading]


def _read(source: Path, runner: Runner, parameters: Mapping[str, str]) -> _Read:
    directory = source.resolve().parent
    content = read_source(source)
    settings = settings_of(content.front_matter, directory)
    gallery = Gallery()
    markdown = executed(content, settings, gallery, parameters, runner)
    document, headings = _document(markdown, content, settings, directory)
    return _Read(directory, content, settings, gallery, document, headings)


def executed(
    source: Source,
    settings: Settings,
    gallery: Gallery,
    parameters: Mapping[str, str],
    runner: Runner,
) -> str:
    """Return the Markdown of a source after its chunks and inline code have run.

    Parameters
    ----------
    source
        Blocks of the document; they run in order, in one kernel.
    settings
        Title block and defaults of the chunks.
    gallery
        Receives the images that chunks show.
    parameters
        Values that replace those of the chunk tagged ``parameters``.
    runner
        Runs the code, or remembers what came of it.

    Raises
    ------
    ReportError
        If code fails, or an image has no alternative text.
    """
    overriding = assignments(source.chunks, parameters) if parameters else ""
    parts = [written(settings.title_block)]
    for block in source.blocks:
        if isinstance(block, Prose):
            parts.append(prose_markdown(block.lines, runner.evaluate))
            continue
        outputs = _run(runner, block, settings.chunk_defaults)
        if "parameters" in block.tags and overriding:
            runner.run(overriding, name=block.name)
        parts.append(chunk_markdown(block, outputs, settings.chunk_defaults, gallery))
    return "\n".join(parts)


def _run(kernel: Runner, chunk: Chunk, defaults: Mapping[str, Any]) -> list[dict[str, Any]]:
    return kernel.run(chunk.code, name=chunk.name) if chunk.settled(defaults)["eval"] else []


def _document(
    markdown: str, source: Source, settings: Settings, directory: Path
) -> tuple[Node, list[Heading]]:
    """Return pandoc's tree with callouts, numbers and references, and the headings."""
    filters = [f"--lua-filter={path.resolve()}" for path in settings.filters]
    shift = f"--shift-heading-level-by={settings.heading_shift}"
    options = ["--from=markdown", "--to=json", shift, *filters]
    tree = json.loads(pandoc(markdown, options, directory=directory))
    tree, numbering = numbered(with_callouts(tree), number_sections=settings.number_sections)
    tree, citations = resolved(tree, numbering.labels, source.place_of)
    if citations and not settings.bibliography:
        raise ReportError(
            f"Citations need a bibliography; @{citations[0]} at "
            f"{source.place_of(f'@{citations[0]}')} has none.",
            "Name the file under 'bibliography' in the front matter.",
        )
    headings = numbering.headings
    if citations:
        title: Node = {"t": "Header", "c": [2, ["references", [], []], text_nodes(REFERENCES)]}
        tree = {**tree, "blocks": [*tree["blocks"], title, div([], "refs")]}
        headings = [*headings, Heading(numbering.top_level, "references", text_nodes(REFERENCES))]
    return tree, headings


def _quarto(command: str, source: Path, destination: Path, parameters: Mapping[str, str]) -> Path:
    project = source.resolve().parent
    rendered = quarto_output(command, project, parameters) / f"{source.stem}.html"
    if not rendered.is_file():
        raise ReportError(f"'quarto render' must write {rendered}; it did not.")
    refuse_faults([rendered])
    if rendered == destination.resolve():
        return destination
    return replace_text(destination, rendered.read_text(encoding="utf-8"))


def quarto_output(
    command: str, project: Path, parameters: Mapping[str, str], *, to: str = ""
) -> Path:
    """Let Quarto render a project, or one source, and return the directory that it wrote to.

    ``to`` names another format than that of the project.

    Raises
    ------
    ReportError
        If Quarto ends with a fault.
    """
    said = [f"{name}:{unread(value)}" for name, value in parameters.items()]
    options = [part for text in said for part in ("-P", text)]
    options += ["--to", to] if to else []
    process = subprocess.run(
        [command, "render", str(project), *options], env=environment(), check=False
    )
    if process.returncode:
        raise ReportError(
            f"'quarto render' must succeed; it ended with code {process.returncode}.",
            "Its own messages are above; the engine 'embedded' may say more.",
        )
    folder = project.parent if project.is_file() else project
    output = str(project_options(folder).get("project", {}).get("output-dir", "."))
    return (folder / output).resolve()

"""A Quarto source made a page or a PDF without Quarto; and the Quarto command, where it is."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from analysis.report.execution import Session, environment
from analysis.report.making.images import Gallery
from analysis.report.making.markup import chunk_markdown, prose_markdown
from analysis.report.making.page import page, pdf
from analysis.report.reading.chunk import assignments
from analysis.report.reading.front_matter import unread, written
from analysis.report.reading.settings import Settings, project_options, settings_of
from analysis.report.reading.source import Prose, Source, read_source
from analysis.tidy.errors import ReportError

Engine = Literal["auto", "quarto", "embedded"]
To = Literal["html", "typst"]


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


def made(source: Path, runner: Session, parameters: Mapping[str, str], to: To = "html") -> bytes:
    """Return the page or the PDF of a source, made without the Quarto command.

    Parameters
    ----------
    source
        The main ``.qmd`` file; ``_quarto.yml`` lies beside it.
    runner
        Runs the code.
    parameters
        Values for names that the chunk tagged ``parameters`` assigns.
    to
        ``html`` for a page, ``typst`` for a PDF.

    Raises
    ------
    ReportError
        If the source cannot be rendered, or the page has a fault (see ``examination``).
    MissingExtraError
        If a package of the [report] or [pdf] extra is missing.
    """
    directory = source.resolve().parent
    content = read_source(source)
    settings = settings_of(content.front_matter, directory)
    with tempfile.TemporaryDirectory(prefix="report-") as name:
        folder = Path(name)
        gallery = Gallery(folder, for_print=to == "typst")
        markdown = executed(content, settings, gallery, parameters, runner)
        try:
            if to == "typst":
                return pdf(markdown, settings, directory, folder)
            return page(markdown, settings, directory, folder).encode()
        except ReportError as error:
            raise _placed(error, content) from error


def _placed(error: ReportError, source: Source) -> ReportError:
    """Return an error with the place in the source of each reference that it names."""
    positions = {key: source.place_of(key) for key in re.findall(r"@[\w-]+", error.problem)}
    places = ", ".join(f"{key} at {place}" for key, place in positions.items())
    return (
        ReportError(f"{error.problem.rstrip('.')} ({places}).", error.hint) if positions else error
    )


def executed(
    source: Source,
    settings: Settings,
    gallery: Gallery,
    parameters: Mapping[str, str],
    runner: Session,
) -> str:
    """Return the Markdown of a source after its chunks and inline code have run, in order.

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
        is_run = block.settled(settings.chunk_defaults)["eval"]
        outputs = runner.run(block.code, name=block.name) if is_run else []
        if "parameters" in block.tags and overriding:
            runner.run(overriding, name=block.name)
        parts.append(chunk_markdown(block, outputs, settings.chunk_defaults, gallery))
    return "\n".join(parts)


def quarto_output(command: str, project: Path, parameters: Mapping[str, str], to: To) -> Path:
    """Let Quarto render a project, or one source, and return the directory that it wrote to.

    Raises
    ------
    ReportError
        If Quarto ends with a fault.
    """
    settings = [f"{name}:{unread(value)}" for name, value in parameters.items()]
    options = [part for text in settings for part in ("-P", text)]
    options += ["--to", to] if to != "html" else []
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

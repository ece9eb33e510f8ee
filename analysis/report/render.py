"""A Quarto source made a page or a PDF without Quarto; and the Quarto command, where it is."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from analysis.report.execution import Session, environment
from analysis.report.making.images import Gallery
from analysis.report.making.markup import chunk_markdown, prose_markdown
from analysis.report.making.page import page, pdf
from analysis.report.reading.chunk import assignments
from analysis.report.reading.settings import project_options, settings_of, written
from analysis.report.reading.source import Prose, read_source
from analysis.tidy.errors import ReportError
from collect.process.requests import temporary_folder

To = Literal["html", "typst"]


def made(source: Path, runner: Session, parameters: Mapping[str, str], to: To = "html") -> bytes:
    """Return the page or the PDF of a source, made without the Quarto command.

    ``_quarto.yml`` lies beside the source; the parameters are for names that its chunk tagged
    ``parameters`` assigns.
    """
    directory = source.resolve().parent
    content = read_source(source)
    options = settings_of(content.front_matter, directory)
    overriding = assignments(content.chunks, parameters) if parameters else ""
    with temporary_folder("report-") as folder:
        gallery = Gallery(folder, for_print=to == "typst")
        parts = [written(options)]
        for block in content.blocks:
            if isinstance(block, Prose):
                parts.append(prose_markdown(block.lines, runner.evaluate))
                continue
            outputs = runner.run(block.code, name=block.name)
            if block.has_parameters and overriding:
                runner.run(overriding, name=block.name)
            parts.append(chunk_markdown(block, outputs, options, gallery))
        try:
            if to == "typst":
                return pdf("\n".join(parts), options, directory, folder)
            return page("\n".join(parts), options, directory, folder).encode()
        except ReportError as error:
            keys = re.findall(r"@[\w-]+", error.problem)
            places = ", ".join(f"{key} at {content.place_of(key)}" for key in dict.fromkeys(keys))
            if not places:
                raise
            problem = f"{error.problem.rstrip('.')} ({places})."
            raise ReportError(problem, error.hint) from error


def quarto_output(command: str, project: Path, parameters: Mapping[str, str], to: To) -> Path:
    """Let Quarto render a project, or one source, and return the directory that it wrote to."""
    # Quarto reads YAML: in quotes a value is text.
    settings = [f"{name}:{json.dumps(value)}" for name, value in parameters.items()]
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

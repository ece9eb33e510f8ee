"""Pages as PDF: by Quarto's Typst format, or by pandoc's Typst writer and the typst package."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.report.execution import Kernel
from analysis.report.making.typeset import typst_package
from analysis.report.reading.places import pages
from analysis.report.render import Engine, pdf_of, quarto_output
from analysis.report.replay import Memory, NewCodeError, Replay
from analysis.tidy.errors import ReportError
from analysis.tidy.output import replace_bytes

#: The page that is printed unless others are named.
PAPER = "paper"


def render_pdf(
    project: Path,
    destination: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    only: Sequence[str] = (),
    memory: Memory | None = None,
) -> list[Path]:
    """Render pages of a Quarto project to PDF.

    Parameters
    ----------
    project, parameters, engine, memory
        As `site.render_site` takes them.
    destination
        Directory to write to; each file replaces what was there only when it is complete.
    only
        Stems of the pages to print; the paper if none is named.

    Returns
    -------
    The files that were made.

    Raises
    ------
    ReportError
        If a page is unknown, cannot be rendered, or its file cannot be written.
    MissingExtraError
        If a package of the [report] or [pdf] extra is missing.
    """
    known = {path.stem: path for path in pages(project)}
    chosen = list(only) or [PAPER]
    if unknown := [name for name in chosen if name not in known]:
        raise ReportError(
            f"A page to print must be one of the project's; {', '.join(unknown)} is not.",
            f"Name it with --page; the pages are {', '.join(known)}.",
        )
    command = shutil.which("quarto")
    if engine == "quarto" and command is None:
        raise ReportError(
            "The engine 'quarto' needs the quarto command on the PATH; it is not there.",
            "Install Quarto, or use the engine 'embedded'.",
        )
    made = []
    for name in chosen:
        if engine != "embedded" and command is not None:
            output = quarto_output(command, known[name], parameters or {}, to="typst")
            content = _read(output / f"{name}.pdf")
        else:
            content = _embedded(known[name], parameters or {}, memory)
        made.append(replace_bytes(destination / f"{name}.pdf", content))
    return made


def _embedded(source: Path, parameters: Mapping[str, str], memory: Memory | None) -> bytes:
    typst_package()
    known = {} if memory is None else memory.known()
    try:
        return pdf_of(source, Replay(known), parameters)
    except NewCodeError:
        answers = dict(known)
        with Kernel(source.resolve().parent) as kernel:
            made = pdf_of(source, Replay(answers, kernel), parameters)
        if memory is not None:
            memory.keep(answers)
        return made


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReportError(f"'quarto render' must write {path}; {error.strerror}.") from error

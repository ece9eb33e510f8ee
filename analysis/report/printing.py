"""Pages as PDF: by Quarto's Typst format, or by pandoc's Typst writer and the typst package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.report.making.typeset import typst_package
from analysis.report.reading.places import chosen, pages
from analysis.report.render import Engine, pdf_of, quarto_command, quarto_output, remembered
from analysis.report.replay import Memory
from analysis.tidy.errors import ReportError
from analysis.tidy.output import replace_bytes

#: The page that is printed unless others are named; a project without it prints every page.
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
        Stems of the pages to print; if none is named, the paper, or every page where there is none.

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
    stems = [path.stem for path in pages(project)]
    unnamed = [PAPER] if PAPER in stems else []
    made = []
    for source in chosen(project, only or unnamed):
        if command := quarto_command(engine):
            output = quarto_output(command, source, parameters or {}, to="typst")
            content = _read(output / f"{source.stem}.pdf")
        else:
            typst_package()
            content = remembered(pdf_of, source, parameters or {}, memory)
        made.append(replace_bytes(destination / f"{source.stem}.pdf", content))
    return made


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReportError(f"'quarto render' must write {path}; {error.strerror}.") from error

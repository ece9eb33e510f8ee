"""A site: the pages of one Quarto project, made together and replaced only if all are whole."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from analysis.report import cache
from analysis.report.examination import refuse_faults
from analysis.report.execution import run_workers
from analysis.report.reading.places import chosen, pages
from analysis.report.render import To, made, quarto_output
from analysis.tidy.errors import AnalysisError, ReportError
from analysis.tidy.extra import extra
from analysis.tidy.output import replace_bytes
from collect.process import shipped
from collect.process.requests import temporary_folder

Engine = Literal["auto", "quarto", "embedded"]

#: The page that is printed unless others are named; a project without it prints every page.
PAPER = "paper"
SUFFIXES = {"html": ".html", "typst": ".pdf"}

#: What pages made here hold, any of it: those of either renderer, and of this one.
OUR_MARKS = {
    "html": (b'<nav class="site-nav"', b'content="analysis.report embedded', b'content="quarto-'),
    "typst": (b"Typst",),
}


def render_site(
    project: Path,
    destination: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    only: Sequence[str] = (),
    to: To = "html",
    results: cache.Results | None = None,
) -> list[Path]:
    """Render the pages of a Quarto project, each one self-contained file.

    Parameters
    ----------
    project
        Directory of ``_quarto.yml``, whose ``project.render`` lists the pages.
    destination
        Directory to write to. If a page cannot be made or has a fault, what was there stays.
    parameters
        Values for names that the chunks tagged ``parameters`` assign.
    engine
        ``quarto`` runs the Quarto command, ``embedded`` the renderer of this package, ``auto``
        the Quarto command if there is one.
    only
        Stems of the pages to make, the others stay; if none is named, all pages, or of PDFs that
        of the paper.
    to
        ``html`` for pages, ``typst`` for PDFs.
    results
        Kept results of all that the pages depend on: where nothing changed, no code runs.

    Returns
    -------
    The files that were made.

    Raises
    ------
    ReportError
        If a source cannot be rendered, a page is unknown, cannot be written, or has a fault.
    AnalysisError
        If a file of another lies where a page is to be.
    MissingExtraError
        If a package of the [report] or [pdf] extra is missing.
    """
    if to == "typst" and not only:
        only = [PAPER] if PAPER in [path.stem for path in pages(project)] else []
    sources, command = chosen(project, only), _quarto(engine, project)
    if to == "typst" and not command:
        extra("typst", of="pdf")  # before anything runs
    _refuse_to_replace([destination / f"{source.stem}{SUFFIXES[to]}" for source in sources], to)
    is_whole = to == "html" and not only
    given = parameters or {}

    def make() -> dict[str, bytes]:
        made = _contents(command, sources, project.resolve(), given, to, is_whole=is_whole)
        if to == "html":
            with temporary_folder("report-") as folder:
                for other in destination.glob("*.html"):
                    shutil.copy(other, folder)
                written = [folder / f"{stem}.html" for stem in made]
                for path in written:
                    path.write_bytes(made[path.stem])
                refuse_faults(written, unmade=[f"{path.stem}.html" for path in pages(project)])
        return made

    try:
        destination.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"The folder {destination} must be writable; {error.strerror}.",
            "Choose another --out, or free some space.",
        ) from error
    if results and is_whole and not command:
        contents = results.cached("pages", make, is_announced=False)
    else:
        contents = make()
    return [
        replace_bytes(destination / f"{stem}{SUFFIXES[to]}", content)
        for stem, content in contents.items()
    ]


def _refuse_to_replace(places: Sequence[Path], to: To) -> None:
    """Refuse to write a page where a file lies that is none of ours."""
    for path in places:
        if path.is_file() and not any(mark in path.read_bytes() for mark in OUR_MARKS[to]):
            raise AnalysisError(
                f"{path} exists already, and is no page that this command wrote.",
                "Choose another --out, or move the file away.",
            )


def _quarto(engine: Engine, project: Path) -> str | None:
    """Return the command that renders, or None where the embedded renderer does.

    Beside sources among installed packages Quarto would write.
    """
    is_installed = not shipped.is_clone() and project.is_relative_to(shipped.root())
    command = None if is_installed else shutil.which("quarto")
    if engine == "quarto" and command is None:
        raise ReportError(
            "The engine 'quarto' needs the quarto command on the PATH, and the sources of pages "
            f"in a clone; {'these are installed' if is_installed else 'it is not there'}.",
            "Install Quarto, or use the engine 'embedded'.",
        )
    return None if engine == "embedded" else command


def _contents(
    command: str | None,
    sources: Sequence[Path],
    project: Path,
    parameters: Mapping[str, str],
    to: To,
    *,
    is_whole: bool,
) -> dict[str, bytes]:
    """Return the pages by stem, made by the Quarto command or, where there is none, here."""
    if command is None:
        by_source = run_workers(made, sources, project, parameters, to)
        return {source.stem: content for source, content in by_source.items()}
    # The project as a whole takes its pages in one run; a page that is named is made alone.
    wanted = [project] if is_whole else sources
    outputs = [quarto_output(command, each, parameters, to) for each in wanted]
    files = [outputs[0] / f"{source.stem}{SUFFIXES[to]}" for source in sources]
    for file in files:
        if not file.is_file():
            raise ReportError(f"'quarto render' must write {file}; it did not.")
    return {file.stem: file.read_bytes() for file in files}


def results_of_report(
    root: Path, parameters: Mapping[str, str], directory: Path = cache.DIRECTORY
) -> cache.Results:
    """Return the cached results that belong to all that the project's own report depends on.

    That is everything under ``data``, ``examples`` and ``quarto``, what the parameters name, the
    code, the packages, and the commit with its mark for changed files, which the pages show.
    """
    named = [Path(value) for _, value in sorted(parameters.items()) if Path(value).exists()]
    folders = [root / name for name in ("data", "examples", "quarto") if (root / name).is_dir()]
    asked = (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    commit, changes = (
        subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False).stdout
        if (root / ".git").exists()
        else b""
        for words in asked
    )
    further = (sorted(parameters.items()), commit, bool(changes))
    return cache.results_for([*folders, *named], map(repr, further), directory)

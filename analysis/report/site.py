"""A site: the pages of one Quarto project, made together and replaced only if all are whole."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.crew import Bench, work_through
from analysis.report.examination import refuse_faults
from analysis.report.reading.places import chosen, pages
from analysis.report.render import Engine, page_of, quarto_command, quarto_output
from analysis.report.replay import Memory, NewCodeError, Replay
from analysis.tidy.errors import ReportError
from analysis.tidy.output import replace_text


def render_site(
    project: Path,
    destination: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    only: Sequence[str] = (),
    memory: Memory | None = None,
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
        As `render` takes it.
    only
        Stems of the pages to make; all if none is named. The others are taken as they are.
    memory
        Outputs, and whole pages, that an earlier rendering with the embedded engine kept; without
        it all code runs.

    Returns
    -------
    The pages that were made.

    Raises
    ------
    ReportError
        If a source cannot be rendered, a page is unknown, cannot be written, or has a fault.
    MissingExtraError
        If a package of the [report] extra is missing.
    """
    sources = chosen(project, only)
    command = quarto_command(engine)
    # Asked before anything runs: what is edited meanwhile belongs to the next rendering.
    finished = None if memory is None or command or only else memory.finished(project)
    with _workshop(destination) as name:
        if finished is not None and (texts := finished.pages()):
            print("nothing changed: every page is that of the last rendering", file=sys.stderr)
            return _replaced(destination, texts)
        made = Path(name)
        for other in destination.glob("*.html"):
            shutil.copy(other, made)
        if command:
            # The project as a whole takes its pages in one run; a page that is named is made alone.
            wanted = sources if only else [project]
            outputs = [quarto_output(command, source, parameters or {}) for source in wanted]
            _take(outputs[0], made, sources)
        else:
            _embedded(project, made, sources, parameters or {}, memory)
        written = [made / f"{path.stem}.html" for path in sources]
        refuse_faults(written, unmade=[f"{path.stem}.html" for path in pages(project)])
        texts = {path.stem: path.read_text(encoding="utf-8") for path in written}
        # A source that was edited before it was read must not stand under what it was.
        if memory and finished is not None and memory.finished(project) == finished:
            finished.keep(texts)
        return _replaced(destination, texts)


def _replaced(destination: Path, texts: Mapping[str, str]) -> list[Path]:
    return [replace_text(destination / f"{stem}.html", text) for stem, text in texts.items()]


def _workshop(destination: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a new folder inside the destination, which is made unless it is there."""
    try:
        destination.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=destination, prefix=".making-")
    except OSError as error:
        raise ReportError(
            f"The folder {destination} must be writable; {error.strerror}.",
            "Choose another --out, or free the space.",
        ) from error


def _embedded(
    project: Path,
    made: Path,
    sources: Sequence[Path],
    parameters: Mapping[str, str],
    memory: Memory | None,
) -> None:
    """Write the pages, and keep what their code gave."""
    known = {} if memory is None else memory.known()
    answers: dict[str, Any] = {}

    def make(source: Path, bench: Bench) -> None:
        print(f"rendering: {source.name}", file=sys.stderr, flush=True)
        try:
            page = page_of(source, Replay(known), parameters)
        except NewCodeError:
            page = page_of(source, Replay(answers, bench.kernel()), parameters)
        (made / f"{source.stem}.html").write_text(page, encoding="utf-8")

    work_through(sources, make, project.resolve())
    if memory is not None and answers:
        memory.keep({**known, **answers})


def _take(output: Path, made: Path, sources: Sequence[Path]) -> None:
    for source in sources:
        page = output / f"{source.stem}.html"
        if not page.is_file():
            raise ReportError(f"'quarto render' must write {page}; it did not.")
        shutil.copy(page, made)

"""The verbs of pages: the report rendered or examined, and the audit of another paper laid out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.commands.sources import claims_of
from analysis.tidy.errors import AnalysisError
from collect.process import shipped
from collect.process.parser import as_typed


def report(options: argparse.Namespace) -> int:
    """Render the report, or look for faults in finished pages, and return the exit code."""
    from analysis.commands.checkout import project_of_pages
    from analysis.report.examination import refuse_faults
    from analysis.report.reading.places import pages
    from analysis.report.site import render_site, results_of_report
    from analysis.tidy import prose

    if options.examine:
        beside = pages(project_of_pages()) if options.pages else []
        refuse_faults(options.examine, unmade=[f"{path.stem}.html" for path in beside])
        print(f"{prose.plural(len(options.examine), 'page')} examined, no fault found.")
        return 0
    root = shipped.project()
    if options.data and not options.paper:
        raise AnalysisError(
            "The report reads what its parameters name, not --data.",
            "Name a directory with -P measurements:DIR (or -P published:DIR).",
        )
    addresses = [source for source in options.data or [] if isinstance(source, str)]
    if addresses:
        raise AnalysisError(
            f"The pages of an audit must be made from data on this machine; {addresses[0]} is not.",
            "Fetch the directory and name it.",
        )
    project, place, parameters = project_of_pages(), shipped.workplace() / "reports" / "paper", {}
    if options.paper:
        claims_of(options)  # What is wrong with the folder is said before a page is begun.
        project, place = project / "audit", options.paper / "report"
        sources = ";".join(str(path.resolve()) for path in options.data or [])
        parameters = {"folder": str(options.paper.resolve()), "measurements": sources}
    parameters |= dict(_parameter(text) for text in options.parameters)
    made = render_site(
        project,
        options.out or place,
        parameters=parameters,
        engine=options.engine,
        only=options.pages,
        to=options.to,
        results=None if options.paper else results_of_report(root, parameters),
    )
    print(*made, sep="\n")
    return 0


def _parameter(text: str) -> tuple[str, str]:
    """Return name and value; a value that is a place is made absolute, as chunks run elsewhere."""
    name, separator, value = text.partition(":")
    if not separator:
        raise AnalysisError(
            f"A parameter must be written NAME:VALUE; found {text!r}.",
            "For example -P measurements:runs",
        )
    return name, str(Path(value).resolve()) if Path(value).exists() else value


def init(options: argparse.Namespace) -> int:
    """Lay out a new audit, say what to do next, and return the exit code."""
    from analysis.commands.new_audit import answers, lay_out

    files = lay_out(options.folder, answers(options), is_of_models=options.models)
    print(*files, sep="\n")
    message = (
        f"next: thermoscope --paper {options.folder} claims\n"
        f"then: thermoscope --paper {options.folder} report"
    )
    print(as_typed(message, options.program), file=sys.stderr)
    return 0

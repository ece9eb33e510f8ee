"""A document made of Markdown by pandoc: a page with all that it needs inside, or a PDF.

Pandoc is the one that ships with pypandoc_binary; each of its warnings is a refusal.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.examination import PageFaults
from analysis.report.reading.settings import files
from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

ASSETS = Path(__file__).parent
FONTS = ASSETS.parents[1] / "fonts"
HEAD = re.compile(r"<thead\b.*?</thead>", re.DOTALL)
HEADER_CELL = re.compile(r"<th(?![a-z])(?![^>]*\bscope=)")
WARNING = re.compile(r"^\[(?:WARNING|ERROR)\] *", re.MULTILINE)
MISSING_CITATION = re.compile(r"citation (\S+) not found")


def page(markdown: str, options: Mapping[str, Any], directory: Path, folder: Path) -> str:
    """Return the HTML of a document whose code has run.

    The text has its images as files of `images.Gallery` and its options at its head; they name
    files of the directory. The folder is for temporary ones.
    """
    font = base64.b64encode((FONTS / "FormulaSans-Regular.woff").read_bytes()).decode("ascii")
    face = (
        '@font-face { font-family: "Formula Sans"; '
        f'src: url(data:font/woff;base64,{font}) format("woff"); }}'
    )
    css = "\n".join([face, *_texts([ASSETS / "page.css", *files(options, "css", directory)])])
    parts = {
        "sheet": f"<style>\n{css}</style>",
        "opening": "\n".join(_texts(files(options, "include-before-body", directory))),
        "closing": "\n".join(_texts(files(options, "include-after-body", directory))),
        "rendered-on": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }
    variables = folder / "variables.json"  # The template gets them as they are.
    filled = {name: text for name, text in parts.items() if text}
    variables.write_text(json.dumps({"variables": filled}), encoding="utf-8")
    asked = ["--to=html5", "--template", str(ASSETS / "template.html"), "--mathml"]
    asked += ["--section-divs", f"--defaults={variables}"]
    markup = add_header_scopes(_convert(markdown, options, asked, directory))
    if faults := PageFaults.of(markup):
        raise ReportError(f"The page must be complete in itself; found: {'; '.join(faults)}.")
    return markup


def pdf(markdown: str, options: Mapping[str, Any], directory: Path, folder: Path) -> bytes:
    """Return the PDF of a document whose code has run; parameters as of `page`.

    Code is left out, charts stay vectors.
    """
    typst = extra("typst", of="pdf")
    asked = ["--to=typst", "--template", str(ASSETS / "template.typ")]
    source = folder / "document.typ"
    source.write_text(_convert(markdown, options, asked, directory), encoding="utf-8")
    try:
        return bytes(typst.compile(source, font_paths=[FONTS], ignore_system_fonts=True))
    except RuntimeError as error:
        raise ReportError(f"Typst must typeset the document; it says: {error}") from error


def add_header_scopes(markup: str) -> str:
    """Return HTML whose header cells say whether they head a column or a row.

    >>> add_header_scopes("<thead><tr><th>a</th></tr></thead><tr><th>b</th></tr>")
    '<thead><tr><th scope="col">a</th></tr></thead><tr><th scope="row">b</th></tr>'
    """
    columns = HEAD.sub(lambda head: HEADER_CELL.sub('<th scope="col"', head[0]), markup)
    return HEADER_CELL.sub('<th scope="row"', columns)


def _convert(
    markdown: str, options: Mapping[str, Any], asked: Sequence[str], directory: Path
) -> str:
    filters = [path.resolve() for path in files(options, "filters", directory)]
    common = ["--from=markdown", "--standalone", "--wrap=none", "--metadata=link-citations"]
    common += [f"--lua-filter={path}" for path in (*filters, ASSETS / "page.lua")]
    return pandoc(markdown, [*common, "--citeproc", *asked], directory=directory)


def _texts(paths: Sequence[Path]) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in paths]


def program() -> Path:
    """Return the pandoc that ships with pypandoc_binary.

    Another on the path is not asked, newer or older: pages do not depend on the machine.
    """
    folder = Path(extra("pypandoc").__file__).parent / "files"
    place = shutil.which("pandoc", path=str(folder))
    if place is None:
        raise ReportError(
            f"Pandoc must be there to make a page; {folder} has none.",
            "Install the package pypandoc_binary.",
        )
    return Path(place).absolute()  # it runs in the directory of a page


def pandoc(text: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Return a document converted by pandoc in a working directory, as its arguments say."""
    process = subprocess.run(
        [str(program()), *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        cwd=directory,
        check=False,
    )
    missing = sorted(set(MISSING_CITATION.findall(process.stderr)))
    if missing:
        raise ReportError(
            f"Every citation must be in the bibliography; missing: {', '.join(missing)}.",
            "Add the entry, or correct the key.",
        )
    complaint = WARNING.sub("", process.stderr).strip()
    if process.returncode or complaint:
        raise ReportError(
            f"Pandoc must convert the document without a warning; it says: {complaint}"
        )
    return process.stdout

"""What a page must say to be cited: version, commit, date, licence, and an entry for BibTeX."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from markupsafe import Markup

from analysis.audit.about import About
from analysis.audit.pages.revision import commit
from analysis.tidy import html, markdown

TITLE = "thermoscope: an audit of Thermodynamic Constraints in Transformer Architectures"
LICENCE = "code MIT, text and data CC BY 4.0"


def facts(about: About) -> str:
    """Return a line of Markdown: who made another paper's pages, when, and under what licence.

    Author and licence are its authors' to name: ours are not theirs, nor is our version.
    """
    now = datetime.now(UTC)
    items = (about.author, f"{now.day} {now:%B %Y}", about.licence)
    return _line(*(it for it in items if it))


def imprint() -> str:
    """Return Markdown with version, commit and licence and, folded, how to cite the page.

    Its front matter says the date.
    """
    now = datetime.now(UTC)
    opening = Markup('<details class="cite-as"><summary>Cite as</summary>')
    return "\n\n".join(
        [
            _line(f"Version {_version()}", f"commit {commit()}", LICENCE),
            "::: {.imprint}",
            html.block(opening),
            f"The thermoscope authors ({now.year}). *{markdown.literal(TITLE)}* "
            f"(version {_version()}).",
            f"```bibtex\n{bibtex(now.year)}\n```",
            html.block(Markup("</details>")),
            ":::",
        ]
    )


def bibtex(year: int) -> str:
    """Return the entry for BibTeX."""
    fields = {
        "title": TITLE,
        "author": "{The thermoscope authors}",
        "year": str(year),
        "version": _version(),
        "note": f"commit {commit()}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join(["@software{thermoscope,", *lines, "}"])


def _line(*parts: str) -> str:
    return f"::: {{.imprint}}\n{markdown.literal(' · '.join(parts))}\n:::"


def _version() -> str:
    try:
        return version("thermoscope")
    except PackageNotFoundError:
        return "not installed"

"""The words that the pages of a project explain, from one file: ``glossary/terms.toml``.

``quarto/filters/site.lua`` explains each word where a page uses it first; `listing` is the page of
all of them. Quarto's own hovers need its script, and their Markdown has no counterpart for words.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from analysis.tidy.errors import ReportError

#: The file of a project, and its page, which explains no word a second time.
FILE, PAGE = Path("glossary", "terms.toml"), "glossary"
FIELDS = {"word": str, "forms": list, "meaning": str}


@dataclass(frozen=True, slots=True)
class Term:
    """A word, the forms in which pages use it, and its meaning in Markdown."""

    word: str
    forms: tuple[str, ...]  #: A formula stands between dollar signs.
    meaning: str

    @property
    def identifier(self) -> str:
        """Its place on the page of the glossary.

        >>> Term("Fisher's exact $W_V$", (), "").identifier
        'term-fisher-s-exact-w-v'
        """
        return "term-" + "-".join(re.findall(r"[a-z\d]+", self.word.lower()))


@cache
def read_glossary(project: Path) -> tuple[Term, ...]:
    """Return the words of a project in the order of its file, none if it has no file.

    Raises
    ------
    ReportError
        If the file is no TOML, or a word lacks a field or shares a form with another.
    """
    path = project / FILE
    if not path.is_file():
        return ()
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("term", [])
    except tomllib.TOMLDecodeError as error:
        raise ReportError(f"The glossary {path} must be TOML; {error}.") from error
    terms = tuple(_term(entry, path) for entry in entries)
    by_form: dict[str, str] = {}
    for term in terms:
        for form in term.forms:
            if (other := by_form.setdefault(form.lower(), term.word)) != term.word:
                raise ReportError(
                    f"A form must belong to one word of {path}; '{form}' is one of {other} and of "
                    f"{term.word}."
                )
    return terms


def _term(entry: Any, path: Path) -> Term:
    given = entry if isinstance(entry, dict) else {}
    wrong = [name for name, kind in FIELDS.items() if not isinstance(given.get(name), kind)]
    if wrong or set(given) != set(FIELDS):
        raise ReportError(
            f"Each [[term]] of {path} must have the fields {', '.join(FIELDS)}; found {entry!r}."
        )
    return Term(given["word"], tuple(map(str, given["forms"])), given["meaning"])


def entries(project: Path, page: str) -> list[dict[str, Any]]:
    """Return the words for the filter of a page, none for the page of the glossary."""
    return [
        {"id": term.identifier, "forms": term.forms, "meaning": term.meaning}
        for term in read_glossary(project)
        if page != PAGE
    ]


def listing(project: Path) -> str:
    """Return all words and their meanings in Markdown, in alphabetical order."""
    ordered = sorted(read_glossary(project), key=lambda term: term.word.strip("$").lower())
    return "\n\n".join(
        f"[{term.word}]{{#{term.identifier}}}\n\n:   {term.meaning}" for term in ordered
    )

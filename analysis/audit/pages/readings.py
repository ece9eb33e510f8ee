"""The readings of a claim as a table: outcome, how the words were read, estimate, p, sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from analysis.audit.pages import estimates
from analysis.tidy import markdown, notation, prose

#: What a check says, by what it found.
OUTCOMES = {True: "holds", False: "fails", None: "undecided"}
#: What is said of one reading with an outcome, and of several.
COUNTED = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
    "no data": ("is without data", "are without data"),
}
#: What a check that decides nothing says.
SHOWN = "shown only"
COLUMNS = {
    "outcome": "Outcome",
    "reading": "Read as",
    "estimate": "Estimate",
    "interval": "95 % interval",
    "p": "p",
    "holm": "p (Holm)",
    "models": "Models (suites)",
}
#: The columns that are Markdown, and those set at their decimals.
MARKUP = ("outcome", "reading")
NUMBERS = ("estimate", "interval", "p", "holm", "models")


def tables(
    checks: Sequence[Mapping[Any, Any]],
    caveats: Mapping[str, str],
    *,
    heading: str = COLUMNS["models"],
) -> list[str]:
    """Return a table per part of a claim as Markdown, and what all its readings share.

    Parameters
    ----------
    checks
        Rows of `analysis.audit.check_rows`.
    caveats
        What each known defect is called, as Markdown, by its name.
    heading
        What heads the column of units and their groups.
    """
    items = [_sources(check, caveats) for check in checks]
    whole = _basis(f"All readings: {items[0]}")
    is_shared = len(items) > 1 and len(set(items)) == 1 and bool(items[0])
    rows = [
        {**check, "sources": "" if is_shared else it}
        for check, it in zip(checks, items, strict=True)
    ]
    parts = [
        f"[{notation.typeset(str(part))}]{{.claim-part}}\n\n{_table(list(those), heading)}"
        for part, those in groupby(rows, key=lambda check: check["term"])
    ]
    return [*parts, whole] if is_shared else parts


#: The verdicts where words must be short; the report says in its second section what they mean.
SHORT = {"depends on the reading": "depends"}


def mark(word: str, *, is_short: bool = False) -> str:
    """Return a verdict or an outcome as a span that the style sheet marks.

    >>> mark("depends on the reading", is_short=True)
    '[depends]{.verdict .verdict-depends-on-the-reading}'
    """
    shown = SHORT.get(word, word) if is_short else word
    return f"[{shown}]{{.verdict .{look(word)}}}"


def held(outcomes: Sequence[str]) -> str:
    """Return how many readings hold, fail, are undecided and lack data; the counts add up.

    ``outcomes`` are those of `outcome`, without what is shown only.

    >>> held(["holds", "fails", "holds", "undecided"]), held(["no data"])
    ('of 4 readings 2 hold, 1 fails, 1 is undecided', 'its one reading is without data')
    """
    counts = {it: outcomes.count(it) for it in COUNTED if it in outcomes}
    if len(outcomes) == 1:
        return f"its one reading {COUNTED[outcomes[0]][0]}"
    items = [f"{n} {COUNTED[it][n != 1]}" for it, n in counts.items()]
    return f"of {prose.plural(len(outcomes), 'reading')} {', '.join(items)}"


def _table(checks: Sequence[Mapping[Any, Any]], heading: str) -> str:
    rows = pd.DataFrame(
        {
            "outcome": [mark(outcome(check)) for check in checks],
            "reading": [_reading(check) for check in checks],
            "estimate": [estimates.estimate(check) for check in checks],
            "interval": [estimates.interval(check) for check in checks],
            "p": [prose.bare(prose.p_value(check["p_value"])) for check in checks],
            "holm": [prose.bare(prose.p_value(check["p_holm"])) for check in checks],
            "models": [_models(check) for check in checks],
        }
    )
    heads = {**COLUMNS, "models": markdown.literal(heading)}
    return markdown.pipe_table(rows, heads, markup=MARKUP, numbers=NUMBERS)


def outcome(check: Mapping[Any, Any]) -> str:
    """Return what a check says; see ``analysis.audit.evidence.checks``."""
    if not check["decides"] and not check.get("beside"):
        return SHOWN
    return OUTCOMES[check["holds"]] if check["has_data"] else "no data"


def look(word: str) -> str:
    """Return the class under which the style sheet marks a verdict or an outcome.

    >>> look("no data"), look("shown only")
    ('verdict-no-data', 'verdict-described')
    """
    return f"verdict-{'described' if word == SHOWN else word.replace(' ', '-')}"


def _reading(check: Mapping[Any, Any]) -> str:
    """Return the condition of a check, and below it how and from what it was made."""
    method = str(check["method"])
    made = " ".join(it for it in (check["note"], f"{_capitalise(method)}." if method else "") if it)
    small = " ".join(it for it in (notation.typeset(made), check["sources"]) if it)
    condition = notation.typeset(str(check["condition"]))
    return f"{condition} {_basis(small)}" if small else condition


def _basis(text: str) -> str:
    """Return what a reading rests on, as a span; pandoc tries brackets as four things first."""
    return f'<span class="check-basis">{text}</span>'


def _sources(check: Mapping[Any, Any], caveats: Mapping[str, str]) -> str:
    """Return the files of a check and their known defects by name, as Markdown."""
    files = " ".join(str(check["evidence"]).split())
    named = [caveats.get(it, markdown.literal(it)) for it in str(check["caveats"]).split()]
    items = [f"From {markdown.literal(files)}." if files else ""]
    items += [f"Known defects: {'; '.join(named)}." if named else ""]
    return " ".join(it for it in items if it)


def _capitalise(text: str) -> str:
    """Return a text that begins with a capital; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def _models(check: Mapping[Any, Any]) -> str:
    models, suites = check["n_models"], check["n_suites"]
    if not models:
        return prose.MISSING
    of_groups = f"{prose.NO_BREAK}({prose.count(suites)})" if suites else ""
    return f"{prose.count(models)}{of_groups}"

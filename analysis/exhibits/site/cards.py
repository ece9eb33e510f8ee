"""A card for each claim: what it says, the verdict with its reason, every check as a row.

Cards are Markdown with the attributes that the page's script filters and sorts by; without a
script all of them are simply there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

import pandas as pd

from analysis import claims
from analysis.exhibits import estimates
from analysis.store import Store
from analysis.tidy import notation, prose

#: What a check says, by what it found.
OUTCOMES = {True: "holds", False: "fails", None: "undecided"}
#: What a claim rests on, by what its quantity is a property of.
RESTS_ON = {
    "function": "the function",
    "training": "training",
    "parametrisation": "the parametrisation",
    "architecture": "the architecture",
    "record": "the record",
}
COLUMNS = {
    "outcome": "Outcome",
    "reading": "Read as",
    "estimate": "Estimate",
    "interval": "95 % interval",
    "p": "p",
    "models": "Models (suites)",
}
MARKUP = ("outcome", "reading")


def cards(
    store: Store,
    judged: pd.DataFrame,
    made: Mapping[int, Sequence[claims.Check]],
    used_in: Mapping[int, str],
) -> str:
    """Return the cards of all claims, in the order of their numbers.

    Parameters
    ----------
    store
        Where the plain lines of the claims are, table ``claim_meaning``, and what each claim
        rests on, view ``claim_property``.
    judged, made
        One row per claim, and the checks of each; see `analysis.claims`.
    used_in
        Markdown that links to the sections that use a claim, by its number.
    """
    meanings = store.query("FROM claim_meaning").set_index("claim_id")["meaning"].to_dict()
    properties = claims.properties(store).set_index("claim_id").to_dict("index")
    planted = {
        int(str(number)): planted_line(rows)
        for number, rows in store.query("FROM verdict_rate").groupby("claim_id")
    }
    return "\n\n".join(
        card(
            row,
            made[int(row["claim_id"])],
            str(meanings.get(row["claim_id"], "")),
            used_in,
            properties.get(int(row["claim_id"]), {}),
            planted=planted.get(int(row["claim_id"]), ""),
        )
        for row in judged.to_dict("records")
    )


def card(
    row: Mapping[Any, Any],
    made: Sequence[claims.Check],
    meaning: str,
    used_in: Mapping[int, str],
    rests: Mapping[Any, Any],
    *,
    planted: str = "",
) -> str:
    """Return the card of one claim.

    Parameters
    ----------
    row
        Row of the claim, as `analysis.claims.evaluate` gives it.
    made
        Its checks.
    meaning
        What it says in one plain line; empty if nobody has said it.
    used_in
        See `cards`.
    rests
        What its quantity is a property of, `property`, `line` and `reason`, as
        `analysis.claims.properties` gives it; empty where nobody has declared it.
    planted
        What the rule says of simulated papers, as `planted_line` words it.
    """
    number = int(row["claim_id"])
    checks = claims.check_rows(made, row.get("kind", "difference")).to_dict("records")
    place = prose.literal(str(row["place"]))
    return "\n\n".join(
        part
        for part in (
            f"::: {{#claim-{number} .claim-card {_attributes(row)}}}",
            _heading(number, row),
            f"[{prose.literal(meaning)}]{{.claim-meaning}}" if meaning else "",
            " ".join(
                part
                for part in (
                    _mark(str(row["verdict"])),
                    f"({prose.literal(str(row['reading']))})" if row.get("reading") else "",
                    f"[{place}]{{.claim-place}}",
                )
                if part
            ),
            reason(checks),
            _rests_on(rests),
            f"*Rule.* {notation.typeset(str(row['rule']))} *Estimand.* "
            f"{notation.typeset(str(row['estimand']))}.",
            planted,
            f"*Used in* {used_in[number]}." if number in used_in else "",
            _folded(checks),
            ":::",
        )
        if part
    )


def _rests_on(rests: Mapping[Any, Any]) -> str:
    """Return on what the quantity of a claim rests, its reason small; empty where none is known."""
    if not rests:
        return ""
    said = prose.literal(str(rests["line"]))
    why = prose.literal(str(rests["reason"]))
    return f"*Rests on {RESTS_ON[str(rests['property'])]}.* {said} [{why}]{{.check-basis}}"


def planted_line(rates: pd.DataFrame) -> str:
    """Return how often the rule gives each verdict of a claim under each planted truth.

    ``rates`` has rows of table ``verdict_rate`` of one claim. Wrong labels are named where they
    change anything.
    """
    said = {
        key: ", ".join(
            f"{row['verdict']} {prose.number(row['probability'], 3)}"
            for row in rows.sort_values("probability", ascending=False).to_dict("records")
            if row["probability"] > 0
        )
        for key, rows in rates.groupby(["truth", "wrong_labels"])
    }
    named = [
        f"where {truth} rules{' and labels are wrong' if is_wrong else ''}: {text}"
        for (truth, is_wrong), text in said.items()
        if not is_wrong or text != said[truth, False]
    ]
    n_papers = prose.count(int(rates["n_papers"].iloc[0]))
    return (
        f"*How sure is the rule?* Share of {n_papers} simulated papers with each verdict, "
        f"{'; '.join(named)}. ([How](#sec-verdict-rule))"
    )


def controls(judged: pd.DataFrame) -> str:
    """Return the bar that filters and sorts the cards, as Markdown; its script shows it."""
    counted = judged["verdict"].value_counts()
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-verdict="{verdict}">'
        f'<span class="verdict verdict-{verdict.replace(" ", "-")}">{verdict}</span>'
        f" {counted.get(verdict, 0)}</button>"
        for verdict in claims.VERDICTS
    )
    options = "".join(f"<option>{escape(law)}</option>" for law in laws(judged))
    return _html(
        '<form class="claim-filters" role="search" aria-label="Claims" hidden '
        'onsubmit="return false">'
        f'<div class="claim-buttons" role="group" aria-label="Verdict">{buttons}</div>'
        f'<label>Law <select name="law"><option value="">all</option>{options}</select></label>'
        '<label>Word <input type="search" name="word" placeholder="such as Fisher, or 7"></label>'
        '<label>Order <select name="order"><option value="number">number</option>'
        '<option value="verdict">verdict</option><option value="law">law</option></select></label>'
        f"<output>{len(judged)} of {len(judged)} claims</output></form>"
    )


def laws(judged: pd.DataFrame) -> list[str]:
    """Return the families of the claims in the order of their first claim."""
    return list(dict.fromkeys(judged["family"]))


def _heading(number: int, row: Mapping[Any, Any]) -> str:
    statement = notation.typeset(str(row["statement"]))
    anchor = f"[{number}](#claim-{number}){{.claim-number}}"
    return f"# {anchor} {statement} {{#claim-{number}-statement .unnumbered .unlisted}}"


def _attributes(row: Mapping[Any, Any]) -> str:
    """Return what the script filters by; quotation marks would end a value."""
    values = {
        "number": row["claim_id"],
        "verdict": row["verdict"],
        "law": row["family"],
    }
    return " ".join(
        f'data-{name}="{str(value).replace(chr(34), "")}"' for name, value in values.items()
    )


def reason(checks: Sequence[Mapping[Any, Any]]) -> str:
    """Return why a claim has its verdict, as Markdown: part by part, how many readings hold.

    ``checks`` are rows of `analysis.claims.check_rows`; those that decide nothing are left out.
    """
    deciding = [check for check in checks if check["decides"]]
    by_part: dict[str, list[Any]] = {}
    for check in deciding:
        by_part.setdefault(str(check["term"]), []).append(check["holds"])
    said = [f"{notation.typeset(part)}: {_hold(found)}" for part, found in by_part.items()]
    return f"{'; '.join(said)}." if said else ""


def _hold(found: Sequence[bool | None]) -> str:
    """Return how many readings hold, and of how many it cannot be told.

    >>> _hold([True, False, None]), _hold([None])
    ('1 of 2 readings hold, 1 undecided', 'undecided in 1 reading')
    """
    known = [holds for holds in found if holds is not None]
    n_open = len(found) - len(known)
    if not known:
        return f"undecided in {prose.plural(n_open, 'reading')}"
    said = f"{sum(known)} of {prose.plural(len(known), 'reading')} hold"
    said = said if len(known) > 1 else f"its one reading {'holds' if known[0] else 'fails'}"
    return f"{said}, {n_open} undecided" if n_open else said


def _folded(checks: Sequence[Mapping[Any, Any]]) -> str:
    said = prose.plural(len(checks), "check")
    tables = [
        f"[{notation.typeset(str(part))}]{{.claim-part}}\n\n{_table(list(rows))}"
        for part, rows in groupby(checks, key=lambda check: check["term"])
    ]
    opening = f"<details class='claim-checks'><summary>Every reading ({said})</summary>"
    return "\n\n".join([_html(opening), *tables, _html("</details>")])


def _html(markup: str) -> str:
    return f"```{{=html}}\n{markup}\n```"


def _table(checks: Sequence[Mapping[Any, Any]]) -> str:
    rows = pd.DataFrame(
        {
            "outcome": [_outcome(check) for check in checks],
            "reading": [_reading(check) for check in checks],
            "estimate": [estimates.estimate(check) for check in checks],
            "interval": [estimates.interval(check) for check in checks],
            "p": [_p(check) for check in checks],
            "models": [_models(check) for check in checks],
        }
    )
    return prose.pipe_table(rows, COLUMNS, markup=MARKUP)


def _outcome(check: Mapping[Any, Any]) -> str:
    """Return what a check says, as a mark; see ``analysis.evidence.checks``."""
    said = OUTCOMES[check["holds"]]
    if not check["decides"]:
        return "[shown only]{.verdict .verdict-described}"
    if not check["has_data"]:
        said = "no data"
    return _mark(said)


def _mark(said: str) -> str:
    """Return a verdict or an outcome in full words, as a span that the style sheet marks."""
    return f"[{said}]{{.verdict .verdict-{said.replace(' ', '-')}}}"


def _reading(check: Mapping[Any, Any]) -> str:
    """Return the condition of a check, and below it how and from what it was made."""
    files = " ".join(str(check["evidence"]).split())
    below = [
        str(check["note"]),
        f"{_opened(str(check['method']))}." if check["method"] else "",
        f"From {files}." if files else "",
        f"Caveats {check['caveats']}." if check["caveats"] else "",
    ]
    small = " ".join(part for part in below if part)
    said = prose.literal(str(check["condition"]))
    return f"{said} [{prose.literal(small)}]{{.check-basis}}" if small else said


def _p(check: Mapping[Any, Any]) -> str:
    """Return the p of a check, and beside it that adjusted over the readings where it differs."""
    said = prose.bare(prose.p_value(check["p_value"]))
    over = prose.bare(prose.p_value(check["p_holm"]))
    return said if over in (said, prose.MISSING) else f"{said} (Holm {over})"


def _opened(text: str) -> str:
    """Return a text that begins with a capital; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def _models(check: Mapping[Any, Any]) -> str:
    models, suites = check["n_models"], check["n_suites"]
    if not models:
        return prose.MISSING
    return f"{prose.count(models)}{prose.NO_BREAK}({prose.count(suites)})"

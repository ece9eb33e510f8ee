"""A card for each claim: what it says, its verdict, why, its readings drawn; the rest folded.

Cards are Markdown with the attributes that the page's script filters and sorts by; without a
script all of them are simply there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup

from analysis import audit as claims
from analysis.audit.about import About
from analysis.audit.pages import grounds, readings, strips
from analysis.store import Store
from analysis.tidy import html, markdown, notation, prose


def cards(
    store: Store,
    judged: pd.DataFrame,
    made: Mapping[int, Sequence[claims.Check]],
    used_in: Mapping[int, str],
    *,
    caveats_at: str = "",
    about: About | None = None,
) -> str:
    """Return the cards of all claims, in the order of ``judged``.

    Parameters
    ----------
    store
        Where the plain lines of the claims are, table ``claim_meaning``, the values they name,
        table ``claim_line``, and what each claim rests on, view ``claim_property``.
    judged, made
        One row per claim, and the checks of each; see `analysis.audit`.
    used_in
        Markdown that links to the sections that use a claim, by its number.
    caveats_at
        Address to which the name of a known defect is added; without it they are no links.
    about
        What units are called. An audit that names no values has its readings drawn without.
    """
    meanings = store.query("FROM claim_meaning").set_index("claim_id")["meaning"].to_dict()
    properties = claims.properties(store).set_index("claim_id").to_dict("index")
    named = strips.lines(store.query("FROM claim_line ORDER BY ALL"))
    caveats = _caveats(store.query("FROM caveat"), caveats_at)
    rates = {
        int(str(number)): rows
        for number, rows in store.query("FROM verdict_rate").groupby("claim_id")
    }
    return "\n\n".join(
        card(
            row,
            made[number],
            Facts(
                meaning=str(meanings.get(number, "")),
                used_in=used_in.get(number, ""),
                rests=properties.get(number, {}),
                planted=planted_line(rates[number]) if number in rates else "",
                near_certain=near_certain(rates[number]) if number in rates else "",
                lines=named.get(number, ()),
                caveats=caveats,
                about=about or About(),
                is_drawn=not named,
            ),
        )
        for row in judged.to_dict("records")
        for number in [int(row["claim_id"])]
    )


#: What a claim of a weight is called on its card, where another word says it better.
WEIGHTS = {"side": "minor"}

#: Of claims that were neither simulated nor are printed values.
NOT_GIVEN = {
    claims.testable.NO_DATA: "is not given: no published data decide it.",
    claims.testable.NOT_PLANTED: (
        "is not given: no simulated paper has it true at a stated size, and it is no printed value."
    ),
    claims.testable.ALGEBRA: (
        "has no probability: what decides is printed, and it comes again or does not."
    ),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a claim beside its verdict and its checks; all of it may be missing."""

    meaning: str = ""  #: What it says in one plain line.
    used_in: str = ""  #: Markdown that links to the sections that use it.
    #: What its quantity is a property of, a row of `analysis.audit.properties`.
    rests: Mapping[Any, Any] = field(default_factory=dict)
    planted: str = ""  #: What the rule says of simulated papers, as `planted_line` words it.
    near_certain: str = ""  #: How often it cannot tell of them, as `near_certain` words it.
    lines: Sequence[strips.Line] = ()  #: The values it names.
    #: What each known defect of the evidence is called, as Markdown, by its name.
    caveats: Mapping[str, str] = field(default_factory=dict)
    about: About = field(default_factory=About)  #: What units are called.
    is_drawn: bool = False  #: Whether readings are drawn that no line is named for.


def card(row: Mapping[Any, Any], made: Sequence[claims.Check], facts: Facts) -> str:
    """Return the card of one claim.

    Parameters
    ----------
    row
        Row of the claim, as `analysis.audit.evaluate` gives it.
    made
        Its checks.
    facts
        What else is known of it.
    """
    number = int(row["claim_id"])
    checks = claims.check_rows(made, row["kind"]).to_dict("records")
    weight = str(row.get("importance", ""))
    kinds = (WEIGHTS.get(weight, weight), str(row.get("category", "")), str(row["place"]))
    said = " · ".join(filter(None, kinds))
    place = f"[{markdown.literal(said)}]{{.claim-place}}"
    how = f"({markdown.literal(str(row['reading']))})" if row.get("reading") else ""
    used = f"*Used in* {facts.used_in}." if facts.used_in else ""
    return "\n\n".join(
        part
        for part in (
            f"::: {{#claim-{number} .claim-card {_attributes(row)}}}",
            *_heading(number, row, facts.meaning),
            _join(readings.mark(str(row["verdict"])), how, _untestable(row), place),
            facts.near_certain if row["verdict"] == "undecided" else "",
            *grounds_shown(checks, strips.unnamed(checks) if facts.is_drawn else facts.lines),
            _small(_join(grounds.line(facts.rests), used)),
            _fold(row, checks, facts),
            ":::",
        )
        if part
    )


def grounds_shown(checks: Sequence[Mapping[Any, Any]], lines: Sequence[strips.Line]) -> list[str]:
    """Return why a claim has its verdict, as Markdown: each part in words, and drawn if it can be.

    ``checks`` are rows of `analysis.audit.check_rows`, ``lines`` the values that the claim names.
    Parts that are not drawn share a paragraph; the strips of a part stand in the order of its
    checks, so that of the stated reading is the first.
    """
    items: list[str] = []
    lines = sorted(lines, key=lambda line: _first_reading(checks, line))
    plain: list[str] = []
    for part, words in reasons(checks).items():
        drawn = [it for line in lines if line.part == part for it in [strips.strip(checks, line)]]
        figures = [html.block(it) for it in drawn if it]
        if figures:
            items += [f"{words}.{_count_shown(checks, part)}", *figures]
        else:
            plain.append(words)
    return [*items, f"{'; '.join(plain)}."] if plain else items


def _first_reading(checks: Sequence[Mapping[Any, Any]], line: strips.Line) -> int:
    """Return the place of the first check that a line is set beside."""
    places = (place for place, check in enumerate(checks) if strips.drawn([check], line))
    return next(places, len(checks))


def _count_shown(checks: Sequence[Mapping[Any, Any]], part: str) -> str:
    """Return how many readings of a part are shown and decide nothing, as a sentence."""
    others = [
        check
        for check in checks
        if check["term"] == part and readings.outcome(check) == readings.SHOWN
    ]
    n = len(others)
    words = prose.form(n, "reading is", "readings are")
    return f" {n} more {words} shown for comparison." if n else ""


def reasons(checks: Sequence[Mapping[Any, Any]]) -> dict[str, str]:
    """Return how many readings of each part hold, as Markdown; what stands beside is marked so.

    ``checks`` are rows of `analysis.audit.check_rows`; those that are only shown are left out.
    """
    by_part: dict[str, tuple[list[str], list[str]]] = {}
    for check in checks:
        if check["decides"] or check.get("beside"):
            both = by_part.setdefault(str(check["term"]), ([], []))
            both[0 if check["decides"] else 1].append(readings.outcome(check))
    return {part: f"{notation.typeset(part)}{_outcomes(*both)}" for part, both in by_part.items()}


def _outcomes(deciding: Sequence[str], beside: Sequence[str]) -> str:
    """Return how many readings of a part hold, with those apart that stand beside the verdict."""
    if not deciding:
        return f" (beside the verdict): {readings.held(beside)}"
    more = f"; beside the verdict, {readings.held(beside)}" if beside else ""
    return f": {readings.held(deciding)}{more}"


def _caveats(rows: pd.DataFrame, at: str) -> dict[str, str]:
    """Return what each known defect is called, by its name; a link where there is an address."""
    named = {str(row["caveat_id"]): str(row["title"]) for row in rows.to_dict("records")}
    return {
        name: f"[{markdown.literal(title)}]({at}{name})" if at else markdown.literal(title)
        for name, title in named.items()
    }


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _small(text: str) -> str:
    return f"::: {{.claim-foot}}\n{text}\n:::" if text else ""


def planted_line(rates: pd.DataFrame) -> str:
    """Return how often the rule gives each verdict of a claim under each planted truth: a table.

    ``rates`` has rows of table ``verdict_rate`` of one claim. Wrong labels are named where they
    change anything.
    """
    known = rates[rates["probability"] > 0]
    wide = known.pivot_table("probability", ["truth", "wrong_labels"], "verdict", fill_value=0.0)
    wide = wide[[it for it in claims.VERDICTS if it in wide]]
    is_told = wide.droplevel("wrong_labels").reset_index().duplicated().to_numpy()
    n_papers = int(rates["n_papers"].iloc[0])
    shown = (n_papers * wide[~is_told]).map(lambda it: prose.count(round(it))).reset_index()
    truths = shown["truth"] + shown["wrong_labels"].map({True: ", labels wrong", False: ""})
    heads = {"truth": "What decides the gain"} | {it: it.capitalize() for it in map(str, wide)}
    return (
        f"*How sure is the rule?* Of {prose.count(n_papers)} simulated data sets for each truth, "
        "how many get each verdict ([how](#sec-verdict-rule)):\n\n"
        f"{markdown.pipe_table(shown.assign(truth=truths), heads)}"
    )


def near_certain(rates: pd.DataFrame) -> str:
    """Return how often the rule cannot tell, over all planted truths, in one sentence.

    ``rates`` has rows of table ``verdict_rate`` of one claim.
    """
    of_100 = 100 * rates.loc[rates["verdict"] == "undecided", "probability"]
    if of_100.empty:
        return ""
    ends = dict.fromkeys(f"{math.floor(round(it, 6))}" for it in (of_100.min(), of_100.max()))
    return (
        f"Of 100 simulated data sets the rule calls {' to '.join(ends)} undecided"
        f"{', depending on the truth' if len(ends) > 1 else ', whatever the truth'}."
    )


def could_have_been(row: Mapping[Any, Any]) -> str:
    """Return how often a telling verdict falls where the claim is true and where it is false.

    ``row`` is one of `analysis.audit.evaluate`; without what it says of power, empty.
    """
    if "power_basis" not in row:
        return ""
    if row["power_basis"] in NOT_GIVEN:
        return f"*What it could have been* {NOT_GIVEN[row['power_basis']]}"
    items = [
        " and ".join(
            f"{word} in {prose.percent(row[f'{word}_if_{truth}'])}"
            for word in ("reproduced", "contradicted")
        )
        for truth in ("true", "false")
    ]
    worst = f"in the least favourable case, {row['false_world']}"
    said = (
        f"*What it could have been* (by {row['power_basis']}). If the claim is true: {items[0]}. "
        f"If it is false: {items[1]} ({worst})."
    )
    return f"{said} {claims.testable.printed_remark(row)}".strip()


def _untestable(row: Mapping[Any, Any]) -> str:
    is_so = row.get("testable") == claims.testable.NOT_TESTABLE
    return f"[{claims.testable.NOT_TESTABLE}]{{.claim-untestable}}" if is_so else ""


#: A button of the bar: the verdict as a name, in words, and how many claims have it.
BUTTON = Markup(
    '<button type="button" id="verdict-{0}" aria-pressed="false" data-verdict="{1}">'
    '<span class="verdict verdict-{0}">{1}</span> {2}</button>'
)
#: What chooses one of several laws.
LAWS = Markup('<label>Law <select name="law"><option value="">all</option>{}</select></label>')
#: The bar: its buttons, what chooses a law, what sorts by importance, the number of claims, what
#: sorts by law.
FILTERS = Markup(
    '<form class="claim-filters" role="search" aria-label="Claims" hidden '
    'onsubmit="return false">'
    '<div class="claim-buttons" role="group" aria-label="Verdict">{0}</div>{1}'
    '<label>Word <input type="search" name="word" placeholder="such as Fisher, or 7"></label>'
    '<label>Order <select name="order">{2}<option value="number">number</option>'
    '<option value="verdict">verdict</option>{4}</select></label>'
    "<output>{3} of {3} claims</output></form>"
)


def controls(judged: pd.DataFrame) -> str:
    """Return the bar that filters and sorts the cards, as Markdown; its script shows it."""
    counted = judged["verdict"].value_counts()
    buttons = [
        BUTTON.format(verdict.replace(" ", "-"), verdict, counted.get(verdict, 0))
        for verdict in claims.VERDICTS
    ]
    families = laws(judged)
    # Of one law there is nothing to choose, nor to sort by.
    choice, by_law = Markup(""), Markup("")
    if len(families) > 1:
        options = html.joined([Markup("<option>{}</option>").format(law) for law in families])
        choice, by_law = LAWS.format(options), Markup('<option value="law">law</option>')
    weights = judged["importance"].nunique() if "importance" in judged else 1
    by_weight = Markup('<option value="importance">importance</option>') if weights > 1 else ""
    bar = FILTERS.format(html.joined(buttons), choice, by_weight, len(judged), by_law)
    return html.block(bar)


def laws(judged: pd.DataFrame) -> list[str]:
    """Return the families of the claims in the order of their first claim."""
    return list(dict.fromkeys(judged["family"]))


def _heading(number: int, row: Mapping[Any, Any], meaning: str) -> list[str]:
    """Return what a claim says in plain words as its heading, and below it the author's words."""
    statement = notation.typeset(str(row["statement"]))
    anchor = f"[{number}](#claim-{number}){{.claim-number}}"
    title = markdown.literal(meaning) if meaning else statement
    head = f"# {anchor} {title} {{#claim-{number}-statement .unnumbered .unlisted}}"
    return [head, f"[{statement}]{{.claim-words}}"] if meaning else [head]


def _attributes(row: Mapping[Any, Any]) -> str:
    """Return what the script filters by."""
    values = {
        "number": row["claim_id"],
        "verdict": row["verdict"],
        "law": row["family"],
    }
    return " ".join(f'data-{name}="{markdown.attribute(value)}"' for name, value in values.items())


def _fold(row: Mapping[Any, Any], checks: Sequence[Mapping[Any, Any]], facts: Facts) -> str:
    count = prose.plural(len(checks), "check")
    opening = Markup('<details class="claim-checks"><summary>Every reading ({})</summary>')
    rule = (
        f"*Rule.* {notation.typeset(str(row['rule']))} *Estimand.* "
        f"{notation.typeset(str(row['estimand']))}."
    )
    could = _small(could_have_been(row))
    inside = [
        _small(rule),
        could,
        _small(facts.planted),
        *readings.tables(checks, facts.caveats, heading=facts.about.heading()),
    ]
    closing = html.block(Markup("</details>"))
    return "\n\n".join([html.block(opening.format(count)), *filter(None, inside), closing])

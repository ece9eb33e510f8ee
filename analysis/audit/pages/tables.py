"""The frames behind the report's figures and tables, each named for its row.

A figure draws one of these frames; the numbers in them come from the store and from the
same functions the verdicts use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis import audit as claims
from analysis.audit import weight
from analysis.audit.pages import readings
from analysis.store import Store
from analysis.tidy import markdown, notation, prose
from analysis.tidy.columns import Column
from analysis.tidy.errors import AnalysisError

#: The columns of the frames here that are Markdown, made of data by functions that escape it.
MARKUP = ("statement", "verdict", "symbol", "definition", "title", "explanation")


@dataclass(frozen=True, slots=True)
class Words:
    """The numbers of one check, as text for a sentence."""

    row: Mapping[Any, Any]  #: One row of `analysis.audit.checks` or `analysis.audit.evaluate`.

    def value(self, digits: int = 2) -> str:
        """Return the estimate with a fixed count of decimals."""
        return prose.number(self.row["estimate"], digits)

    def percent(self, digits: int = 0) -> str:
        """Return the estimate, a share, as a percentage."""
        return prose.percent(self.row["estimate"], digits)

    def interval(self, digits: int = 2) -> str:
        """Return the 95 % interval, a dash where there is none."""
        return prose.interval(self.row["conf_low"], self.row["conf_high"], digits)

    @property
    def hits(self) -> str:
        """The estimate, a share, as a count out of the rows it was taken over."""
        whole = int(self.row["n_obs"])
        return prose.share_of(round(self.row["estimate"] * whole), whole)

    def percent_interval(self) -> str:
        """Return the 95 % interval of a share."""
        return prose.percent_interval(self.row["conf_low"], self.row["conf_high"])

    @property
    def p(self) -> str:
        """The p-value, as an equation."""
        return prose.p_value(self.row["p_value"])

    @property
    def bare_p(self) -> str:
        """The p-value without its letter, for a column that is headed p."""
        return prose.bare(self.p)

    @property
    def models(self) -> str:
        """Number of models, with the noun."""
        return prose.plural(int(self.row["n_models"]), "model")

    @property
    def suites(self) -> str:
        """Number of suites, with the noun."""
        return prose.plural(int(self.row["n_suites"]), "suite")

    @property
    def course(self) -> str:
        """Whether the interval lies below zero, above it, or on both sides."""
        if self.row["conf_high"] < 0:
            return "falls"
        return "rises" if self.row["conf_low"] > 0 else "neither clearly falls nor rises"

    def covers(self, value: float) -> str:
        """Return whether the interval contains a value: "contains" or "excludes"."""
        is_inside = self.row["conf_low"] <= value <= self.row["conf_high"]
        return "contains" if is_inside else "excludes"

    @property
    def counted(self) -> str:
        """Return the note without its full stop, for use inside a sentence."""
        return self.note.removesuffix(".")

    @property
    def note(self) -> str:
        """What a reader must know, numbers kept with their units."""
        return prose.bound(str(self.row["note"]))


def quoting(
    made: Mapping[int, Sequence[claims.Check]], registry: Mapping[int, claims.Claim]
) -> Callable[[int, str], Words]:
    """Return the function by which a page quotes a check: ``check(6, "product_block0")``.

    It raises an AnalysisError where the claim has no check of that id.
    """
    by_claim = {
        claim_id: {
            row["check_id"]: Words(row)
            for row in claims.check_records(checks, registry[claim_id].kind)
        }
        for claim_id, checks in made.items()
    }

    def check(claim_id: int, check_id: str) -> Words:
        known = by_claim.get(claim_id, {})
        if check_id not in known:
            raise AnalysisError(
                f"Claim {claim_id} has no check {check_id!r}.", f"It has: {', '.join(known)}."
            )
        return known[check_id]

    return check


#: The short table of verdicts; the number of a claim leads to its card, where all numbers stand.
SHORT = {
    "claim": Column("No.", "claim_id", lambda it: f"[{it}](claims.html#claim-{it})"),
    "statement": Column("Claim", "statement", notation.typeset),
    "verdict": Column("Verdict", "verdict", lambda it: readings.mark(it, is_short=True)),
}


def verdict_table(judged: pd.DataFrame, claim_ids: Sequence[int] = ()) -> str:
    """Return a Markdown table of some claims, or of all: number, statement, verdict."""
    chosen = judged[judged["claim_id"].isin(claim_ids)] if len(claim_ids) else judged
    return markdown.pipe_table(chosen, SHORT, markup=list(SHORT))


def verdict_counts(judged: pd.DataFrame) -> dict[str, int]:
    """Return how many of the author's claims have each verdict."""
    counted = weight.author_claims(judged)["verdict"].value_counts()
    return {name: int(counted.get(name, 0)) for name in claims.VERDICTS}


def evidence_size(store: Store) -> dict[str, str]:
    """Return how much evidence there is: figures, files, models published and measured."""
    row = store.query(
        """
        SELECT (SELECT count(*) FROM published_file)                   AS n_raw_files,
               (SELECT count(*) FROM published_figure)                 AS n_figures,
               (SELECT count(DISTINCT file) FROM published_figure)     AS n_files,
               (SELECT count(DISTINCT model_id) FROM published_figure) AS n_models,
               (SELECT count(DISTINCT model_id) FROM run)              AS n_measured
        """
    ).iloc[0]
    return {str(name): prose.count(value) for name, value in row.items()}


#: Heads of `category_table`, and what a claim of each category is called.
CATEGORIES = {
    "law": "Laws, explanations, formulas",
    "printed number": "Printed numbers",
    "record": "Statements on the record",
}


def category_table(judged: pd.DataFrame) -> str:
    """Return a Markdown table of the author's claims: what they state, by verdict."""
    counts = weight.count_categories(judged)
    counts = counts.assign(category=counts["category"].map(CATEGORIES))
    return _verdict_counts(counts, {"category": "The claim is one of"})


def importance_table(judged: pd.DataFrame) -> str:
    """Return a Markdown table of the author's claims: how much rests on them, by verdict.

    ``judged`` has one row per claim: `importance`, `verdict`, `stated_by`.
    """
    counted = weight.author_claims(judged)
    counts = pd.crosstab(counted["importance"], counted["verdict"])
    counts = counts.reindex([it for it in weight.WEIGHTS if it in counts.index]).reset_index()
    counts = counts.assign(importance=counts["importance"].map(WEIGHTS))
    return _verdict_counts(counts, {"importance": "The claim is"})


#: What a claim of each weight is called where claims are counted.
WEIGHTS = {
    "central": "central",
    "supporting": "supporting",
    "side": "minor (counts, captions)",
}


def _verdict_counts(counts: pd.DataFrame, head: Mapping[str, str]) -> str:
    """Return counts of claims by verdict as a Markdown table, with their sums."""
    names = [name for name in claims.VERDICTS if name in counts]
    rows = counts.assign(claims=counts[names].sum(axis=1)).astype("string")
    heads = {**head, "claims": "Claims"} | {name: name.capitalize() for name in names}
    return markdown.pipe_table(rows, heads, numbers=["claims", *names])


def linked(numbers: str) -> str:
    """Return numbers of claims in words as Markdown, each number a link to its card.

    ``quarto/filters/site.lua`` makes the links; sources may write the same span.

    >>> linked("1 to 2, 4")
    '[1 to 2, 4]{.claims}'
    """
    return f"[{numbers}]{{.claims}}"


#: What is said of one claim with a verdict, and of several.
COUNTED = {
    "reproduced": ("is reproduced", "are reproduced"),
    "depends on the reading": ("depends on the reading", "depend on the reading"),
    "contradicted": ("is contradicted", "are contradicted"),
    "undecided": ("is undecided", "are undecided"),
    "no data": ("could not be checked", "could not be checked"),
}


def counted(n: int, verdict: str) -> str:
    """Return how many claims have a verdict, as a clause.

    >>> counted(1, "undecided"), counted(3, "depends on the reading")
    ('1 is undecided', '3 depend on the reading')
    """
    return f"{prose.count(n)} {COUNTED[verdict][n != 1]}"


def judged_by_interval(judged: pd.DataFrame) -> str:
    """Return the numbers of the claims whose rule decides by an interval, as links in a list.

    ``judged`` has one row per claim: `claim_id`, `rule`; see `analysis.audit.evaluate`.
    """
    chosen = judged[judged["rule"].str.contains("interval")]
    return linked(prose.listing([str(claim_id) for claim_id in chosen["claim_id"]]))


def claims_read(made: Mapping[int, Sequence[claims.Check]], label: str) -> str:
    """Return the numbers of the claims that have a check with a label in its id, as links.

    ``made`` has the checks of each claim; see `analysis.audit.examine`.
    """
    having = [
        claim_id
        for claim_id, checks in made.items()
        if any(label in check.id.split("_") for check in checks)
    ]
    return linked(prose.listing([str(claim_id) for claim_id in having]))


def caveats(store: Store) -> pd.DataFrame:
    """Return one row per known defect, formatted for print: its number and name, what it does.

    Cards lead to its name, whose anchor ends in its number.
    """
    rows = store.query("FROM caveat ORDER BY CAST(substr(caveat_id, 2) AS INTEGER)")
    named = zip(rows["caveat_id"], rows["title"], strict=True)
    return pd.DataFrame(
        {
            "title": [_anchor(f"{number}. {title}", str(number)) for number, title in named],
            "explanation": rows["explanation"].map(notation.typeset),
        }
    )


def _anchor(words: str, name: str) -> str:
    """Return words as Markdown that can be led to by the name of a defect."""
    return f"[{markdown.literal(words)}]{{#caveat-{re.sub(r'[^A-Za-z0-9-]', '', name)}}}"

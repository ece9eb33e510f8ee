"""What claims rest on: in a line on each card, and what many cards share said once for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.audit import property as properties
from analysis.audit import wording
from analysis.audit.pages import tables
from analysis.tidy import markdown, notation, prose

#: What a claim rests on, by what its quantity is a property of.
NAMES = {
    "function": "the function",
    "training": "training",
    "parametrisation": "how the weights are written",
    "architecture": "the architecture",
    "record": "the record",
}
#: What to read in place of a quantity, by its name or by how its name ends.
PARTNERS = {
    "_centred": "the same of the stream without its mean",
    "circuit_spectral": "the norm of a head's whole circuit",
    "attention_factor": "the attention factor of the trace",
}
#: Opens the part of a reason that many claims share.
TELLING = "It would tell of training if "


def line(rests: Mapping[Any, Any]) -> str:
    """Return on what one claim rests, as Markdown that links to what is shared; empty if unknown.

    ``rests`` is a row of `analysis.audit.properties`, or empty.
    """
    if not rests:
        return ""
    name = str(rests["property"])
    where = f" in {properties.where(dict(rests))}" if name == "parametrisation" else ""
    reason = str(rests["reason"]).partition(TELLING)[0].strip()
    return f"*Rests on* [{NAMES[name]}](#rests-on-{name}){where}. {notation.typeset(reason)}"


def listing(rests: pd.DataFrame) -> str:
    """Return what claims can rest on as Markdown, each with its claims; cards link to it.

    ``rests`` is as `analysis.audit.properties` returns it.
    """
    return "\n\n".join(
        f"[{NAMES[name][:1].upper()}{NAMES[name][1:]}]{{#rests-on-{name} .rests-on}} "
        f"({_claims(rows)}). {_meant(rows)}"
        for name in NAMES
        for rows in [rests[rests["property"] == name]]
        if len(rows)
    )


def _meant(rows: pd.DataFrame) -> str:
    """Return what it means to rest on what all these claims rest on."""
    if rows["property"].iloc[0] != "parametrisation":
        return markdown.literal(str(rows["line"].iloc[0]))
    moved = rows.groupby(rows.apply(lambda row: properties.moved(row.to_dict()), axis=1))
    by_meaning = rows.groupby(rows["reason"].str.partition(TELLING)[2])
    items = [
        "The quantity moves and no prediction does when "
        + "; or when ".join(f"{done} ({_claims(those)})" for done, those in moved)
        + ".",
        "To read in its place: " + "; ".join(_partners(rows)) + ".",
        *(
            f"{TELLING}{notation.typeset(why[:-1])} ({_claims(those)})."
            for why, those in by_meaning
            if why
        ),
    ]
    opening = "A convention of how the weights are written ([coordinates](#sec-gauge))."
    return "\n\n- ".join([opening, *items])


def _partners(rows: pd.DataFrame) -> list[str]:
    """Return what to read in place of the quantities of claims, each with its claims."""
    named = rows["partner"].str.split(" ")
    texts = [
        f"{words} ({_claims(rows[having])})"
        for ending, words in PARTNERS.items()
        for having in [named.map(lambda names: any(it.endswith(ending) for it in names))]  # noqa: B023
        if having.any()
    ]
    without = rows[rows["partner"] == ""]
    return [*texts, f"nothing ({_claims(without)})"] if len(without) else texts


def _claims(rows: pd.DataFrame) -> str:
    word = prose.form(len(rows), "claim", "claims")
    return f"{word} {tables.linked(wording.join_runs(rows['claim_id']))}"

"""The front: two small figures and the list of what stands, what depends and what falls."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis import audit as claims
from analysis.audit import weight
from analysis.audit.about import About
from analysis.audit.pages import tables
from analysis.tidy import markdown, prose

#: Claims that a column of the front names before it links to the rest.
NAMED = 2
#: Heads of the columns of the front, and the verdicts that go under each.
HEADS = {
    "Reproduced": claims.VERDICTS[:1],
    "Depends on the reading": claims.VERDICTS[1:2],
    "Contradicted": claims.VERDICTS[2:3],
    "Undecided or no data": claims.VERDICTS[3:],
}


def counted(judged: pd.DataFrame) -> str:
    """Return how many claims have each verdict that some have, as a list in words."""
    stated = weight.author_claims(judged)
    result = stated["verdict"].value_counts()
    items = [tables.counted(int(result[name]), name) for name in claims.VERDICTS if name in result]
    return f"{prose.plural(len(stated), 'claim')}, of which {prose.listing(items)}"


def opening(about: About, judged: pd.DataFrame) -> str:
    """Return Markdown with what was audited and, in whole sentences, what came out."""
    title = f"**{markdown.literal(about.title)}.** " if about.title else ""
    of = f"of {markdown.literal(about.paper)}" if about.paper else "of a paper"
    return (
        f"{title}This audit judges the claims {of}. Each claim is judged under every reading that "
        f"was written down, by one rule: there are {counted(judged)}."
    )


def statements(judged: pd.DataFrame) -> dict[int, str]:
    """Return what each claim says, shortened for a list."""
    return {
        int(number): textwrap.shorten(str(statement), 60, placeholder=" …")
        for number, statement in zip(judged["claim_id"], judged["statement"], strict=True)
    }


def columns(judged: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Return Markdown with a column for each kind of verdict: a count, and some claims by name.

    Parameters
    ----------
    judged
        One row per claim: `claim_id`, `verdict`, `stated_by`.
    names
        What the claims worth naming say, by number, the foremost first.
    """
    stated = weight.author_claims(judged)
    parts = [_column(stated, names, head, verdicts) for head, verdicts in HEADS.items()]
    return "\n\n".join([":::: {.front-columns}", *parts, "::::"])


def _column(
    judged: pd.DataFrame, names: Mapping[int, str], head: str, verdicts: Sequence[str]
) -> str:
    having = judged.loc[judged["verdict"].isin(list(verdicts)), "claim_id"].tolist()
    named = [number for number in names if number in having][:NAMED]
    lines = [
        f"- [{markdown.literal(names[number])}](claims.html#claim-{number})" for number in named
    ]
    more, slug = len(having) - len(named), verdicts[0].replace(" ", "-")
    # The page of claims shows one verdict by its name, or all.
    place = f"claims.html#verdict-{slug}" if len(verdicts) == 1 else "claims.html"
    lines += [f"- [{more} more]({place})"] if more else []
    mark = f"[{head}]{{.verdict .verdict-{slug}}}"
    return "\n".join(
        ["::: {.front-column}", f"[{len(having)}]{{.front-count}} {mark}", "", *lines, ":::"]
    )

"""Lists of public models judged on simulated papers of their own labs, suites and shapes.

A rule chosen for 22 models need not be the best for a hundred. So lists of models have papers of
their own in table ``rule_rate``, judged by the profile likelihood, whose cost allows it. Nothing
here has met a published gain; the rules of claim 20 stay those of the present design.
"""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.tournament import criterion
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: The power that a list is made for.
POWER = 0.8
#: The statement that lists are made for, the rule that judges them, the worlds it must see.
STATEMENT, RULE, WORLDS = "recipe over geometry", "profile likelihood", ("suite", "lab")
#: The paper's own order: lab, depth and scale explain 12 : 5 : 1 parts.
CLAIMED_ORDER = "lab > depth > scale"
#: Layouts of `rule_rate` that are no lists.
KINDS = ("present", "as found", "balanced")
#: Shares of the variance that a table shows.
SHARES = (0.3, 0.5, 0.8)
#: The largest share that one source explains where lists are quoted on the ranking.
MOST = criterion.CLAIMED


def _file(layout: str) -> str:
    return f"{layout}.txt"


def _share(value: float) -> str:
    return prose.number(value, 3)


#: The table of `rates`.
COLUMNS = {
    "layout": Column("List", "layout", _file),
    "models": Column("Models", "n_models", prose.count),
    "suites": Column("Suites", "n_suites", prose.count),
    "worst": Column("Worst false yes", "worst", _share),
    "light": Column("Without heavy tails", "worst_light", _share),
    **{
        f"power_{share}": Column(f"Explains {100 * share:.0f} %", f"power_{share}", _share)
        for share in SHARES
    },
}


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each list would tell of `STATEMENT` by `RULE`, the smallest list first.

    Parameters
    ----------
    table
        Table ``rule_rate``.

    Returns
    -------
    `layout`, `n_models`, `n_suites`, `n_papers`; `worst`, the largest share of papers with a false
    yes, and `worst_light`, the largest where gains have no heavy tails; `power_0.3` and so on, the
    share of papers with a yes where suites alone rule that share of the variance [1].
    """
    is_asked = (table["statement"] == STATEMENT) & (table["rule"] == RULE)
    lists = table[is_asked & ~table["layout"].isin(KINDS)]
    summaries = [_list_summary(rows) for _, rows in lists.groupby("layout")]
    return pd.DataFrame(summaries).sort_values("n_models")


def ranking(table: pd.DataFrame, statement: str, world: str) -> pd.DataFrame:
    """Return how often each list would show a statement of the ranking, the smallest list first.

    Parameters
    ----------
    table
        Table ``rule_rate``.
    statement, world
        The statement, and the source that explains `MOST` of the variance where it is true.

    Returns
    -------
    `layout`, `n_models`, `n_suites`; `worst`, the largest share of data sets with a false yes;
    `power`, the share with a yes if ``world`` explains `MOST`, and `power_claimed`, the share if
    the paper's order is true [1].
    """
    is_asked = (table["statement"] == statement) & (table["rule"] == RULE)
    lists = table[is_asked & ~table["layout"].isin(KINDS)]
    false = lists[lists["truth"] != "yes"].groupby("layout")["share_yes"].max()
    true = lists[lists["form"] == "normal"]
    alone = true[(true["world"] == world) & (true["share"] == MOST)]
    claimed = true[true["world"] == CLAIMED_ORDER].set_index("layout")["share_yes"]
    result = alone[["layout", "n_models", "n_suites", "share_yes"]].rename(
        columns={"share_yes": "power"}
    )
    return result.assign(
        worst=result["layout"].map(false), power_claimed=result["layout"].map(claimed)
    ).sort_values("n_models", ignore_index=True)


def claimed() -> str:
    """Return how much the sources of the paper's order explain together, in percent."""
    return prose.percent(sum(criterion.TOGETHER[CLAIMED_ORDER].values()))


#: Statements of the ranking, with the source that explains the differences where they are true.
RANKING = {it: criterion.RULING[it] for it in ("lab over geometry", "geometry over scale")}
#: The table of `both_rankings`.
RANKING_COLUMNS = {
    "statement": Column("Statement", "statement", once=True),
    "layout": Column("List", "layout", _file),
    "models": Column("Models", "n_models", prose.count),
    "suites": Column("Suites", "n_suites", prose.count),
    "worst": Column("False yes", "worst", prose.percent),
    "power": Column(f"One cause: {prose.percent(MOST)}", "power", prose.percent),
    "power_claimed": Column("Ranking true", "power_claimed", prose.percent),
}


def both_rankings(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `ranking` for both halves of the ranking, with their `statement`."""
    parts = [
        ranking(table, statement, world).assign(statement=statement)
        for statement, world in RANKING.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _list_summary(rows: pd.DataFrame) -> dict[str, object]:
    false = rows[rows["truth"] != "yes"]
    suites = rows[(rows["world"] == "suite") & (rows["form"] == "normal")]
    power = dict(zip(suites["share"], suites["share_yes"], strict=True))
    return {
        **{name: rows[name].iloc[0] for name in ("layout", "n_models", "n_suites", "n_papers")},
        "worst": false["share_yes"].max(),
        "worst_light": false.loc[false["form"] != "heavy-tailed", "share_yes"].max(),
        **{f"power_{share}": power[share] for share in SHARES},
    }

"""Lists of public models judged on simulated papers of their own labs, suites and shapes.

A rule chosen for 22 models need not be the best for a hundred. So lists of models have papers of
their own in table ``rule_rate``, judged by the profile likelihood, whose cost allows it. Nothing
here has met a published gain; the rules of claim 20 stay those of the present design.
"""

from __future__ import annotations

import pandas as pd

from analysis.tidy import prose

#: The power that a list is made for.
POWER = 0.8
#: The statement that lists are made for, the rule that judges them, the worlds it must see.
STATEMENT, RULE, WORLDS = "recipe over geometry", "profile likelihood", ("suite", "lab")
#: Layouts of `rule_rate` that are no lists.
KINDS = ("present", "as found", "balanced")
#: Shares of the variance that a table shows.
SHARES = (0.3, 0.5, 0.8)

HEADERS = {
    "layout": "List",
    "models": "Models",
    "suites": "Suites",
    "worst": "Worst false yes",
    "light": "Without heavy tails",
    **{f"power_{share}": f"Share {share:.0%}".replace("%", " %") for share in SHARES},
}


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each list would tell of `STATEMENT` by `RULE`, one row per list.

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
    return pd.DataFrame([_list_summary(rows) for _, rows in lists.groupby("layout")])


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


def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `rates` as text, by number of models; see `HEADERS`."""
    ordered = rates(table).sort_values("n_models")
    text = {"layout": ordered["layout"] + ".txt"}
    text |= {it: ordered[f"n_{it}"].map(prose.count) for it in ("models", "suites")}
    numbers = {"worst": "worst", "light": "worst_light"} | {
        f"power_{share}": f"power_{share}" for share in SHARES
    }
    text |= {
        name: ordered[column].map(lambda it: prose.number(it, 3))
        for name, column in numbers.items()
    }
    return pd.DataFrame(text)

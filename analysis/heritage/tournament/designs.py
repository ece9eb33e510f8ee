"""Lists of public models judged by the criterion: which rule a list admits, and what it would tell.

A rule chosen for 22 models need not be the best for a hundred. So for a list of models the choice
of `analysis.heritage.tournament.criterion` is made again on papers of its labs, suites and shapes,
with the rules whose cost allows it: size first, then power, then simplicity. A list settles a
statement at a share where the rule so chosen says yes in `POWER` of the papers in which one
component alone holds that share. Nothing here has met a published gain; the rules of claim 20 stay
those of the present design.
"""

from __future__ import annotations

import pandas as pd

from analysis.heritage.tournament import choice, tables
from analysis.tidy import prose

#: The power that a list is made for.
POWER = 0.8
#: The statement that lists are made for, and the worlds in which it must be seen.
STATEMENT, WORLDS = "recipe over geometry", ("suite", "lab")
#: Layouts of `rule_rate` that are no lists.
KINDS = ("present", "as found", "balanced")

HEADERS = {
    "layout": "List",
    "models": "Models",
    "suites": "Suites",
    "statement": "Statement",
    "rule": "Rule",
    "worst": "Worst false answer",
    "small": "Share 30 %",
    "half": "Share 50 %",
    "large": "Share 80 %",
}


def lists(found: pd.DataFrame) -> list[str]:
    """Return the names of the lists that table ``rule_rate`` has papers of."""
    names = found.loc[~found["layout"].isin(KINDS), "layout"]
    return [str(name) for name in names.unique()]


def rates(found: pd.DataFrame) -> pd.DataFrame:
    """Return what each list would tell of each statement by the rule that it admits.

    Returns
    -------
    One row per list, statement and share: `layout`, `n_models`, `n_suites`, `statement`, `rule`,
    `worst` (largest share of a false answer), `world`, `share` [1], `power` with `power_error`.
    """
    parts = []
    for layout in lists(found):
        own = found[found["layout"] == layout]
        chosen = choice.choice(own, layout)
        for row in chosen[chosen["is_chosen"]].to_dict("records"):
            cells = own[
                (own["statement"] == row["statement"])
                & (own["rule"] == row["rule"])
                & (own["world"] == tables.RULING[str(row["statement"])])
                & (own["form"] == "normal")
            ]
            parts.append(
                cells.assign(
                    worst=row["worst"], power=cells["share_yes"], power_error=cells["yes_error"]
                )
            )
    names = ["layout", "n_models", "n_suites", "statement", "rule", "worst"]
    columns = [*names, "world", "share", "power", "power_error"]
    every: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return every.filter(columns)


def rows(found: pd.DataFrame) -> pd.DataFrame:
    """Return one row per list and statement, formatted for print."""
    by = ["layout", "n_models", "n_suites", "statement", "rule", "worst"]
    wide = rates(found).pivot_table(index=by, columns="share", values="power", sort=False)
    wide = wide.reset_index()
    shown = pd.DataFrame(
        {
            "layout": prose.once(wide["layout"]),
            "models": [prose.count(int(n)) for n in wide["n_models"]],
            "suites": [prose.count(int(n)) for n in wide["n_suites"]],
            "statement": wide["statement"],
            "rule": wide["rule"],
            "worst": [prose.number(value, 3) for value in wide["worst"]],
        }
    )
    powers = {
        name: [prose.number(value) for value in wide[share]]
        for name, share in (("small", 0.3), ("half", 0.5), ("large", 0.8))
    }
    return shown.assign(**powers)

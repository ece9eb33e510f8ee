"""What the report shows of the tournament: who holds the size, who has power, and where."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import criterion
from analysis.delia2026.tournament.designs import KINDS, RULE, SHARES
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column

#: The table of `larger`.
LARGER = {
    "statement": Column("Statement", "statement", once=True),
    "world": Column("What explains the gains", "world", once=True),
    "design": Column("Models", ["layout", "n_models", "n_suites"], "{}: {} of {} suites".format),
    "worst": Column("False yes, at most", "worst", prose.number),
    **{
        f"power_{share}": Column(f"Share {100 * share:.0f} %", f"power_{share}", prose.number)
        for share in SHARES
    },
}


def rates(store: Store) -> pd.DataFrame:
    """Return table ``rule_rate`` in its own order."""
    return store.query("FROM rule_rate")


def larger(rate_rows: pd.DataFrame) -> pd.DataFrame:
    """Return false positives and power of `RULE` by layout, one component explaining a share."""
    designs = rate_rows[(rate_rows["rule"] == RULE) & rate_rows["layout"].isin(KINDS)]
    rows = []
    keys = ["layout", "n_models", "n_suites"]
    for statement, world in criterion.RULING.items():
        judged = designs[designs["statement"] == statement]
        for values, cells in judged.groupby(keys, sort=False):
            power = _normal(cells, statement, world).set_index("share")["share_yes"]
            rows.append(
                {
                    "statement": statement,
                    "world": world,
                    **dict(zip(keys, values, strict=True)),
                    "worst": cells.loc[cells["truth"] != "yes", "share_yes"].max(),
                    **{f"power_{share}": power.get(share, np.nan) for share in SHARES},
                }
            )
    return pd.DataFrame(rows)


def layouts(rate_rows: pd.DataFrame, statement: str) -> pd.DataFrame:
    """Return the power of `RULE` against the share that rules, by balanced layout.

    Returns
    -------
    One row per layout and share, the present one first: `layout` (words), `n_models`, `n_suites`,
    `share` [1], `power` [1].
    """
    cells = _normal(rate_rows, statement, criterion.RULING[statement], RULE)
    cells = cells[cells["layout"].isin(("present", "balanced"))]
    order = cells.assign(larger=cells["layout"] != "present")
    cells = order.sort_values(["larger", "n_models", "n_suites", "share"])
    named = [
        f"{row['n_models']} models of {row['n_suites']} suites" for row in cells.to_dict("records")
    ]
    cells = cells.assign(layout=named, power=cells["share_yes"])
    return cells[["layout", "n_models", "n_suites", "share", "power"]]


def _normal(
    rate_rows: pd.DataFrame, statement: str, world: str, rule: str | None = None
) -> pd.DataFrame:
    """Return the rates of one statement in the normal form of one world, of one rule or of all."""
    cells = rate_rows[
        (rate_rows["form"] == "normal")
        & (rate_rows["statement"] == statement)
        & (rate_rows["world"] == world)
    ]
    return cells if rule is None else cells[cells["rule"] == rule]

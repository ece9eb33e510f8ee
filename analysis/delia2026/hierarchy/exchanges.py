"""EleutherAI against the others with whole units exchanged: every p by unit, statistic and set.

Each row is a specification. Which unit is exchanged, which statistic is compared and which models
enter are choices of the analyst; the range of p over them is the honest answer, not one of them.
"""

from __future__ import annotations

import altair as alt
import pandas as pd

from analysis.delia2026.hierarchy.power_tables import LEVEL
from analysis.delia2026.sign.exchange import cluster_means, compared, exchange
from analysis.delia2026.sign.readings import model_sets
from analysis.drawing.theme import TONES, line_at, named
from analysis.store import Store
from analysis.tidy import glossary, prose
from analysis.tidy.columns import Column
from analysis.tidy.errors import AnalysisError

#: The units that are exchanged whole.
UNITS = ("suite", "lab")
#: What is compared: by id, in words.
STATISTICS = {
    "share_of_units": "share below 1, mean over units",
    "share_pooled": "share below 1, pooled over models",
    "gain_of_units": "log gain, mean over units",
    "gain_pooled": "log gain, pooled over models",
}
#: Column of each, and whether its mean is over units.
COMPARED = {
    "share_of_units": ("dampens", True),
    "share_pooled": ("dampens", False),
    "gain_of_units": ("log_gain", True),
    "gain_pooled": ("log_gain", False),
}
#: The table of `exchanges`.
COLUMNS = {
    "set": Column("Models", "condition", once=True),
    "unit": Column("Permuted", "unit"),
    "statistic": Column("Statistic", "measure", STATISTICS),
    "n": Column("n", "n_obs", prose.count),
    "units": Column("Units", "n_groups", prose.count),
    "p": Column("p", "p_value", lambda it: prose.number(it, 3)),
    "least": Column("Least p", "smallest_p", lambda it: prose.number(it, 3)),
}


def exchanges(store: Store) -> pd.DataFrame:
    """Return the exact p of every specification.

    Returns
    -------
    One row per set, unit and statistic: `specification` (id), `condition` (the set), `unit`,
    `measure` (what is compared, by id), `estimate` (EleutherAI less the others; share [1] or nat),
    `p_value` (two-sided), `smallest_p` that the units admit, `n_obs` (models), `n_groups` (units).
    A set that leaves nothing to exchange has no rows.
    """
    parts = [
        _row(condition.id, str(condition), rows, unit, statistic)
        for condition, rows in model_sets(store).items()
        for unit in UNITS
        for statistic in STATISTICS
    ]
    return glossary.table([part for part in parts if part])


def _row(
    key: str, condition: str, rows: pd.DataFrame, unit: str, statistic: str
) -> dict[str, object]:
    frame = compared(rows)
    column, over = COMPARED[statistic]
    try:
        tested = exchange(cluster_means(frame, unit) if over else frame, column, unit)
    except AnalysisError:
        return {}
    return {
        "specification": f"{key}_{unit}_{statistic}",
        "condition": condition,
        "unit": unit,
        "measure": statistic,
        **{name: float(tested[name]) for name in ("estimate", "p_value", "smallest_p")},
        "n_obs": len(rows),
        "n_groups": rows[unit].nunique(),
    }


def bounds(table: pd.DataFrame) -> dict[str, str]:
    """Return what a page says of the range: p as text, and how many specifications there are.

    Keys: `least`, `most`, `specifications`, `below` (how many have p below .05), `able` (how many
    could have, by the smallest p that their units admit), `unable` (how many could not), `times`
    (`below` as a number of times), `admitted` (the smallest of these), and
    of suites alone and of labs alone `suite_least`, `suite_most`, `lab_least`, `lab_most`.
    """
    words = {
        "least": prose.bare(prose.p_value(table["p_value"].min())),
        "most": prose.bare(prose.p_value(table["p_value"].max())),
        "specifications": prose.count(len(table)),
        "below": prose.count(int((table["p_value"] < LEVEL).sum())),
        "able": prose.count(int((table["smallest_p"] < LEVEL).sum())),
        "unable": prose.count(int((table["smallest_p"] >= LEVEL).sum())),
        "times": prose.plural(int((table["p_value"] < LEVEL).sum()), "time"),
        "admitted": prose.bare(prose.p_value(table["smallest_p"].min())),
    }
    for unit, rows in table.groupby("unit"):
        words[f"{unit}_least"] = prose.bare(prose.p_value(rows["p_value"].min()))
        words[f"{unit}_most"] = prose.bare(prose.p_value(rows["p_value"].max()))
    return words


def chart(table: pd.DataFrame) -> alt.LayerChart:
    """Draw every p, a row per statistic and a column of marks per unit."""
    shown = table.assign(
        statistic=table["measure"].map(STATISTICS),
        permuted=table["unit"].map({"suite": "suites permuted", "lab": "labs permuted"}),
    )
    marks = (
        alt.Chart(shown)
        .mark_point(filled=True, size=60, opacity=0.7)
        .encode(
            x=alt.X("p_value:Q", title="p, two-sided", scale=alt.Scale(domainMin=0, nice=True)),
            y=alt.Y("statistic:N", title=None, sort=list(STATISTICS.values())),
            shape=alt.Shape("permuted:N", title=None),
            color=alt.value(TONES[0]),
        )
    )
    least, most = table["p_value"].min(), table["p_value"].max()
    return named(
        alt.layer(line_at(LEVEL, "x"), marks),
        "Exact p by unit permuted, statistic and set of models; line at .05.",
        f"Over {prose.count(table['condition'].nunique())} sets of models and {len(STATISTICS)} "
        f"statistics, p lies between {prose.number(least, 3)} and {prose.number(most)}.",
    )

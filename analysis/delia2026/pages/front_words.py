"""What the front says of its verdict: how nearly certain it was, and what would settle it."""

from __future__ import annotations

import math

import pandas as pd

from analysis.audit import VERDICTS, weight
from analysis.audit.pages import tables
from analysis.delia2026.study.pages.names import RECIPES
from analysis.delia2026.tournament import calibration_pages, designs
from analysis.delia2026.tournament import tables as tournament
from analysis.store import Store
from analysis.tidy import markdown, prose

#: What the rule of the ranking says where the data cannot tell.
OPEN = "undecided"
#: The world in which the ranking is true.
TRUE_WORLD = "hierarchy"


def certainty(store: Store) -> dict[str, str]:
    """Return of how many of 100 simulated data sets the rule says that it cannot tell.

    Keys: `worlds` and `data_sets` (how many were simulated, and in each), `if_true` (where the
    claim is true, rounded down); `yes`, in how many worlds it ever says that the claim is
    reproduced, and `no`, how often it says in one that it is not.
    """
    rates = calibration_pages.verdict_rates(store)
    shares = (100 * rates.pivot_table("probability", "truth", "verdict")).round(6)
    of_100 = shares[OPEN].map(math.floor)
    return {
        "worlds": prose.count(len(shares)),
        "data_sets": prose.count(int(rates["n_papers"].min())),
        "if_true": prose.count(int(of_100[TRUE_WORLD])),
        "yes": prose.among(int((shares["reproduced"] > 0).sum()), len(shares)),
        "no": prose.count(math.ceil(shares["contradicted"].max())),
    }


def settling(store: Store) -> dict[str, str]:
    """Return how often lists of existing models would show the paper's order if it is true.

    Keys: `n`, how many lists were simulated, `claimed`, how much lab, shape and size explain
    together, and `most`, a limit for every list. No list shows both halves of the order more often
    than it shows the half that it shows less often.
    """
    rates = tournament.rates(store)
    lists, others = (
        designs.ranking(rates, statement, world) for statement, world in designs.RANKING.items()
    )
    both = lists.merge(others, on="layout", suffixes=("", "_next"))
    limits = both[["power_claimed", "power_claimed_next"]].min(axis=1)
    most = prose.percent(float(limits.max()), 1)
    return {"n": prose.count(len(limits)), "claimed": designs.claimed(), "most": most}


def orders(runs: pd.DataFrame, gains: pd.DataFrame) -> dict[str, str]:
    """Return how the order of recipes among small networks goes with that of published suites.

    Parameters
    ----------
    runs
        One row per network: `recipe`, `excess` [nat]; see `study.fleet.recipe_runs`.
    gains
        One row per published model: `suite`, `norm_position`, `gain_mean` [ratio]. Models that
        normalise after a block are left out, as they keep every gain near 1.

    Returns
    -------
    `rank` (Spearman's correlation of means) and `suites` (how many both have).
    """
    here = runs.assign(suite=runs["recipe"].map(RECIPES)).groupby("suite")["excess"].mean()
    pre = gains[gains["norm_position"] != "post"]
    there = pre["gain_mean"].map(math.log).groupby(pre["suite"]).mean()
    both = pd.concat([here, there], axis=1, join="inner")
    rank = both.corr(method="spearman").to_numpy()[0, 1]
    return {"rank": prose.number(float(rank), 1), "suites": prose.count(len(both))}


def signs(models: pd.DataFrame, lab: str = "EleutherAI") -> dict[str, str]:
    """Return how many models of a lab and of all others shrink the vector, as shares in words.

    ``models`` has one row per model: `lab`, `gain_mean` [ratio].
    """
    below, ours = models["gain_mean"] < 1, models["lab"] == lab
    return {
        name: prose.share_of(int(below[rows].sum()), int(rows.sum()))
        for name, rows in (("ours", ours), ("others", ~ours), ("all", ours | ~ours))
    }


def central(judged: pd.DataFrame) -> dict[str, str]:
    """Return how many central claims there are, `n`, and how many have which verdict, `verdicts`.

    ``judged`` has one row per claim: `claim_id`, `verdict`, `importance`, `repeats`, `place`.
    Verdicts that none has are counted as 0, but for those without data. The counts are sentences of
    two each. `elsewhere`: which of these claims do not stand in the abstract.
    """
    rows = judged[weight.is_central(judged)]
    elsewhere = rows.loc[rows["place"] != "abstract", "claim_id"]
    return {**tally(rows), "elsewhere": prose.listing(elsewhere.map(str).tolist()) or "none"}


def tally(judged: pd.DataFrame) -> dict[str, str]:
    """Return how many claims there are, `n`, and how many have which verdict, `verdicts`.

    ``judged`` has one row per claim: `verdict`. As for `central`.
    """
    found = judged["verdict"].value_counts()
    counts = [
        tables.counted(int(found.get(name, 0)), name)
        for name in VERDICTS
        if name in found or name in VERDICTS[:4]
    ]
    pairs = [", and ".join(counts[at : at + 2]) for at in range(0, len(counts), 2)]
    return {"n": prose.count(int(found.sum())), "verdicts": ". ".join(pairs)}


#: What a reader types to have the two numbers of the first figure.
QUERY = """\
SELECT metric, n_prompts,
       round(gain_mean, 2) AS gain
  FROM gain_by_model
 WHERE file = 'thermodynamic_benchmark_20260105_141034.json'
   AND model_id = 'EleutherAI/pythia-6.9b'
 ORDER BY gain"""


def checking(store: Store) -> str:
    """Return Markdown with the command for the two numbers of the first figure and its answer."""
    answer = store.query(QUERY)
    written = answer.assign(gain=answer["gain"].map(prose.number)).astype("string")
    shown = markdown.pipe_table(written, {str(name): str(name) for name in written})
    return f'```sh\nthermoscope sql "{QUERY}"\n```\n\n{shown}'

"""What one more rounding error of a quantised file does to the gains measured of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from analysis.heritage.public.words import name
from analysis.store import Store
from analysis.tidy import prose

#: Gains by definition, means over prompts; then what is compared block by block.
GAINS = (
    "gain_last_block",
    "gain_penultimate_block",
    "gain_body",
    "total_amplification",
    "gain_whole_matrix",
    "gain_without_first",
)
LARGEST, TURNED, PAIRS = "largest_change", "n_blocks_turned", "share_pairs_turned"

#: What a page calls them.
QUANTITIES = {
    "gain_last_block": "Last block, last token",
    "gain_penultimate_block": "Penultimate block, last token",
    "gain_body": "Mean over blocks after 0, last token",
    "total_amplification": "Product over blocks after 0, last token",
    "gain_whole_matrix": "Last block, all tokens",
    "gain_without_first": "Last block, all but the first",
    LARGEST: "Largest change of a block's mean log gain",
    TURNED: "Blocks whose mean sign turns",
    PAIRS: "Share of pairs of prompt and block whose sign turns",
}


def effects(store: Store) -> pd.DataFrame:
    """Return what perturbed runs give beside the plain run of the same model.

    Parameters
    ----------
    store
        Opened with runs of ``--perturb step``; from here on its views count them in.

    Returns
    -------
    One row per model and quantity: `model_id`, `quantity`, `estimate` (of the file as it is; 0 of
    what is a change), `mean`, `std_dev` (divisor n - 1), `minimum` and `maximum` over seeds, and
    `n_seeds`. Gains are arithmetic means over prompts [ratio]; changes are of natural logarithms
    [1], counts [1] and shares [1].
    """
    store.connection.execute("CREATE OR REPLACE MACRO counts_perturbed() AS true")
    by_run = pd.concat([_gains(store), _changes(store)], ignore_index=True)
    plain = by_run[by_run["seed"].isna()].set_index(["model_id", "quantity"])["value"]
    seeded = by_run[by_run["seed"].notna()].groupby(["model_id", "quantity"])["value"]
    found = seeded.agg(mean="mean", std_dev="std", minimum="min", maximum="max", n_seeds="count")
    found.insert(0, "estimate", plain.reindex(found.index).fillna(0.0))
    order = {quantity: place for place, quantity in enumerate(QUANTITIES)}
    rows = found.reset_index()
    placed = rows.assign(place=rows["quantity"].map(order)).sort_values(["model_id", "place"])
    return placed.drop(columns="place").reset_index(drop=True)


def _gains(store: Store) -> pd.DataFrame:
    return store.query(
        """
        SELECT g.model_id, r.perturbation_seed AS seed, g.metric AS quantity, avg(g.gain) AS value
          FROM prompt_gain AS g
          JOIN run AS r USING (run_id)
         WHERE list_contains($metrics, g.metric)
         GROUP BY ALL
         ORDER BY ALL
        """,
        metrics=list(GAINS),
    )


def _changes(store: Store) -> pd.DataFrame:
    blocks = store.query(
        """
        WITH pair AS (
            SELECT g.model_id, r.perturbation_seed AS seed, g.layer,
                   g.log_gain, p.log_gain AS of_file
              FROM last_token_gain AS g
              JOIN run AS r ON r.run_id = g.run_id AND r.perturbation IS NOT NULL
              JOIN (last_token_gain JOIN run USING (run_id, model_id)) AS p
                ON p.model_id = g.model_id AND p.prompt_id = g.prompt_id AND p.layer = g.layer
               AND p.perturbation IS NULL
        )
        SELECT model_id, seed, layer,
               abs(avg(log_gain) - avg(of_file))             AS change,
               sign(avg(log_gain)) <> sign(avg(of_file))     AS is_turned,
               avg((sign(log_gain) <> sign(of_file))::INT)   AS share
          FROM pair
         GROUP BY model_id, seed, layer
        """
    )
    of_run = blocks.groupby(["model_id", "seed"]).agg(
        **{LARGEST: ("change", "max"), TURNED: ("is_turned", "sum"), PAIRS: ("share", "mean")}
    )
    return of_run.reset_index().melt(["model_id", "seed"], var_name="quantity", value_name="value")


def read(directory: Path) -> pd.DataFrame:
    """Return the table that ``data/public/perturb.py`` wrote beside the public models."""
    return pd.read_csv(directory / "perturbation.csv")


def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per quantity for print, with a column per model: the file, then the seeds."""
    cells = [_cell(row) for row in table.itertuples()]
    wide = table.assign(model=table["model_id"].map(name), cell=cells).pivot_table(
        index="quantity", columns="model", values="cell", aggfunc="first"
    )
    wide = wide.loc[[quantity for quantity in QUANTITIES if quantity in wide.index]]
    return wide.rename(index=QUANTITIES).rename_axis("quantity").reset_index()


def _cell(row: Any) -> str:
    """Return a gain of the file and over seeds, or the range of a change over seeds."""
    n_decimals = 0 if row.quantity == TURNED else 4
    if row.quantity in GAINS:
        numbers = (prose.number(of, n_decimals) for of in (row.estimate, row.mean, row.std_dev))
        return "{}; {} ± {}".format(*numbers)
    ends = (prose.number(of, n_decimals) for of in (row.minimum, row.maximum))
    return " to ".join(ends)


def largest(table: pd.DataFrame, quantity: str) -> float:
    """Return the largest distance, over models, of the mean over seeds from the file."""
    of = table[table["quantity"] == quantity]
    return float((of["mean"] - of["estimate"]).abs().max())


def signs_sentence(table: pd.DataFrame) -> str:
    """Return how many blocks' mean signs turn, over models and seeds."""
    of = table[table["quantity"] == TURNED]
    if not of["maximum"].any():
        return "No block's mean sign turns in any model with any seed."
    turned = of.loc[of["maximum"] > 0, "model_id"]
    moved = table[(table["quantity"] == LARGEST) & table["model_id"].isin(turned)]
    n_models = len(turned)
    return (
        f"In {n_models} of {len(of)} models a seed turns the mean sign of a block, of at most "
        f"{int(of['maximum'].max())} with one seed; the mean log gain of a block of such a model "
        f"moves by at most {prose.number(float(moved['maximum'].max()))}."
    )

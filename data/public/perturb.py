"""State what quantisation leaves open: ``python data/public/perturb.py [FILE.gguf ...]``.

Each public model is measured as it is, then again with one more rounding error of its file's own
size, by several seeds; `perturbation.csv` has what that does to the gains on one prompt set.
Models that are not named keep their rows. Files come from `make.py`; units stay in
``.cache/public/perturbed``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from analysis.delia2026.public import rounding
from analysis.store import Store, open_store
from analysis.tidy.spreadsheet import to_csv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make  # noqa: E402

#: The prompt set, and how often a model is perturbed.
PROMPTS, SEEDS = "A_grand_unified", "3"


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
    result = seeded.agg(mean="mean", std_dev="std", minimum="min", maximum="max", n_seeds="count")
    result.insert(0, "estimate", plain.reindex(result.index).fillna(0.0))
    order = {quantity: place for place, quantity in enumerate(rounding.QUANTITIES)}
    rows = result.reset_index()
    placed = rows.assign(place=rows["quantity"].map(order)).sort_values(["model_id", "place"])
    return placed.drop(columns="place").reset_index(drop=True)


def _gains(store: Store) -> pd.DataFrame:
    return store.query(
        """
        SELECT g.model_id, r.perturbation_seed AS seed, g.metric AS quantity, avg(g.gain) AS value
          FROM raw.prompt_gain AS g
          JOIN run AS r USING (run_id)
         WHERE list_contains($metrics, g.metric)
         GROUP BY ALL
         ORDER BY ALL
        """,
        metrics=list(rounding.GAINS),
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
        **{
            rounding.LARGEST: ("change", "max"),
            rounding.TURNED: ("is_turned", "sum"),
            rounding.PAIRS: ("share", "mean"),
        }
    )
    return of_run.reset_index().melt(["model_id", "seed"], var_name="quantity", value_name="value")


def main(files: list[str]) -> None:
    """Measure models, where that was not done, and write the table."""
    path, parts = HERE / "perturbation.csv", []
    for file in files or [row["file"] for row in make.table("gguf_file")]:
        units = make.CACHE / "perturbed" / file
        asked = ("--quantities", "stream", "--perturb", "step", "--seeds", SEEDS)
        make.collect("run", make.fetched(file), "--prompts", PROMPTS, *asked, "--out", units)
        parts.append(effects(open_store(units)))
    table = pd.concat(parts)
    if path.is_file():
        known = pd.read_csv(path)
        table = pd.concat([known[~known["model_id"].isin(table["model_id"])], table])
    path.write_text(to_csv(table.sort_values("model_id", kind="stable")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""What heritage is made of, as far as it is public: the recipes of the published models.

Suites take their learning rate from their size, so depth, width and learning rate go together
within a suite. What the paper calls a law of depth can then not be told from a law of the
learning rate by its own models.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.delia2026.sign import readings
from analysis.store import Store
from analysis.tidy import glossary, prose

#: What is correlated within suites, the response last.
LOGARITHMS = ("log_depth", "log_width", "log_rate", "log_gain")

#: Columns of the table of starts.
STARTS = {
    "models": "Models",
    "inner": "Inner matrices",
    "output": "Writing matrices",
    "spread": "Spread times √d",
}


def recipes(store: Store) -> pd.DataFrame:
    """Return one row per model whose training is documented: the rows of the view `recipe`."""
    return store.query("FROM recipe ORDER BY suite, n_layers, model_id")


def gains_with_recipe(store: Store) -> pd.DataFrame:
    """Return one row per base model with a published gain and a documented learning rate.

    Post-norm models are left out: their gain is 1 by construction.

    Returns
    -------
    `model_id`, `lab`, `suite`, `n_layers` [blocks], `d_model` [1], `peak_learning_rate`
    [per step], `gain_mean` (penultimate block) [ratio] with its `n_prompts` and `file`, and the
    natural logarithms `log_gain`, `log_depth`, `log_width`, `log_rate`.
    """
    gains = evidence.without_post_norm(evidence.base_gains(store, "gain_penultimate_block"))
    known = recipes(store).dropna(subset=["peak_learning_rate"])
    rows = gains[["model_id", "gain_mean", "n_prompts", "file"]].merge(known, on="model_id")
    return rows.assign(
        log_gain=np.log(rows["gain_mean"]),
        log_depth=np.log(rows["n_layers"]),
        log_width=np.log(rows["d_model"]),
        log_rate=np.log(rows["peak_learning_rate"]),
    ).sort_values(["suite", "n_layers", "model_id"], ignore_index=True)


def within_suites(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the correlation of every pair of logarithms within suites of two models or more.

    Each suite has a level of its own, so that only differences between its models count.

    Parameters
    ----------
    rows
        As `gains_with_recipe` returns them.

    Returns
    -------
    One row per pair, the response last: `term` and `condition` (names of the two columns), and
    the columns of `correlation.partial`: `estimate`, `conf_low`, `conf_high`, `df`, `p_value`, ...
    """
    several = rows[rows.groupby("suite")["suite"].transform("size") > 1].reset_index(drop=True)
    pairs = [(a, b) for i, b in enumerate(LOGARITHMS) for a in LOGARITHMS[:i]]
    slopes = [
        {**readings.within_suites(several, x=a, y=b, engine="pingouin"), "term": a, "condition": b}
        for a, b in pairs
    ]
    return glossary.table(slopes)


def correlation_words(slopes: pd.DataFrame) -> dict[str, str]:
    """Return the correlations within suites as words, by the names of their two columns.

    ``slopes`` has the rows of `within_suites`; keys read ``log_rate log_depth``, either way round.
    """
    words: dict[str, str] = {}
    for row in slopes.to_dict("records"):
        text = (
            f"{prose.number(row['estimate'])} {prose.interval(row['conf_low'], row['conf_high'])}"
        )
        words[f"{row['term']} {row['condition']}"] = text
        words[f"{row['condition']} {row['term']}"] = text
    return words


def start_rows(known: pd.DataFrame) -> pd.DataFrame:
    """Return one row per way in which weights start: the models, both rules, and the spread.

    ``known`` has the rows of the view `recipe`; models without a documented rule are left out.
    """
    documented = known.dropna(subset=["inner_rule"]).assign(
        output_rule=lambda rows: rows["output_rule"].fillna("not verified"),
        name=lambda rows: prose.short_name(rows["model_id"]),
    )
    rows = []
    for (suite, inner, output), group in documented.groupby(
        ["suite", "inner_rule", "output_rule"], sort=True
    ):
        spread = group["inner_spread_scaled"].dropna()
        low, high = spread.min(), spread.max()
        ends = [prose.number(float(low)), prose.number(float(high))]
        rows.append(
            {
                "models": f"{suite}: {prose.listing(list(group['name']))}",
                "inner": inner,
                "output": output,
                "spread": ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}",
            }
        )
    return pd.DataFrame(rows)

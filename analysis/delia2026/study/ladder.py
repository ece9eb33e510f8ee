"""Which length of training is enough? The registered rule, applied to the length ladder."""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.study import horizons
from analysis.tidy import glossary


def lengths(runs: pd.DataFrame, response: str = "excess") -> pd.DataFrame:
    """Return, for each length, whether networks have learnt and forgotten their first draw.

    Parameters
    ----------
    runs
        One row per run of the ladder: `length`, `of_recipe`, `sigma` (as said, half, double),
        `reached` (whether it beats the trigram) and the response.
    response
        What must not depend on the first sigma.

    Returns
    -------
    One row per length, shortest first as named: `term`, `share` (of the runs with sigma as said
    that beat the trigram), `estimate` (largest shift of a recipe's response when sigma is halved or
    doubled), `sd` (standard deviation between seeds, pooled over recipes) with its `df`,
    `statistic` (the shift over it), `holds` (share above one half and statistic below two),
    `n_obs`. What no two seeds have, as where no run reaches the horizon, is missing, and does not
    hold.

    Raises
    ------
    DesignError
        If no recipe has two seeds at some length.
    """
    rows = [
        {"term": name, **_length(of_length, response)}
        for name, of_length in runs.groupby("length", sort=False)
    ]
    order = sorted(rows, key=lambda row: int(str(row["term"]).rpartition("_")[2]))
    return glossary.table(order)


def _length(runs: pd.DataFrame, response: str) -> dict[str, object]:
    plain = runs[runs["sigma"] == "as said"]
    horizons.need_seeds(int((plain.groupby("of_recipe").size() - 1).sum()))
    known = plain.dropna(subset=[response])
    variance, df = horizons.between_seeds(known, response, "of_recipe")
    sd = variance**0.5
    means = known.groupby("of_recipe")[response].mean()
    moved = runs[runs["sigma"] != "as said"].dropna(subset=[response])
    moved = moved.groupby(["of_recipe", "sigma"])[response].mean().reset_index()
    moved = moved[moved["of_recipe"].isin(list(means.index))]
    expected = means.reindex(moved["of_recipe"]).to_numpy()
    shift = float((moved[response] - expected).abs().max()) if len(moved) else float("nan")
    share = float(plain["reached"].mean())
    statistic = shift / sd
    return {
        "share": share,
        "estimate": shift,
        "sd": sd,
        "df": df,
        "statistic": statistic,
        "holds": bool(share > 0.5 and statistic < 2),
        "n_obs": len(runs),
    }

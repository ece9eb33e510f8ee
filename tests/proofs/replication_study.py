"""The registered statements of the study computed again, from the rows of its networks alone.

Nothing of `analysis` or `collect` is imported and none of their views is read; `replication` sets
what is found beside what the report says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from scipy import optimize, stats

DATA = Path(__file__).parents[2] / "data"
RESPONSES = ["excess", "last_log_gain", "penultimate"]
LOW = {
    "norm_position": "pre", "embedding_scale": "x1", "embedding_norm": "without",
    "learning_rate": "low", "decay_turns": "low", "inner": "small", "embedding": "small",
    "residual": "none", "tied": "untied", "beta2": "b95", "warm_up": "short", "z_loss": "without",
    "embedding_decay": "on", "clip": "one", "depth": "l3", "text": "kjv",
}  # fmt: skip

#: Numbers of a statement by name, as the file of statements has them.
Found = dict[str, float]


def rows(sql: str) -> pd.DataFrame:
    return duckdb.sql(sql).df()


def at_horizon(horizon: str) -> pd.DataFrame:
    """One row per network: responses at its last checkpoint, or where it first has the loss."""
    every = rows(
        f"""
        SELECT s.* EXCLUDE (recipe), r.step, r.loss, r.later_log_gain - r.equal_writes AS excess,
               r.last_log_gain, p.log_gain AS penultimate
          FROM '{DATA}/fleet/study_run/*.parquet' AS s
          JOIN '{DATA}/fleet/study_response/*.parquet' AS r USING (study_run_id)
          JOIN '{DATA}/fleet/study_profile/*.parquet' AS p USING (study_run_id, step, tokens)
         WHERE tokens = 'without_first' AND p.layer = s.n_layers - 2
         ORDER BY study_run_id, step
        """
    )
    found = []
    for _, run in every.groupby("study_run_id"):
        goal, loss = run["trigram_loss"].iloc[0], run["loss"].to_numpy()
        kept = run.iloc[-1].copy()
        kept["reached"] = bool(loss.min() <= goal) if horizon == "equal loss" else loss[-1] <= goal
        if horizon == "equal loss":
            values = run[RESPONSES].to_numpy(dtype=float)
            kept[RESPONSES] = np.nan
            if kept["reached"]:
                after = int(np.argmax(loss <= goal))
                share = (loss[after - 1] - goal) / (loss[after - 1] - loss[after])
                kept[RESPONSES] = (1 - share) * values[after - 1] + share * values[after]
        found.append(kept)
    levels = rows(f"SELECT * FROM '{DATA}/fleet/study_level/*.parquet'")
    wide = levels.pivot_table(
        index="study_run_id", columns="factor", values="level", aggfunc="first"
    )
    table = pd.DataFrame(found).merge(
        wide.reset_index(), on="study_run_id", suffixes=("", "_level")
    )
    return table.astype(dict.fromkeys(RESPONSES, float))


def noncentrality(f: float, df: float, rest: float, level: float) -> tuple[float, float]:
    """The interval of the noncentrality of an F statistic."""

    def below(value: float) -> float:
        return float(stats.ncf.cdf(f, df, rest, max(value, 1e-12)))

    def end(tail: float) -> float:
        if below(0) <= tail:
            return 0.0
        return float(optimize.brentq(lambda v: below(v) - tail, 0, 20 * df * f + 1000))

    return end((1 + level) / 2), end((1 - level) / 2)


def decomposed(runs: pd.DataFrame, row: str, column: str, response: str) -> dict[str, list[float]]:
    """Share, joint interval of row, column and both together, of the rows that are complete."""
    known = runs.dropna(subset=[response])
    counts = known.groupby([row, column]).size().unstack(fill_value=0)  # noqa: PD010
    whole = counts.index[(counts == counts.to_numpy().max()).all(axis=1)]
    known = known[known[row].isin(whole)]
    y, n = known[response], len(known)
    cell, of_row, of_column = (
        known.groupby(by)[response].transform("mean") for by in ([row, column], row, column)
    )
    parts = [of_row - y.mean(), of_column - y.mean(), cell - of_row - of_column + y.mean()]
    i, j = known[row].nunique(), known[column].nunique()
    dfs, rest = [i - 1, j - 1, (i - 1) * (j - 1)], n - i * j
    error = ((y - cell) ** 2).sum() / rest
    sums = [(part**2).sum() for part in parts]
    sizes = np.array([max(0.0, s - df * error) / n for s, df in zip(sums, dfs, strict=True)])
    ends = [
        noncentrality(s / df / error, df, rest, 1 - 0.05 / 3)
        for s, df in zip(sums, dfs, strict=True)
    ]
    low, high = np.array(ends).T
    found = {"whole": [float(i), float(error)]}
    for k, name in enumerate(("row", "column", "both")):
        least = low[k] / (low[k] + high.sum() - high[k] + n)
        most = high[k] / (high[k] + low.sum() - low[k] + n)
        found[name] = [float(sizes[k] / (sizes.sum() + error)), float(least), float(most)]
    return found


def labs(runs: pd.DataFrame) -> tuple[float, float, float]:
    """Share of labs between recipes, its mean over all labellings, and p."""
    means = runs.dropna(subset=["excess"]).groupby(["recipe", "lab"])["excess"].mean().reset_index()
    y = means["excess"].to_numpy() - means["excess"].mean()

    def share(given: Sequence[str]) -> float:
        named = np.array(given)
        between = sum(y[named == one].sum() ** 2 / (named == one).sum() for one in set(given))
        return float(between / (y**2).sum())

    every = np.array([share(given) for given in set(itertools.permutations(means["lab"]))])
    found = share(list(means["lab"]))
    return found, float(every.mean()), float((every >= found - 1e-12).mean())


def negative(runs: pd.DataFrame, response: str) -> set[str]:
    """Cells below zero, by Holm at 0.005; the variance between seeds is pooled."""
    known = runs.dropna(subset=[response])
    cells = known.groupby("cell")[response]
    df = int((cells.size() - 1).sum())
    error = ((known[response] - cells.transform("mean")) ** 2).sum() / df
    p = pd.Series(stats.t.cdf(cells.mean() / np.sqrt(error / cells.size()), df), cells.mean().index)
    ordered = p.sort_values() * np.arange(len(p), 0, -1)
    return set(ordered.index[ordered.cummax() < 0.005])


def ladder(runs: pd.DataFrame) -> float:
    """Largest shift by another first spread over the deviation of seeds, at the longest."""
    longest = runs[(runs["length"] == "steps_3600")].dropna(subset=["excess"])
    plain = longest[longest["sigma"] == "as said"].groupby("of_recipe")["excess"]
    sd = np.sqrt(plain.var().mul(plain.size() - 1).sum() / (plain.size() - 1).sum())
    moved = longest[longest["sigma"] != "as said"]
    shift = moved["excess"] - moved["of_recipe"].map(plain.mean()).astype(float)
    return float(shift.abs().max() / sd)


def ingredients(runs: pd.DataFrame) -> float:
    """R squared of the five largest main effects in cells that were not screened."""
    screened, others = (runs[runs["study"] == of] for of in ("ingredients", "ingredients_check"))

    def signs(of: pd.DataFrame) -> np.ndarray:
        named = [f"{name}_level" if f"{name}_level" in of else name for name in LOW]
        columns = [
            np.where(of[name].isna() | (of[name] == low), -1.0, 1.0)
            for name, low in zip(named, LOW.values(), strict=True)
        ]
        return np.column_stack(columns)

    half = signs(screened).T @ screened["excess"].to_numpy() / len(screened)
    largest = np.argsort(-abs(half))[:5]
    told = screened["excess"].mean() + signs(others)[:, largest] @ half[largest]
    return float(
        1 - ((others["excess"] - told) ** 2).sum() / others["excess"].var(ddof=0) / len(others)
    )


def rate(runs: pd.DataFrame) -> list[float]:
    """What a rate that falls by L^-1.2 makes of the slope on ln depth, with its interval."""
    known = runs[runs["study"] == "depth_and_rate"].dropna(subset=["penultimate"])
    logs = np.log(known[["n_layers", "learning_rate", "decay_turns"]].astype(float))
    x = np.column_stack([np.ones(len(known)), logs])
    slopes, squares, *_ = np.linalg.lstsq(x, known["penultimate"], rcond=None)
    df = len(known) - 4
    error = np.sqrt(squares[0] / df * np.linalg.inv(x.T @ x)[2, 2])
    ends = stats.t.ppf([0.5, 0.025, 0.975], df) * 1.2 * error
    return [float(-1.2 * slopes[2] + end) for end in ends]


def statements(horizon: str) -> Iterator[tuple[str, Found]]:
    """The registered statements that are no draw of chance (S11 is a bootstrap)."""
    every, steps = at_horizon(horizon), at_horizon("equal steps")
    fleet = every[(every["study"] == "packages") & (every["block"] == "documented")]
    names = ("estimate", "conf_low", "conf_high")
    for number, response in (("S1", "excess"), ("S2", "last_log_gain")):
        parts = decomposed(fleet, "recipe", "geometry", response)
        more = {"null_value": parts["column"][2], "n_groups": parts["whole"][0]}
        yield number, dict(zip(names, parts["row"], strict=True)) | more
    parts = decomposed(fleet, "recipe", "geometry", "excess")
    yield "S3", dict(zip(names, parts["row"], strict=True)) | {"null_value": parts["column"][0]}
    lab, chance, p = labs(fleet)
    yield "S4", {"estimate": 1 - lab, "null_value": lab}
    yield "S5", {"estimate": lab, "null_value": chance, "p_value": p}
    cells = negative(fleet, "excess") | negative(fleet, "last_log_gain")
    yield "S6", {"estimate": float(len(cells))}
    if horizon == "equal steps":
        yield "S7", {"estimate": ingredients(every)}
    yield "S8", dict(zip(names, rate(every), strict=True))
    children = steps[(steps["study"] == "inheritance") & steps["parent_id"].notna()]
    born = decomposed(
        children[children["upbringing"] != "as_muon"], "birth", "upbringing", "excess"
    )
    yield "S9", dict(zip(names, born["row"], strict=True)) | {"null_value": born["column"][2]}
    yield "S10", {"estimate": ladder(every[every["study"] == "ladder"])}
    if horizon == "equal steps":
        small = every[(every["study"] == "packages") & (every["geometry"] == "l3d64")]
        small = small[(small["heads"] == "w16") & (small["status"] == "documented")]
        means = small.pivot_table(index="recipe", columns="text", values="excess")
        yield "S12", {"estimate": float(means.corr("spearman").loc["kjv", "jargon"])}
    checks = every[every["study"] == "threats"].pivot_table("excess", "recipe", "check")
    moved = checks.drop(columns="plain").sub(checks["plain"], axis=0).abs()
    yield "S13", {"estimate": float(moved.max().max()), "null_value": 2 * parts["whole"][1] ** 0.5}

"""The specification curve for print: frames of its figure, rows of its tables, words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.specification.choices import GROUPS
from analysis.delia2026.specification.curve import ALL_WAYS, distinct
from analysis.delia2026.specification.evaluation import SIGNIFICANT
from analysis.inference.resampling.specification import Curve
from analysis.tidy import prose
from analysis.tidy.columns import Column, texts
from analysis.tidy.frame import Integers

#: Bins of ranks in the lower panels of the figure.
N_BINS = 30

#: Intervals drawn in the figure; all of them would be one grey area.
N_WHISKERS = 90

#: The comparison that the paper itself makes.
OURS = GROUPS[0]

#: What the report calls each choice.
NAMES = {
    "gain": "Gain of",
    "figure": "Figure of a model that has several",
    "models": "Models",
    "left_out": "Left out",
    "outcome": "A model dampens by its",
    "unit": "One observation is a",
    "groups": "Compared",
    "estimator": "Estimator",
}


def curve(specified: Curve) -> pd.DataFrame:
    """Return one row per distinct specification, from the lowest estimate to the highest.

    Adds to its columns `rank` (from 1), `standardised_low` and `standardised_high`, its interval
    [SD of the outcome], and `is_marked`, which intervals a figure has room for.
    """
    ordered = distinct(specified.specifications).sort_values(
        ["standardised", "specification"], ignore_index=True
    )
    marked = np.unique(np.linspace(0, len(ordered) - 1, N_WHISKERS).astype(int))
    return ordered.assign(
        rank=np.arange(1, len(ordered) + 1),
        standardised_low=ordered["conf_low"] / ordered["outcome_sd"],
        standardised_high=ordered["conf_high"] / ordered["outcome_sd"],
        is_marked=np.isin(np.arange(len(ordered)), marked),
    )


def null_band(specified: Curve) -> pd.DataFrame:
    """Return one row per point of the null curve, with its `rank` among the specifications."""
    n = len(distinct(specified.specifications))
    return specified.null.assign(rank=1 + specified.null["quantile"] * (n - 1))


def marks(specified: Curve) -> pd.DataFrame:
    """Return one row per choice, level and bin of ranks: the `share` of the bin that chose it.

    `lift` is that share over the mean share of the level: above 1 the level is found there more
    often than elsewhere along the curve.
    Specifications with the same rows and estimator stand at one rank and split its vote among
    the levels that lead there. `rank` is the middle of the bin.
    """
    ordered = curve(specified)
    n_bins = min(N_BINS, len(ordered))
    bins: Integers = (ordered["rank"].to_numpy() - 1) * n_bins // len(ordered)
    bin_of = pd.Series(bins, index=ordered["specification"])
    every = specified.specifications[specified.specifications["estimate"].notna()]
    first = every["duplicate_of"].fillna(every["specification"])
    vote = 1 / every["n_duplicates"].astype("float64")
    votes = every.assign(bin=bin_of.reindex(first).to_numpy(), vote=vote)
    size = votes.groupby("bin")["vote"].sum()
    counted = []
    for choice in NAMES:
        levels = list(dict.fromkeys(specified.specifications[choice]))
        table = votes.pivot_table(index="bin", columns=choice, values="vote", aggfunc="sum")
        shares = table.reindex(columns=levels).div(size, axis=0).fillna(0.0)
        long = shares.reset_index().melt("bin", var_name="level", value_name="share")
        counted.append(long.assign(choice=choice))
    joined = pd.concat(counted, ignore_index=True)
    width = len(ordered) / n_bins
    usual = joined.groupby(["choice", "level"])["share"].transform("mean")
    joined = joined.assign(lift=(joined["share"] / usual).where(usual > 0, 0.0))
    return joined.assign(rank=(joined["bin"] + 0.5) * width + 0.5)


def words(specified: Curve) -> dict[str, str]:
    """Return the counts, shares and p-values of the curve, ready for sentences."""
    rows, some = specified.specifications, distinct(specified.specifications)
    joint = specified.joint[specified.joint["groups"] == ALL_WAYS].set_index("term")
    ours = specified.joint[specified.joint["groups"] == OURS].set_index("term")
    inner = some[some["gain"] == "mean before last block"]
    text = {
        "rows": prose.count(len(rows)),
        "estimated": prose.count(int(rows["estimate"].notna().sum())),
        "distinct": prose.count(len(some)),
        "exchanged": prose.percent(_share(_exchange(some))),
        "without_p": prose.count(int(some["p_value"].isna().sum())),
        "out_of_reach": prose.percent(float((some["smallest_p"] > SIGNIFICANT).mean())),
        "permutations": prose.count(int(joint["n_permutations"].max())),
        "inner_claimed": prose.percent(_share(inner["as_claimed"])),
        "inner_count": prose.count(len(inner)),
    }
    names = {
        "median estimate": "median",
        "share with the claimed sign": "claimed",
        "share significant as claimed": "significant",
    }
    for term, name in names.items():
        row = joint.loc[term].to_dict()
        write = prose.number if name == "median" else prose.percent
        text |= {
            name: write(row["estimate"]),
            f"{name}_null": write(row["null_value"]),
            f"{name}_p": prose.p_value(row["p_value"]),
            f"{name}_p_ours": prose.p_value(ours.loc[term].to_dict()["p_value"]),
        }
    claimed_ours = ours.loc["share with the claimed sign"].to_dict()["estimate"]
    return text | {"claimed_ours": prose.percent(claimed_ours)}


def overview(specified: Curve) -> str:
    """Return the whole result as plain text, for a terminal."""
    values = words(specified)
    counted = (
        f"{values['rows']} specifications, {values['estimated']} of them estimable, "
        f"{values['distinct']} of these distinct."
    )
    tables = [
        texts(specified.joint, JOINT),
        *(level_rows(specified, choice).rename(columns={"level": choice}) for choice in NAMES),
    ]
    return "\n\n".join([counted, *(rows.to_string(index=False) for rows in tables)])


def _write(term: str, value: float) -> str:
    return (prose.percent if "share" in term else prose.number)(value)


#: The table of the joint test.
JOINT = {
    "groups": Column("Compared", "groups"),
    "term": Column("Over all specifications", "term"),
    "estimate": Column("Estimate", ["term", "estimate"], _write),
    "null_value": Column("Labels permuted", ["term", "null_value"], _write),
    "p": Column("p", "p_value", prose.bare_p),
    "smallest_p": Column("Smallest p", "smallest_p", prose.bare_p),
}


def level_rows(specified: Curve, choice: str) -> pd.DataFrame:
    """Return one row per level of a choice, formatted for print.

    A specification counts at its first level where several lead to the same rows. `ordinary`
    and `exchanged` are the shares that are as claimed with p below 0.05, units taken as
    independent and labels exchanged between suites. One without variation in its groups has no
    ordinary p and counts as none below 0.05.
    """
    some = distinct(specified.specifications)
    rows = []
    for level in dict.fromkeys(specified.specifications[choice]):
        chosen = some[some[choice] == level]
        rows.append(
            {
                "level": level,
                "n": prose.count(len(chosen)),
                "median": prose.number(float(chosen["standardised"].median())),
                "claimed": prose.percent(_share(chosen["as_claimed"])),
                "ordinary": prose.percent(
                    _share(chosen["as_claimed"].astype(bool) & (chosen["p_value"] < SIGNIFICANT))
                ),
                "exchanged": prose.percent(_share(_exchange(chosen))),
            }
        )
    return pd.DataFrame(rows)


def _exchange(rows: pd.DataFrame) -> pd.Series[bool]:
    """Tell which are as claimed with p below 0.05 when suites exchange labels."""
    return rows["as_claimed"].astype(bool) & (rows["p_permutation"] < SIGNIFICANT)


def _share(holds: pd.Series[bool]) -> float:
    return float(holds.astype(float).mean()) if len(holds) else float("nan")

"""The reader's own definition: which models shrink the vector, and p, under each choice of four.

Every answer is computed beforehand from the paper's files, by the tests that the claims use.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from analysis.delia2026.sign.exchange import NAMED_LAB, cluster_means, exchange, heritage
from analysis.delia2026.specification import choices as specification
from analysis.inference.counts.fisher import fisher_exact
from analysis.store import Store
from analysis.tidy import prose

#: What is chosen, and between what; the paper's own choice first.
BLOCKS = ("last but one", "last", "average", "average but for the last")
TOKENS = ("last", "all", "drops the first")
MODELS = {"paper": "the hunt", "base": "base", "all": "base and instruct"}
UNITS = {"models": "model_id", "suites": "suite", "labs": "lab"}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "block": BLOCKS,
    "token": TOKENS,
    "models": tuple(MODELS),
    "unit": tuple(UNITS),
}
PAPERS = {name: levels[0] for name, levels in CHOICES.items()}

#: The gain of each block and token that the files hold, as `specification` calls it.
GAINS = {
    ("last but one", "last"): "penultimate block",
    ("last", "last"): "last block",
    ("average", "last"): "mean of blocks",
    ("average but for the last", "last"): "mean before last block",
    ("last", "all"): "last block, all tokens",
}

#: Of several figures of one model, the one over most prompts.
FIGURE = "most prompts"

#: Why a choice has no answer, in lines that fit a phone.
NO_TOKEN = {
    "all": ("The paper’s files count all tokens", "in the last block alone."),
    "drops the first": ("No file of the paper leaves out", "the first token. See Real models."),
}
NO_BLOCK = ("The paper’s 16-model file", "has no gain of this block.")


def gains(store: Store) -> dict[tuple[str, str, str], pd.DataFrame]:
    """Return the gains of each choice of block, token and models; none where the files have none.

    Returns
    -------
    One row per model: `model_id`, `lab`, `suite`, `log_gain` [nat], `n_prompts`, `heritage` (the
    named lab or other) and `dampens` (1 or 0).
    """
    figures = specification.figures(store)
    result = {}
    for block, token, models in product(BLOCKS, TOKENS, MODELS):
        gain = GAINS.get((block, token))
        rows = figures.iloc[:0]
        if gain:
            rows = specification.select(figures, gain, FIGURE, MODELS[models])
        result[block, token, models] = rows.assign(
            heritage=heritage(rows["lab"]),
            dampens=(rows["log_gain"] < 0).astype(float),
        )
    return result


def points(store: Store) -> pd.DataFrame:
    """Return what is drawn under each choice: one row per model, suite or lab that it leaves.

    Returns
    -------
    The choice (`block`, `token`, `models`, `unit`), `name`, `lab`, `lane` (place of the suite
    within its lab, around 0), `gain` [ratio; of a suite or lab the geometric mean], `n_models`,
    and `said`, the row in words.
    """
    every = gains(store)
    lanes = _lanes(pd.concat([rows[["lab", "suite"]] for rows in every.values()]))
    parts = []
    for (block, token, models), rows in every.items():
        for unit, column in UNITS.items():
            part = rows.assign(lane=rows["suite"].map(lanes) if unit != "labs" else 0.0)
            part = part.groupby(["lab", column] if unit != "labs" else ["lab"], as_index=False).agg(
                gain=("log_gain", "mean"), lane=("lane", "first"), n_models=("log_gain", "size")
            )
            names = part[column] if unit != "models" else prose.short_name(part[column])
            parts.append(
                part.assign(
                    block=block,
                    token=token,
                    models=models,
                    unit=unit,
                    name=names,
                    gain=np.exp(part["gain"].astype("float64")),
                )
            )
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    wanted = ["block", "token", "models", "unit", "name", "lab", "lane", "gain", "n_models"]
    return table.assign(said=[_describe(row) for row in table.to_dict("records")])[
        [*wanted, "said"]
    ]


def answers(store: Store) -> pd.DataFrame:
    """Return the answer to each choice.

    Returns
    -------
    One row per choice (`block`, `token`, `models`, `unit`): `n_below` of `n_obs` units whose gain
    is below 1; `ours_below` of `n_ours`, the same of the named lab; `ours`, `others`, the share of
    models that shrink the vector, mean over units; `p_value` of their difference with whole units
    permuted, two-sided (models: Fisher's exact test) and `smallest_p`. All missing where the files
    have no such gain.
    """
    rows = []
    for (block, token, models), some in gains(store).items():
        for unit, column in UNITS.items():
            choice = {"block": block, "token": token, "models": models, "unit": unit}
            rows.append(choice | (_answer(some, column) if len(some) else {}))
    return pd.DataFrame(rows)


def lines(found: pd.DataFrame) -> pd.DataFrame:
    """Return the answers in words, three lines each; ``found`` are those of `answers`.

    Returns
    -------
    One row per choice and line: `block`, `token`, `models`, `unit`, `place` (from 0), `text`.
    """
    rows = []
    for row in found.to_dict("records"):
        choice = {name: row[name] for name in CHOICES}
        rows += [choice | {"place": place, "text": text} for place, text in enumerate(_words(row))]
    return pd.DataFrame(rows)


def finding(found: pd.DataFrame) -> str:
    """Return how far the answer moves with the choice; ``found`` are those of `answers`.

    The paper's own models are counted under each block. Of p are told the choices under which it
    could lie below .05, those with the same counts once.
    """
    some = found[found["p_value"].notna()]
    papers = some[(some["models"] == PAPERS["models"]) & (some["unit"] == PAPERS["unit"])]
    papers = papers[papers["n_obs"] == papers["n_obs"].iloc[0]]
    least, most = (prose.count(end) for end in (papers["n_below"].min(), papers["n_below"].max()))
    counted = ["block", "token", "unit", "n_obs", "n_below", "n_ours", "ours_below", "p_value"]
    could = some[some["smallest_p"] < 0.05].drop_duplicates(counted)
    small = could[could["p_value"] < 0.05]
    is_papers = len(small) == 1 and (small[list(CHOICES)].iloc[0] == pd.Series(PAPERS)).all()
    whose = ": the paper's own" if is_papers else ""
    return (
        f"By the block alone, {least} or {most} of the same {prose.count(papers['n_obs'].iloc[0])} "
        f"models shrink the vector. p lies below 0.05 in {prose.share_of(len(small), len(could))} "
        f"choices that allow it{whose}."
    )


def papers(found: pd.DataFrame) -> dict[str, str]:
    """Return of the paper's own choice, as text, what Fisher's test takes as given.

    Keys: `below`, how many of all models shrink the vector; `ours`, how many are of the named lab;
    `smallest`, the smallest p that these counts admit.
    """
    own = (found[list(CHOICES)] == pd.Series(PAPERS)).all(axis=1)
    row = found[own].iloc[0]
    return {
        "below": prose.share_of(int(row["n_below"]), int(row["n_obs"])),
        "ours": prose.count(int(row["n_ours"])),
        "smallest": _small(float(row["smallest_p"])),
    }


def _answer(rows: pd.DataFrame, column: str) -> dict[str, float]:
    units = cluster_means(rows, column)
    below, ours = units["log_gain"] < 0, units["heritage"] == NAMED_LAB
    p, least = _test(rows, units, column)
    return {
        "n_obs": len(units),
        "n_below": int(below.sum()),
        "n_ours": int(ours.sum()),
        "ours_below": int(below[ours].sum()),
        "ours": float(units["dampens"][ours].mean()),
        "others": float(units["dampens"][~ours].mean()),
        "p_value": p,
        "smallest_p": least,
    }


def _test(rows: pd.DataFrame, units: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return p and the smallest that is possible; where all are alike there is nothing to tell."""
    if rows["dampens"].min() == rows["dampens"].max():
        return 1.0, 1.0
    if column == "model_id":
        row = fisher_exact(rows, row="heritage", column="dampens").iloc[0]
    else:
        row = exchange(units, "dampens", column)
    return float(row["p_value"]), float(row["smallest_p"])


def _words(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    if pd.isna(row["p_value"]):
        return ("No such number.", *(NO_TOKEN.get(str(row["token"])) or NO_BLOCK))
    unit = str(row["unit"])
    n, below, n_ours, ours = (int(row[it]) for it in ("n_obs", "n_below", "n_ours", "ours_below"))
    where = "" if unit == "models" else " on average"
    first = f"{prose.share_of(below, n)} {unit} shrink the vector{where}."
    if unit == "models":
        second = (
            f"{NAMED_LAB}: {prose.share_of(ours, n_ours)}. "
            f"Other labs: {prose.share_of(below - ours, n - n_ours)}."
        )
    else:
        second = (
            f"Shrinking models: {NAMED_LAB} {prose.percent(float(row['ours']))}, "
            f"others {prose.percent(float(row['others']))}."
        )
    p, least = prose.p_value(float(row["p_value"])), _small(float(row["smallest_p"]))
    return first, second, f"{p}. Lowest possible: {least}."


def _small(p: float) -> str:
    """Return a p-value to two figures where it is small: rounding to .001 hides what is above.

    >>> _small(0.00137), _small(0.18)
    ('0.0014', '0.18')
    """
    return prose.power_of_ten(p, 1) if p < 0.01 else prose.bare(prose.p_value(p))


def _describe(row: Mapping[Any, Any]) -> str:
    gain, n = prose.number(float(row["gain"]), 3), int(row["n_models"])
    if row["unit"] == "models":
        return f"{row['name']} ({row['lab']}): gain {gain}"
    return f"{row['name']}, {prose.plural(n, 'model')}: mean gain {gain}"


def _lanes(models: pd.DataFrame) -> dict[str, float]:
    """Return a lane for each suite, those of a lab beside each other around 0.

    >>> _lanes(pd.DataFrame({"lab": ["A", "A", "B"], "suite": ["x", "y", "z"]}))
    {'x': -0.5, 'y': 0.5, 'z': 0.0}
    """
    suites = models.drop_duplicates().sort_values(["lab", "suite"])
    place = suites.groupby("lab").cumcount()
    middle = (suites.groupby("lab")["suite"].transform("size") - 1) / 2
    return dict(zip(suites["suite"], (place - middle).astype(float), strict=True))

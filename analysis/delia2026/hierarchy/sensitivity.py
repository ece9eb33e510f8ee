"""Which models carry the ranking: who has several suites, and each lab or suite left out in turn.

One row per base model, as in `examples/hierarchy.py`, whose mixed models are fitted again without
each lab and without each suite. A lab of one suite goes with it, once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.hierarchy.effects import LEAST_DF
from analysis.delia2026.sign.exchange import NAMED_LAB
from analysis.store import Store
from analysis.tidy import glossary, prose

#: Terms of every block: EleutherAI or not, shape with the binary logarithm of depth, and size.
BLOCKS: Mapping[str, tuple[str, ...]] = {
    "heritage": ("heritage",),
    "geometry": ("rho", "depth"),
    "scale": ("size",),
    "all": ("heritage", "rho", "depth", "size"),
}
#: The terms that the ranking is about, and what their coefficients compare.
TERMS = {
    "heritage": "EleutherAI against others",
    "depth": "twice the blocks",
    "size": "ten times the parameters",
}
#: How sentences call the causes.
CAUSES = {"heritage": "heritage", "rho": "head density", "depth": "depth", "size": "size"}
LEVEL = 0.05
#: The difference of head density whose coefficient is printed [1].
STEP = 0.1

ANSWER = {"term": "Cause", "alone": "Fitted singly", "all": "Fitted together"}
HEADERS = {
    "term": "Coefficient",
    "block": "Fit",
    "full": "All models",
    "range": "One left out",
    "sign": "Sign changes without",
    "level": "Crosses p = .05 without",
}


def models(store: Store) -> pd.DataFrame:
    """Return one row per base model with a published gain, post-norm models left out.

    Returns
    -------
    `model_id`, `lab`, `suite`, `heritage` (1 for the named lab), `n_layers` [blocks], `rho` [1],
    `depth` [doublings], `size` [decades], `log_gain` [nat, of the figure over most prompts] and
    `std_error` of it [nat], to first order from the standard deviation over prompts; missing where
    the figure has none.
    """
    rows = store.query(
        """
        SELECT model_id, lab, suite, n_layers, rho, log2(n_layers) AS depth,
               log_parameters AS size, log_gain,
               gain_sd / gain_mean / sqrt(n_prompts) AS std_error
          FROM published_gain
         WHERE metric = 'gain_penultimate_block'
           AND base_model_id IS NULL
           AND norm_position IS DISTINCT FROM 'post'
         ORDER BY model_id
        """
    )
    return rows.assign(heritage=(rows["lab"] == NAMED_LAB).astype(float))


def identification(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many suites and models each lab has: only within a lab of several do suites vary.

    Returns
    -------
    `level` (the lab), `n_suites`, `n_models`, the most suites first.
    """
    counted = rows.groupby("lab").agg(n_suites=("suite", "nunique"), n_models=("suite", "size"))
    table = glossary.table(counted.rename_axis("level").reset_index())
    return table.sort_values(["n_suites", "level"], ascending=[False, True], ignore_index=True)


def identified(table: pd.DataFrame) -> str:
    """Return in one sentence which labs tell lab and suite apart."""
    several = table[table["n_suites"] > 1]
    names = prose.listing(several["level"].tolist())
    return (
        f"{names} alone, of {prose.plural(len(table), 'lab')}, "
        f"{prose.form(len(several), 'has', 'have')} more than one suite. Elsewhere nothing "
        "separates the effect of a lab from the effect of its recipe."
    )


def at_once(rows: pd.DataFrame) -> pd.DataFrame:
    """Return every coefficient in the fit of its own block and in the fit of all blocks.

    Parameters
    ----------
    rows
        As `models` returns them.

    Returns
    -------
    The columns of `coefficients`, a row per block and term of `CAUSES`; the coefficient of head
    density is that of `STEP`.
    """
    table = pd.concat(
        [coefficients(rows, block, terms=CAUSES) for block in BLOCKS], ignore_index=True
    )
    scaled = ["estimate", "std_error", "conf_low", "conf_high"]
    is_density = table["term"] == "rho"
    table.loc[is_density, scaled] *= STEP
    return table


def answer_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `at_once` as text, one per term: alone with its block, and together."""
    cells = table.assign(cell=[written(row) for _, row in table.iterrows()]).set_index(
        ["block", "term"]
    )["cell"]
    alone = {term: block for block, terms in BLOCKS.items() if block != "all" for term in terms}
    names = {**TERMS, "rho": f"head density up by {STEP:g}"}
    return pd.DataFrame(
        [
            {"term": names[term], "alone": cells[block, term], "all": cells["all", term]}
            for term, block in alone.items()
        ]
    )


def leave_out(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients with all models, without each lab, and without each of its suites.

    Parameters
    ----------
    rows
        As `models` returns them.

    Returns
    -------
    One row per fit and term of `TERMS`: `unit` (all, lab or suite), `level` (what is left out),
    `block`, `term`, `estimate` [nat], `std_error`, `df` (Kenward and Roger's), `p_value`, the
    interval, `n_models`, `n_suites`, `sign_changes` and `significance_changes` against all
    models, `note`. A term that does not vary in what is left has no estimate; with less than one
    degree of freedom it has neither p nor interval.
    """
    table = pd.concat(
        [
            coefficients(some, block).assign(unit=unit, level=level)
            for unit, level, some in subsets(rows)
            for block in BLOCKS
        ],
        ignore_index=True,
    )
    full = table[table["unit"] == "all"].set_index(["block", "term"])
    before = full.loc[list(zip(table["block"], table["term"], strict=True))].reset_index()
    is_known = table["estimate"].notna()
    return glossary.table(
        table.assign(
            sign_changes=is_known & (np.sign(table["estimate"]) != np.sign(before["estimate"])),
            significance_changes=is_known
            & ((table["p_value"] < LEVEL) != (before["p_value"] < LEVEL)),
        )
    )


def subsets(models: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield all models, those without each lab, and without each suite of a lab of several.

    ``models`` has one row per model: `lab` and `suite`. Before the rows stands what is left out:
    all, lab or suite, and its name.
    """
    yield "all", "", models
    suites = models.groupby("lab")["suite"].nunique()
    inside = models[models["lab"].isin(suites.index[suites > 1])]
    for unit, some in (("lab", models), ("suite", inside)):
        for level in sorted(some[unit].unique()):
            yield unit, level, models[models[unit] != level]


def coefficients(
    rows: pd.DataFrame, block: str, beside: Sequence[str] = (), terms: Collection[str] = TERMS
) -> pd.DataFrame:
    """Return the coefficients of one fit, those that cannot be estimated missing.

    ``beside`` are factors that are held fixed where they vary, and have no row; ``terms`` have one.
    """
    entering = (*BLOCKS[block], *beside)
    varying = [term for term in entering if rows[term].ne(rows[term].iloc[0]).any()]
    wanted = pd.DataFrame({"term": [term for term in BLOCKS[block] if term in terms]})
    columns = ["term", "estimate", "std_error", "df", "p_value", "conf_low", "conf_high", "note"]
    found = pd.DataFrame(columns=columns)
    if set(varying) & {*BLOCKS[block]}:
        formula = f"log_gain ~ {' + '.join(varying)} + (1 | suite)"
        found = mixed.fit(formula, rows).tidy(["fixed"])[columns]
    table = wanted.merge(found, on="term", how="left")
    note = table["note"].where(table["term"].isin(varying), "Not estimable: it does not vary.")
    numbers = {name: table[name].astype(float) for name in columns[1:-1]}
    for name in ("p_value", "conf_low", "conf_high"):
        numbers[name] = numbers[name].where(numbers["df"] >= LEAST_DF)
    return table.assign(
        **numbers, note=note, block=block, n_models=len(rows), n_suites=rows["suite"].nunique()
    )


def fit_name(block: str) -> str:
    """Return how the terms of a block were fitted, in a word."""
    return "together" if block == "all" else "singly"


def written(row: pd.Series[Any]) -> str:
    """Return a coefficient with its interval, in percent of gain, as text."""
    interval = prose.change_interval(row["conf_low"], row["conf_high"])
    return f"{prose.change(row['estimate'])} {interval}"


def left_out(table: pd.DataFrame) -> str:
    """Return in a few sentences what leaving one lab or suite out changes."""
    parts = table[(table["unit"] != "all") & table["estimate"].notna()]
    is_alone = parts["block"] != "all"
    crossed = parts[parts["significance_changes"]]
    terms = prose.listing([TERMS[term] for term in TERMS if term in set(crossed["term"])])
    where = f", for the coefficient of {terms}" if terms else ""
    return (
        f"Fitted singly, {_changes(parts[is_alone])}. Fitted together, "
        f"{_changes(parts[~is_alone])}. "
        f"The p-value crosses .05 in {prose.share_of(len(crossed), len(parts))} cases{where}. "
        "A case is one coefficient of one fit without one lab or suite, head density not counted."
    )


def _changes(rows: pd.DataFrame) -> str:
    """Return of which coefficients the sign changes, and in how many cases."""
    cases = rows["term"].value_counts()
    changed = rows.loc[rows["sign_changes"], "term"].value_counts()
    named = [
        f"{words} ({prose.share_of(int(changed[term]), int(cases[term]))} cases)"
        for term, words in TERMS.items()
        if term in changed
    ]
    if not named:
        return "no coefficient changes sign, whichever lab or suite we leave out"
    return f"some coefficients change sign: {prose.listing(named)}"


def printable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the range of each coefficient over what is left out, in percent of gain, as text."""
    rows = []
    for (block, term), some in table.groupby(["block", "term"], sort=False):
        full = some[some["unit"] == "all"].iloc[0]
        parts = some[some["unit"] != "all"]
        rows.append(
            {
                "term": TERMS[str(term)],
                "block": fit_name(str(block)),
                "full": written(full),
                "range": f"{prose.change(parts['estimate'].min())} to "
                f"{prose.change(parts['estimate'].max())}",
                "sign": _level_names(parts[parts["sign_changes"]]),
                "level": _level_names(parts[parts["significance_changes"]]),
            }
        )
    return pd.DataFrame(rows)


def _level_names(rows: pd.DataFrame) -> str:
    return prose.listing(list(dict.fromkeys(rows["level"]))) or "none"

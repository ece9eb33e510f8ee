"""What simulated quantisation noise does to the gains measured of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from analysis.delia2026.public.words import name
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


#: The definitions that a sentence compares; a product over blocks is on another scale.
COMPARED = ("gain_body", "gain_last_block", "gain_whole_matrix")


def said(table: pd.DataFrame) -> str:
    """Return which gain the rounding moves least and most, by how much, and where most of all."""
    moved = pd.Series({it: largest(table, it) for it in COMPARED}).sort_values()
    compared = table[table["quantity"].isin(COMPARED)]
    loosest = compared.sort_values("std_dev").to_dict("records")[-1]
    least, *others = (
        f"{CALLED[str(it)]} by at most {prose.number(by, 4)}" for it, by in moved.items()
    )
    return (
        f"One more rounding error moves {least}, in the mean over seeds. It moves "
        f"{'. It moves '.join(others)}. The least certain gain is {CALLED[loosest['quantity']]} in "
        f"{name(loosest['model_id'])}: seeds have a standard deviation of "
        f"{prose.number(loosest['std_dev'])} there."
    )


#: What a sentence calls them.
CALLED = {
    "gain_body": "the mean gain over blocks",
    "gain_last_block": "the last block’s gain at the last token",
    "gain_whole_matrix": "the last block’s gain over all tokens",
}

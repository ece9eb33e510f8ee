"""What each claim's quantity is a property of: the function, the parametrisation, or training.

A *gauge* is a change of a network's weights that leaves every prediction as it is. What a gauge
moves is no property of what the network computes; which quantities it moves is worked out and
tested (view ``gauge_invariance``), and view ``claim_property`` joins that with the quantities a
claim rests on and the norms of the models it is about.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.store import Store
from analysis.tidy import prose

#: What is done to the weights, in words; the first that applies is named in a remark.
MOVES = {
    "mean_shift": "a constant is added to the stream after a block",
    "value_basis": "a head's values are written in another basis",
    "norm_fold": "the gain of a norm is moved into the matrices that read it",
}

_KINDS = {
    "function": "A property of what the network computes.",
    "training": "A property of training: it compares a network with the one it was trained from, "
    "in the same coordinates.",
    "architecture": "A property of the architecture, which no weight enters.",
    "record": "A property of no network: it is about what was counted, printed or filed.",
}


def properties(store: Store) -> pd.DataFrame:
    """Return what the quantity of each claim is a property of.

    Returns
    -------
    One row per claim that table `claim_quantity` knows: `claim_id`, `property`, `quantity`,
    `partner` (what to read in its place; empty where nothing is), `moved_by`, `n_free` of
    `n_models` in which it is moved, `reason`, `line`, what it is a property of in words, and
    `remark`, the line with its reason.
    """
    table = store.query("FROM claim_property ORDER BY claim_id")
    rows = table.to_dict("records")
    return table.assign(line=[line(row) for row in rows], remark=[remark(row) for row in rows])


def remark(row: dict[Any, Any]) -> str:
    """Return in words what the quantity of one claim is a property of, and why.

    ``row`` is a row of view ``claim_property``.
    """
    return f"{line(row)} {row['reason']}"


def line(row: dict[Any, Any]) -> str:
    """Return in words what the quantity of one claim is a property of.

    ``row`` is a row of view ``claim_property``.
    """
    if row["property"] != "parametrisation":
        return _KINDS[row["property"]]
    partner = prose.listing(str(row["partner"]).split(" ")) if row["partner"] else ""
    read = f" To read in its place: {partner}." if partner else " Nothing stands in its place."
    return (
        f"A convention of how the weights are written, in {where(row)} it is about: it moves "
        f"and no prediction does when {moved(row)}.{read}"
    )


def where(row: dict[Any, Any]) -> str:
    """Return in how many of the models that a claim is about its quantity is moved, in words."""
    models = prose.form(int(row["n_models"]), "model", "models")
    if row["n_free"] != row["n_models"]:
        return f"{prose.count(row['n_free'])} of the {prose.count(row['n_models'])} {models}"
    return (
        f"both {models}" if row["n_models"] == 2 else f"all {prose.count(row['n_models'])} {models}"
    )


def moved(row: dict[Any, Any]) -> str:
    """Return what is done to the weights that moves the quantity of a claim, in words."""
    names = str(row["moved_by"]).split(" ")
    return next(words for name, words in MOVES.items() if name in names)


def add_property(store: Store, judged: pd.DataFrame) -> pd.DataFrame:
    """Return claims with `property` and `property_remark`, empty where none is declared.

    ``judged`` has one row per claim: `claim_id`.
    """
    known = properties(store).set_index("claim_id")[["property", "remark"]].to_dict("index")
    nothing = {"property": "", "remark": ""}
    items = [known.get(claim_id, nothing) for claim_id in judged["claim_id"]]
    return judged.assign(
        property=[of_one["property"] for of_one in items],
        property_remark=[of_one["remark"] for of_one in items],
    )


def claim_property(store: Store, claim_id: int) -> dict[str, str]:
    """Return `property` and `property_remark` of one claim, empty where none is declared."""
    row = add_property(store, pd.DataFrame({"claim_id": [claim_id]})).iloc[0]
    return {name: str(row[name]) for name in ("property", "property_remark")}

"""Where each registered statement stands: its verdict, and how many of its runs are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.heritage.study import horizons, registered
from analysis.heritage.study.inheritance import OF_NO_LAB
from analysis.store import Store
from analysis.tidy import glossary

#: Draws the bootstrap of every page and file that tells the outcomes.
SEED = 2026

#: What identifies a row, and what a finding consists of.
KEYS = ("claim_id", "condition")
FOUND = (
    "statement", "rule", "foreseen", "verdict", *registered.NUMBERS, "n_obs", "n_planned", "note",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Basis:
    """Runs that a statement rests on: a study, of it some blocks, of one shape; all if not said.

    ``shape`` is number of blocks and width. ``is_later`` leaves what was trained further under the
    settings of a lab; those are compared at equal steps alone.
    """

    study: str
    blocks: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None
    is_later: bool = False


_FLEET = Basis("packages", ("documented",))

#: What each statement rests on.
BASES: Mapping[str, Sequence[Basis]] = {
    **dict.fromkeys(("S1", "S2", "S3", "S4", "S5", "S6", "S11"), (_FLEET,)),
    "S7": (Basis("ingredients"), Basis("ingredients_check")),
    "S8": (Basis("depth_and_rate"),),
    "S9": (Basis("inheritance", is_later=True),),
    "S10": (Basis("ladder"),),
    "S12": (Basis("packages", ("documented", "second_text"), (3, 64)),),
    "S13": (Basis("threats"), _FLEET),
}


def statements(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return every registered statement at both horizons, with its verdict and its runs.

    Parameters
    ----------
    store
        With the study's tables; designs that are not there yet cannot be told.
    rng
        Draws the bootstrap of the shares.

    Returns
    -------
    One row per statement and horizon: `claim_id`, `condition` (the horizon) and the columns of
    `FOUND`; `n_obs` counts the complete runs that reach the horizon, `n_planned` those that the
    designs ask for, missing where a design is not begun. Shares are of the `n_groups` recipes whose
    every run reaches it.
    """
    outcomes = registered.outcomes(store, rng=rng)
    counted = _counted(store)
    sums = [
        _sums(counted, BASES[str(claim_id)], str(horizon))
        for claim_id, horizon in zip(outcomes["claim_id"], outcomes["condition"], strict=True)
    ]
    n_obs, n_planned = zip(*sums, strict=True)
    result = outcomes.assign(n_obs=n_obs, n_planned=pd.array(n_planned, dtype="Int64"))
    glossary.checked(result.columns)
    return result[[*KEYS, *FOUND]]


def _counted(store: Store) -> pd.DataFrame:
    """Return one row per study, block and shape: runs planned, complete, and beyond a trigram."""
    return store.query(
        f"""
        SELECT p.study, p.block, p.n_layers, p.d_model,
               p.parent_id IS NOT NULL AND p.cell NOT LIKE '%/{OF_NO_LAB}' AS is_later,
               count(*)                                     AS n_planned,
               count(r.study_run_id)                        AS n_steps,
               count(*) FILTER (g.loss <= r.trigram_loss)   AS n_loss
          FROM study_plan AS p
          LEFT JOIN study_run AS r USING (study_run_id)
          LEFT JOIN (SELECT study_run_id, min(loss) AS loss FROM study_response GROUP BY ALL) AS g
                 USING (study_run_id)
         GROUP BY ALL
        """
    )


def _sums(counted: pd.DataFrame, bases: Sequence[Basis], horizon: str) -> tuple[int, int | None]:
    """Return how many runs of some bases reach a horizon, and how many were planned."""
    rows = [counted[_belongs(counted, basis)] for basis in bases]
    columns = [
        "n_steps" if basis.is_later or horizon == horizons.STEPS else "n_loss" for basis in bases
    ]
    reached = sum(int(part[column].sum()) for part, column in zip(rows, columns, strict=True))
    if any(part.empty for part in rows):
        return reached, None
    return reached, sum(int(part["n_planned"].sum()) for part in rows)


def _belongs(counted: pd.DataFrame, basis: Basis) -> pd.Series:
    result = counted["study"] == basis.study
    if basis.blocks:
        result &= counted["block"].isin(list(basis.blocks))
    if basis.is_later:
        result &= counted["is_later"]
    if basis.shape is not None:
        result &= (counted["n_layers"] == basis.shape[0]) & (counted["d_model"] == basis.shape[1])
    return result

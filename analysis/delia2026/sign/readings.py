"""Which models a claim about signs may be read as being about, each set of models once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check, Label
from analysis.inference.association import correlation
from analysis.store import Store, shared

JOINED = Label("joined", "all base models, penultimate or else last block")

HUNT = Label("hunt", "the models of the hunt, penultimate block")
EVERY = Label("all", "all base models, penultimate block")
PRE_NORM = Label("kept", "all base models without the post-norm model, penultimate block")


@shared
def model_sets(store: Store) -> Mapping[Label, pd.DataFrame]:
    """Return the defensible sets of models, one row per base model, the paper's own first."""
    hunt = evidence.base_gains(store, "gain_penultimate_block", evidence.HUNT)
    every = evidence.base_gains(store, "gain_penultimate_block")
    joined = evidence.penultimate_or_last(store)
    return {
        HUNT: hunt,
        Label("hunt_kept", "the hunt without the post-norm model"): evidence.without_post_norm(
            hunt
        ),
        Label("hunt_clear", "the hunt without gains within 1 % of 1"): evidence.away_from_one(hunt),
        EVERY: every,
        PRE_NORM: evidence.without_post_norm(every),
        JOINED: joined,
        Label(
            "joined_kept", "penultimate or else last block, without the post-norm model"
        ): evidence.without_post_norm(joined),
        Label(
            "joined_clear", "penultimate or else last block, without gains within 1 % of 1"
        ): evidence.away_from_one(joined),
    }


def models(store: Store, reading: str) -> pd.DataFrame:
    """Return the models of a reading, named by its id."""
    return {condition.id: rows for condition, rows in model_sets(store).items()}[reading]


def lab_rows(sets: Mapping[Label, pd.DataFrame], lab: str) -> dict[Label, pd.DataFrame]:
    """Return the rows of one lab's models under each reading."""
    return {condition: rows[rows["lab"] == lab] for condition, rows in sets.items()}


def other_lab_rows(sets: Mapping[Label, pd.DataFrame], lab: str) -> dict[Label, pd.DataFrame]:
    """Return the rows of all other labs' models under each reading."""
    return {condition: rows[rows["lab"] != lab] for condition, rows in sets.items()}


def each_once(
    sets: Mapping[Label, pd.DataFrame], judge: Callable[[Label, pd.DataFrame], Check]
) -> list[Check]:
    """Return a check for each set of models that differs from those before it.

    Parameters
    ----------
    sets
        Rows by condition, one row per model: `model_id`, `gain_mean`.
    judge
        Checks the rows of a condition. Where several conditions give the same models and gains,
        it is asked under the first, and the note of its check names the others.
    """
    conditions: dict[tuple[Any, ...], list[Label]] = {}
    for condition, rows in sets.items():
        figures = rows[["model_id", "gain_mean"]].sort_values("model_id")
        same = conditions.setdefault(tuple(figures.itertuples(index=False, name=None)), [])
        same.append(condition)
    return [
        _note_repeats(judge(first, sets[first]), repeats) for first, *repeats in conditions.values()
    ]


def _note_repeats(check: Check, repeats: Sequence[str]) -> Check:
    """Return a check whose note names the other readings that give the same rows."""
    if not repeats:
        return check
    note = f"{check.note.removesuffix('.')}. The same rows: {'; '.join(repeats)}."
    return replace(check, note=note)


def within_suites(
    models: pd.DataFrame,
    *,
    x: str,
    y: str,
    covariates: Sequence[str] = (),
    engine: str = "residuals",
) -> pd.Series[Any]:
    """Return the partial correlation of two columns, each suite with a level of its own.

    Parameters
    ----------
    models
        One row per model: `suite` and the columns.
    x, y, covariates, engine
        As in `analysis.inference.association.correlation.partial`.

    Returns
    -------
    The row of `correlation.partial`.
    """
    levels = pd.get_dummies(models["suite"], drop_first=True, dtype=float)
    frame = pd.concat([models, levels], axis=1)
    held = [*covariates, *levels]
    return correlation.partial(frame, x=x, y=y, covariates=held, engine=engine).iloc[0]

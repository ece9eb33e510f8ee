"""A registered prediction and what came of it, the same for every register of this audit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from analysis.store import Store

#: How an estimate must lie to its bound.
RELATIONS = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, "=": operator.eq}
)

#: Whose a prediction is.
PAPER, OURS = "paper", "this project"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A registered prediction: what it is about, whose it is, what it says, how it is computed.

    ``compute`` returns `estimate`, `bound`, and the columns that say what a row is about. ``seen``
    tells of such rows whether their outcome had been read before; a bool stands for all.
    """

    prediction: str
    subject: str
    source: str
    statement: str
    relation: str
    compute: Callable[[Store], pd.DataFrame]
    seen: bool | Callable[[pd.DataFrame], pd.Series[bool]] = False


def outcomes(
    predictions: Sequence[Prediction],
    store: Store,
    *,
    subject: str,
    about: Mapping[str, str | None],
) -> pd.DataFrame:
    """Return every registered prediction with what came of it.

    Parameters
    ----------
    predictions, store
        The register, and what decides it.
    subject
        What the column of the predictions' subjects is called.
    about
        Columns that say what a row is about, with their values where ``compute`` has none.

    Returns
    -------
    One row per prediction and what it is about: `prediction`, the subject, `source` (the paper or
    this project), `statement`, the columns of `about`, `estimate`, `relation`, `bound`, `is_met`,
    `seen`. What the store cannot decide has no row.
    """
    columns = ["prediction", subject, "source", "statement", *about]
    columns += ["estimate", "relation", "bound", "is_met", "seen"]
    judged = [_judge(each, store, {subject: each.subject, **about}) for each in predictions]
    parts = [part for part in judged if len(part)]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _judge(one: Prediction, store: Store, defaults: Mapping[str, str | None]) -> pd.DataFrame:
    rows = one.compute(store)
    rows = rows[rows["estimate"].notna()].reset_index(drop=True)
    rows = rows.assign(**{name: value for name, value in defaults.items() if name not in rows})
    return rows.assign(
        prediction=one.prediction,
        source=one.source,
        statement=one.statement,
        relation=one.relation,
        is_met=RELATIONS[one.relation](rows["estimate"], rows["bound"]).astype(bool),
        seen=one.seen if isinstance(one.seen, bool) else one.seen(rows).astype(bool),
    )

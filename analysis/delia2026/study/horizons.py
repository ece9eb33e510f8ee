"""The responses of a study's runs, compared at equal steps or at an equal held-out loss."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.store import Store, shared
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats

#: Responses in the order of the registration; the first is primary.
RESPONSES = (
    "excess",
    "excess_centred",
    "excess_simple",
    "first_log_gain",
    "first_log_gain_centred",
    "last_log_gain",
    "last_log_gain_centred",
    "penultimate_log_gain",
    "share_negative",
    "share_negative_centred",
)

#: Where along the training runs are compared.
STEPS, LOSS = "equal steps", "equal loss"
HORIZONS = (STEPS, LOSS)

TOKENS = "without_first"

_IDENTITY = [
    "study_run_id", "study", "block", "cell", "seed", "parent_id", "n_layers", "d_model",
    "n_heads", "learning_rate", "decay_turns",
]  # fmt: skip


def responses(
    store: Store, study: str, *, horizon: str = STEPS, tokens: str = TOKENS
) -> pd.DataFrame:
    """Return one row per run of a study: its responses at a horizon, and its levels.

    A factor that is named as a number of the run is, such as ``learning_rate``, has ``_level``
    behind its name.

    Parameters
    ----------
    store
        With the tables of the study.
    study
        Name of the design.
    horizon
        ``equal steps``: the last checkpoint of each run. ``equal loss``: where the held-out
        loss first falls to that of a byte trigram fitted to the same text, interpolated
        linearly in the loss between the two checkpoints around it; runs that never get
        there have no responses.
    tokens
        ``without_first`` or ``all``.

    Raises
    ------
    DesignError
        If the store holds no run of the study.
    """
    return _responses(store, study, horizon, tokens).copy(deep=False)


@shared
def _responses(store: Store, study: str, horizon: str, tokens: str) -> pd.DataFrame:
    """Compute what `responses` returns, once for each store: most outcomes begin with it."""
    rows = store.query(
        "SELECT * FROM study_growth WHERE study = $study AND tokens = $tokens "
        "ORDER BY study_run_id, step",
        study=study,
        tokens=tokens,
    )
    if rows.empty:
        raise DesignError(
            f"The store must hold runs of the study {study!r}; it holds none.",
            "Carry it out with: thermoscope collect study.",
        )
    place = at_last if horizon == STEPS else at_loss
    items = [
        {**dict(run.iloc[0][_IDENTITY]), **place(run, float(run["trigram_loss"].iloc[0]))}
        for _, run in rows.groupby("study_run_id", sort=True)
    ]
    return pd.DataFrame(items).merge(_levels(store, study), on="study_run_id")


def at_last(run: pd.DataFrame, goal: float) -> dict[str, float]:
    """Return the responses of a run at its last checkpoint, and whether it beats the goal."""
    last = run.iloc[-1]
    values = {name: float(last[name]) for name in RESPONSES}
    return {**values, "loss": float(last["loss"]), "reached": bool(last["loss"] <= goal)}


def at_loss(run: pd.DataFrame, goal: float) -> dict[str, float]:
    """Return the responses of a run where its loss first falls to the goal; missing if never."""
    losses = run["loss"].to_numpy(dtype=float)
    below = np.flatnonzero(losses <= goal)
    if len(below) == 0:
        return {**dict.fromkeys(RESPONSES, np.nan), "loss": float(losses[-1]), "reached": False}
    after = int(below[0])
    weights = _weights(losses, after, goal)
    values = {name: float(weights @ run[name].to_numpy(dtype=float)) for name in RESPONSES}
    return {**values, "loss": float(weights @ losses), "reached": True}


def _weights(losses: Floats, after: int, goal: float) -> Floats:
    """Return the weight of each checkpoint in the interpolation at the goal."""
    weights = np.zeros(len(losses))
    if after == 0:
        weights[0] = 1.0
        return weights
    share = (losses[after - 1] - goal) / (losses[after - 1] - losses[after])
    weights[after - 1], weights[after] = 1 - share, share
    return weights


def _levels(store: Store, study: str) -> pd.DataFrame:
    rows = store.query(
        "SELECT study_run_id, factor, level FROM study_level JOIN study_run USING (study_run_id) "
        "WHERE study = $study",
        study=study,
    )
    wide = rows.pivot_table(
        index="study_run_id", columns="factor", values="level", aggfunc="first"
    ).reset_index()
    taken = {*_IDENTITY, *RESPONSES} - {"study_run_id"}
    return wide.rename(columns={name: f"{name}_level" for name in taken})


def between_seeds(
    runs: pd.DataFrame, response: str, cell: str | list[str] = "cell"
) -> tuple[float, int]:
    """Return the variance between runs of one cell, pooled over cells, and its df; rows known."""
    grouped = runs.groupby(cell)[response]
    df = int((grouped.size() - 1).sum())
    squares = float(((runs[response] - grouped.transform("mean")) ** 2).sum())
    return squares / df if df else np.nan, df


def need_seeds(df: int) -> None:
    """Raise `DesignError` without a degree of freedom between seeds."""
    if df == 0:
        raise DesignError(
            "At least one cell must have two runs, to estimate chance; every cell has one run.",
            "Train the cells with another seed.",
        )

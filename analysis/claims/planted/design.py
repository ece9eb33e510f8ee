"""The design of a simulated paper: the models of the real one, and which reading has which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis import evidence
from analysis.claims.sign import heritage
from analysis.store import Store
from analysis.tidy.frame import Floats

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Design:
    """The models of the paper.

    Attributes
    ----------
    models
        One row per base model with a gain: `model_id`, `lab`, `suite`, `n_layers`, `rho`, `d_head`,
        `log_parameters`, `norm_position`.
    hunted, penultimate
        Which of them the hunt has, and which have a gain of the penultimate block, shape (models,).
    """

    models: pd.DataFrame
    hunted: Bools
    penultimate: Bools

    @property
    def kept(self) -> Bools:
        """Which models are not post-norm, shape (models,)."""
        return np.asarray(self.models["norm_position"] != "post")

    @property
    def ours(self) -> Bools:
        """Which models are EleutherAI's, shape (models,)."""
        return np.asarray(self.models["lab"] == "EleutherAI")

    def numbers(self, name: str) -> Floats:
        """Return a column as floats, shape (models,)."""
        return self.models[name].to_numpy(dtype=np.float64)


def design_of(store: Store) -> Design:
    """Return the models of the paper that a store holds."""
    models = evidence.penultimate_or_last(store)
    sets = heritage.readings(store)
    hunted, every = (
        models["model_id"].isin(sets[name]["model_id"]).to_numpy()
        for name in (heritage.HUNT, heritage.EVERY)
    )
    return Design(models, hunted, every)

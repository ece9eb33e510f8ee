"""The design of a simulated paper: the models of the real one, and which reading has which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.audit import evidence
from analysis.delia2026.sign import claims_finetuning as finetuning
from analysis.delia2026.sign import readings
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.store import Store
from analysis.tidy.frame import Floats

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Design:
    """The models of the paper."""

    #: One row per base model with a gain or with norms: `model_id`, `lab`, `suite`, `n_layers`,
    #: `rho`, `d_head`, `log_parameters`, `norm_position`, `gain_mean`; of those with norms alone
    #: only the first four.
    models: pd.DataFrame
    #: Which of them have a gain, which the hunt has, which have a gain of the penultimate and of
    #: the last block, which have norms, shape (models,).
    known: Bools
    hunted: Bools
    penultimate: Bools
    last: Bools
    weighed: Bools
    #: One row per pair of a base and a tuned model: `place` (of the base among the models),
    #: `is_lineage`, and half an interval over its gain, base and tuned, of the last block and of
    #: the total: `last`, `last_base`, `over_blocks`, `over_blocks_base` [ratio].
    pairs: pd.DataFrame
    spread: float  #: standard deviation of the logarithm of |W_V| over models [nat]

    @property
    def pre_norm(self) -> Bools:
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
    gained = evidence.penultimate_or_last(store)
    norms = spectral.weights(store)
    others = norms[~norms["model_id"].isin(gained["model_id"])]
    models = pd.concat(
        [gained, others[["model_id", "lab", "suite", "n_layers"]]], ignore_index=True
    )
    sets = readings.model_sets(store)
    last = evidence.without_post_norm(evidence.base_gains(store, "gain_last_block"))
    known, hunted, every, of_last, weighed = (
        models["model_id"].isin(rows["model_id"]).to_numpy()
        for rows in (gained, sets[readings.HUNT], sets[readings.EVERY], last, norms)
    )
    spread = float(np.log(norms["value_norm"].astype("float64")).std())
    return Design(models, known, hunted, every, of_last, weighed, _pairs(store, models), spread)


def _pairs(store: Store, models: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of `Design`, from the pairs that the paper compared."""
    places = pd.Series(models.index, index=models["model_id"])
    pairs, totals = finetuning.twins(store), finetuning.totals_of_twins(store)
    totals = totals.set_index("model_id").loc[pairs["model_id"]].reset_index()
    widths = {
        f"{name}{which}": (
            (rows[f"conf_high{which}"] - rows[f"conf_low{which}"]) / 2 / rows[f"gain_mean{which}"]
        ).to_numpy(dtype=np.float64)
        for name, rows in (("last", pairs), ("over_blocks", totals))
        for which in ("", "_base")
    }
    bases = pairs["compared"].map(places).to_numpy()
    return pd.DataFrame({"place": bases, "is_lineage": pairs["is_lineage"].to_numpy(), **widths})

"""Layouts of models by suite and lab, as that of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.delia2026.suites import models as published
from analysis.store import Store
from analysis.tidy.frame import Floats, Integers, level_codes

SHAPE, DEPTH, SCALE = published.SHAPE, published.DEPTH, published.SCALE
#: The model whose form a contamination has, the smallest of its suite.
ABERRANT = "EleutherAI/gpt-neo-125m"
#: Name of the layout of the paper.
PRESENT = "present"


@dataclass(frozen=True, slots=False)
class Layout:
    """Models, and what each is."""

    name: str
    #: One row per model: `lab`, `suite`, `rho` [1], `d_head` [1], `n_layers` [blocks],
    #: `log_parameters` [decades].
    models: pd.DataFrame
    aberrant: int  #: place of the model that a contamination takes

    def __len__(self) -> int:
        """Return the number of models, n."""
        return len(self.models)

    @cached_property
    def labs(self) -> Integers:
        """Lab of every model, shape (n,)."""
        return level_codes(self.models, "lab")[0]

    @cached_property
    def suites(self) -> Integers:
        """Suite of every model, shape (n,)."""
        return level_codes(self.models, "suite")[0]

    @cached_property
    def lab_of_suite(self) -> Integers:
        """Lab of every suite, shape (suites,)."""
        return np.array([self.labs[self.suites == one][0] for one in range(self.suites.max() + 1)])

    @cached_property
    def named(self) -> int:
        """The lab with the most suites, as EleutherAI is."""
        return int(np.bincount(self.lab_of_suite).argmax())

    @cached_property
    def blocks(self) -> dict[str, Floats]:
        """Columns of lab, suite, geometry and scale, centred; numbers standardised."""
        return {
            "lab": centred(np.eye(self.labs.max() + 1)[self.labs]),
            "suite": centred(np.eye(self.suites.max() + 1)[self.suites]),
            "geometry": self._standard((*SHAPE, DEPTH)),
            "scale": self._standard((SCALE,)),
        }

    def _standard(self, names: Sequence[str]) -> Floats:
        values = centred(self.models[list(names)].to_numpy(dtype=np.float64))
        return values / values.std(axis=0)


def centred(columns: Floats) -> Floats:
    """Return columns about their means."""
    return np.asarray(columns - columns.mean(axis=0), dtype=np.float64)


def present(store: Store) -> Layout:
    """Return the models of the paper: base, not post-norm, with a gain of the penultimate block."""
    models = published.base_models(store)[["model_id", "lab", "suite", DEPTH, *SHAPE, SCALE]]
    return Layout(PRESENT, models, int(models.index[models["model_id"] == ABERRANT][0]))

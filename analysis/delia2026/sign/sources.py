"""Lab, suite, shape, depth and scale as sources of variance, and the two rules that rank them.

The rules were chosen on simulated papers alone, see `analysis.delia2026.tournament`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.inference.posterior import hierarchy
from analysis.inference.posterior.hierarchy import Prior, Sources
from analysis.tidy.frame import Floats

#: Predictors of the sources that are coefficients.
PREDICTORS = {"shape": ("rho", "d_head"), "depth": ("n_layers",), "scale": ("log_parameters",)}

#: Groups of the sources that are levels.
LEVELS = ("lab", "suite")

#: The prior that is quoted where one is: median of each source's deviation over that of models of
#: one suite.
MIDDLE = 1.0

#: Sources on either side of every statement, shape and depth together as geometry.
SIDES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "lab over geometry": (("lab",), ("geometry",)),
    "recipe over geometry": (("lab", "suite"), ("geometry",)),
    "geometry over scale": (("geometry",), ("scale",)),
    "lab over suite": (("lab",), ("suite",)),
}

#: The same for the posterior, in which shape and depth are sources of their own.
OF_NEW_LEVELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "lab over geometry": (("lab",), ("shape", "depth")),
    "recipe over geometry": (("lab", "suite"), ("shape", "depth")),
    "geometry over scale": (("shape", "depth"), ("scale",)),
    "lab over suite": (("lab",), ("suite",)),
}

NODES = 2**11
#: Papers taken together: bounds the memory.
TOGETHER = 100
SEED, RESAMPLES = 20260106, 999


def design(models: pd.DataFrame) -> Sources:
    """Return the five sources over the rows of models, for a posterior."""
    blocks: dict[str, Floats] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for group in LEVELS:
        dummies = pd.get_dummies(models[group], dtype=float)
        blocks[group], labels[group] = dummies.to_numpy(), tuple(map(str, dummies.columns))
    for name, predictors in PREDICTORS.items():
        blocks[name], labels[name] = _scale(models, predictors), predictors
    return hierarchy.sources(blocks, labels)


def new_levels(models: pd.DataFrame, statement: str, gains: Floats) -> Floats:
    """Return the posterior probability that the first of a statement has the larger variance.

    Parameters
    ----------
    models
        One row per model, with the predictors.
    statement
        One of `OF_NEW_LEVELS`.
    gains
        Log gains of papers, shape (papers, models) [nat]; each is taken in its own standard
        deviations, so that their unit makes no difference.

    Returns
    -------
    Shape (papers,).
    """
    rng = np.random.default_rng(SEED)
    nodes = hierarchy.quadrature(design(models), Prior(MIDDLE), rng=rng, n_nodes=NODES)
    about = gains - gains.mean(axis=1, keepdims=True)
    standard = about / about.std(axis=1, keepdims=True)
    squares = dict(zip(nodes.sources.names, np.square(nodes.ratios).T, strict=True))
    first, second = (sum(squares[name] for name in side) for side in OF_NEW_LEVELS[statement])
    is_larger = np.asarray(first > second)
    chunks = np.array_split(standard, max(1, -(-len(standard) // TOGETHER)))
    items = [is_larger.astype(np.float64) @ hierarchy.weights(nodes, some) for some in chunks]
    return np.asarray(np.concatenate(items))


def _scale(models: pd.DataFrame, predictors: tuple[str, ...]) -> Floats:
    """Return standardised predictors that add one variance together."""
    values = models[list(predictors)].to_numpy(dtype=np.float64)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    return np.asarray(scaled / np.sqrt(len(predictors)))
